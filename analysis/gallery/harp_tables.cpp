#include "analysis/base/text.h"
#include "analysis/gallery/harp_items.h"
#include "analysis/gallery/paper_tables.h"
#include "analysis/gallery/published.h"
#include "analysis/masks/price.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace secateur::harp {

namespace {

Budget layersBudget(int layers) {
    return {static_cast<double>(layers), false, BudgetOf::own};
}

const PointColumn textColumn{.title = "Perplexity", .metric = "perplexity", .isLowBetter = true};

/// A method of a table, with the result id of its strategy; empty = the dense model.
struct Method {
    std::string_view label;
    std::string_view strategy;
    bool startsGroup = false;
};

/// A row at a number of bypassed layers. In the paper's models these are 8 layers, which its numbers belong to.
PointRow bypassRow(const Method& method, int layers) {
    PointRow row;
    const bool isDense = method.strategy.empty();
    row.lead = {textCell(std::string(method.label)), textCell(isDense ? "0" : counted(layers, "layer"))};
    if (!isDense)
        row.points = {.strategy = std::string(method.strategy), .budget = layersBudget(layers)};
    row.paperBudget = isDense ? "0" : "8";
    row.startsGroup = method.startsGroup;
    return row;
}

PointRow baselineRow(const Session& session, const Method& method) {
    const Budget budget = baselineBudget(session, method.strategy);
    PointRow row;
    row.lead = {textCell(std::string(method.label)), textCell(fmt::format("{} %", exactly(budget.amount)))};
    row.points = {.strategy = std::string(method.strategy), .budget = budget};
    row.startsGroup = method.startsGroup;
    return row;
}

/// The rows that compare methods: dense, one-shot baselines, HARP alone and with FLAP on the MLPs.
std::vector<PointRow> methodRows(const Session& session) {
    const int layers = heldLayers(session);
    std::vector<PointRow> rows{bypassRow({"Dense", ""}, 0)};
    for (const Method& method :
         {Method{"Mag-SP", "mag_sp", true}, Method{"Wanda-SP", "wanda_sp"}, Method{"FLAP", "flap"}})
        rows.push_back(baselineRow(session, method));
    rows.push_back(bypassRow({"HARP", top, true}, layers));
    rows.push_back(bypassRow({"HARP, FLAP on MLPs", topWithFlap}, layers));
    return rows;
}

PointTable tableOf(std::string_view item, std::string_view step, const FigureOptions& options, std::string what) {
    PointTable table;
    table.item = item;
    table.paper = paperId;
    table.step = step;
    const auto published = options.find("published");
    table.published = published == options.end() ? "none" : std::string_view(published->second);
    table.what = std::move(what);
    table.lead = {{.title = "Method", .isText = true}, {.title = "Cut", .isText = true}};
    table.columns = {textColumn};
    table.budgetColumn = 1;
    return table;
}

void append(std::vector<PointColumn>& columns, std::vector<PointColumn> more) {
    std::ranges::move(more, std::back_inserter(columns));
}

PointColumn averageColumn(std::string title, std::string group = {}) {
    return {.title = std::move(title), .group = std::move(group), .isAverage = true};
}

// --- seconds ---------------------------------------------------------------------------------------------------------

bool isBypassed(const SessionMask& mask) {
    return mask.record.provenance && mask.record.provenance->strategy == top;
}

/// The latest mask of HARP under which passes were timed, or the one that the option names.
const SessionMask& timedMask(const Session& session, const std::string& name) {
    const SessionMask* found = nullptr;
    for (const Evaluation& evaluation : session.evaluations) {
        const SessionMask* mask = evaluation.prefills.empty() ? nullptr : session.mask(evaluation.mask.digest);
        if (mask && (name.empty() ? isBypassed(*mask) : mask->name == name))
            found = mask;
    }
    if (!found)
        throw lacking(session,
                      name.empty() ? "times of passes under a mask of harp"
                                   : fmt::format("times of passes under a mask \"{}\"", name),
                      paperId, "speed");
    return *found;
}

/// The medians of passes over a number of tokens, in seconds; NaN = not timed.
struct PassTimes {
    double dense = notMeasured;
    double bypassed = notMeasured;
};

std::map<int, PassTimes> passTimes(const Session& session, const std::string& digest) {
    std::map<int, PassTimes> times;
    for (const Evaluation& evaluation : session.evaluations)
        if (evaluation.isOf(digest))
            for (const Prefill& prefill : evaluation.prefills) {
                PassTimes& own = times[prefill.tokens];
                own.bypassed = prefill.run.timing.median();
                const bool isDense = evaluation.timedAgainst.digest == "dense";
                own.dense = prefill.reference && isDense ? prefill.reference->timing.median() : notMeasured;
            }
    for (const Evaluation& evaluation : session.evaluations)
        if (evaluation.isOf("dense"))
            for (const Prefill& prefill : evaluation.prefills)
                if (const auto found = times.find(prefill.tokens);
                    found != times.end() && std::isnan(found->second.dense))
                    found->second.dense = prefill.run.timing.median();
    return times;
}

/// How much a mask cuts of the weights of attention and MLPs, in per cent.
double layerShareCut(const Session& session, const PruningMask& mask) {
    const Share<std::int64_t> weights = PriceList(session.model).price(mask).layerParameters;
    return weights.all > 0 ? 100 * static_cast<double>(weights.saved()) / static_cast<double>(weights.all)
                           : notMeasured;
}

/// "8 layers bypassed, 3 of them with alpha 0"
std::string bypassText(const PruningMask& mask) {
    int bypassed = 0;
    int dropped = 0;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (mask.layer(layer).attention == AttentionCut::bypassQk) {
            ++bypassed;
            dropped += mask.layer(layer).alpha == 0 ? 1 : 0;
        }
    return fmt::format("{} bypassed, {} of them with alpha 0", counted(bypassed, "layer"), dropped);
}

/// A row of the paper: its speed-up, which may be either of the two.
void addPublishedSpeed(FigureTable& table, const Session& session, const std::string& choice) {
    constexpr std::string_view speedColumn = "speed-up % at 65536";
    for (const PublishedValue& value : publishedFor("harp_speed", session.model, choice)) {
        if (value.column != speedColumn) {
            table.notes.push_back(fmt::format("Paper: {} {}.", value.column, exactly(value.value)));
            continue;
        }
        TableRow& row = table.rows.emplace_back();
        row.isPublished = true;
        row.cells = {textCell("65,536 (paper)"), {}, {}, numberCell(value.value), numberCell(value.value)};
        row.cells[3].isDoubtful = row.cells[4].isDoubtful = true;
        table.notes.emplace_back("The paper prints one speed-up, which may be either of the two.");
    }
}

} // namespace

