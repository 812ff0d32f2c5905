#include "backends/session/session_parts.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/metrics/metric.h"
#include "analysis/prediction/prediction.h"
#include "backends/session/hdf5_lists.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/mask_json.h"

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

constexpr std::uint8_t noCell = 255;
/// Maximum number of heads and neurons, far above all models. A mask stores a bit for each.
constexpr std::int64_t mostCells = std::int64_t{1} << 28;

std::size_t widest(const PruningMask& mask, std::vector<bool> LayerMask::*marks) {
    std::size_t most = 0;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        most = std::max(most, (mask.layer(layer).*marks).size());
    return most;
}

/// Writes whether a mask keeps each head or neuron, [layers, largest number per layer].
void writeCells(const Handle& group, const char* name, const PruningMask& mask, std::vector<bool> LayerMask::*marks) {
    const std::size_t columns = widest(mask, marks);
    const auto layers = static_cast<std::size_t>(mask.layerCount());
    std::vector<std::uint8_t> cells(layers * columns, noCell);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::vector<bool>& kept = mask.layer(static_cast<int>(layer)).*marks;
        std::copy(kept.begin(), kept.end(), cells.begin() + static_cast<std::ptrdiff_t>(layer * columns));
    }
    hdf5::writeMarks(group, name, cells, layers, false, "1 = kept, 0 = cut, 255 = the layer has no such cell");
}

std::uint8_t cutCode(AttentionCut cut) {
    return cut == AttentionCut::keep ? 1 : cut == AttentionCut::drop ? 0 : 2;
}

void writeArrays(const Handle& group, const PruningMask& mask) {
    std::vector<std::uint8_t> attention;
    std::vector<std::uint8_t> mlp;
    std::vector<std::uint8_t> block;
    std::vector<double> alpha;
    bool cutsNeurons = false;
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerMask& layer = mask.layer(index);
        attention.push_back(cutCode(layer.attention));
        mlp.push_back(layer.mlp ? 1 : 0);
        block.push_back(layer.block ? 1 : 0);
        alpha.push_back(layer.alpha);
        cutsNeurons = cutsNeurons || std::ranges::find(layer.neurons, false) != layer.neurons.end();
    }
    writeCells(group, "heads", mask, &LayerMask::heads);
    if (cutsNeurons)
        writeCells(group, "neurons", mask, &LayerMask::neurons);
    hdf5::writeMarks(group, "attention", attention, attention.size(), true, "1 = kept, 0 = dropped, 2 = bypass_qk");
    hdf5::writeMarks(group, "mlp", mlp, mlp.size(), true, "1 = kept, 0 = dropped");
    hdf5::writeMarks(group, "block", block, block.size(), true, "1 = kept, 0 = dropped");
    hdf5::writeNumberList(group, "alpha", alpha);
}

constexpr const char* compensationGroup = "compensation";

/// Replaces the tensors of a mask's compensation, as float32.
void writeStoredCompensation(const Handle& group, const PruningMask& mask) {
    if (hdf5::exists(group, compensationGroup))
        hdf5::remove(group, compensationGroup);
    if (!mask.isCompensated())
        return;
    const Handle tensors = hdf5::group(group, compensationGroup);
    for (const auto& [name, tensor] : compensationTensors(mask))
        hdf5::writeFloats(tensors, name, *tensor.values, static_cast<std::size_t>(tensor.rows));
}

void readStoredCompensation(const Handle& group, const ModelSpec& spec, PruningMask& mask) {
    const Handle stored = hdf5::openGroup(group, compensationGroup);
    try {
        CompensationTensors tensors;
        for (const std::string& name : hdf5::children(stored)) {
            hdf5::StoredFloats found = hdf5::readFloats(stored, name);
            tensors.emplace(name,
                            CompensationTensor{std::make_shared<const std::vector<float>>(std::move(found.values)),
                                               static_cast<std::int64_t>(found.rows)});
        }
        addCompensation(mask, tensors, spec);
    } catch (const Error& error) {
        throw error.within(compensationGroup);
    }
}

