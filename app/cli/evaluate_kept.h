#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/mask_record.h"
#include "analysis/prediction/prediction.h"
#include "analysis/session/session.h"
#include "analysis/text/scored_text.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_task.h"
#include "app/cli/evaluate_text.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// The session of `evaluate --out`. Its results are not computed again. New results are written at once.
class EvaluationKeeper {
public:
    /// The session belongs to the model without its adapter; evaluations state the adapter.
    /// @throws Error if the file cannot be extended, or belongs to another model
    EvaluationKeeper(std::string path, const Model& model);

    const std::string& path() const { return m_path; }
    const Session& session() const { return m_session; }
    /// Adds a mask to the session, unless the mask cuts nothing. @returns the mask's name in the session
    std::string add(const std::string& name, const MaskRecord& mask);
    /// Adds an evaluation and writes the file. @throws Error
    void keep(Evaluation evaluation);

    /// Adds the gradients for predictions to the session and writes the file. @throws Error
    void keep(std::shared_ptr<const PredictionBasis> basis);

    // The session's run with the same mask, adapter, data and rules as `like`; null if there is none.
    const Evaluation* text(const Evaluation& like) const {
        return sameText(m_session, like, like.mask.digest, like.adapter.digest);
    }
    const TaskEvaluation* task(const Evaluation& like, const TaskEvaluation& task) const {
        return sameTask(m_session, like, task, like.mask.digest, like.adapter.digest);
    }

private:
    std::string m_path;
    Session m_session; ///< the content of the file
};

/// Scores a text for `evaluate --out`. Windows whose losses are in the session are not scored again. Complete and
/// stopped runs are written; a later run continues a stopped one. A warning states where reused losses come from.
class KeptText {
public:
    /// All arguments must outlive this object.
    KeptText(EvaluationKeeper& keeper, ReadyModel& ready, const EvaluationText& text, std::int64_t batchTokens);

    /// The evaluation of a mask, compared with a reference.
    TextEvaluation under(const PlannedMask& run, const std::optional<PlannedMask>& reference, const Progress& progress);
    /// The evaluations of several masks, each compared with the dense model. @param names names of the masks, in order
    std::vector<Evaluation> under(const std::vector<std::string>& names, const std::vector<PruningMask>& masks,
                                  const Progress& progress);

private:
    /// A mask to evaluate. The model is that of the command, or its reference.
    struct Run {
        EvaluatedMask mask;
        const PruningMask& cuts;
        const Model& model;
        EvaluatedAdapter adapter;
    };

    Evaluation under(const Run& wanted, const Progress& progress);
    Evaluation evaluationOf(const Run& wanted) const;
    TextEvaluator& evaluatorOf(const Model& model, const Progress& progress);
    void keepPart(Evaluation evaluation, const Run& wanted);

    EvaluationKeeper& m_keeper;
    ReadyModel& m_ready;
    const EvaluationText& m_text;
    std::int64_t m_batchTokens;
    std::vector<std::string> m_warnings;                ///< warnings that every evaluation gets
    std::map<const Model*, TextEvaluator> m_evaluators; ///< by model
};

/// The run of a task under a mask. If the session has no such run, runs the task and writes the result.
TaskRun keptTask(EvaluationKeeper& keeper, ReadyModel& ready, const PlannedMask& planned, const Tokenizer& tokenizer,
                 const AskedTask& asked, const Progress& progress);

/// The predictor of the session; with an adapter a new one, because the session's gradients are those of the model
/// without it. If the session has no gradients and a prediction is requested, measures them and
/// writes them. Empty if there is no predictor, and for texts that are scored per word.
/// @throws Error, UsageError if a prediction is requested but not possible; Cancelled
std::optional<Predictor> predictorFor(bool isRequested, const ReadyModel& ready, const EvaluationText& text,
                                      std::optional<EvaluationKeeper>& keeper, const Progress& progress);

/// The prediction for a mask; empty without a predictor. If the mask cannot be predicted, adds the reason to the
/// warnings.
std::optional<Prediction> predicted(const std::optional<Predictor>& predictor, const PruningMask& mask,
                                    std::vector<std::string>& warnings);

/// A prediction as text: "+0.12 nats/token (90 %: 0.05 to 0.3)".
std::string sentence(const Prediction& prediction);

} // namespace secateur::cli
