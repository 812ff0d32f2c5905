#include "analysis/gallery/greedy_gnorm_figures.h"

#include "analysis/base/text.h"
#include "analysis/gallery/module_sizes.h"
#include "analysis/gallery/paper_parts.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/price.h"
#include "analysis/session/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

namespace secateur {

namespace {

/// Megabytes of float32 numbers, as the paper counts them.
double megabytesOf(std::int64_t parameters) {
    return static_cast<double>(parameters) * 4 / (1 << 20);
}

/// The quality before and after, as the tables print it.
struct StopQuality {
    std::string title = "Accuracy (%)"; ///< with its unit
    bool isAccuracy = true;
    double before = notMeasured;
    double after = notMeasured;
    std::string conditions; ///< for captions
};

StopQuality stopQuality(const Session& session, const GreedyStopped& stopped, const FigureOptions& options) {
    StopQuality found;
    if (!stopped.curves)
        return found;
    const PaperQuality quality = qualityOfPaper(session.model, *stopped.curves, options.at("task"));
    found.isAccuracy = quality.quantity == &yQuantity("task");
    const double unit = found.isAccuracy ? 100 : 1;
    found.title = found.isAccuracy ? "Accuracy (%)" : quality.label();
    found.before = unit * quality.dense;
    if (stopped.point)
        found.after = unit * quality.of(*stopped.point).value;
    else if (stopped.cut == 0)
        found.after = found.before;
    constexpr std::array lines{PaperLine{"gnorm_greedy", "Greedy-Gnorm", 0}};
    found.conditions = conditionsOfPaper(*stopped.curves, lines, quality);
    return found;
}

std::string greedyStopText(const GreedyStopped& stopped) {
    return fmt::format("{} of {} heads cut by gnorm_greedy; stopping rule: {}", stopped.cut, stopped.heads,
                       stopped.rule);
}

/// A note about a quality that no point has.
void noteGap(FigureTable& table, const Session& session, const GreedyStopped& stopped, const StopQuality& quality) {
    if (std::isfinite(quality.after))
        return;
    const CommandLine command{"secateur-cli", "sweep",     session.model.path,          "--strategy",
                              "gnorm_greedy", "--budgets", std::to_string(stopped.cut), "--out",
                              "SESSION.h5"};
    table.notes.push_back(
        fmt::format("No quality under the mask with {} cut heads: {}", stopped.cut, shellText(command)));
}

/// The cell of a published number; a gap if the paper has none.
TableCell publishedNumber(const std::vector<PublishedValue>& values, std::string_view row, std::string_view budget,
                          std::string_view column) {
    for (const PublishedValue& value : values)
        if (value.row == row && value.budget == budget && value.column == column)
            return publishedCell(value);
    return {};
}

std::string paperName(std::string_view name) {
    return fmt::format("{} (paper)", name);
}

double reductionOf(double before, double after) {
    return before > 0 ? 100 * (before - after) / before : notMeasured;
}

// --- tables 2 to 5 ---------------------------------------------------------------------------------------------------

TableCell countCell(std::int64_t count) {
    return numberCell(static_cast<double>(count));
}

TableRow moduleRow(const ModuleSize& module, const ModuleSize& whole) {
    TableRow row{.cells = {textCell(std::string(module.name))}};
    for (const auto& [own, all] : {std::pair(module.before, whole.before), std::pair(module.after, whole.after)}) {
        row.cells.push_back(countCell(own));
        row.cells.push_back(numberCell(100 * static_cast<double>(own) / static_cast<double>(all)));
        row.cells.push_back(numberCell(megabytesOf(own)));
    }
    return row;
}

/// The paper's name of a module. Its encoder without classifier has the name of the architecture.
std::string_view publishedModule(const std::vector<PublishedValue>& values, const ModuleSize& module) {
    static const std::set<std::string_view> others{"Model",  "Embeddings", "Encoder", "Pooler",   "Classifier",
                                                   "Weight", "Bias",       "Dense",   "Out_proj", "Accuracy"};
    if (module.name != baseModule)
        return module.name;
    const auto base =
        std::ranges::find_if(values, [](const PublishedValue& value) { return !others.contains(value.row); });
    return base == values.end() ? module.name : base->row;
}

std::optional<TableRow> publishedRow(const std::vector<PublishedValue>& values, const ModuleSize& module) {
    const std::string_view name = publishedModule(values, module);
    if (std::ranges::find(values, name, &PublishedValue::row) == values.end())
        return std::nullopt;
    TableRow row{.cells = {textCell(paperName(name))}, .isPublished = true};
    for (const std::string_view budget : {"before", "after"})
        for (const std::string_view column : {"Params", "Share (%)", "MB"})
            row.cells.push_back(publishedNumber(values, name, budget, column));
    return row;
}

/// A row of a quality. Per cent stand in the columns of shares.
TableRow qualityRow(std::string title, TableCell before, TableCell after) {
    return {.cells = {textCell(std::move(title)), {}, std::move(before), {}, {}, std::move(after), {}},
            .startsGroup = true};
}

void addQuality(FigureTable& table, const StopQuality& quality, const std::vector<PublishedValue>& values) {
    const auto shown = [&](double value) {
        return quality.isAccuracy ? numberCell(value) : textCell(std::isfinite(value) ? significant(value, 5) : "");
    };
    table.rows.push_back(qualityRow(quality.title, shown(quality.before), shown(quality.after)));
    if (values.empty())
        return;
    table.rows.push_back(qualityRow(paperName("Accuracy (%)"), publishedNumber(values, "Accuracy", "before", "%"),
                                    publishedNumber(values, "Accuracy", "after", "%")));
    table.rows.back().isPublished = true;
    table.rows.back().startsGroup = false;
}

std::vector<TableColumn> moduleColumns() {
    std::vector<TableColumn> columns{{.title = "Module", .isText = true}};
    for (const char* group : {"before", "after"}) {
        columns.push_back({.title = "Params", .decimals = 0, .group = group, .hasThousands = true});
        columns.push_back({.title = "Share (%)", .group = group});
        columns.push_back({.title = "MB", .group = group});
    }
    return columns;
}

} // namespace

Figure drawGreedyMask(const Session& session, const FigureOptions& options) {
    const GreedyStopped stopped = greedyStopped(session, options);
    const ModelSpec& spec = session.model.spec;
    Figure figure;
    figure.kind = FigureKind::heatMap;
    figure.title = session.model.name;
    figure.x.label = "head";
    figure.y.label = "layer";
    figure.cells = Matrix(spec.layers.size(), static_cast<std::size_t>(spec.maxHeads()));
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < unitsIn(spec.layers[static_cast<std::size_t>(layer)], CutUnit::head); ++head)
            figure.cells(static_cast<std::size_t>(layer), static_cast<std::size_t>(head)) =
                isCut(stopped.mask, spec, CutUnit::head, layer, head) ? 1 : 0;
    figure.scale = {"viridis", ScaleKind::linear, 0};
    figure.colour.label = "head";
    figure.colour.names = {"kept", "cut"};
    figure.caption = figureCaption(session.model, "heads kept; " + greedyStopText(stopped)) +
                     stopQuality(session, stopped, options).conditions;
    return figure;
}