SessionMask readStoredMask(const Handle& group, const ModelSpec& spec) {
    SessionMask mask;
    mask.name = hdf5::readText(group, "name");
    MaskReading reading = parseMask(hdf5::readText(group, "mask"), "mask", spec, {});
    if (reading.compensation)
        readStoredCompensation(group, spec, reading.record.mask);
    mask.record = std::move(reading.record);
    mask.digest = maskDigest(mask.record.mask);
    if (hdf5::readText(group, "digest") != mask.digest)
        throw Error("is not that of the mask", "digest");
    return mask;
}

void checkSize(const ModelSpec& spec) {
    std::int64_t cells = 0;
    for (const LayerSpec& layer : spec.layers)
        cells += std::int64_t{layer.heads} + layer.ffn;
    if (cells > mostCells)
        throw Error(fmt::format("belong to a model of {} heads and neurons, more than any has", cells), "/masks");
}

constexpr const char* groupName = "prediction";
constexpr std::array<std::string_view, cutKinds> kinds{"head", "attention", "mlp", "block", "bypass"};
/// Maximum number of units of a prediction, far above all models.
constexpr std::size_t mostUnits = std::size_t{1} << 24;

std::string unitText(const Gate& gate) {
    const std::string text = fmt::format("{} {}", kinds[static_cast<std::size_t>(gate.of)], gate.layer);
    return gate.of == Gate::Of::head ? fmt::format("{} {}", text, gate.head) : text;
}

/// Reads an index. @throws Error if the text is not an integer from 0 to end - 1
int indexOf(const std::string& text, int end, const std::string& unit) {
    int index = -1;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || last != text.data() + text.size() || index < 0 || index >= end)
        throw Error(fmt::format("\"{}\" is not a unit of this model", unit), "units");
    return index;
}

Gate unitOf(const std::string& text, const ModelSpec& spec) {
    const std::vector<std::string> parts = split(text, ' ');
    const auto kind = std::ranges::find(kinds, parts.front());
    const auto of = static_cast<Gate::Of>(kind - kinds.begin());
    if (kind == kinds.end() || parts.size() != (of == Gate::Of::head ? 3 : 2))
        throw Error(fmt::format("\"{}\" is not a unit of this model", text), "units");
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
        throw Error(fmt::format("{} values do not match {} units", effects.slopes.size(), effects.gates.size()),
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

std::vector<SessionMask> readMasks(const Handle& file, const ModelSpec& spec) {
    std::vector<SessionMask> masks;
    if (!hdf5::exists(file, "masks"))
        return masks;
    const Handle all = hdf5::openGroup(file, "masks");
    for (const std::string& number : hdf5::numbered(all)) {
        checkSize(spec);
        try {
            SessionMask mask = readStoredMask(hdf5::openGroup(all, number), spec);
            if (std::ranges::find(masks, mask.name, &SessionMask::name) != masks.end())
                throw Error(fmt::format("\"{}\" is also the name of another mask", mask.name), "name");
            masks.push_back(std::move(mask));
        } catch (const Error& error) {
            throw error.within("/masks/" + number);
        }
    }
    return masks;
}

void writeMasks(const Handle& file, const std::vector<SessionMask>& masks, const std::vector<SessionMask>& held) {
    const Handle all = hdf5::group(file, "masks");
    const std::vector<std::string> numbers = hdf5::numbered(all);
    for (std::size_t i = 0; i < masks.size(); ++i) {
        if (i < held.size() && masks[i].record == held[i].record)
            continue;
        const Handle group = hdf5::group(all, i < held.size() ? numbers[i] : hdf5::nextNumber(all));
        hdf5::writeText(group, "name", masks[i].name);
        hdf5::writeText(group, "digest", masks[i].digest);
        hdf5::writeText(group, "mask", maskJson(masks[i].record));
        writeArrays(group, masks[i].record.mask);
        writeStoredCompensation(group, masks[i].record.mask);
    }
}

StoredMasks storedMasks(const Handle& file) {
    StoredMasks masks;
    if (!hdf5::exists(file, "masks"))
        return masks;
    const Handle all = hdf5::openGroup(file, "masks");
    for (const std::string& number : hdf5::numbered(all)) {
        std::int64_t value = 0;
        std::from_chars(number.data(), number.data() + number.size(), value);
        masks[value] = hdf5::readText(hdf5::openGroup(all, number), "digest");
    }
    return masks;
}

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
