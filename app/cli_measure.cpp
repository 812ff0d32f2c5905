#include "analysis/figure.h"
#include "analysis/statistics.h"
#include "analysis/text.h"
#include "app/cli_common.h"
#include "backends/atomic_file.h"
#include "backends/result_json.h"
#include "backends/session_hdf5.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>

namespace secateur::cli {

namespace {

struct Arguments {
    std::string path;
    std::string metrics;
    std::string out;
    std::string csv;
};

std::int64_t peakBytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::int64_t>(usage.ru_maxrss) * 1024; // Linux counts kilobytes
}

std::string csvText(const MetricResult& result, const ModelSpec& spec) {
    const Scope scope = result.request.info->scope;
    const std::string cellName = scope == Scope::layer ? "" : std::string(name(scope)) + ",";
    std::string csv = fmt::format("layer,{}value\r\n", cellName);
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer)
        for (std::size_t cell = 0; cell < cellsInLayer(scope, spec.layers[layer]); ++cell)
            csv += fmt::format("{},{}{}\r\n", layer, cellName.empty() ? "" : fmt::format("{},", cell),
                               exactly(result.values(layer, cell)));
    return csv;
}

/// Before the work, so that hours of it are not lost to a folder that cannot be made.
void makeFolder(const std::string& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        throw Error("the folder cannot be made: " + failure.message(), folder);
    checkCanWrite((std::filesystem::path(folder) / "trial.csv").string());
}

void writeCsv(const std::string& folder, const std::vector<MetricResult>& results, const ModelSpec& spec) {
    for (const MetricResult& result : results)
        writeWhole((std::filesystem::path(folder) / (fileForm(result.request.resultId()) + ".csv")).string(),
                   csvText(result, spec));
}

/// A row per layer; metrics of several cells as their mean (of neurons, whose tails are long, the median), least and
/// greatest.
void printTable(const std::vector<MetricResult>& results, const ModelSpec& spec) {
    std::vector<std::vector<std::string>> rows(spec.layers.size() + 1);
    const auto addColumn = [&](const std::string& header, auto textOf) {
        rows[0].push_back(header);
        for (std::size_t layer = 0; layer < spec.layers.size(); ++layer)
            rows[layer + 1].push_back(textOf(layer));
    };
    addColumn("layer", [](std::size_t layer) { return std::to_string(layer); });
    for (const MetricResult& result : results) {
        const MetricInfo& info = *result.request.info;
        const auto cells = [&](std::size_t layer) { return result.values.row(layer); };
        const auto number = [](double value) { return significant(value, 4); };
        const std::string header =
            result.request.resultId() + (info.unit.empty() ? "" : fmt::format(" ({})", info.unit));
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
    fmt::print("{}", table(rows, std::vector<Align>(rows[0].size(), Align::point)));
}

void measureVerb(const Arguments& arguments, const Console& console) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<MetricRequest> requests = parseMetricRequests(arguments.metrics);
    Session session;
    {
        const Progress progress = console.progress();
        const auto model = open(arguments.path, console, progress.part(0, 0));
        session.model = fullCard(*model);
        if (!arguments.out.empty())
            checkCanAdd(session.model, arguments.out);
        if (!arguments.csv.empty())
            makeFolder(arguments.csv);
        session.results = measured(*model, requests, progress);
        session.created = utcNow();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    spdlog::info("measured {} in {:.2f} s", arguments.metrics, seconds);

    if (!arguments.out.empty())
        addToSession(session, arguments.out);
    if (!arguments.csv.empty())
        writeCsv(arguments.csv, session.results, session.model.spec);
    if (console.json) {
        fmt::print("{}\n", measureJson(session.model, session.results, seconds, peakBytes()));
        return;
    }
    printTable(session.results, session.model.spec);
    for (const std::string& warning : session.model.warnings)
        fmt::print(stderr, "note: {}\n", warning);
    for (const MetricResult& result : session.results)
        for (const std::string& warning : result.warnings)
            fmt::print(stderr, "note: {}: {}\n", result.request.resultId(), warning);
}

} // namespace

void addMeasure(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* verb = program.add_subcommand("measure", "Compute metrics of a checkpoint");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--metric", arguments->metrics,
                     "ID[:key=value]... by comma, or a group: weights, all (see: list metrics)")
        ->required();
    verb->add_option("--out", arguments->out, "Session .h5 to write, or to add to");
    verb->add_option("--csv", arguments->csv, "Folder for one CSV file per result");
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli measure Llama-3.1-8B --metric weights,gate_norm:fold_norm=true --out llama.h5");
    verb->callback([arguments, &console] { measureVerb(*arguments, console); });
}

} // namespace secateur::cli
