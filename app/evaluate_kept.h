#pragma once

#include "analysis/evaluation.h"
#include "analysis/text_evaluator.h"
#include "app/cli_common.h"
#include "app/evaluate_task.h"
#include "app/evaluate_text.h"
#include "app/evaluation_keeper.h"

#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// What `evaluate --out` runs on a text: only what the session does not hold. What was scored is kept, when it is whole
/// and when the work is stopped; then it goes on from there another time.
class KeptText {
public:
    KeptText(EvaluationKeeper& keeper, const ReadyModel& ready, const TextOptions& options, ScoredText text);

    /// The text's run under a mask. @param notes grows by where losses come from, if not from here
    /// @throws Error as TextEvaluator; Cancelled
    Evaluation under(const Contender& contender, std::vector<std::string>& notes, const Progress& progress);

private:
    Evaluation wanted(const Contender& contender) const;
    TextEvaluator& evaluator(const Progress& progress);
    void keepPart(Evaluation evaluation, const PruningMask& mask);

    EvaluationKeeper& m_keeper;
    const ReadyModel& m_ready;
    TextOptions m_options;
    ScoredText m_text;
    std::string m_digest;
    std::vector<std::string> m_warnings;
    std::optional<TextEvaluator> m_evaluator;
};

/// A task's run under a mask: the session's, or a new one that is kept at once.
TaskRun keptTask(EvaluationKeeper& keeper, const ReadyModel& ready, const Contender& contender,
                 const Tokenizer& tokenizer, const AskedTask& asked, std::vector<std::string>& notes,
                 const Progress& progress);

} // namespace secateur::cli
