#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/mask_record.h"
#include "analysis/text/scored_text.h"
#include "widgets/evaluations/extra_items.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

class QTimer;

namespace secateur {

class Document;
class ExtraEvaluation;
class MaskPrediction;

/// The user's choice of the text and other settings of evaluations, the same for all masks.
struct EvaluationChoice {
    TextRequest text;
    /// Maximum number of tokens; empty = as many as the dense model scores in a minute, from 512 to 8,192.
    std::optional<std::int64_t> tokens = {};
    bool isAutomatic = true; ///< whether each edit of the mask is measured
    ExtraChoice extra = {};
    bool operator==(const EvaluationChoice&) const = default;
};

/// Facts of the text that was read.
struct EvaluationTextInfo {
    std::string source;
    std::string digest;
    std::string dtype;
    std::string device;
    std::size_t windows = 0;
    std::int64_t tokens = 0;
    PerplexityRules rules;
};

/// Measures the current mask a moment after each edit, in groups of windows with partial results, and cancels when the
/// mask changes again. Extra measurements follow the text. Lives on the GUI thread; the work is an interactive job.
class LiveEvaluation : public QObject {
    Q_OBJECT

public:
    enum class State {
        unavailable, ///< no model is open, or a session without its checkpoint
        idle,        ///< not measured, and not requested
        waiting,     ///< for a moment, because another edit may follow
        running,
        stopped, ///< by the user; results so far are kept
        complete,
        failed,
    };

    /// @param pace groupSeconds and batchTokens; streamBudget is set when the work begins
    LiveEvaluation(Document* document, JobRunner* jobs, const EvaluatorOptions& pace = {}, QObject* parent = nullptr);

    const EvaluationChoice& choice() const { return m_choice; }
    ExtraEvaluation* extra() const { return m_extra; }
    MaskPrediction* prediction() const { return m_prediction; }
    /// Sets the choice. Evaluations on another text stay in the session, but are no longer compared.
    void choose(const EvaluationChoice& choice);

    State state() const { return m_state; }
    /// Whether a preview of other cuts is on screen, which is not measured.
    bool isPreviewed() const;
    /// Result so far of the current mask; null if there is none.
    const MaskEvaluation* shown() const { return m_shown ? &*m_shown : nullptr; }
    /// Facts about the text; null until it was read.
    const EvaluationTextInfo* text() const { return m_text ? &*m_text : nullptr; }
    /// Expected time for the rest of the text under the current mask; nothing while unknown.
    std::optional<double> secondsLeft() const;
    /// The error message in state failed.
    const QString& failure() const { return m_failure; }

public slots:
    /// Starts or continues: scores the whole text under the current mask, then runs the extra measurements.
    void evaluate();
    /// Stops and keeps the results so far.
    void stopHere();

signals:
    void changed();
    /// The whole text was scored, or the work was stopped. The result is in the session.
    void evaluated(const secateur::PruningMask& mask, const secateur::MaskEvaluation& found);

private:
    struct Bench;
    struct Figures;
    struct Done {
        PruningMask mask;
        MaskEvaluation found;
    };

    void reset();
    void followMask();
    void abandon();
    void setState(State state);
    void takeIncoming();
    Evaluation kept(const Perplexity& run, int reusedLayers) const;
    void finish(const PruningMask& mask, const MaskEvaluation& found);
    void onFailed(quint64 job, const QString& message);
    void onCancelled(quint64 job);

    Document* m_document;
    JobRunner* m_jobs;
    ExtraEvaluation* m_extra;
    MaskPrediction* m_prediction;
    QTimer* m_pause;
    EvaluatorOptions m_pace;
    EvaluationChoice m_choice;
    State m_state = State::unavailable;
    std::shared_ptr<Bench> m_bench;
    std::shared_ptr<Mailbox<Figures>> m_incoming;
    JobRunner::Id m_job = 0;
    std::vector<Done> m_done;
    std::optional<MaskEvaluation> m_shown;
    std::optional<EvaluationTextInfo> m_text;
    std::optional<double> m_expectedSeconds;
    QString m_failure;
};

} // namespace secateur
