#include "backends/session/session_prediction.h"

#include "analysis/base/error.h"
#include "analysis/metrics/metric.h"
#include "analysis/prediction/prediction.h"
#include "analysis/base/text.h"
#include "backends/session/hdf5_lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

namespace {

using hdf5::Handle;

constexpr const char* groupName = "prediction";
constexpr std::array<std::string_view, cutKinds> kinds{"head", "attention", "mlp", "block", "bypass"};
/// Units of any model there is, many times over.
constexpr std::size_t mostUnits = std::size_t{1} << 24;

std::string unitText(const Gate& gate) {
    const std::string text = fmt::format("{} {}", kinds[static_cast<std::size_t>(gate.of)], gate.layer);
    return gate.of == Gate::Of::head ? fmt::format("{} {}", text, gate.head) : text;
}

/// @throws Error unless it is a number from 0 to below `end`
int indexOf(const std::string& text, int end, const std::string& unit) {
    int index = -1;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || last != text.data() + text.size() || index < 0 || index >= end)
        throw Error(fmt::format("\"{}\" is no unit of this model", unit), "units");
    return index;
}

Gate unitOf(const std::string& text, const ModelSpec& spec) {
    const std::vector<std::string> parts = split(text, ' ');
    const auto kind = std::ranges::find(kinds, parts.front());
    const auto of = static_cast<Gate::Of>(kind - kinds.begin());
    if (kind == kinds.end() || parts.size() != (of == Gate::Of::head ? 3 : 2))
        throw Error(fmt::format("\"{}\" is no unit of this model", text), "units");
    Gate gate{of, indexOf(parts[1], spec.layerCount(), text)};
    if (of == Gate::Of::head)
        gate.head = indexOf(parts[2], spec.layers[static_cast<std::size_t>(gate.layer)].heads, text);
    return gate;
}

void checkFinite(std::span<const double> values, const char* name) {
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
        throw Error("holds values that are not finite", name);
}

std::int64_t readCount(const Handle& group, const char* attribute) {
    const std::int64_t count = hdf5::readInteger(group, attribute);
    if (count < 0)
        throw Error(fmt::format("cannot be {}", count), attribute);
    return count;
}

Matrix readMatrix(const Handle& group, const char* name, std::size_t rows, std::size_t columns) {
    const Handle dataset = hdf5::openDataset(group, name);
    try {
        return hdf5::readMatrix(dataset, rows, columns);
    } catch (const Error& error) {
        throw error.within(name);
    }
}

GateEffects readEffects(const Handle& group, const ModelSpec& spec) {
    GateEffects effects;
    for (const std::string& unit : hdf5::readTextList(group, "units"))
        effects.gates.push_back(unitOf(unit, spec));
    effects.slopes = hdf5::readNumberList(group, "gradient");
    if (effects.gates.empty() || effects.gates.size() > mostUnits || effects.slopes.size() != effects.gates.size())
        throw Error(fmt::format("{} values do not go with {} units", effects.slopes.size(), effects.gates.size()),
                    "gradient");
    const auto samples = readCount(group, "samples");
    effects.factors = readMatrix(group, "fisher", static_cast<std::size_t>(samples), effects.gates.size());
    checkFinite(effects.slopes, "gradient");
    checkFinite(effects.factors.values(), "fisher");
    const std::size_t neurons = columnsFor(Scope::neuron, spec);
    effects.neuronSlopes = readMatrix(group, "neuron_gradient", spec.layers.size(), neurons);
    effects.neuronFisher = readMatrix(group, "neuron_fisher", spec.layers.size(), neurons);
    effects.targets = readCount(group, "targets");
    effects.passes = static_cast<int>(std::min<std::int64_t>(readCount(group, "passes"), 1 << 20));
    return effects;
}

} // namespace

void writePrediction(const Handle& file, const Session& session) {
    if (!session.prediction)
        return;
    if (hdf5::exists(file, groupName))
        hdf5::remove(file, groupName);
    const PredictionBasis& basis = *session.prediction;
    const GateEffects& effects = basis.effects;
    const Handle group = hdf5::group(file, groupName);
    hdf5::writeText(group, "text", basis.source);
    hdf5::writeText(group, "data_digest", basis.digest);
    hdf5::writeText(group, "dtype", basis.dtype);
    hdf5::writeText(group, "device", basis.device);
    hdf5::writeText(group, "created", basis.created);
    hdf5::writeInteger(group, "sequence_length", basis.sequenceLength);
    hdf5::writeInteger(group, "targets", effects.targets);
    hdf5::writeInteger(group, "passes", effects.passes);
    hdf5::writeInteger(group, "samples", static_cast<std::int64_t>(effects.factors.rows()));
    std::vector<std::string> units;
    for (const Gate& gate : effects.gates)
        units.push_back(unitText(gate));
    hdf5::writeTextList(group, "units", units);
    const Handle gradient = hdf5::writeNumberList(group, "gradient", effects.slopes);
    hdf5::writeText(gradient, "meaning", "mean over target tokens of dl/dgate, nats; cutting a unit turns 1 to 0");
    const Handle fisher = hdf5::writeMatrix(group, "fisher", effects.factors, false);
    hdf5::writeText(fisher, "meaning", "[samples, units]; F = fisher^T fisher estimates the mean of dl/du dl/dv");
    hdf5::writeMatrix(group, "neuron_gradient", effects.neuronSlopes, false);
    hdf5::writeMatrix(group, "neuron_fisher", effects.neuronFisher, false);
    writeSlope(file, session);
}

void writeSlope(const Handle& file, const Session& session) {
    const auto factors = predictorOf(session)->scale().factors();
    const Handle slope =
        hdf5::writeNumberList(hdf5::openGroup(file, groupName), "slope", {factors.begin(), factors.end()});
    hdf5::writeText(slope, "meaning",
                    "learnt from the evaluations: factors of heads, attention, MLPs, blocks, bypasses");
}

std::shared_ptr<const PredictionBasis> readPrediction(const Handle& file, const ModelSpec& spec) {
    if (!hdf5::exists(file, groupName))
        return nullptr;
    try {
        const Handle group = hdf5::openGroup(file, groupName);
        auto basis = std::make_shared<PredictionBasis>();
        basis->source = hdf5::readText(group, "text");
        basis->digest = hdf5::readText(group, "data_digest");
        basis->dtype = hdf5::readText(group, "dtype");
        basis->device = hdf5::readText(group, "device");
        basis->created = hdf5::readText(group, "created");
        basis->sequenceLength = readCount(group, "sequence_length");
        basis->effects = readEffects(group, spec);
        return basis;
    } catch (const Error& error) {
        throw error.within("/prediction");
    }
}

} // namespace secateur
