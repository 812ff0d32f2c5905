#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QToolButton;

namespace secateur {

class LiveEvaluation;

/// What the current mask does to the model, as far as it is measured: loss and perplexity beside the dense model's,
/// what was chosen besides, how much of the text they rest on, and a button that stops or goes on.
class EffectBox : public QWidget {
    Q_OBJECT

public:
    explicit EffectBox(LiveEvaluation* live, QWidget* parent = nullptr);

private:
    void refresh();
    void showFigures();
    void showProgress();
    /// Of what follows behind the text.
    QString extraText() const;
    void showAction();

    LiveEvaluation* m_live;
    QLabel* m_loss;
    QLabel* m_perplexity;
    QProgressBar* m_progress;
    QLabel* m_state;
    QToolButton* m_action;
};

} // namespace secateur
