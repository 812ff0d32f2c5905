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

/// The session that `evaluate --out` adds to: what it holds need not be run again, and what is run is in the file as
/// soon as it is known.
class EvaluationKeeper {
public:
    /// @throws Error when the file cannot be added to, or is of another model
    EvaluationKeeper(std::string path, const Model& model);

    const std::string& path() const { return m_path; }
    const Session& session() const { return m_session; }
    /// A mask whose runs will be kept, unless it keeps all. @returns the name that they go by
    std::string add(const std::string& name, const MaskRecord& mask);
    /// Writes one more evaluation. @throws Error
    void keep(Evaluation evaluation);

    /// Writes what masks are predicted from. @throws Error
    void keep(std::shared_ptr<const PredictionBasis> basis);

    /// Null when the session holds no such run.
    const Evaluation* text(const Evaluation& like) const { return sameText(m_session, like, like.mask.digest); }
    const TaskEvaluation* task(const Evaluation& like, const TaskEvaluation& task) const {
        return sameTask(m_session, like, task, like.mask.digest);
    }

private:
    std::string m_path;
    Session m_session; ///< what the file holds, and what was kept
};

/// What `evaluate --out` runs on a text: only what the session does not hold. What was scored is kept, when it is whole
/// and when the work is stopped; then it goes on from there another time. Where losses come from, if not from here, is
/// added to the model's warnings.
class KeptText {
public:
    /// What is given must outlive it.
    KeptText(EvaluationKeeper& keeper, ReadyModel& ready, const EvaluationText& text, std::int64_t batchTokens);

    /// @throws Error as TextEvaluator; Cancelled
    Evaluation under(const EvaluatedMask& mask, const PruningMask& cuts, const Progress& progress);
    /// A run beside what it is compared with.
    TextEvaluation under(const Contender& run, const std::optional<Contender>& reference, const Progress& progress);
    /// Each beside the dense model. @param names of the masks
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

/// A task's run under a mask: the session's, or a new one, which is kept at once.
TaskRun keptTask(EvaluationKeeper& keeper, ReadyModel& ready, const Contender& contender, const Tokenizer& tokenizer,
                 const AskedTask& asked, const Progress& progress);

/// What says before a run what a mask will cost: what the session has for that, else, where it is asked for, made of
/// the text, and kept in the session where there is one. Nothing else, nor for texts that are scored per word.
/// @throws Error, UsageError where it is asked for and cannot be had; Cancelled
std::optional<Predictor> predictorFor(bool isAsked, const ReadyModel& ready, const EvaluationText& text,
                                      std::optional<EvaluationKeeper>& keeper, const Progress& progress);

/// Of one mask; why there is none is added to the warnings.
std::optional<Prediction> predicted(const std::optional<Predictor>& predictor, const PruningMask& mask,
                                    std::vector<std::string>& warnings);

/// For people: "+0.12 (0.05 to 0.3)".
std::string sentence(const Prediction& prediction);

} // namespace secateur::cli
