#include "backends/json/weights_json.h"

#include "backends/json/json_fields.h"

#include <cmath>

namespace secateur {

namespace {

OrderedJson statisticsFields(const TensorStatistics& statistics) {
    return {{"count", statistics.count},
            {"mean", finiteOrNull(statistics.mean)},
            {"sd", finiteOrNull(statistics.sd)},
            {"norm", finiteOrNull(statistics.norm)},
            {"least", finiteOrNull(statistics.least)},
            {"largest", finiteOrNull(statistics.largest)},
            {"zeros", statistics.zeros},
            {"nan", statistics.nan},
            {"infinite", statistics.infinite},
            {"outliers", statistics.outliers},
            {"effective_bits", finiteOrNull(statistics.effectiveBits)},
            {"histogram", {{"edges", statistics.edges}, {"counts", statistics.counts}}}};
}

OrderedJson noteOrNull(const std::string& text) {
    return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

/// Null if the tensors cannot be compared.
OrderedJson differenceFields(const PairReport& report) {
    if (!report.difference)
        return nullptr;
    const TensorDifference& difference = *report.difference;
    return {{"relative_error", finiteOrNull(difference.relativeError())},
            {"snr_db", finiteOrNull(difference.signalToNoise())},
            {"largest", difference.largest},
            {"largest_at", {difference.row, difference.column}},
            {"different", difference.different},
            {"not_finite", difference.notFinite},
            {"count", difference.count}};
}

OrderedJson checkpointFields(const StoredTensors& tensors) {
    return {{"path", tensors.path()}, {"warnings", tensors.warnings()}};
}

OrderedJson namesOf(const StoredTensors& tensors, const std::vector<std::size_t>& indices) {
    OrderedJson names = OrderedJson::array();
    for (const std::size_t index : indices)
        names.push_back(tensors.tensors()[index].name);
    return names;
}

} // namespace

std::string statisticsJson(const StoredTensors& tensors, const std::vector<TensorReport>& reports) {
    OrderedJson document = checkpointFields(tensors);
    OrderedJson list = OrderedJson::array();
    for (const TensorReport& report : reports) {
        const StoredTensor& tensor = tensors.tensors()[report.tensor];
        list.push_back({{"name", tensor.name},
                        {"dtype", tensor.type},
                        {"shape", tensor.shape},
                        {"bytes", tensor.bytes},
                        {"file", tensor.file},
                        {"statistics", report.statistics ? statisticsFields(*report.statistics) : OrderedJson(nullptr)},
                        {"note", noteOrNull(report.obstacle)}});
    }
    document["tensors"] = std::move(list);
    return jsonText(document);
}

std::string comparisonJson(const StoredTensors& first, const StoredTensors& second, const TensorPairs& pairs,
                           const std::vector<PairReport>& reports) {
    OrderedJson list = OrderedJson::array();
    for (const PairReport& report : reports)
        list.push_back({{"name", report.pair.name},
                        {"first", first.tensors()[report.pair.first].name},
                        {"second", second.tensors()[report.pair.second].name},
                        {"first_shape", report.pair.firstShape},
                        {"second_shape", report.pair.secondShape},
                        {"difference", differenceFields(report)},
                        {"note", noteOrNull(report.pair.obstacle)}});
    const OrderedJson document = {{"first", checkpointFields(first)},
                                  {"second", checkpointFields(second)},
                                  {"pairs", std::move(list)},
                                  {"only_first", namesOf(first, pairs.onlyFirst)},
                                  {"only_second", namesOf(second, pairs.onlySecond)},
                                  {"warnings", pairs.warnings}};
    return jsonText(document);
}

} // namespace secateur
