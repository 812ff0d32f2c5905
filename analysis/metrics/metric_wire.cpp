#include "analysis/metrics/metric_wire.h"

#include <utility>

namespace secateur {

void Wire<MetricRequest>::write(WireWriter& writer, const MetricRequest& request) {
    writer.put(request.info ? request.resultId() : std::string());
}

MetricRequest Wire<MetricRequest>::read(WireReader& reader) {
    const auto text = reader.get<std::string>();
    if (text.empty())
        return {};
    std::vector<MetricRequest> found = parseMetricRequests(text);
    if (found.size() != 1)
        throw Error("A message names more than one metric");
    return std::move(found.front());
}

void checkShape(const MetricResult& result, const ModelSpec& spec) {
    const auto rows = static_cast<std::size_t>(spec.layerCount());
    const auto check = [&](const Matrix& values) {
        const bool fits = result.request.info && values.rows() == rows &&
                          values.columns() == columnsFor(result.request.info->scope, spec);
        if (!fits)
            throw Error("A message has values of another model");
    };
    check(result.values);
    if (result.standardError)
        check(*result.standardError);
    for (const Matrix& values : result.overLengths)
        check(values);
    for (const MetricFeature& feature : result.features)
        check(feature.values);
    if (result.overLengths.size() != result.lengths.size())
        throw Error("A message has values of another model");
}

std::vector<MetricResult> checked(std::vector<MetricResult> results, const ModelSpec& spec) {
    for (const MetricResult& result : results)
        checkShape(result, spec);
    return results;
}

} // namespace secateur
