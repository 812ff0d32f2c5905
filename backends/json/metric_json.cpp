#include "backends/json/metric_json.h"

#include <cmath>

namespace secateur {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson valueNumber(double value) {
    return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

/// One number per layer, or one list of the cells that the layer has.
OrderedJson values(const Matrix& matrix, Scope scope, const ModelSpec& spec) {
    OrderedJson rows = OrderedJson::array();
    for (std::size_t layer = 0; layer < matrix.rows(); ++layer) {
        if (scope == Scope::layer) {
            rows.push_back(valueNumber(matrix(layer, 0)));
            continue;
        }
        OrderedJson cells = OrderedJson::array();
        for (std::size_t cell = 0; cell < cellsInLayer(scope, spec.layers[layer]); ++cell)
            cells.push_back(valueNumber(matrix(layer, cell)));
        rows.push_back(std::move(cells));
    }
    return rows;
}

/// For each length of prefixes, where there are such.
OrderedJson allValues(const MetricResult& result, const ModelSpec& spec) {
    const Scope scope = result.request.info->scope;
    if (result.lengths.empty())
        return values(result.values, scope, spec);
    OrderedJson all = OrderedJson::array();
    for (const Matrix& own : result.overLengths)
        all.push_back(values(own, scope, spec));
    return all;
}

/// The values of a metric that names classes, by their names.
OrderedJson classesOf(const MetricResult& result, const ModelSpec& spec) {
    const auto names = result.request.info->classes;
    OrderedJson rows = OrderedJson::array();
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer) {
        OrderedJson cells = OrderedJson::array();
        for (std::size_t cell = 0; cell < cellsInLayer(result.request.info->scope, spec.layers[layer]); ++cell) {
            const double value = result.values(layer, cell);
            const bool isClass = value >= 0 && value < static_cast<double>(names.size());
            cells.push_back(isClass ? OrderedJson(names[static_cast<std::size_t>(value)]) : OrderedJson(nullptr));
        }
        rows.push_back(std::move(cells));
    }
    return rows;
}

} // namespace

nlohmann::ordered_json metricFields(const MetricResult& result, const ModelSpec& spec) {
    const MetricInfo& info = *result.request.info;
    OrderedJson fields{{"scope", name(info.scope)},
                {"prune_first", name(info.pruneFirst)},
                {"unit", info.unit},
                {"values", allValues(result, spec)}};
    if (!result.lengths.empty())
        fields["lengths"] = result.lengths;
    if (!info.classes.empty())
        fields["classes"] = classesOf(result, spec);
    for (const MetricFeature& feature : result.features)
        fields["features"][feature.name] = values(feature.values, info.scope, spec);
    if (result.data)
        fields["is_complete"] = result.isWhole;
    if (result.standardError)
        fields["standard_error"] = values(*result.standardError, info.scope, spec);
    fields["options"] = OrderedJson::object();
    for (const auto& [option, value] : result.request.options)
        fields["options"][option] = value;
    fields["seconds"] = result.seconds;
    return fields;
}

nlohmann::ordered_json dataFields(const MeasuredData& data, const std::string& digest) {
    return {{"source", data.source},        {"digest", digest},
            {"sequences", data.sequences},  {"tokens", data.tokens},
            {"all_tokens", data.allTokens}, {"sequence_length", data.sequenceLength},
            {"split", data.split},          {"bos", data.bos}};
}

} // namespace secateur
