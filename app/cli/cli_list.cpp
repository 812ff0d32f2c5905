#include "analysis/base/text.h"
#include "analysis/campaigns/presets.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/paper.h"
#include "analysis/metrics/metric.h"
#include "analysis/strategies/strategy.h"
#include "analysis/tasks/task.h"
#include "analysis/training/training_settings.h"
#include "app/cli/cli_common.h"
#include "app/cli/list_items.h"
#include "backends/config/architectures.h"
#include "backends/formats/formats.h"
#include "backends/json/result_json.h"

#include <fmt/core.h>

#include <array>

namespace secateur::cli {

namespace {

std::vector<ListItem> metrics() {
    std::vector<ListItem> items;
    for (const MetricInfo* info : allMetrics())
        items.push_back({std::string(info->id),
                         std::string(info->summary),
                         std::string(info->source),
                         {info->options.begin(), info->options.end()},
                         {{"title", std::string(info->title)},
                          {"formula", std::string(info->formula)},
                          {"unit", std::string(info->unit)},
                          {"scope", std::string(name(info->scope))},
                          {"needs", std::string(name(info->needs))},
                          {"prune_first", std::string(name(info->pruneFirst))}}});
    return items;
}

std::vector<ListItem> strategies() {
    std::vector<ListItem> items;
    for (const StrategyInfo& info : allStrategies())
        items.push_back({std::string(info.id),
                         std::string(info.summary),
                         std::string(info.source),
                         allOptions(info),
                         {{"removes", std::string(info.removes)}, {"budget", std::string(info.budget)}}});
    return items;
}

std::vector<ListItem> architectures() {
    std::vector<ListItem> items;
    for (const ArchitectureInfo& info : allArchitectures())
        items.push_back(
            {std::string(info.id), std::string(info.summary), {}, {}, {{"family", std::string(name(info.family))}}});
    return items;
}

std::vector<ListItem> formats() {
    std::vector<ListItem> items;
    for (const FormatInfo& info : allFormats())
        items.push_back({std::string(info.id), std::string(info.summary), {}, {}, {}});
    return items;
}

std::vector<ListItem> figures() {
    std::vector<ListItem> items;
    for (const FigureInfo& info : allFigures())
        items.push_back(
            {std::string(info.id), std::string(info.summary), {}, {info.options.begin(), info.options.end()}, {}});
    return items;
}

std::vector<ListItem> tasks() {
    std::vector<ListItem> items;
    for (const TaskFormat& format : taskFormats())
        items.push_back({std::string(format.id),
                         std::string(format.summary),
                         {},
                         {},
                         {{"rows", std::string(format.fields)}, {"reported", std::string(format.metric)}}});
    return items;
}

std::vector<ListItem> presets() {
    std::vector<ListItem> items;
    for (const SweepPreset& row : allPresets())
        items.push_back({std::string(row.id),
                         std::string(row.summary),
                         std::string(row.source),
                         {},
                         {{"quick", std::string(row.quick.series)}, {"paper", std::string(row.paper.series)}}});
    return items;
}

std::vector<ListItem> recipes() {
    std::vector<ListItem> items;
    for (const TrainingRecipe& row : trainingRecipes()) {
        const TrainingSettings settings = row.settings();
        std::string targets;
        for (const WeightName target : settings.targets)
            targets += (targets.empty() ? "" : ",") + std::string(shortName(target));
        items.push_back({std::string(row.id),
                         std::string(row.summary),
                         std::string(row.source),
                         {},
                         {{"targets", targets},
                          {"learning_rate", fmt::format("{}", settings.learningRate)},
                          {"sequences", std::to_string(settings.sequencesOfStep())},
                          {"length", std::to_string(settings.length)}}});
    }
    return items;
}

std::vector<ListItem> papers() {
    std::vector<ListItem> items;
    for (const Paper& row : allPapers()) {
        std::string figures;
        for (const FigureInfo* figure : itemsOf(row))
            figures += (figures.empty() ? "" : ",") + std::string(figure->id);
        items.push_back(
            {std::string(row.id), std::string(row.title), std::string(row.source), {}, {{"figures", figures}}});
    }
    return items;
}

struct Kind {
    const char* name;
    std::vector<ListItem> (*items)();
};

constexpr std::array kinds{
    Kind{"metrics", metrics}, Kind{"strategies", strategies}, Kind{"architectures", architectures},
    Kind{"formats", formats}, Kind{"figures", figures},       Kind{"tasks", tasks},
    Kind{"presets", presets}, Kind{"recipes", recipes},       Kind{"papers", papers}};

void printItems(const std::vector<ListItem>& items) {
    Rows<2> rows;
    for (const ListItem& item : items) {
        rows.push_back({item.id, item.summary});
        for (const auto& [name, text] : item.fields)
            if (name == "rows" || name == "figures") // fields that are lists, shown like options
                rows.push_back({"", name + ": " + text});
        for (const OptionInfo& option : item.options)
            rows.push_back({fmt::format("  :{}={}", option.name, option.defaultValue), std::string(option.meaning)});
    }
    print(Table({{}, {}}, rows));
}

} // namespace

std::vector<std::string> listedIds(const std::string& kind) {
    std::vector<std::string> ids;
    for (const Kind& known : kinds)
        if (known.name == kind)
            for (const ListItem& item : known.items())
                ids.push_back(item.id);
    return ids;
}

void addList(CLI::App& program, Console& console) {
    auto kind = std::make_shared<std::string>();
    CLI::App* verb = program.add_subcommand("list", "List the metrics, strategies, formats and so on of this version");
    std::vector<std::string> names;
    for (const Kind& known : kinds)
        names.emplace_back(known.name);
    verb->add_option("KIND", *kind, join(names, ", "))->required()->check(CLI::IsMember(names));
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli list metrics --json");
    verb->callback([kind, &console] {
        for (const Kind& known : kinds)
            if (known.name == *kind && console.json)
                printJson(listJson(*kind, known.items()));
            else if (known.name == *kind)
                printItems(known.items());
    });
}

} // namespace secateur::cli
