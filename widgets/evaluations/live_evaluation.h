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

/// The user's choice of the scored text and the other settings of evaluations. It is the same for all masks.
struct EvaluationChoice {
    TextRequest text;
    /// Maximum number of tokens. Empty = as many tokens as the dense model scores in a minute, but at least 512 and at
    /// most 8,192.
    std::optional<std::int64_t> tokens = {};
    bool isAutomatic = true; ///< whether each edit of the mask is measured
    ExtraChoice extra = {};
    bool operator==(const EvaluationChoice&) const = default;
};

/// Facts about the scored text after it was read.
struct EvaluationTextInfo {
    std::string source;
    std::string digest;
    std::string dtype;
    std::string device;
    std::size_t windows = 0;
    std::int64_t tokens = 0;
    PerplexityRules rules;
};

/// Measures the current mask shortly after each edit. The text is scored in groups of windows, with partial results. An
/// edit of the mask cancels the run. Extra measurements follow. Lives on the GUI thread; the work runs in jobs of
/// priority `interactive`.
class LiveEvaluation : public QObject {
    Q_OBJECT

public:
    enum class State {
        unavailable, ///< no model is open, or the session's checkpoint was not found
        idle,        ///< the mask is not measured, and no measurement was requested
        waiting,     ///< waits a moment, because another edit may follow
        running,
        stopped, ///< stopped by the user; results so far are kept
        complete,
        failed,
    };

    /// @param pace sets groupSeconds and batchTokens; its streamBudget is overwritten when the work begins
    LiveEvaluation(Document* document, JobRunner* jobs, const EvaluatorOptions& pace = {}, QObject* parent = nullptr);

    const EvaluationChoice& choice() const { return m_choice; }
    ExtraEvaluation* extra() const { return m_extra; }
    MaskPrediction* prediction() const { return m_prediction; }
    /// Sets the settings of evaluations. Evaluations on another text stay in the session, but are no longer compared.
    void choose(const EvaluationChoice& choice);

    State state() const { return m_state; }
    /// Result so far of the current mask; null if there is none.
    const MaskEvaluation* shown() const { return m_shown ? &*m_shown : nullptr; }
    /// Facts about the text; null until it was read.
    const EvaluationTextInfo* text() const { return m_text ? &*m_text : nullptr; }
    /// Expected seconds until the rest of the text is scored under the current mask; empty while unknown.
    std::optional<double> secondsLeft() const;
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
    /// Emitted when the whole text was scored or the work was stopped. The result is in the session.
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
