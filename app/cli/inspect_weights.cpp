#include "app/cli/inspect_weights.h"

#include "analysis/base/text.h"
#include "analysis/weights/checkpoint_statistics.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/base/runtime.h"
#include "backends/json/weights_json.h"
#include "backends/weights/open_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

namespace secateur::cli {

namespace {

/// "-" where there is no number.
std::string cell(double value, int digits = 4) {
    return std::isnan(value) ? "-" : significant(value, digits);
}

std::string countCell(std::int64_t count) {
    return count == 0 ? "0" : grouped(static_cast<std::uint64_t>(count));
}

std::string shapeCell(const std::vector<std::int64_t>& shape) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : shape)
        sizes.push_back(std::to_string(size));
    return join(sizes, " x ");
}

void printStatistics(const StoredTensors& tensors, const std::vector<TensorReport>& reports) {
    Rows<11> rows;
    for (const TensorReport& report : reports) {
        const StoredTensor& tensor = tensors.tensors()[report.tensor];
        const TensorStatistics s = report.statistics.value_or(TensorStatistics{});
        rows.push_back({tensor.name, tensor.type, shapeCell(tensor.shape), cell(s.mean), cell(s.sd), cell(s.norm),
                        cell(s.least), cell(s.largest), report.statistics ? countCell(s.zeros) : "-",
                        report.statistics ? countCell(s.outliers) : "-", cell(s.effectiveBits, 3)});
    }
    print(Table({{"tensor"},
                 {"type"},
                 {"shape", Align::right},
                 {"mean", Align::point},
                 {"sd", Align::point},
                 {"norm", Align::point},
                 {"least", Align::point},
                 {"largest", Align::point},
                 {"zeros", Align::right},
                 {"beyond 6 sd", Align::right},
                 {"bits", Align::point}},
                rows));
}

/// What is unusual about tensors, each in a sentence.
std::vector<std::string> statisticsNotes(const StoredTensors& tensors, const std::vector<TensorReport>& reports) {
    std::vector<std::string> notes = tensors.warnings();
    for (const TensorReport& report : reports) {
        const std::string& name = tensors.tensors()[report.tensor].name;
        if (!report.obstacle.empty())
            notes.push_back(name + " " + report.obstacle);
        else if (report.statistics->count == 0)
            notes.push_back(name + " has no numbers");
        else if (report.statistics->nan + report.statistics->infinite > 0)
            notes.push_back(fmt::format("{} contains {} NaN and {} infinite numbers", name,
                                        countCell(report.statistics->nan), countCell(report.statistics->infinite)));
    }
    return notes;
}

/// Pairs by their signal to noise, the largest difference first; then those that cannot be compared.
std::vector<PairReport> byDifference(std::vector<PairReport> reports) {
    const auto key = [](const PairReport& report) {
        return std::pair(!report.difference, report.difference ? report.difference->signalToNoise() : 0.0);
    };
    std::ranges::stable_sort(reports, [&](const PairReport& a, const PairReport& b) { return key(a) < key(b); });
    return reports;
}

void printDifferences(const std::vector<PairReport>& reports) {
    Rows<6> rows;
    for (const PairReport& report : byDifference(reports)) {
        std::array<std::string, 6> row{report.pair.name, shapeCell(report.pair.firstShape), "-", "-", "-", "-"};
        if (const auto& difference = report.difference) {
            row[2] = difference->different == 0 ? "equal" : cell(difference->signalToNoise());
            row[3] = cell(difference->relativeError());
            row[4] = cell(difference->largest);
            row[5] = countCell(difference->different);
        }
        rows.push_back(std::move(row));
    }
    print(Table({{"tensor"},
                 {"shape", Align::right},
                 {"SNR (dB)", Align::point},
                 {"relative error", Align::point},
                 {"largest", Align::point},
                 {"different", Align::right}},
                rows));
}

std::vector<std::string> namesOf(const StoredTensors& tensors, const std::vector<std::size_t>& indices) {
    constexpr std::size_t shown = 3;
    std::vector<std::string> names;
    for (const std::size_t index : indices)
        if (names.size() < shown)
            names.push_back(tensors.tensors()[index].name);
    if (indices.size() > shown)
        names.emplace_back("...");
    return names;
}

std::vector<std::string> comparisonNotes(const StoredTensors& first, const StoredTensors& second,
                                         const TensorPairs& pairs) {
    std::vector<std::string> notes = pairs.warnings;
    for (const StoredTensors* tensors : {&first, &second})
        for (const std::string& warning : tensors->warnings())
            notes.push_back(tensors->path() + ": " + warning);
    for (const TensorPair& pair : pairs.pairs)
        if (!pair.obstacle.empty())
            notes.push_back(pair.name + ": " + pair.obstacle);
    const auto add = [&](const StoredTensors& tensors, const std::vector<std::size_t>& only) {
        if (!only.empty())
            notes.push_back(fmt::format("{} in {} only: {}", counted(only.size(), "tensor"), tensors.path(),
                                        join(namesOf(tensors, only), ", ")));
    };
    add(first, pairs.onlyFirst);
    add(second, pairs.onlySecond);
    return notes;
}

/// A file that is written into a folder.
struct FolderFile {
    std::string name;
    std::string text;
};

void writeFiles(const std::string& folder, const std::vector<FolderFile>& files) {
    if (folder.empty())
        return;
    makeFolder(folder);
    AtomicFiles written;
    const auto pathOf = [&](const FolderFile& file) { return (std::filesystem::path(folder) / file.name).string(); };
    for (const FolderFile& file : files)
        written.add(pathOf(file), file.text, FileKind::csv);
    written.commit();
    for (const FolderFile& file : files)
        noteWritten(pathOf(file));
}

} // namespace

void inspectStatistics(const std::string& path, const std::string& csvFolder, const Console& console) {
    initialiseRuntime(console.threads);
    const Progress progress = console.progress();
    const auto tensors = openTensors(path, progress.part(0, 0));
    const std::vector<TensorReport> reports = checkpointStatistics(*tensors, progress);
    writeFiles(csvFolder, {{"statistics.csv", statisticsCsv(*tensors, reports)},
                           {"histograms.csv", histogramsCsv(*tensors, reports)}});
    if (console.json)
        return printJson(statisticsJson(*tensors, reports));
    printStatistics(*tensors, reports);
    printNotes(statisticsNotes(*tensors, reports));
}

void inspectComparison(const std::string& firstPath, const std::string& secondPath, const std::string& csvFolder,
                       const Console& console) {
    initialiseRuntime(console.threads);
    const Progress progress = console.progress();
    const auto first = openTensors(firstPath, progress.part(0, 0));
    const auto second = openTensors(secondPath, progress.part(0, 0));
    const TensorPairs pairs = pairTensors(*first, *second);
    const std::vector<PairReport> reports = checkpointDifferences(*first, *second, pairs, progress);
    writeFiles(csvFolder, {{"comparison.csv", differencesCsv(reports)}});
    if (console.json)
        return printJson(comparisonJson(*first, *second, pairs, reports));
    printDifferences(reports);
    printNotes(comparisonNotes(*first, *second, pairs));
}

} // namespace secateur::cli
