#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/mask_record.h"
#include "analysis/text/scored_text.h"
#include "widgets/evaluations/extra_items.h"
#include "widgets/jobs/job_runner.h"

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

/// What masks are measured on; chosen once, the same for all until it is changed.
struct EvaluationChoice {
    TextRequest text;
    /// Of the text; empty = as many as the dense model reads in a minute, from 512 to 8,192.
    std::optional<std::int64_t> tokens = {};
    bool isAutomatic = true; ///< whether an edit is measured without being asked for
    ExtraChoice extra = {};
    bool operator==(const EvaluationChoice&) const = default;
};

/// What the text of a choice turned out to be.
struct EvaluationTextInfo {
    std::string source;
    std::string digest;
    std::string dtype;
    std::string device;
    std::size_t windows = 0;
    std::int64_t tokens = 0;
    PerplexityRules rules;
};

/// Measures the current mask: by itself a moment after an edit, in groups of windows whose figures come as they are
/// done, given up when the mask changes again. What is chosen besides follows behind the text. Lives on the GUI thread;
/// work runs as an interactive job.
class LiveEvaluation : public QObject {
    Q_OBJECT

public:
    enum class State {
        unavailable, ///< no model is open, or only its session
        idle,        ///< nothing is known of the mask, and nothing was asked for
        waiting,     ///< for the next edit, a moment
        running,
        stopped, ///< by the person, who keeps what is there
        complete,
        failed,
    };

    /// @param pace how often figures come; the budget for streams is filled in when work begins
    LiveEvaluation(Document* document, JobRunner* jobs, const EvaluatorOptions& pace = {}, QObject* parent = nullptr);

    const EvaluationChoice& choice() const { return m_choice; }
    ExtraEvaluation* extra() const { return m_extra; }
    MaskPrediction* prediction() const { return m_prediction; }
    /// What was measured on another text stays in the session, and is not compared any more.
    void choose(const EvaluationChoice& choice);

    State state() const { return m_state; }
    /// Of the current mask, as far as it is known; null while nothing is.
    const MaskEvaluation* shown() const { return m_shown ? &*m_shown : nullptr; }
    /// Null until the text was read.
    const EvaluationTextInfo* text() const { return m_text ? &*m_text : nullptr; }
    /// For what is left to run of the current mask; nothing while unknown.
    std::optional<double> secondsLeft() const;
    /// The sentence for the person, where the state is failed.
    const QString& failure() const { return m_failure; }

public slots:
    /// Goes on with the current mask until the whole text is scored, and all else that is chosen measured.
    void evaluate();
    /// Keeps what is known of the current mask, and runs no more of it.
    void stopHere();

signals:
    void changed();
    /// A mask's figures will not change any more: the whole text was scored, or it was stopped. The document has them.
    void evaluated(const secateur::PruningMask& mask, const secateur::MaskEvaluation& found);

private:
    struct Bench;
    struct Incoming;
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
    std::shared_ptr<Incoming> m_incoming;
    JobRunner::Id m_job = 0;
    std::vector<Done> m_done;
    std::optional<MaskEvaluation> m_shown;
    std::optional<EvaluationTextInfo> m_text;
    std::optional<double> m_expectedSeconds;
    QString m_failure;
};

} // namespace secateur
