#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;

namespace secateur {

class MaskPrediction;

/// What the current mask, or its preview, is predicted to cost, or why that cannot be said.
class PredictionBox : public QWidget {
    Q_OBJECT

public:
    explicit PredictionBox(MaskPrediction* prediction, QWidget* parent = nullptr);

private:
    void refresh();

    MaskPrediction* m_prediction;
    QLabel* m_value;
    QProgressBar* m_progress;
    QLabel* m_reason;
};

} // namespace secateur
