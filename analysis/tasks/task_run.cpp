#include "analysis/tasks/task_run.h"

#include "analysis/base/error.h"

#include <algorithm>
#include <limits>

namespace secateur {

namespace {

/// A perplexity is the exponential of a mean: near it, differences of nats count as many times its value.
MetricDifference perplexityDifference(const TaskRun& first, const TaskRun& second) {
    const double before = first.scores.metric("perplexity").value;
    const double after = second.scores.metric("perplexity").value;
    std::vector<double> differences;
    for (std::size_t i = 0; i < second.questions.size(); ++i)
        differences.push_back(before * first.questions[i].scores.front().logProbability -
                              after * second.questions[i].scores.front().logProbability);
    return {"perplexity", after - before, meanMetric({}, differences).standardError, {}};
}

std::vector<MetricDifference> writtenDifferences(const TaskRun& first, const TaskRun& second) {
    if (!std::ranges::equal(first.written, second.written, {}, &WrittenAnswer::line, &WrittenAnswer::line))
        throw Error("Two runs can be compared answer by answer when they answered the same prompts in the same order");
    std::vector<bool> before;
    std::vector<bool> after;
    std::vector<double> differences;
    for (std::size_t i = 0; i < second.written.size(); ++i) {
        before.push_back(first.written[i].isExact);
        after.push_back(second.written[i].isExact);
        differences.push_back(second.written[i].f1 - first.written[i].f1);
    }
    const PairedAnswers exact = pairedAnswers(before, after);
    const TaskMetric f1 = meanMetric("f1", differences);
    return {{"exact_match", exact.difference, exact.standardError, exact}, {f1.id, f1.value, f1.standardError, {}}};
}

} // namespace

std::vector<std::size_t> chosenQuestions(std::size_t count, const TaskRules& rules) {
    std::vector<std::size_t> chosen = shuffledOrder(count, rules.seed);
    if (rules.limit > 0 && rules.limit < count)
        chosen.resize(rules.limit);
    std::ranges::sort(chosen);
    return chosen;
}

std::vector<std::vector<OptionTokens>> askedOptions(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                                                    std::span<const TaskQuestion> examples, const TaskRules& rules,
                                                    const Progress& progress) {
    if (task.questions.empty())
        throw Error("holds no questions with options to score", task.name);
    OptionTokenRules tokenRules = rules.tokens;
    if (tokenRules.mostInputs == 0)
        tokenRules.mostInputs = static_cast<std::size_t>(std::max(0, spec.context));
    const std::vector<TaskQuestion> prompted = withShots(task.questions, examples, rules.shots);
    const std::vector<std::size_t> chosen = chosenQuestions(prompted.size(), rules);
    std::vector<std::vector<OptionTokens>> tokens;
    for (const std::size_t place : chosen) {
        progress.report(static_cast<double>(tokens.size()) / static_cast<double>(chosen.size()), "tokenising");
        tokens.push_back(optionTokens(prompted[place], tokenizer, tokenRules));
    }
    return tokens;
}

TaskRun runTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress) {
    const auto tokens = askedOptions(model.spec(), tokenizer, task, examples, rules, progress.part(0, 0.05));
    const std::vector<std::size_t> chosen = chosenQuestions(task.questions.size(), rules);
    const auto scores = scoreOptions(model, plan, tokens, rules.batchTokens, progress.part(0.05, 1));
    TaskRun run{taskFormat(task.formatId).kind, {}, {}, shotLabel(rules.shots), {}};
    for (std::size_t i = 0; i < chosen.size(); ++i)
        run.questions.push_back(answered(task.questions[chosen[i]], scores[i]));
    run.scores = taskScores(run.kind, run.questions);
    return run;
}

TaskScores writtenScores(std::span<const WrittenAnswer> written) {
    if (written.empty())
        throw Error("No prompts were answered: there is nothing to average");
    std::vector<double> exact;
    std::vector<double> f1;
    for (const WrittenAnswer& answer : written) {
        exact.push_back(answer.isExact ? 1 : 0);
        f1.push_back(answer.f1);
    }
    return {written.size(),
            {meanMetric("exact_match", exact), meanMetric("f1", f1)},
            {},
            std::numeric_limits<double>::quiet_NaN()};
}

std::vector<MetricDifference> taskDifferences(const TaskRun& first, const TaskRun& second) {
    std::vector<MetricDifference> differences;
    if (second.kind == TaskKind::generation)
        return writtenDifferences(first, second);
    for (const TaskMetric& metric : second.scores.metrics) {
        if (metric.id == "perplexity") {
            differences.push_back(perplexityDifference(first, second));
            continue;
        }
        const AnswerBy by = metric.id == name(AnswerBy::total)        ? AnswerBy::total
                            : metric.id == name(AnswerBy::codePoints) ? AnswerBy::codePoints
                                                                      : AnswerBy::bytes;
        const PairedAnswers pairs = pairedAnswers(second.kind, by, first.questions, second.questions);
        differences.push_back({metric.id, pairs.difference, pairs.standardError, pairs});
    }
    return differences;
}

} // namespace secateur