std::vector<Task> choiceTasks() {
    return {{"WinoGrande", "winogrande.jsonl", "winogrande", "acc", 5},
            {"ARC-c", "arc_challenge.jsonl", "", "acc_norm", 25},
            {"BoolQ", "boolq.jsonl", "boolq", "acc", 0},
            {"OBQA", "openbook_qa.jsonl", "openbookqa", "acc_norm", 0},
            {"PIQA", "piqa.jsonl", "piqa", "acc_norm", 0},
            {"MMLU", "mmlu", "mmlu", "acc", 5}};
}

std::vector<Task> generationTasks() {
    return {{"NQ", "nq_open.jsonl", "", "exact_match", 5},
            {"TriviaQA", "triviaqa.jsonl", "", "exact_match", 5},
            {"GSM8K", "gsm8k.jsonl", "", "exact_match", 5},
            {"MATH", "math_hard.jsonl", "", "exact_match", 4},
            {"BBH", "bbh_cot.jsonl", "", "exact_match", 3}};
}

std::vector<Task> longTextTasks() {
    return {{"NrtvQA", "narrativeqa.jsonl", "", "f1"},         {"Qasper", "qasper.jsonl", "", "f1"},
            {"MF-en", "multifieldqa_en.jsonl", "", "f1"},      {"HotpotQA", "hotpotqa.jsonl", "", "f1"},
            {"2WikiMQA", "2wikimqa.jsonl", "", "f1"},          {"Musique", "musique.jsonl", "", "f1"},
            {"TriviaQA", "longbench_triviaqa.jsonl", "", "f1"}};
}

std::vector<PointColumn> columnsOf(const std::vector<Task>& tasks, std::string group) {
    std::vector<PointColumn> columns;
    for (const Task& task : tasks)
        columns.push_back({.title = std::string(task.title),
                           .task = task.file,
                           .format = task.format,
                           .metric = task.metric,
                           .factor = 100,
                           .group = group});
    return columns;
}

