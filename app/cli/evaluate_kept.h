#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/text/evaluation_text.h"
#include "analysis/evaluation/text_evaluator.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_task.h"
#include "app/cli/evaluate_text.h"
#include "app/cli/evaluation_keeper.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

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

} // namespace secateur::cli
