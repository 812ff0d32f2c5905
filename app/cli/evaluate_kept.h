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
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// The session of `evaluate --out`. Results that it holds are not computed again; new ones are written at once.
class EvaluationKeeper {
public:
    /// @throws Error if the file cannot be extended, or is of another model
    EvaluationKeeper(std::string path, const Model& model);

    const std::string& path() const { return m_path; }
    const Session& session() const { return m_session; }
    /// Adds a mask, unless it cuts nothing. @returns its name in the session
    std::string add(const std::string& name, const MaskRecord& mask);
    /// Writes one more evaluation. @throws Error
    void keep(Evaluation evaluation);

    /// Writes the gradients for predictions. @throws Error
    void keep(std::shared_ptr<const PredictionBasis> basis);

    /// Null if the session has no such run.
    const Evaluation* text(const Evaluation& like) const { return sameText(m_session, like, like.mask.digest); }
    const TaskEvaluation* task(const Evaluation& like, const TaskEvaluation& task) const {
        return sameTask(m_session, like, task, like.mask.digest);
    }

private:
    std::string m_path;
    Session m_session; ///< the content of the file
};

/// Scores a text for `evaluate --out`: only what the session does not hold. Complete and stopped runs are kept; stopped
/// ones continue later. The origin of reused losses is added to the model's warnings.
class KeptText {
public:
    /// All arguments must outlive it.
    KeptText(EvaluationKeeper& keeper, ReadyModel& ready, const EvaluationText& text, std::int64_t batchTokens);

    /// @throws Error as TextEvaluator; Cancelled
    Evaluation under(const EvaluatedMask& mask, const PruningMask& cuts, const Progress& progress);
    /// A run, compared with a reference.
    TextEvaluation under(const PlannedMask& run, const std::optional<PlannedMask>& reference, const Progress& progress);
    /// Each mask, compared with the dense model. @param names of the masks
    std::vector<Evaluation> under(const std::vector<std::string>& names, const std::vector<PruningMask>& masks,
                                  const Progress& progress);

private:
    Evaluation wanted(const EvaluatedMask& mask) const;
    void keepPart(Evaluation evaluation, const PruningMask& cuts);

    EvaluationKeeper& m_keeper;
    ReadyModel& m_ready;
    const EvaluationText& m_text;
    std::int64_t m_batchTokens;
    std::vector<std::string> m_warnings; ///< of all runs
    std::optional<TextEvaluator> m_evaluator;
};

/// A task's run under a mask: from the session, or a new one, which is kept.
TaskRun keptTask(EvaluationKeeper& keeper, ReadyModel& ready, const PlannedMask& planned, const Tokenizer& tokenizer,
                 const AskedTask& asked, const Progress& progress);

/// The predictor of the session, or a new one if it is requested, which is kept in the session. Nothing otherwise, and
/// for texts that are scored per word.
/// @throws Error, UsageError if it is requested but not possible; Cancelled
std::optional<Predictor> predictorFor(bool isRequested, const ReadyModel& ready, const EvaluationText& text,
                                      std::optional<EvaluationKeeper>& keeper, const Progress& progress);

/// The prediction for a mask; if there is none, the reason is added to the warnings.
std::optional<Prediction> predicted(const std::optional<Predictor>& predictor, const PruningMask& mask,
                                    std::vector<std::string>& warnings);

/// "+0.12 nats/token (90 %: 0.05 to 0.3)"
std::string sentence(const Prediction& prediction);

} // namespace secateur::cli
