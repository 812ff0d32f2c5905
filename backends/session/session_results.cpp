#include "backends/session/session_parts.h"

#include "analysis/base/error.h"
#include "analysis/metrics/ablation_parts.h"
#include "backends/session/provenance_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <mutex>
#include <optional>

namespace secateur {

namespace {

using hdf5::Handle;

constexpr const char* errorSuffix = ".standard_error";

constexpr std::array scopes{Scope::layer, Scope::head, Scope::kvGroup, Scope::neuron};
constexpr std::array kindsOfNeed{Needs::weights, Needs::forward, Needs::gradient, Needs::ablation};
constexpr std::array ends{PruneFirst::low, PruneFirst::high, PruneFirst::neither};

template <typename Enum, std::size_t count>
Enum readName(const std::array<Enum, count>& known, const Handle& dataset, const char* attribute) {
    const std::string text = hdf5::readText(dataset, attribute);
    const auto found = std::find_if(known.begin(), known.end(), [&](Enum value) { return name(value) == text; });
    if (found == known.end())
        throw Error(fmt::format("holds the unknown value \"{}\"", text), attribute, "Open it with a newer Secateur");
    return *found;
}

/// A metric that this version does not know: a row of the metric table, made from the session.
struct ForeignMetric {
    std::string id;
    std::string title;
    std::string summary;
    std::string formula;
    std::string unit;
    std::string source;
    MetricInfo info{};
};

/// The row for an unknown metric. It exists until the program ends, because results point to the row of their metric.
const MetricInfo* foreignMetric(const std::string& id, const Handle& dataset) {
    ForeignMetric metric{id,
                         hdf5::readText(dataset, "title"),
                         hdf5::readText(dataset, "summary"),
                         hdf5::readText(dataset, "formula"),
                         hdf5::readText(dataset, "unit"),
                         hdf5::readText(dataset, "source")};
    metric.info.scope = readName(scopes, dataset, "scope");
    metric.info.needs = readName(kindsOfNeed, dataset, "needs");
    metric.info.pruneFirst = readName(ends, dataset, "prune_first");
    metric.info.ranks = unitOfColumns(metric.info.scope);

    static std::mutex mutex;
    static std::deque<ForeignMetric> metrics; // a deque does not move its elements
    const std::lock_guard guard(mutex);
    const auto same = std::find_if(metrics.begin(), metrics.end(), [&](const ForeignMetric& m) {
        return m.id == metric.id && m.title == metric.title && m.summary == metric.summary &&
               m.formula == metric.formula && m.unit == metric.unit && m.source == metric.source &&
               m.info.scope == metric.info.scope && m.info.needs == metric.info.needs &&
               m.info.pruneFirst == metric.info.pruneFirst;
    });
    if (same != metrics.end())
        return &same->info;
    ForeignMetric& kept = metrics.emplace_back(std::move(metric));
    kept.info.id = kept.id;
    kept.info.title = kept.title;
    kept.info.summary = kept.summary;
    kept.info.formula = kept.formula;
    kept.info.unit = kept.unit;
    kept.info.source = kept.source;
    return &kept.info;
}

/// Reads the request of a result. Options are not checked, because another version may have other options.
MetricRequest readRequest(const Handle& dataset) {
    ParsedRequest parsed = parseRequest(hdf5::readText(dataset, "result_id"));
    const MetricInfo* info = findMetric(parsed.id);
    if (!info)
        info = foreignMetric(parsed.id, dataset);
    if (const Scope scope = readName(scopes, dataset, "scope"); scope != info->scope)
        throw Error(fmt::format("is \"{}\", and {} is one of each {}", name(scope), parsed.id, name(info->scope)),
                    "scope");
    return {describedBy(info, parsed.options), std::move(parsed.options)};
}

Matrix readErrors(const Handle& dataset, std::size_t rows, std::size_t columns) {
    Matrix errors = hdf5::readMatrix(dataset, rows, columns);
    for (const double error : errors.values())
        if (error < 0 || std::isinf(error))
            throw Error(fmt::format("cannot be {}", error), "standard error");
    return errors;
}

/// Reads the values of a result. If the result has prefix lengths, reads the values for each length.
void readValues(const Handle& dataset, std::size_t rows, std::size_t columns, MetricResult& result) {
    if (hdf5::hasAttribute(dataset, "lengths"))
        result.lengths = hdf5::readIntegers(dataset, "lengths");
    const Matrix all = hdf5::readMatrix(dataset, rows, columns, result.lengths.size());
    result.values = Matrix(rows, columns);
    const std::size_t cells = rows * columns;
    std::ranges::copy(all.values().last(cells), result.values.values().begin());
    for (std::size_t i = 0; i < result.lengths.size(); ++i) {
        Matrix& own = result.overLengths.emplace_back(rows, columns);
        std::ranges::copy(all.values().subspan(i * cells, cells), own.values().begin());
    }
}

void readData(const Handle& dataset, MetricResult& result) {
    if (!hdf5::hasAttribute(dataset, "text"))
        return;
    result.data = {hdf5::readText(dataset, "text"),
                   hdf5::readInteger(dataset, "sequences"),
                   hdf5::readInteger(dataset, "tokens"),
                   hdf5::readInteger(dataset, "all_tokens"),
                   hdf5::readInteger(dataset, "sequence_length"),
                   hdf5::readText(dataset, "split"),
                   hdf5::readText(dataset, "bos")};
    if (hdf5::hasAttribute(dataset, "parts")) {
        result.data->part = static_cast<int>(hdf5::readInteger(dataset, "part"));
        result.data->parts = static_cast<int>(hdf5::readInteger(dataset, "parts"));
    }
    result.isWhole = hdf5::readInteger(dataset, "is_complete") != 0;
}

MetricResult readResult(const Handle& group, const std::string& name, const ModelSpec& spec) {
    const Handle dataset = hdf5::openDataset(group, name);
    MetricResult result;
    result.request = readRequest(dataset);
    const std::size_t columns = columnsFor(result.request.info->scope, spec);
    readValues(dataset, spec.layers.size(), columns, result);
    readData(dataset, result);
    if (hdf5::hasAttribute(dataset, "features"))
        for (const std::string& feature : hdf5::readTexts(dataset, "features"))
            result.features.push_back({feature, hdf5::readMatrix(hdf5::openDataset(group, name + "." + feature),
                                                                 spec.layers.size(), columns)});
    if (hdf5::exists(group, name + errorSuffix))
        result.standardError = readErrors(hdf5::openDataset(group, name + errorSuffix), spec.layers.size(), columns);
    result.measurement = {hdf5::readText(dataset, "model_fingerprint"),
                          hdf5::readText(dataset, "mask_digest"),
                          hdf5::readText(dataset, "data_digest"),
                          hdf5::readText(dataset, "dtype"),
                          hdf5::readText(dataset, "device"),
                          hdf5::readText(dataset, "created")};
    result.seconds = hdf5::readNumber(dataset, "seconds");
    result.warnings = hdf5::readTexts(dataset, "warnings");
    return result;
}

std::optional<int> numberOf(const std::string& name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

/// The number of a result in its group. If the group has a result of the same measurement (except for the time), it
/// gets that result's number, and the old result is removed from `stored`. Otherwise it gets a new number.
/// @returns empty if the old result has more data and is kept
std::optional<int> numberFor(const MetricResult& result, const std::string& group, std::vector<StoredResult>& stored) {
    int next = 0;
    for (auto other = stored.begin(); other != stored.end(); ++other) {
        if (other->group != group)
            continue;
        Measurement same = other->result.measurement;
        same.created = result.measurement.created;
        if (same == result.measurement) {
            if (result.isLessThan(other->result))
                return {};
            const int number = other->number;
            stored.erase(other);
            return number;
        }
        next = std::max(next, other->number + 1);
    }
    return next;
}

void writeDescription(const Handle& dataset, const MetricRequest& request) {
    const MetricInfo& info = *request.info;
    hdf5::writeText(dataset, "result_id", request.resultId());
    hdf5::writeText(dataset, "options", optionsJson(request.options));
    hdf5::writeText(dataset, "title", info.title);
    hdf5::writeText(dataset, "summary", info.summary);
    hdf5::writeText(dataset, "formula", info.formula);
    hdf5::writeText(dataset, "source", info.source);
    hdf5::writeText(dataset, "scope", name(info.scope));
    hdf5::writeText(dataset, "unit", info.unit);
    hdf5::writeText(dataset, "needs", name(info.needs));
    hdf5::writeText(dataset, "prune_first", name(info.pruneFirst));
    if (!info.classes.empty())
        hdf5::writeTexts(dataset, "classes", {info.classes.begin(), info.classes.end()});
}

void writeShape(const Handle& dataset, const MetricResult& result) {
    const MetricInfo& info = *result.request.info;
    std::vector<std::string> dimensions{"layer"};
    if (!result.lengths.empty()) {
        hdf5::writeIntegers(dataset, "lengths", result.lengths);
        dimensions.insert(dimensions.begin(), "length");
    }
    if (info.scope != Scope::layer)
        dimensions.emplace_back(name(info.scope));
    hdf5::writeTexts(dataset, "dimensions", dimensions);
}

void writeMeasurement(const Handle& dataset, const MetricResult& result) {
    hdf5::writeText(dataset, "model_fingerprint", result.measurement.fingerprint);
    hdf5::writeText(dataset, "mask_digest", result.measurement.maskDigest);
    hdf5::writeText(dataset, "data_digest", result.measurement.dataDigest);
    hdf5::writeText(dataset, "dtype", result.measurement.dtype);
    hdf5::writeText(dataset, "device", result.measurement.device);
    hdf5::writeText(dataset, "created", result.measurement.created);
    hdf5::writeNumber(dataset, "seconds", result.seconds);
    hdf5::writeTexts(dataset, "warnings", result.warnings);
    if (!result.data)
        return;
    hdf5::writeText(dataset, "text", result.data->source);
    hdf5::writeInteger(dataset, "sequences", result.data->sequences);
    hdf5::writeInteger(dataset, "tokens", result.data->tokens);
    hdf5::writeInteger(dataset, "all_tokens", result.data->allTokens);
    hdf5::writeInteger(dataset, "sequence_length", result.data->sequenceLength);
    hdf5::writeText(dataset, "split", result.data->split);
    hdf5::writeText(dataset, "bos", result.data->bos);
    if (result.data->isPart()) {
        hdf5::writeInteger(dataset, "part", result.data->part);
        hdf5::writeInteger(dataset, "parts", result.data->parts);
    }
    hdf5::writeInteger(dataset, "is_complete", result.isWhole ? 1 : 0);
}

/// Combines the matrices of all prefix lengths, one below another.
Matrix stacked(const std::vector<Matrix>& matrices) {
    Matrix all(matrices.size() * matrices.front().rows(), matrices.front().columns());
    auto to = all.values().begin();
    for (const Matrix& matrix : matrices)
        to = std::ranges::copy(matrix.values(), to).out;
    return all;
}

void writeFeatures(const Handle& group, const std::string& name, const Handle& dataset, const MetricResult& result) {
    if (result.features.empty())
        return;
    std::vector<std::string> names;
    for (const MetricFeature& feature : result.features) {
        hdf5::writeMatrix(group, name + "." + feature.name, feature.values, result.request.info->scope == Scope::layer);
        names.push_back(feature.name);
    }
    hdf5::writeTexts(dataset, "features", names);
}

} // namespace

std::vector<StoredResult> readResults(const Handle& file, const ModelSpec& spec) {
    std::vector<StoredResult> stored;
    if (!hdf5::exists(file, "metrics"))
        return stored;
    const Handle metrics = hdf5::openGroup(file, "metrics");
    for (const std::string& id : hdf5::children(metrics)) {
        const Handle group = hdf5::openGroup(metrics, id);
        for (const std::string& name : hdf5::children(group)) {
            const auto number = numberOf(name);
            if (!number)
                continue; // skips "latest" and the standard errors
            try {
                const std::int64_t order = hdf5::readInteger(hdf5::openDataset(group, name), "order");
                stored.push_back({readResult(group, name, spec), id, *number, order});
            } catch (const Error& error) {
                throw error.within(fmt::format("/metrics/{}/{}", id, name));
            }
        }
    }
    std::stable_sort(stored.begin(), stored.end(),
                     [](const StoredResult& a, const StoredResult& b) { return a.order < b.order; });
    return stored;
}

void writeResult(const Handle& metrics, const MetricResult& result, std::vector<StoredResult>& stored) {
    StoredResult place{result, fileForm(result.request.resultId()), 0, stored.empty() ? 0 : stored.back().order + 1};
    const std::optional<int> number = numberFor(result, place.group, stored);
    if (!number)
        return;
    place.number = *number;
    const Handle group = hdf5::group(metrics, place.group);
    const std::string name = std::to_string(place.number);
    const bool flat = result.request.info->scope == Scope::layer;
    const Handle dataset = result.lengths.empty() ? hdf5::writeMatrix(group, name, result.values, flat)
                                                  : hdf5::writeMatrix(group, name, stacked(result.overLengths), flat,
                                                                      result.lengths.size());
    if (hdf5::exists(group, name + errorSuffix))
        hdf5::remove(group, name + errorSuffix);
    if (result.standardError)
        hdf5::writeMatrix(group, name + errorSuffix, *result.standardError, flat);
    writeDescription(dataset, result.request);
    writeShape(dataset, result);
    writeFeatures(group, name, dataset, result);
    writeMeasurement(dataset, result);
    hdf5::writeInteger(dataset, "order", place.order);
    hdf5::hardLink(group, name, "latest");
    stored.push_back(std::move(place));
}

} // namespace secateur
