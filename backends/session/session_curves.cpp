#include "backends/session/session_parts.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/budget.h"
#include "backends/session/hdf5_lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

namespace {

using hdf5::Handle;
using Points = std::vector<CurvePoint>;

constexpr const char* denseName = "dense"; ///< of the group of the dense model, beside those of strategies
constexpr int firstWithCurves = 4;         ///< version of the format
constexpr std::int64_t mostCounted = std::int64_t{1} << 53;

struct NumberField {
    const char* name;
    double CurvePoint::*value;
    const char* meaning;
    bool isSigned = false; ///< whether it may be below 0
    int since = 4;         ///< first version of the format that has this field
};

constexpr NumberField numberFields[] = {
    {"kv_bytes_per_token", &CurvePoint::kvBytesPerToken, "bytes of the KV cache per token, in 16 bits"},
    {"operations_per_token", &CurvePoint::operationsPerToken, "multiplications and additions per token"},
    {"loss_nats", &CurvePoint::lossNats, "per token (word_ppl: per word) of the scored text", true},
    {"delta_nats", &CurvePoint::deltaNats, "loss minus that of the dense model", true},
    {"delta_standard_error", &CurvePoint::deltaStandardError, "of the paired differences"},
    {"perplexity", &CurvePoint::perplexity, "exp(loss_nats)"},
    {"pooled_distance", &CurvePoint::pooledDistance, "relative distance of pooled outputs from the dense model's"},
    {"pooled_standard_error", &CurvePoint::pooledStandardError, "of the mean over sequences"},
    {"tokens_per_second", &CurvePoint::tokensPerSecond, "new tokens per second of generation"},
    {"choosing_seconds", &CurvePoint::choosingSeconds, "until the mask was chosen"},
    {"scoring_seconds", &CurvePoint::scoringSeconds, "of losses and tasks; 0 if another point has the same mask"},
    {"training_seconds", &CurvePoint::trainingSeconds, "of the recovery training", false, 5},
};

struct CountField {
    const char* name;
    int RemovedUnits::*value;
};

constexpr CountField countFields[] = {
    {"removed_heads", &RemovedUnits::heads},         {"removed_kv_heads", &RemovedUnits::kvHeads},
    {"removed_attention", &RemovedUnits::attention}, {"removed_mlps", &RemovedUnits::mlps},
    {"removed_blocks", &RemovedUnits::blocks},       {"bypassed_attention", &RemovedUnits::bypassed},
};

// --- writing ---------------------------------------------------------------------------------------------------------

template <typename Value>
std::vector<Value> column(const Points& points, auto get) {
    std::vector<Value> values;
    for (const CurvePoint& point : points)
        values.push_back(get(point));
    return values;
}

void writeIntegers(const Handle& group, const char* name, const Points& points, auto get, const char* meaning = "") {
    const Handle list = hdf5::writeIntegerList(group, name, column<std::int64_t>(points, get));
    if (*meaning)
        hdf5::writeText(list, "meaning", meaning);
}

void writeTextColumn(const Handle& group, const char* name, const Points& points, auto get) {
    hdf5::writeTextList(group, name, column<std::string>(points, get));
}

void writeConditions(const Handle& group, const Curves& curves) {
    const CurveConditions& own = curves.conditions;
    hdf5::writeText(group, "calibration_source", own.calibration.source);
    hdf5::writeText(group, "calibration_digest", own.calibrationDigest);
    hdf5::writeInteger(group, "calibration_sequences", own.calibration.sequences);
    hdf5::writeInteger(group, "calibration_tokens", own.calibration.tokens);
    hdf5::writeInteger(group, "calibration_sequence_length", own.calibration.sequenceLength);
    hdf5::writeText(group, "calibration_split", own.calibration.split);
    hdf5::writeText(group, "calibration_bos", own.calibration.bos);
    hdf5::writeInteger(group, "calibration_part", own.calibration.part);
    hdf5::writeInteger(group, "calibration_parts", own.calibration.parts);
    hdf5::writeText(group, "scored_source", own.scored.source);
    hdf5::writeText(group, "scored_digest", own.scored.digest);
    hdf5::writeInteger(group, "scored_tokens", own.scored.tokens);
    hdf5::writeInteger(group, "scored_windows", own.scored.windows);
    hdf5::writeText(group, "protocol", name(own.scored.rules.protocol));
    hdf5::writeText(group, "bos", own.scored.rules.bos ? name(*own.scored.rules.bos) : "");
    hdf5::writeInteger(group, "window", own.scored.rules.window);
    hdf5::writeInteger(group, "max_tokens", own.scored.rules.mostTokens);
    hdf5::writeText(group, "dtype", own.dtype);
    hdf5::writeText(group, "device", own.device);
    hdf5::writeText(group, "protect", own.protect);
    hdf5::writeText(group, "base_digest", own.baseDigest);
    hdf5::writeInteger(group, "positions", own.positions);
    hdf5::writeInteger(group, "scores_calibration_text", own.scoresCalibrationText ? 1 : 0);
    hdf5::writeTexts(group, "warnings", curves.warnings);
    hdf5::writeInteger(group, "prompt_tokens", curves.latency ? curves.latency->promptTokens : 0);
    hdf5::writeInteger(group, "new_tokens", curves.latency ? curves.latency->newTokens : 0);
}

/// Ids of the metrics that some point has for a task.
std::vector<std::string> metricsOf(const Points& points, const std::string& task) {
    std::vector<std::string> ids;
    for (const CurvePoint& point : points)
        for (const PointMetric& metric : point.tasks)
            if (metric.task == task && std::ranges::find(ids, metric.id) == ids.end())
                ids.push_back(metric.id);
    return ids;
}

void writeTask(const Handle& group, const CurveTask& task, const Points& points) {
    hdf5::writeText(group, "name", task.name);
    hdf5::writeText(group, "source", task.source);
    hdf5::writeText(group, "format", task.format);
    hdf5::writeText(group, "digest", task.digest);
    hdf5::writeInteger(group, "questions", task.questions);
    const std::vector<std::string> ids = metricsOf(points, task.name);
    hdf5::writeTexts(group, "metrics", ids);
    for (const std::string& id : ids) {
        const auto write = [&](const char* suffix, double PointMetric::*value) {
            hdf5::writeNumberList(group, id + suffix, column<double>(points, [&](const CurvePoint& point) {
                                      const PointMetric* metric = point.metric(task.name, id);
                                      return metric ? metric->*value : notMeasured;
                                  }));
        };
        write("", &PointMetric::value);
        write("_standard_error", &PointMetric::standardError);
        write("_delta", &PointMetric::delta);
        write("_delta_standard_error", &PointMetric::deltaStandardError);
    }
}

/// The name of a task as that of a link.
std::string linkName(std::string task) {
    std::ranges::replace(task, '/', '_');
    return task.empty() || task == "." ? "task" : task;
}

void writePoints(const Handle& group, const Points& points, const std::map<std::string, std::int64_t>& maskNumbers) {
    writeTextColumn(group, "budget", points, [](const CurvePoint& point) { return budgetText(point.key.budget); });
    writeTextColumn(group, "reached", points,
                    [](const CurvePoint& point) { return point.reached ? budgetText(*point.reached) : std::string(); });
    writeIntegers(group, "repetition", points, [](const CurvePoint& point) { return point.key.repetition; });
    writeIntegers(
        group, "seed", points,
        [](const CurvePoint& point) { return point.key.seed ? static_cast<std::int64_t>(*point.key.seed) : -1; },
        "-1 = the mask does not depend on a seed");
    writeTextColumn(group, "compensation", points, [](const CurvePoint& point) { return point.key.compensation; });
    writeTextColumn(group, "recovered", points, [](const CurvePoint& point) { return point.key.recovered; });
    writeIntegers(
        group, "mask", points,
        [&](const CurvePoint& point) {
            const auto number = maskNumbers.find(point.mask);
            return number == maskNumbers.end() ? -1 : number->second;
        },
        "number of the group in /masks; -1 = none");
    writeTextColumn(group, "mask_digest", points, [](const CurvePoint& point) { return point.mask; });
    for (const CountField& field : countFields)
        writeIntegers(group, field.name, points, [&](const CurvePoint& point) { return point.removed.*field.value; });
    writeIntegers(group, "removed_neurons", points, [](const CurvePoint& point) { return point.removed.neurons; });
    writeIntegers(group, "parameters", points, [](const CurvePoint& point) { return point.parameters; });
    for (const NumberField& field : numberFields) {
        const auto values = column<double>(points, [&](const CurvePoint& point) { return point.*field.value; });
        hdf5::writeText(hdf5::writeNumberList(group, field.name, values), "meaning", field.meaning);
    }
    writeTextColumn(group, "error", points, [](const CurvePoint& point) { return point.error; });
}

void writeCurve(const Handle& all, const std::string& strategy, int number, const Curves& curves, const Points& points,
                const std::map<std::string, std::int64_t>& maskNumbers) {
    const Handle ofStrategy = hdf5::group(all, fileForm(strategy));
    const std::string name = std::to_string(number);
    if (hdf5::exists(ofStrategy, name))
        hdf5::remove(ofStrategy, name);
    const Handle group = hdf5::group(ofStrategy, name);
    hdf5::writeText(group, "result_id", strategy);
    writeConditions(group, curves);
    writePoints(group, points, maskNumbers);
    if (curves.tasks.empty())
        return;
    const Handle tasks = hdf5::group(group, "task");
    for (const CurveTask& task : curves.tasks)
        writeTask(hdf5::group(tasks, linkName(task.name)), task, points);
}

// --- reading ---------------------------------------------------------------------------------------------------------

template <typename Values>
Values ofLength(Values values, const char* name, std::size_t count) {
    if (values.size() != count)
        throw Error(fmt::format("should hold {} values and holds {}", count, values.size()), name);
    return values;
}

std::vector<std::int64_t> readIntegers(const Handle& group, const char* name, std::size_t count, std::int64_t least,
                                       std::int64_t most = mostCounted) {
    auto values = ofLength(hdf5::readIntegerList(group, name), name, count);
    for (const std::int64_t value : values)
        if (value < least || value > most)
            throw Error(fmt::format("cannot be {}", value), name);
    return values;
}

std::vector<std::string> readTextColumn(const Handle& group, const char* name, std::size_t count) {
    return ofLength(hdf5::readTextList(group, name), name, count);
}

std::vector<double> readNumberColumn(const Handle& group, const std::string& name, std::size_t count, bool isSigned) {
    auto values = ofLength(hdf5::readNumberList(group, name), name.c_str(), count);
    for (const double value : values)
        if (std::isinf(value) || (value < 0 && !isSigned))
            throw Error(fmt::format("cannot be {}", value), name);
    return values;
}

Budget readBudget(const std::string& text, const char* name) {
    try {
        return parseBudget(text);
    } catch (const UsageError&) {
        throw Error(fmt::format("\"{}\" is no budget", text), name);
    }
}

std::int64_t readAmount(const Handle& group, const char* attribute) {
    const std::int64_t value = hdf5::readInteger(group, attribute);
    if (value < 0)
        throw Error(fmt::format("cannot be {}", value), attribute);
    return value;
}

CurveConditions readConditions(const Handle& group) {
    CurveConditions own;
    own.calibration.source = hdf5::readText(group, "calibration_source");
    own.calibrationDigest = hdf5::readText(group, "calibration_digest");
    own.calibration.sequences = readAmount(group, "calibration_sequences");
    own.calibration.tokens = own.calibration.allTokens = readAmount(group, "calibration_tokens");
    own.calibration.sequenceLength = readAmount(group, "calibration_sequence_length");
    own.calibration.split = hdf5::readText(group, "calibration_split");
    own.calibration.bos = hdf5::readText(group, "calibration_bos");
    if (hdf5::hasAttribute(group, "calibration_parts")) { // absent in sessions of before the option --stability
        own.calibration.part = static_cast<int>(readAmount(group, "calibration_part"));
        own.calibration.parts = static_cast<int>(readAmount(group, "calibration_parts"));
    }
    own.scored.source = hdf5::readText(group, "scored_source");
    own.scored.digest = hdf5::readText(group, "scored_digest");
    own.scored.tokens = readAmount(group, "scored_tokens");
    own.scored.windows = readAmount(group, "scored_windows");
    own.scored.rules.protocol = textProtocolOf(hdf5::readText(group, "protocol"));
    if (const std::string bos = hdf5::readText(group, "bos"); !bos.empty())
        own.scored.rules.bos = bosModeOf(bos);
    const auto readInt = [&](const char* attribute) {
        const std::int64_t value = readAmount(group, attribute);
        if (value > 1 << 30)
            throw Error(fmt::format("cannot be {}", value), attribute);
        return static_cast<int>(value);
    };
    own.scored.rules.window = readInt("window");
    own.scored.rules.mostTokens = readAmount(group, "max_tokens");
    own.dtype = hdf5::readText(group, "dtype");
    own.device = hdf5::readText(group, "device");
    own.protect = hdf5::readText(group, "protect");
    own.baseDigest = hdf5::readText(group, "base_digest");
    own.positions = readInt("positions");
    own.scoresCalibrationText = readAmount(group, "scores_calibration_text") != 0;
    return own;
}

void readTask(const Handle& group, Curves& curves, Points& points) {
    CurveTask task{hdf5::readText(group, "name"), hdf5::readText(group, "source"), hdf5::readText(group, "format"),
                   hdf5::readText(group, "digest"), readAmount(group, "questions")};
    for (const std::string& id : hdf5::readTexts(group, "metrics")) {
        const auto read = [&](const char* suffix) { return readNumberColumn(group, id + suffix, points.size(), true); };
        const auto values = read("");
        const auto errors = read("_standard_error");
        const auto deltas = read("_delta");
        const auto deltaErrors = read("_delta_standard_error");
        for (std::size_t i = 0; i < points.size(); ++i)
            if (!std::isnan(values[i]))
                points[i].tasks.push_back({task.name, id, values[i], errors[i], deltas[i], deltaErrors[i]});
    }
    curves.tasks.push_back(std::move(task));
}

void readKeys(const Handle& group, Points& points) {
    const std::size_t count = points.size();
    const auto budgets = readTextColumn(group, "budget", count);
    const auto reached = readTextColumn(group, "reached", count);
    const auto repetitions = readIntegers(group, "repetition", count, 0, 1 << 30);
    const auto seeds = readIntegers(group, "seed", count, -1, std::numeric_limits<std::int64_t>::max());
    const auto compensations = readTextColumn(group, "compensation", count);
    const auto recovered = readTextColumn(group, "recovered", count);
    for (std::size_t i = 0; i < count; ++i) {
        PointKey& key = points[i].key;
        key.budget = readBudget(budgets[i], "budget");
        if (!reached[i].empty())
            points[i].reached = readBudget(reached[i], "reached");
        key.repetition = static_cast<int>(repetitions[i]);
        if (seeds[i] >= 0)
            key.seed = static_cast<std::uint64_t>(seeds[i]);
        key.compensation = compensations[i];
        key.recovered = recovered[i];
    }
}

/// Reads the digests of masks, and checks them against /masks. A point may keep the digest of a mask that the session
/// no longer has.
void readPointMasks(const Handle& group, const StoredMasks& masks, Points& points) {
    const auto numbers = readIntegers(group, "mask", points.size(), -1);
    const auto digests = readTextColumn(group, "mask_digest", points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const auto stored = masks.find(numbers[i]);
        if (numbers[i] >= 0 && (stored == masks.end() || stored->second != digests[i]))
            throw Error(fmt::format("{} is not the number of the point's mask", numbers[i]), "mask");
        points[i].mask = digests[i];
    }
}

Points readPoints(const Handle& group, const StoredMasks& masks) {
    Points points(hdf5::readTextList(group, "budget").size());
    readKeys(group, points);
    readPointMasks(group, masks, points);
    const auto set = [&](const auto& values, auto assign) {
        for (std::size_t i = 0; i < points.size(); ++i)
            assign(points[i], values[i]);
    };
    for (const CountField& field : countFields)
        set(readIntegers(group, field.name, points.size(), 0, 1 << 30),
            [&](CurvePoint& point, std::int64_t value) { point.removed.*field.value = static_cast<int>(value); });
    set(readIntegers(group, "removed_neurons", points.size(), 0),
        [](CurvePoint& point, std::int64_t value) { point.removed.neurons = value; });
    set(readIntegers(group, "parameters", points.size(), 0),
        [](CurvePoint& point, std::int64_t value) { point.parameters = value; });
    for (const NumberField& field : numberFields) {
        if (field.since > firstWithCurves && !hdf5::exists(group, field.name))
            continue; // the group was written by an older version
        set(readNumberColumn(group, field.name, points.size(), field.isSigned),
            [&](CurvePoint& point, double value) { point.*field.value = value; });
    }
    set(readTextColumn(group, "error", points.size()),
        [](CurvePoint& point, const std::string& error) { point.error = error; });
    return points;
}

/// Reads a group as a set of curves with a single curve, or with the dense model only.
Curves readCurve(const Handle& group, const std::string& link, const StoredMasks& masks) {
    Curves curves{.conditions = readConditions(group)};
    curves.dense.mask = "dense";
    curves.warnings = hdf5::readTexts(group, "warnings");
    const CurveLatency latency{static_cast<int>(std::min<std::int64_t>(readAmount(group, "prompt_tokens"), 1 << 30)),
                               static_cast<int>(std::min<std::int64_t>(readAmount(group, "new_tokens"), 1 << 30))};
    if (latency.newTokens > 0)
        curves.latency = latency;
    Points points = readPoints(group, masks);
    if (hdf5::exists(group, "task")) {
        const Handle tasks = hdf5::openGroup(group, "task");
        for (const std::string& name : hdf5::children(tasks))
            readTask(hdf5::openGroup(tasks, name), curves, points);
    }
    const std::string strategy = hdf5::readText(group, "result_id");
    if (fileForm(strategy) != link)
        throw Error(fmt::format("\"{}\" does not belong to this group", strategy), "result_id");
    for (std::size_t i = 0; i < points.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (points[i].key == points[j].key)
                throw Error(fmt::format("points {} and {} have the same budget, repetition and seed", j, i), "budget");
    if (strategy == denseName && points.size() != 1)
        throw Error(fmt::format("should hold 1 point and holds {}", points.size()), "budget");
    if (strategy == denseName)
        curves.dense = std::move(points.front());
    else
        curves.curves.push_back({strategy, std::move(points)});
    return curves;
}

/// Adds what one group holds to the set of its number. @throws Error if they do not belong together
void addGroup(std::vector<StoredCurves>& all, int number, const Curves& curves) {
    const auto place = std::ranges::lower_bound(all, number, {}, &StoredCurves::number);
    if (place == all.end() || place->number != number) {
        all.insert(place, {number, curves});
        return;
    }
    if (!canJoin(place->curves, curves))
        throw Error(fmt::format("was measured on other texts or tasks than the other curves of number {}", number));
    join(place->curves, curves);
}

} // namespace

std::vector<StoredCurves> readCurves(const Handle& file, const StoredMasks& masks) {
    std::vector<StoredCurves> all;
    if (!hdf5::exists(file, "curves"))
        return all;
    const Handle groups = hdf5::openGroup(file, "curves");
    for (const std::string& link : hdf5::children(groups)) {
        const Handle ofStrategy = hdf5::openGroup(groups, link);
        for (const std::string& number : hdf5::numbered(ofStrategy)) {
            try {
                if (number.size() > 6)
                    throw Error("has too large a number");
                addGroup(all, std::stoi(number), readCurve(hdf5::openGroup(ofStrategy, number), link, masks));
            } catch (const Error& error) {
                throw error.within(fmt::format("/curves/{}/{}", link, number));
            }
        }
    }
    return all;
}

void writeCurves(const Handle& file, const Curves& curves, const std::vector<std::string>& strategies, int number,
                 const StoredMasks& masks) {
    std::map<std::string, std::int64_t> numbers;
    for (const auto& [own, digest] : masks)
        numbers.emplace(digest, own);
    const Handle all = hdf5::group(file, "curves");
    writeCurve(all, denseName, number, curves, {curves.dense}, numbers);
    for (const Curve& curve : curves.curves)
        if (std::ranges::find(strategies, curve.strategy) != strategies.end())
            writeCurve(all, curve.strategy, number, curves, curve.points, numbers);
}

void addCurves(const Handle& file, const std::vector<Curves>& additions, const StoredMasks& masks) {
    std::vector<StoredCurves> stored = readCurves(file, masks);
    for (const Curves& more : additions) {
        auto place = std::ranges::find_if(stored, [&](const StoredCurves& one) { return canJoin(one.curves, more); });
        if (place == stored.end()) {
            stored.push_back({stored.empty() ? 0 : stored.back().number + 1, {.conditions = more.conditions}});
            place = std::prev(stored.end());
        }
        join(place->curves, more);
        std::vector<std::string> strategies;
        for (const Curve& curve : more.curves)
            strategies.push_back(curve.strategy);
        writeCurves(file, place->curves, strategies, place->number, masks);
    }
}

} // namespace secateur
