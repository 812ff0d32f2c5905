#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/report/report_sections.h"
#include "analysis/tasks/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr int natsDecimals = 4;
constexpr double noValue = std::numeric_limits<double>::quiet_NaN();

/// The evaluations of a session with their differences from the dense model.
std::vector<Evaluation> comparedRuns(const Session& session) {
    std::vector<Evaluation> runs;
    for (const Evaluation& stored : session.evaluations)
        runs.push_back(stored.isOf("dense") ? stored : compared(session, stored));
    return runs;
}

std::string countOf(std::size_t count) {
    return grouped(static_cast<std::uint64_t>(count));
}

TableCell conditionsCell(const Evaluation& evaluation) {
    return reportWords(evaluation.device == "cpu" ? evaluation.dtype
                                                  : fmt::format("{}, {}", evaluation.dtype, evaluation.device));
}

/// Texts of runs, each once, with their runs.
struct TextRuns {
    const TextEvaluation* text;
    std::vector<const Evaluation*> runs;
};

bool isSameScoredText(const TextEvaluation& a, const TextEvaluation& b) {
    return a.digest == b.digest && a.perplexity.rules.protocol == b.perplexity.rules.protocol;
}

std::vector<TextRuns> textRuns(const std::vector<Evaluation>& runs) {
    std::vector<TextRuns> texts;
    for (const Evaluation& run : runs) {
        if (!run.text)
            continue;
        const auto same = std::ranges::find_if(
            texts, [&](const TextRuns& other) { return isSameScoredText(*other.text, *run.text); });
        if (same == texts.end())
            texts.push_back({&*run.text, {&run}});
        else
            same->runs.push_back(&run);
    }
    return texts;
}

ReportFigure textTable(const TextRuns& runs) {
    const PerplexityRules& rules = runs.text->perplexity.rules;
    const bool isPerWord = rules.protocol == TextProtocol::wordPpl;
    FigureTable table;
    table.columns = {textColumn("Mask"),
                     textColumn("Type"),
                     {.title = "Windows", .decimals = 0, .hasThousands = true},
                     {.title = "Tokens", .decimals = 0, .hasThousands = true},
                     {"Loss (nats)", natsDecimals},
                     {"Difference (nats)", natsDecimals},
                     {"Perplexity", 2}};
    for (const Evaluation* run : runs.runs) {
        const TextEvaluation& text = *run->text;
        const Perplexity& own = text.perplexity;
        table.rows.push_back(
            {{reportWords(shownRun(*run)), conditionsCell(*run), reportNumber(static_cast<double>(own.windows.size())),
              reportNumber(static_cast<double>(own.tokens)), reportNumber(own.lossNats, own.standardError),
              text.reference ? reportNumber(text.reference->difference.nats, text.reference->difference.standardError)
                             : TableCell(),
              reportNumber(own.perplexity())}});
        if (!text.isComplete())
            table.notes.push_back(fmt::format("The run of {} scored {} of {} windows.", shownLine(shownRun(*run)),
                                              countOf(own.windows.size()), countOf(text.windows)));
    }
    table.notes.push_back("Digest of the text: " + shownLine(runs.text->digest) + ".");
    std::string caption =
        fmt::format("Loss per {} on {}: {}, windows of {} tokens{}. Differences are from the dense model on the same "
                    "windows; ± are "
                    "standard errors.",
                    isPerWord ? "word" : "token", shownLine(shownSource(runs.text->source)), name(rules.protocol),
                    rules.window, rules.bos ? fmt::format(", BOS {}", name(*rules.bos)) : "");
    return tableBlock(std::move(table), std::move(caption));
}

/// A task under several masks.
struct TaskRuns {
    const TaskEvaluation* task;
    std::vector<std::pair<const Evaluation*, const TaskEvaluation*>> runs;
};

std::vector<TaskRuns> taskRuns(const std::vector<Evaluation>& runs) {
    std::vector<TaskRuns> tasks;
    for (const Evaluation& run : runs)
        for (const TaskEvaluation& task : run.tasks) {
            const auto same = std::ranges::find_if(tasks, [&](const TaskRuns& other) {
                return other.task->name == task.name && other.task->digest == task.digest &&
                       isSameChoice(other.task->rules, task.rules);
            });
            if (same == tasks.end())
                tasks.push_back({&task, {{&run, &task}}});
            else
                same->runs.emplace_back(&run, &task);
        }
    return tasks;
}

/// The difference of a metric from the dense model; empty if it is not known.
TableCell differenceCell(const TaskEvaluation& task, const std::string& metric) {
    if (task.reference)
        for (const MetricDifference& difference : task.reference->differences)
            if (difference.id == metric)
                return reportNumber(difference.value, difference.standardError);
    return {};
}

