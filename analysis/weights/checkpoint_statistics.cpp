#include "analysis/weights/checkpoint_statistics.h"

#include "analysis/base/csv_field.h"
#include "analysis/base/text.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

namespace secateur {

namespace {

/// Progress by the size of what is done: tensors differ by five orders of magnitude.
class SizedProgress {
public:
    SizedProgress(const Progress& progress, double all)
        : m_progress(progress)
        , m_all(std::max(all, 1.0)) {}

    Progress next(double size, const std::string& name) {
        const double from = m_done / m_all;
        m_done += size;
        return m_progress.part(from, std::min(1.0, m_done / m_all)).named(name);
    }

private:
    const Progress& m_progress;
    double m_all;
    double m_done = 0;
};

double sizeOf(const StoredTensor& tensor) {
    return static_cast<double>(tensor.elements());
}

/// Empty for NaN; "inf" for infinity, as numpy and pandas read it.
std::string csvNumber(double value) {
    return std::isnan(value) ? std::string() : exactly(value);
}

std::string csvLine(const std::vector<std::string>& fields) {
    std::vector<std::string> quoted;
    for (const std::string& field : fields)
        quoted.push_back(csvField(field));
    return join(quoted, ",") + "\r\n";
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : shape)
        sizes.push_back(std::to_string(size));
    return join(sizes, " x ");
}

std::vector<std::string> statisticsFields(const TensorStatistics& s) {
    return {
        csvNumber(s.mean),          csvNumber(s.sd),
        csvNumber(s.norm),          csvNumber(s.least),
        csvNumber(s.largest),       std::to_string(s.zeros),
        std::to_string(s.nan),      std::to_string(s.infinite),
        std::to_string(s.outliers), csvNumber(s.effectiveBits),
    };
}

} // namespace

std::vector<TensorReport> checkpointStatistics(const StoredTensors& tensors, const Progress& progress,
                                               const std::function<void(const TensorReport&)>& done) {
    double all = 0;
    for (const StoredTensor& tensor : tensors.tensors())
        all += sizeOf(tensor);
    SizedProgress sized(progress, all);
    std::vector<TensorReport> reports;
    for (std::size_t index = 0; index < tensors.tensors().size(); ++index) {
        const StoredTensor& tensor = tensors.tensors()[index];
        const Progress part = sized.next(sizeOf(tensor), tensor.name);
        TensorReport report{.tensor = index, .statistics = {}, .obstacle = {}};
        if (tensor.isReadable)
            report.statistics = statisticsOf(*tensors.grid(index), part);
        else
            report.obstacle = fmt::format("is stored as {}, which is not supported", tensor.type);
        if (done)
            done(report);
        reports.push_back(std::move(report));
    }
    return reports;
}

std::vector<PairReport> checkpointDifferences(const StoredTensors& first, const StoredTensors& second,
                                              const TensorPairs& pairs, const Progress& progress,
                                              const std::function<void(const PairReport&)>& done) {
    double all = 0;
    for (const TensorPair& pair : pairs.pairs)
        all += sizeOf(first.tensors()[pair.first]);
    SizedProgress sized(progress, all);
    std::vector<PairReport> reports;
    for (const TensorPair& pair : pairs.pairs) {
        const Progress part = sized.next(sizeOf(first.tensors()[pair.first]), pair.name);
        PairReport report{.pair = pair, .difference = {}};
        if (pair.obstacle.empty())
            report.difference = compareGrids(*firstGrid(first, pair), *secondGrid(second, pair), part);
        if (done)
            done(report);
        reports.push_back(std::move(report));
    }
    return reports;
}

std::string statisticsCsv(const StoredTensors& tensors, const std::vector<TensorReport>& reports) {
    std::string csv = csvLine({"tensor", "type", "shape", "bytes", "mean", "sd", "norm", "least", "largest", "zeros",
                               "nan", "infinite", "outliers", "effective_bits", "note"});
    for (const TensorReport& report : reports) {
        const StoredTensor& tensor = tensors.tensors()[report.tensor];
        std::vector<std::string> line{tensor.name, tensor.type, shapeText(tensor.shape), std::to_string(tensor.bytes)};
        const std::vector<std::string> numbers =
            report.statistics ? statisticsFields(*report.statistics) : std::vector<std::string>(10);
        line.insert(line.end(), numbers.begin(), numbers.end());
        line.push_back(report.obstacle);
        csv += csvLine(line);
    }
    return csv;
}

std::string histogramsCsv(const StoredTensors& tensors, const std::vector<TensorReport>& reports) {
    std::string csv = csvLine({"tensor", "lower", "upper", "count"});
    for (const TensorReport& report : reports) {
        if (!report.statistics)
            continue;
        const TensorStatistics& statistics = *report.statistics;
        for (std::size_t bin = 0; bin < statistics.counts.size(); ++bin)
            csv += csvLine({tensors.tensors()[report.tensor].name, exactly(statistics.edges[bin]),
                            exactly(statistics.edges[bin + 1]), std::to_string(statistics.counts[bin])});
    }
    return csv;
}

std::string differencesCsv(const std::vector<PairReport>& reports) {
    std::string csv = csvLine({"tensor", "first_shape", "second_shape", "relative_error", "snr_db", "largest",
                               "largest_row", "largest_column", "different", "count", "not_finite", "note"});
    for (const PairReport& report : reports) {
        std::vector<std::string> line{report.pair.name, shapeText(report.pair.firstShape),
                                      shapeText(report.pair.secondShape)};
        std::vector<std::string> numbers(8);
        if (const auto& difference = report.difference)
            numbers = {csvNumber(difference->relativeError()), csvNumber(difference->signalToNoise()),
                       csvNumber(difference->largest),         std::to_string(difference->row),
                       std::to_string(difference->column),     std::to_string(difference->different),
                       std::to_string(difference->count),      std::to_string(difference->notFinite)};
        line.insert(line.end(), numbers.begin(), numbers.end());
        line.push_back(report.pair.obstacle);
        csv += csvLine(line);
    }
    return csv;
}

} // namespace secateur
