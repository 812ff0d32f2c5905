#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/mask_record.h"
#include "analysis/text/scored_text.h"
#include "widgets/evaluations/evaluation_choice.h"
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

/// Residual streams in the cache may use 1/evaluationStreamShare of the available memory. The weights need the rest.
inline constexpr std::int64_t evaluationStreamShare = 4;

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
/// mask changes again. Extra measurements follow the text. Results that the session holds are shown, and not measured
/// again. Lives on the GUI thread; the work is an interactive job.
class LiveEvaluation : public QObject {
    Q_OBJECT

public:
    enum class State {
        unavailable, ///< no model is open, or a session without its checkpoint and without a result
        noLoss,      ///< the model is an encoder, which has no loss on a text; extra measurements run
        idle,        ///< not measured, and not requested
        waiting,     ///< for a moment, because another edit may follow
        running,
        stopped, ///< stopped by the user; results so far are kept
        complete,
        failed,
    };

    /// @param pace sets groupSeconds and batchTokens; its streamBudget is overwritten when the work begins
    LiveEvaluation(Document* document, JobRunner* jobs, const EvaluatorOptions& pace = {}, QObject* parent = nullptr);

    const EvaluationChoice& choice() const { return m_kept.choice; }
    const KeptChoice& keptChoice() const { return m_kept; }
    const EvaluatorOptions& pace() const { return m_pace; }
    /// The number of tokens if the user has chosen none; nothing until it is decided.
    std::optional<std::int64_t> usualTokens() const { return m_kept.usualTokens; }
    ExtraEvaluation* extra() const { return m_extra; }
    MaskPrediction* prediction() const { return m_prediction; }
    /// Sets the settings of evaluations. Evaluations on another text stay in the session, but are no longer compared.
    void choose(const EvaluationChoice& choice);

    State state() const { return m_state; }
    /// Whether a preview of other cuts is on screen, which is not measured.
    bool isPreviewed() const;
    /// Result so far of the current mask; null if there is none.
    const MaskEvaluation* shown() const { return m_shown ? &*m_shown : nullptr; }
    /// Facts about the text; null until it was read.
    const EvaluationTextInfo* text() const { return m_text ? &*m_text : nullptr; }
    /// Expected seconds until the rest of the text is scored under the current mask; empty while unknown.
    std::optional<double> secondsLeft() const;
    /// Warnings about the model's files, as of the latest results.
    const std::vector<std::string>& warnings() const { return m_warnings; }
    /// The error message if the state is `failed`.
    const QString& failure() const { return m_failure; }

public slots:
    /// Starts or continues the evaluation: scores the whole text under the current mask, then runs the extra
    /// measurements.
    void evaluate();
    /// Stops the evaluation and keeps the results so far.
    void stopHere();

signals:
    void changed();
    /// Another session brought its own choice, or usualTokens() was decided.
    void choiceChanged();
    /// The whole text was scored, or the work was stopped. The result is in the session.
    void evaluated(const secateur::PruningMask& mask, const secateur::MaskEvaluation& found);

private:
    struct Bench;
    struct Figures;
    struct StoredRun {
        PruningMask mask;
        Evaluation evaluation;
    };
    struct Done {
        PruningMask mask;
        MaskEvaluation found;
    };

    /// Takes the choice of the opened session.
    void restore();
    void reset();
    void followMask();
    /// Shows the result of the current mask if it is known or stored in the session. @returns whether it is
    bool showKnown();
    std::optional<MaskEvaluation> stored();
    /// The session's runs of the chosen text under the dense model and a mask.
    std::vector<StoredRun> storedRuns(const PruningMask& mask) const;
    bool hasLoss() const;
    ExtraChoice extraChoice() const;
    void keepChoice();
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
    EvaluationChoice m_wanted; ///< last choice of the user, for models without a session
    KeptChoice m_kept;
    State m_state = State::unavailable;
    std::shared_ptr<Bench> m_bench;
    std::shared_ptr<Mailbox<Figures>> m_incoming;
    JobRunner::Id m_job = 0;
    std::vector<Done> m_done;
    std::optional<MaskEvaluation> m_shown;
    std::optional<EvaluationTextInfo> m_text;
    std::optional<double> m_expectedSeconds;
    std::vector<std::string> m_warnings;
    QString m_failure;
};

} // namespace secateur