ReportFigure taskTable(const TaskRuns& task) {
    constexpr int decimals = 4;
    const TaskEvaluation& first = *task.task;
    FigureTable table;
    table.columns = {textColumn("Mask"), textColumn("Type")};
    for (const TaskMetric& metric : first.run.scores.metrics) {
        table.columns.push_back({.title = "value", .decimals = decimals, .group = metric.id});
        table.columns.push_back({.title = "difference", .decimals = decimals, .group = metric.id});
    }
    for (const auto& [run, own] : task.runs) {
        TableRow row{{reportWords(shownRun(*run)), conditionsCell(*run)}};
        for (const TaskMetric& metric : first.run.scores.metrics) {
            const TaskMetric& value = own->run.scores.metric(metric.id);
            row.cells.push_back(reportNumber(value.value, value.standardError));
            row.cells.push_back(differenceCell(*own, metric.id));
        }
        table.rows.push_back(std::move(row));
    }
    const TaskRules& rules = first.rules;
    std::string caption =
        fmt::format("Task {} (format {}): {} of {} questions{}, {}. Differences are from the dense model on the same "
                    "questions; ± are standard errors.",
                    shownLine(first.name), first.formatId, countOf(first.run.scores.count), countOf(first.questions),
                    rules.limit > 0 ? fmt::format(" drawn with seed {}", rules.seed) : "",
                    first.run.shots.empty() ? "no examples" : shownLine(first.run.shots));
    if (!first.digest.empty())
        table.notes.push_back("Digest of the questions: " + shownLine(first.digest) + ".");
    return tableBlock(std::move(table), std::move(caption));
}

TableCell speedupCell(const std::optional<Speedup>& speedup) {
    return reportNumber(speedup ? speedup->ratio : noValue);
}

void appendLatencies(ReportSection& section, const std::vector<Evaluation>& runs) {
    FigureTable table;
    table.columns = {textColumn("Mask"), textColumn("Type"), {"Prompt", 0},   {"New tokens", 0},
                     {"Runs", 0},        {"Median (s)", 2},  {"Tokens/s", 2}, {"Speed-up", 2}};
    for (const Evaluation& run : runs)
        if (const auto& latency = run.latency)
            table.rows.push_back(
                {{reportWords(shownRun(run)), conditionsCell(run), reportNumber(latency->rules.promptTokens),
                  reportNumber(latency->rules.newTokens),
                  reportNumber(static_cast<double>(latency->run.seconds.size())), reportNumber(latency->run.median()),
                  reportNumber(latency->tokensPerSecond(latency->run)), speedupCell(latency->speedup)}});
    if (!table.rows.empty())
        section.blocks.emplace_back(tableBlock(
            std::move(table), "Generation: medians over the runs. The speed-up is the ratio of the medians to "
                              "those of the reference, measured in alternation."));
}

void appendPrefills(ReportSection& section, const std::vector<Evaluation>& runs) {
    FigureTable table;
    table.columns = {textColumn("Mask"),
                     textColumn("Type"),
                     {.title = "Tokens", .decimals = 0, .hasThousands = true},
                     {"Median (s)", 3},
                     {"Speed-up", 2},
                     {.title = "Attention (s)", .decimals = 3, .group = "Sublayers"},
                     {.title = "MLP (s)", .decimals = 3, .group = "Sublayers"}};
    for (const Evaluation& run : runs)
        for (const Prefill& prefill : run.prefills) {
            const auto& parts = prefill.run.bySublayer;
            table.rows.push_back({{reportWords(shownRun(run)), conditionsCell(run), reportNumber(prefill.tokens),
                                   reportNumber(prefill.run.timing.median()), speedupCell(prefill.speedup),
                                   reportNumber(parts ? parts->attentionTotal() : noValue),
                                   reportNumber(parts ? parts->mlpTotal() : noValue)}});
        }
    if (!table.rows.empty())
        section.blocks.emplace_back(tableBlock(std::move(table), "Passes over a prompt: medians over the runs."));
}

void appendPooled(ReportSection& section, const std::vector<Evaluation>& runs) {
    FigureTable table;
    table.columns = {textColumn("Mask"),
                     textColumn("Type"),
                     textColumn("Text"),
                     {"Sequences", 0},
                     {"Relative distance", natsDecimals},
                     {"1 − cosine", natsDecimals}};
    for (const Evaluation& run : runs)
        if (const auto& pooled = run.pooled)
            table.rows.push_back(
                {{reportWords(shownRun(run)), conditionsCell(run), reportWords(shownSource(pooled->source)),
                  reportNumber(static_cast<double>(pooled->distance.sequences)),
                  reportNumber(pooled->distance.relative.value, pooled->distance.relative.standardError),
                  reportNumber(pooled->distance.cosine.value, pooled->distance.cosine.standardError)}});
    if (!table.rows.empty())
        section.blocks.emplace_back(
            tableBlock(std::move(table), "Distances of pooled outputs from those of the dense model."));
}

void appendContinuations(ReportSection& section, const std::vector<Evaluation>& runs) {
    FigureTable table;
    table.columns = {textColumn("Prompt"), textColumn("Mask"), textColumn("Continuation")};
    for (const Evaluation& run : runs)
        for (const PromptContinuation& own : run.continuations)
            table.rows.push_back({{reportWords(own.prompt.text), reportWords(shownRun(run)), reportWords(own.text)}});
    std::ranges::stable_sort(table.rows, {}, [](const TableRow& row) { return row.cells.front().text; });
    if (!table.rows.empty())
        section.blocks.emplace_back(tableBlock(std::move(table), "Continuations of prompts."));
}

} // namespace

ReportSection evaluationsSection(const Session& session) {
    const std::vector<Evaluation> runs = comparedRuns(session);
    ReportSection section;
    for (const TextRuns& text : textRuns(runs))
        section.blocks.emplace_back(textTable(text));
    for (const TaskRuns& task : taskRuns(runs))
        section.blocks.emplace_back(taskTable(task));
    appendPooled(section, runs);
    appendLatencies(section, runs);
    appendPrefills(section, runs);
    appendContinuations(section, runs);
    ReportWarnings warnings;
    for (const Evaluation& run : runs)
        warnings.add(run.warnings);
    warnings.appendTo(section);
    return section;
}

} // namespace secateur
