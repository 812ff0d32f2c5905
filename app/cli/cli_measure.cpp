#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/figures/figure.h"
#include "app/cli/cli_common.h"
#include "app/cli/measure_text.h"
#include "app/cli/ranks.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/engine/memory_check.h"
#include "backends/json/result_json.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace secateur::cli {

namespace {

struct MeasureArguments {
    std::string path;
    std::string metrics;
    RunOptions run;
    MeasureOptions text;
    std::string out;
    std::string csv;
    bool force = false;
};

/// CSV lines, one for each cell: the cell's place, then value, class and features.
std::string csvRows(const MetricResult& result, const Matrix& values, const std::string& prefix,
                    const ModelSpec& spec) {
    const MetricInfo& info = *result.request.info;
    std::string csv;
    for (std::size_t layer = 0; layer < values.rows(); ++layer)
        for (std::size_t cell = 0; cell < cellsInLayer(info.scope, spec.layers[layer]); ++cell) {
            const double value = values(layer, cell);
            csv += fmt::format("{}{},{}{}", prefix, layer, info.scope == Scope::layer ? "" : fmt::format("{},", cell),
                               exactly(value));
            if (!info.classes.empty())
                csv += fmt::format(",{}", value >= 0 ? info.classes[static_cast<std::size_t>(value)] : "");
            for (const MetricFeature& feature : result.features)
                csv += "," + exactly(feature.values(layer, cell));
            csv += "\r\n";
        }
    return csv;
}

std::string csvText(const MetricResult& result, const ModelSpec& spec) {
    const MetricInfo& info = *result.request.info;
    std::string csv = fmt::format("{}layer,{}value", result.lengths.empty() ? "" : "length,",
                                  info.scope == Scope::layer ? "" : std::string(name(info.scope)) + ",");
    csv += info.classes.empty() ? "" : ",class";
    for (const MetricFeature& feature : result.features)
        csv += "," + feature.name;
    csv += "\r\n";
    if (result.lengths.empty())
        return csv + csvRows(result, result.values, {}, spec);
    for (std::size_t i = 0; i < result.lengths.size(); ++i)
        csv += csvRows(result, result.overLengths[i], fmt::format("{},", result.lengths[i]), spec);
    return csv;
}

std::string csvPath(const std::string& folder, const MetricRequest& request) {
    return (std::filesystem::path(folder) / (fileForm(request.resultId()) + ".csv")).string();
}

/// Creates the folder for results, and checks that their files can be written there. Called before measuring, so that
/// no long work is lost.
void prepareFolder(const std::string& folder, const std::vector<MetricRequest>& requests, bool force) {
    makeFolder(folder);
    for (const MetricRequest& request : requests)
        checkCanWrite(csvPath(folder, request), FileKind::csv, force);
}

/// Writes the session and the CSV files: all, or none if the disk is full.
void keep(const MeasureArguments& arguments, const Session& session) {
    AtomicFiles tables;
    if (!arguments.csv.empty())
        for (const MetricResult& result : session.results)
            tables.add(csvPath(arguments.csv, result.request), csvText(result, session.model.spec), FileKind::csv,
                       arguments.force);
    if (!arguments.out.empty()) {
        addToSession(session, arguments.out);
        noteWritten(arguments.out);
    }
    tables.commit();
    if (!arguments.csv.empty())
        noteWritten(arguments.csv);
}

/// Adds a column for each class, with the number of cells of that class.
template <typename AddColumn>
void addClassColumns(const MetricResult& result, const AddColumn& addColumn) {
    const auto classes = result.request.info->classes;
    for (std::size_t i = 0; i < classes.size(); ++i)
        addColumn(i == 0 ? result.request.resultId() + " " + std::string(classes[i]) : std::string(classes[i]),
                  [&](std::size_t layer) {
                      return std::to_string(std::ranges::count(result.values.row(layer), static_cast<double>(i)));
                  });
}

/// Prints a row for each layer. A metric with classes has a column for each class. Any other metric with several cells
/// per layer has the columns mean, minimum and maximum. For neurons the first column is the median, because their
/// distributions have long tails.
void printTable(const std::vector<MetricResult>& results, const ModelSpec& spec) {
    Table table(spec.layers.size());
    const auto addColumn = [&](const std::string& title, const auto& textOf) {
        table.add({title, Align::point}, textOf);
    };
    addColumn("layer", [](std::size_t layer) { return std::to_string(layer); });
    for (const MetricResult& result : results) {
        const MetricInfo& info = *result.request.info;
        const auto cells = [&](std::size_t layer) { return result.values.row(layer); };
        const auto number = [](double value) { return significant(value, 4); };
        const std::string header =
            result.request.resultId() + (info.unit.empty() ? "" : fmt::format(" ({})", info.unit));
        if (!info.classes.empty()) {
            addClassColumns(result, addColumn);
            continue;
        }
        if (info.scope == Scope::layer) {
            addColumn(header, [&](std::size_t layer) { return number(cells(layer)[0]); });
            continue;
        }
        if (info.scope == Scope::neuron)
            addColumn(header + " median", [&](std::size_t layer) { return number(percentile(cells(layer), 50)); });
        else
            addColumn(header + " mean", [&](std::size_t layer) { return number(finiteMean(cells(layer))); });
        addColumn("min", [&](std::size_t layer) { return number(finiteRange(cells(layer)).first); });
        addColumn("max", [&](std::size_t layer) { return number(finiteRange(cells(layer)).second); });
    }
    print(table);
}

/// The measured results, the mask under which they were measured, and warnings.
struct Measured {
    Session session;
    EvaluatedMask mask;
    std::vector<std::string> notes;
};

/// Opens the model. @param runs whether a metric runs the model. If so, plans the model under the mask
ReadyModel opened(const MeasureArguments& arguments, bool runs, const Console& console, const Progress& progress) {
    if (runs)
        return openToRun(arguments.path, arguments.run, console, progress);
    ReadyModel ready;
    ready.model = openAdapted(arguments.path, arguments.run, console, progress, ready.warnings);
    checkProducts(*ready.model);
    const std::vector<std::string>& more = ready.model->card().warnings;
    ready.warnings.insert(ready.warnings.begin(), more.begin(), more.end());
    return ready;
}

Measured measureRequests(const MeasureArguments& arguments, const Console& console) {
    const std::vector<MetricRequest> requests = parseMetricRequests(arguments.metrics);
    const bool runs = std::ranges::any_of(requests, runsModel);
    const Progress progress = console.progress();
    Measured all;
    ReadyModel ready = opened(arguments, runs, console, progress.part(0, 0));
    all.session.model = fullCard(*ready.model);
    if (!arguments.out.empty() && writesResults())
        checkCanAdd(all.session.model, arguments.out);
    if (!arguments.csv.empty() && writesResults())
        prepareFolder(arguments.csv, requests, arguments.force);
    all.session.results = measureAll(ready, arguments.text, requests, console, progress);
    if (ready.mask) {
        all.mask = {std::filesystem::path(arguments.run.mask).filename().string(), maskDigest(ready.mask->mask)};
        if (!ready.mask->mask.keepsAll())
            all.session.masks.push_back({all.mask.name, all.mask.digest, *ready.mask});
        if (!std::ranges::all_of(requests, runsModel))
            ready.warnings.emplace_back("metrics of weights are of the whole model and ignore the mask");
    }
    addOverwrittenFiles(*ready.model, ready.warnings);
    all.notes = ready.warnings;
    all.session.created = utcNow();
    return all;
}

/// Runs the verb `measure`. @returns false if it was stopped
bool measureVerb(const MeasureArguments& arguments, const Console& console) {
    const auto begin = std::chrono::steady_clock::now();
    const Measured all = measureRequests(arguments, console);
    const Session& session = all.session;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    spdlog::info("measured {} in {:.2f} s", arguments.metrics, seconds);

    if (writesResults())
        keep(arguments, session);
    const bool isWhole = std::ranges::all_of(session.results, &MetricResult::isWhole);
    if (console.json) {
        printJson(measureJson(session.model, session.results, all.mask, seconds, peakBytes(), all.notes));
        return isWhole;
    }
    printTable(session.results, session.model.spec);
    printNotes(all.notes);
    for (const MetricResult& result : session.results)
        for (const std::string& warning : result.warnings)
            printNote("{}: {}", result.request.resultId(), warning);
    return isWhole;
}

} // namespace

void addMeasure(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<MeasureArguments>();
    CLI::App* verb = program.add_subcommand("measure", "Compute metrics of a checkpoint");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option(
            "--metric", arguments->metrics,
            "ID[:key=value]..., separated by commas, or a group: weights, forward, gradient, ablation, all = all "
            "that are not slow (see: list metrics)")
        ->required()
        ->check(offersIds("metrics", Several::byComma, {"weights", "forward", "gradient", "ablation", "all"}));
    addMaskOption(*verb, arguments->run);
    addMeasureOptions(*verb, arguments->text);
    addRunOptions(*verb, arguments->run);
    verb->add_option("--out", arguments->out, "Session .h5 to write, or to add to")->option_text("FILE");
    verb->add_option("--csv", arguments->csv, "Folder for one CSV file per result")->option_text("DIR");
    addForceOption(*verb, arguments->force);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli measure Llama-3.1-8B --metric weights,gate_norm:fold_norm=true --out llama.h5");
    verb->callback([arguments, &console] { console.isIncomplete = !measureVerb(*arguments, console); });
}

} // namespace secateur::cli
