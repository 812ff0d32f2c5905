#include "analysis/tasks/task_run.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/padded_batches.h"
#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/option_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace secateur {

namespace {

constexpr double noScore = std::numeric_limits<double>::quiet_NaN();

std::size_t best(const TaskQuestion& question, const std::vector<OptionScore>& scores, AnswerBy by) {
    std::vector<double> values;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const TaskOption& option = question.options.at(i);
        const double length = by == AnswerBy::total        ? 1
                              : by == AnswerBy::codePoints ? static_cast<double>(option.codePoints)
                                                           : static_cast<double>(option.bytes);
        values.push_back(scores[i].logProbability / length);
    }
    return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

TaskMetric accuracy(TaskKind kind, AnswerBy by, std::span<const AnsweredQuestion> questions) {
    std::vector<double> right;
    for (const AnsweredQuestion& question : questions)
        right.push_back(isRight(kind, by, question) ? 1 : 0);
    return meanMetric(name(by), right);
}

/// Perplexity of questions, per word and not per token.
TaskMetric questionPerplexity(std::span<const AnsweredQuestion> questions) {
    std::vector<double> nats;
    for (const AnsweredQuestion& question : questions)
        nats.push_back(-question.scores.front().logProbability);
    TaskMetric metric = meanMetric("perplexity", nats);
    metric.value = std::exp(metric.value);
    metric.standardError *= metric.value;
    return metric;
}

void addSubjects(TaskScores& scores, TaskKind kind, std::span<const AnsweredQuestion> questions) {
    std::map<std::string, std::vector<AnsweredQuestion>> bySubject;
    for (const AnsweredQuestion& question : questions)
        if (!question.subject.empty())
            bySubject[question.subject].push_back(question);
    double sum = 0;
    for (const auto& [subject, own] : bySubject) {
        scores.subjects.push_back({subject, own.size(), accuracy(kind, AnswerBy::total, own)});
        sum += scores.subjects.back().accuracy.value;
    }
    scores.subjectMean = sum / static_cast<double>(bySubject.size()); // NaN if there are no subjects
}

} // namespace

std::string_view name(AnswerBy by) {
    constexpr std::array names{std::string_view("acc"), std::string_view("acc_norm"), std::string_view("acc_bytes")};
    return names[static_cast<std::size_t>(by)];
}

std::size_t AnsweredQuestion::answer(AnswerBy by) const {
    return by == AnswerBy::total ? byTotal : by == AnswerBy::codePoints ? byCodePoints : byBytes;
}

bool isRight(TaskKind kind, AnswerBy by, const AnsweredQuestion& question) {
    return kind == TaskKind::lastWord ? question.scores.front().isGreedy : question.answer(by) == question.gold;
}

TaskMetric meanMetric(std::string_view id, std::span<const double> values) {
    const auto count = static_cast<double>(values.size());
    const double value = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (const double one : values)
        squares += (one - value) * (one - value);
    return {std::string(id), value, values.size() < 2 ? noScore : std::sqrt(squares / (count - 1) / count)};
}

AnsweredQuestion answered(const TaskQuestion& question, const std::vector<OptionScore>& scores) {
    return {question.line,
            question.subject,
            question.gold,
            scores,
            best(question, scores, AnswerBy::total),
            best(question, scores, AnswerBy::codePoints),
            best(question, scores, AnswerBy::bytes)};
}

const TaskMetric& TaskScores::metric(std::string_view id) const {
    const auto found = std::ranges::find(metrics, id, &TaskMetric::id);
    if (found != metrics.end())
        return *found;
    std::vector<std::string> known;
    for (const TaskMetric& metric : metrics)
        known.push_back(metric.id);
    throw UsageError(fmt::format("unknown metric of this task; the known ones are {}", join(known, ", ")),
                     std::string(id));
}

TaskScores taskScores(TaskKind kind, std::span<const AnsweredQuestion> questions) {
    if (questions.empty())
        throw Error("No questions were answered");
    TaskScores scores;
    scores.count = questions.size();
    scores.metrics.push_back(accuracy(kind, AnswerBy::total, questions));
    if (kind == TaskKind::lastWord)
        scores.metrics.push_back(questionPerplexity(questions));
    if (kind == TaskKind::choice)
        for (const AnswerBy by : {AnswerBy::codePoints, AnswerBy::bytes})
            scores.metrics.push_back(accuracy(kind, by, questions));
    addSubjects(scores, kind, questions);
    return scores;
}

PairedAnswers pairedAnswers(const std::vector<bool>& first, const std::vector<bool>& second) {
    PairedAnswers pairs;
    std::vector<double> differences;
    for (std::size_t i = 0; i < first.size(); ++i) {
        ++(first[i] ? (second[i] ? pairs.bothRight : pairs.onlyFirst)
                    : (second[i] ? pairs.onlySecond : pairs.bothWrong));
        differences.push_back((second[i] ? 1 : 0) - (first[i] ? 1 : 0));
    }
    const TaskMetric difference = meanMetric({}, differences);
    pairs.difference = difference.value;
    pairs.standardError = difference.standardError;
    return pairs;
}

PairedAnswers pairedAnswers(TaskKind kind, AnswerBy by, std::span<const AnsweredQuestion> first,
                            std::span<const AnsweredQuestion> second) {
    const bool isSame = std::ranges::equal(first, second, [](const auto& a, const auto& b) {
        return a.line == b.line && a.gold == b.gold && a.scores.size() == b.scores.size();
    });
    if (!isSame || first.empty())
        throw Error("Two runs can be compared only on the same questions in the same order");
    const auto right = [&](std::span<const AnsweredQuestion> run) {
        std::vector<bool> all;
        for (const AnsweredQuestion& question : run)
            all.push_back(isRight(kind, by, question));
        return all;
    };
    return pairedAnswers(right(first), right(second));
}

namespace {

/// The difference of perplexities. Perplexity is the exponential of the mean loss. To first order, its standard error
/// is therefore the perplexity times the standard error of the loss.
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
        throw Error("Two runs can be compared only on the same prompts in the same order");
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

bool isSameChoice(const TaskRules& a, const TaskRules& b) {
    const bool hasSameShots = a.shots.count == b.shots.count && a.shots.choice == b.shots.choice &&
                              (a.shots.choice == ShotChoice::first || a.shots.seed == b.shots.seed);
    return hasSameShots && a.limit == b.limit && (a.limit == 0 || a.seed == b.seed) && a.tokens.bos == b.tokens.bos &&
           a.tokens.mostInputs == b.tokens.mostInputs;
}

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
        throw Error("contains no questions with options", task.name);
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
        throw Error("No prompts were answered");
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
