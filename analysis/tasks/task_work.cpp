#include "analysis/tasks/task_work.h"

#include "analysis/running/padded_batches.h"
#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/option_scores.h"

#include <algorithm>

namespace secateur {

namespace {

TaskWork optionWork(std::span<const std::vector<OptionTokens>> questions, std::int64_t batchTokens) {
    TaskWork work;
    work.questions = questions.size();
    const OptionTree tree = optionTree(questions, neighbourOrder(questions), batchTokens);
    double ends = 0;
    for (const OptionPiece& piece : tree.pieces) {
        work.size.read += std::ssize(piece.targets);
        ends += 1.0 * piece.end() * static_cast<double>(piece.ids.size());
    }
    for (std::size_t i = 0; i < tree.batches.size(); ++i)
        work.size.tokens += tree.batch(i).tokens();
    work.size.positions = static_cast<int>(ends / static_cast<double>(std::max<std::int64_t>(1, tree.tokens())));
    return work;
}

TaskWork textWork(const std::vector<TokenSequence>& texts, std::int64_t batchTokens) {
    TaskWork work;
    work.questions = texts.size();
    work.size.tokens = paddedBatches(texts, batchTokens).tokens();
    work.size.positions = static_cast<int>(work.size.tokens / std::max<std::int64_t>(1, std::ssize(texts)));
    return work;
}

TaskWork promptWork(const Task& task, const Tokenizer& tokenizer, const TaskRules& rules, const Progress& progress) {
    const std::vector<std::size_t> chosen = chosenQuestions(task.prompts.size(), rules);
    TaskWork work;
    std::int64_t longest = 0;
    for (const std::size_t place : chosen) {
        progress.report(static_cast<double>(work.questions++) / static_cast<double>(chosen.size()), "tokenising");
        const AnswerPrompt& prompt = task.prompts[place];
        const std::int64_t length = std::ssize(contextTokens(prompt.prompt, tokenizer, rules.tokens.bos));
        work.size.tokens += length;
        work.newTokens += prompt.mostTokens;
        longest = std::max(longest, length + prompt.mostTokens);
    }
    if (chosen.empty())
        return work;
    const std::int64_t rows = answersAtOnce(std::ssize(chosen), longest, rules.batchTokens);
    work.steps = (work.newTokens + rows - 1) / rows;
    work.size.positions = static_cast<int>(longest);
    return work;
}

} // namespace

TaskWork taskWork(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                  std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress) {
    switch (taskFormat(task.formatId).kind) {
    case TaskKind::classification:
        return textWork(labelledSequences(spec, tokenizer, task, rules), rules.batchTokens);
    case TaskKind::generation:
        return promptWork(task, tokenizer, rules, progress);
    default:
        return optionWork(askedOptions(spec, tokenizer, task, examples, rules, progress), rules.batchTokens);
    }
}

double taskSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const TaskWork& work,
                   double stepSeconds) {
    const double written = runSeconds(speed, spec, mask, {work.newTokens, work.size.positions, work.newTokens});
    return runSeconds(speed, spec, mask, work.size) + std::max(written, stepSeconds * static_cast<double>(work.steps));
}

} // namespace secateur
