#include "analysis/task_run.h"

#include "analysis/error.h"

#include <algorithm>

namespace secateur {

std::vector<std::size_t> chosenQuestions(std::size_t count, const TaskRules& rules) {
    std::vector<std::size_t> chosen = shuffledOrder(count, rules.seed);
    if (rules.limit > 0 && rules.limit < count)
        chosen.resize(rules.limit);
    std::ranges::sort(chosen);
    return chosen;
}

TaskRun runTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress) {
    if (task.questions.empty())
        throw Error("holds no questions with options to score", task.name);
    OptionTokenRules tokenRules = rules.tokens;
    if (tokenRules.mostInputs == 0)
        tokenRules.mostInputs = static_cast<std::size_t>(std::max(0, model.spec().context));
    const std::vector<TaskQuestion> prompted = withShots(task.questions, examples, rules.shots);
    const std::vector<std::size_t> chosen = chosenQuestions(prompted.size(), rules);
    const Progress preparing = progress.part(0, 0.05);
    std::vector<std::vector<OptionTokens>> tokens;
    for (const std::size_t place : chosen) {
        preparing.report(static_cast<double>(tokens.size()) / static_cast<double>(chosen.size()), "tokenising");
        tokens.push_back(optionTokens(prompted[place], tokenizer, tokenRules));
    }
    const auto scores = scoreOptions(model, plan, tokens, rules.batchTokens, progress.part(0.05, 1));
    TaskRun run{taskFormat(task.formatId).kind, {}, {}, shotLabel(rules.shots)};
    for (std::size_t i = 0; i < chosen.size(); ++i)
        run.questions.push_back(answered(prompted[chosen[i]], scores[i]));
    run.scores = taskScores(run.kind, run.questions);
    return run;
}

} // namespace secateur
