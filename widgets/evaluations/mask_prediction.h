#pragma once

#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/price.h"
#include "analysis/prediction/prediction.h"
#include "analysis/text/scored_text.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>
#include <QWidget>

#include <optional>

class QGridLayout;
class QLabel;
class QProgressBar;

namespace secateur {

class Document;
class StillLabel;

/// Predicts the change of the loss under the current mask or its preview. Predictions need gradients. If the session
/// has none, they are computed in the background after the first text was scored, and kept in the session. Measured
/// changes of the loss calibrate later predictions.
class MaskPrediction : public QObject {
    Q_OBJECT

public:
    enum class State {
        waiting,   ///< waits until a text is scored
        computing, ///< computing the gradients
        ready,
        refused, ///< the model is not supported, or computing failed
    };

    MaskPrediction(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    State state() const { return m_state; }
    /// Progress of computing the gradients, from 0 to 1.
    double fraction() const { return m_fraction; }
    /// The prediction for the preview if there is one, otherwise for the current mask. Empty if reason() is not empty.
    std::optional<Prediction> shown() const;
    /// The reason why there is no prediction, as a sentence.
    QString reason() const;

    /// Calibrates the prediction with a measured loss. If there are no gradients, starts computing them.
    void take(const PruningMask& mask, const MaskEvaluation& found, const TextRequest& text);

signals:
    void changed();

private:
    void reset();
    void begin(TextRequest text);
    void adopt();
    void end(State state, const QString& reason = {});
    const PruningMask& mask() const;

    Document* m_document;
    JobRunner* m_jobs;
    JobRunner::Id m_job = 0;
    State m_state = State::waiting;
    double m_fraction = 0;
    QString m_reason;
    std::optional<Predictor> m_predictor;
};

/// Shows the prediction for the current mask or its preview, or the reason why there is none.
class PredictionBox : public QWidget {
    Q_OBJECT

public:
    explicit PredictionBox(MaskPrediction* prediction, QWidget* parent = nullptr);

private:
    void refresh();

    MaskPrediction* m_prediction;
    StillLabel* m_value;
    QProgressBar* m_progress;
    StillLabel* m_reason;
};

/// Shows how many units the current mask or its preview cuts, and what it saves.
class PriceBox : public QWidget {
    Q_OBJECT

public:
    explicit PriceBox(Document* document, QWidget* parent = nullptr);

private:
    void refresh();
    QLabel* addRow(QGridLayout* grid, const QString& name);

    Document* m_document;
    StillLabel* m_cuts;
    QLabel* m_parameters;
    QLabel* m_bytes;
    QLabel* m_cache;
    QLabel* m_operations;
    StillLabel* m_notes;
};

/// The cut units as text: "1 block · 2 attention layers · 34 heads"; empty if nothing is cut.
QString cutSummary(const Price& price);

} // namespace secateur