Figure resultsTable(const Session& session, const FigureOptions& options) {
    PointTable table =
        tableOf("harp_results", "baselines", options, "Scores (per cent) of HARP and of one-shot baselines");
    append(table.columns, columnsOf(choiceTasks(), "Choice"));
    table.columns.push_back(averageColumn("choice Avg", "Choice"));
    append(table.columns, columnsOf(generationTasks(), "Generation"));
    table.columns.push_back(averageColumn("generation Avg", "Generation"));
    table.rows = methodRows(session);
    Figure figure = pointTable(session, table);
    figure.caption += " The paper's HARP also cuts 1 to 2 % of the MLP neurons by FLAP; both are shown.";
    return figure;
}

Figure longTextTable(const Session& session, const FigureOptions& options) {
    PointTable table = tableOf("harp_longbench", "longbench", options, "F1 (per cent) on tasks with long texts");
    append(table.columns, columnsOf(longTextTasks(), "LongBench, F1"));
    table.columns.push_back(averageColumn("Avg", "LongBench, F1"));
    table.rows = methodRows(session);
    Figure figure = pointTable(session, table);
    figure.caption += " Only the columns that the paper scores by F1 are shown.";
    return figure;
}

Figure positionsTable(const Session& session, const FigureOptions& options) {
    constexpr std::array methods{Method{"Top", top, true},
                                 Method{"Middle", middle},
                                 Method{"Bottom", bottom},
                                 Method{"Similarity", similar},
                                 Method{"Top, alpha = 1", topUnscaled, true},
                                 Method{"Middle, alpha = 1", middleUnscaled},
                                 Method{"Bottom, alpha = 1", bottomUnscaled},
                                 Method{"Similarity, alpha = 1", similarUnscaled}};
    PointTable table =
        tableOf("harp_positions", "positions", options, "Scores (per cent) by the place of the bypassed layers");
    append(table.columns, columnsOf(choiceTasks(), ""));
    append(table.columns, columnsOf(generationTasks(), ""));
    table.columns.push_back(averageColumn("Avg"));
    const int layers = heldLayers(session);
    table.rows.push_back(bypassRow({"Dense", ""}, 0));
    for (const Method& method : methods)
        table.rows.push_back(bypassRow(method, layers));
    Figure figure = pointTable(session, table);
    figure.caption += " Alpha is searched unless it is given. The paper's Hessian-8 is not defined and left out.";
    return figure;
}

Figure rescalingTable(const Session& session, const FigureOptions& options) {
    PointTable table = tableOf("harp_rescaling", "generation", options,
                               "Generated answers (exact match, per cent) with and without rescaling");
    append(table.columns, columnsOf(generationTasks(), ""));
    table.columns.push_back(averageColumn("generation Avg"));
    const int layers = heldLayers(session);
    table.rows = {bypassRow({"Dense", ""}, 0), bypassRow({"HARP, alpha searched", top, true}, layers),
                  bypassRow({"HARP, alpha = 1", topUnscaled}, layers)};
    return pointTable(session, table);
}

Figure speedTable(const Session& session, const FigureOptions& options) {
    const SessionMask& mask = timedMask(session, options.at("mask"));
    const std::map<int, PassTimes> times = passTimes(session, mask.digest);
    const bool isShort = std::ranges::all_of(times, [](const auto& one) { return !(one.second.bypassed >= 1); });
    const int decimals = isShort ? 4 : 2;
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = {{.title = "Tokens", .decimals = 0, .hasThousands = true},
                     {.title = "Dense (s)", .decimals = decimals},
                     {.title = "HARP (s)", .decimals = decimals},
                     {.title = "1 − t/t₀ (%)", .decimals = 1},
                     {.title = "t₀/t − 1 (%)", .decimals = 1}};
    for (const auto& [tokens, time] : times)
        table.rows.push_back(
            {{numberCell(tokens), numberCell(time.dense), numberCell(time.bypassed),
              numberCell(100 * (1 - time.bypassed / time.dense)), numberCell(100 * (time.dense / time.bypassed - 1))}});
    table.notes.push_back(fmt::format("{}: {:.2f} % of the weights of attention and MLPs are cut.",
                                      bypassText(mask.record.mask), layerShareCut(session, mask.record.mask)));
    addPublishedSpeed(table, session, options.at("published"));
    figure.caption = figureCaption(
        session.model, fmt::format("Seconds of a pass over a prompt, t0 dense and t under the mask {}", mask.name));
    figure.caption += " Medians over the runs, batch size 1.";
    return figure;
}

} // namespace secateur::harp
