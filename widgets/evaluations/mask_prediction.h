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

/// What the current mask, or its preview, will cost before that is measured. What it is predicted from is worked out
/// in the background once a text was scored, unless the session has it, and is kept there; what is measured corrects
/// it.
class MaskPrediction : public QObject {
    Q_OBJECT

public:
    enum class State {
        waiting,   ///< for a text to be scored
        computing, ///< what predictions are made from
        ready,
        refused, ///< of this model, or it did not work
    };

    MaskPrediction(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    State state() const { return m_state; }
    /// While computing: 0 to 1.
    double fraction() const { return m_fraction; }
    /// Of the preview while there is one, else of the current mask; nothing where reason() says why.
    std::optional<Prediction> shown() const;
    /// Why there is no prediction, for the person.
    QString reason() const;

    /// A text was scored under a mask: it is learnt from, and what else is needed of it begins.
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

/// What the current mask cuts and saves; of the preview, while there is one.
class PriceBox : public QWidget {
    Q_OBJECT

public:
    explicit PriceBox(Document* document, QWidget* parent = nullptr);

private:
    void refresh();
    QLabel* addRow(QGridLayout* grid, const QString& name);

    Document* m_document;
    QLabel* m_cuts;
    QLabel* m_parameters;
    QLabel* m_bytes;
    QLabel* m_cache;
    QLabel* m_operations;
    QLabel* m_notes;
};

/// "34 heads · 2 attentions · 1 block"; empty when nothing is cut.
QString cutSummary(const Price& price);

} // namespace secateur