Figure drawGreedySizes(const Session& session, const FigureOptions& options) {
    const GreedyStopped stopped = greedyStopped(session, options);
    const StopQuality quality = stopQuality(session, stopped, options);
    const auto parameters = PriceList(session.model).price(stopped.mask).parameters;
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    const std::string change = quality.isAccuracy ? "decrease (%)" : "increase (%)";
    const int decimals = quality.isAccuracy ? 2 : 4;
    table.columns = {{.title = "Model", .isText = true},
                     {.title = "Heads cut", .isText = true},
                     {.title = "before", .decimals = decimals, .group = quality.title},
                     {.title = "after", .decimals = decimals, .group = quality.title},
                     {.title = change, .group = quality.title},
                     {.title = "before", .group = "Size (MB)"},
                     {.title = "after", .group = "Size (MB)"},
                     {.title = "reduction (%)", .group = "Size (MB)"}};
    const double reduction = reductionOf(quality.before, quality.after);
    table.rows.push_back(
        {.cells = {
             textCell(session.model.name), textCell(fmt::format("{} of {}", stopped.cut, stopped.heads)),
             numberCell(quality.before), numberCell(quality.after),
             numberCell(quality.isAccuracy ? reduction : -reduction), numberCell(megabytesOf(parameters.all)),
             numberCell(megabytesOf(parameters.left)),
             numberCell(reductionOf(static_cast<double>(parameters.all), static_cast<double>(parameters.left)))}});
    const std::vector<PublishedValue> values =
        publishedFor("greedy_gnorm_table1", session.model, options.at("published"));
    if (!values.empty()) {
        const auto paper = [&](std::string_view column) { return publishedNumber(values, "", "", column); };
        table.rows.push_back({.cells = {textCell(paperName(values.front().model)), textCell(""),
                                        paper("Accuracy before"), paper("Accuracy after"), paper("Accuracy decrease"),
                                        paper("Size before"), paper("Size after"), paper("Size reduction")},
                              .isPublished = true});
    }
    noteGap(table, session, stopped, quality);
    table.notes.push_back("Changes are relative to the value before. 1 MB is 2^20 bytes; parameters count as float32.");
    figure.caption =
        figureCaption(session.model, "Quality and size before and after pruning; " + greedyStopText(stopped)) +
        quality.conditions;
    return figure;
}

Figure drawGreedyModules(const Session& session, const FigureOptions& options, std::string_view item) {
    const GreedyStopped stopped = greedyStopped(session, options);
    const StopQuality quality = stopQuality(session, stopped, options);
    const std::vector<PublishedValue> values = publishedFor(item, session.model, options.at("published"));
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = moduleColumns();
    const std::vector<ModuleSize> modules = moduleSizes(session.model, stopped.mask);
    for (const ModuleSize& module : modules) {
        table.rows.push_back(moduleRow(module, modules.front()));
        if (std::optional<TableRow> paper = publishedRow(values, module))
            table.rows.push_back(*std::move(paper));
    }
    addQuality(table, quality, values);
    noteGap(table, session, stopped, quality);
    table.notes.push_back("Shares are of the whole model before or after. 1 MB is 2^20 bytes; parameters count as "
                          "float32.");
    if (modules.back().name == lmHeadModule && session.model.spec.tiedEmbeddings)
        table.notes.push_back("The LM head has the weights of the embeddings, which count once.");
    figure.caption =
        figureCaption(session.model, "Parameters of the modules before and after pruning; " + greedyStopText(stopped)) +
        quality.conditions;
    return figure;
}

} // namespace secateur
