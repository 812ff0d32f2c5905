#include "analysis/weights/unit_marks.h"

#include <fmt/core.h>

#include <utility>

namespace secateur {

namespace {

/// Units along the outputs (rows) or the inputs (columns) of a weight.
struct UnitsOfWeight {
    CutUnit unit;
    bool alongRows;
    std::int64_t size;
    std::int64_t count;
};

std::optional<UnitsOfWeight> unitsOf(const LayerSpec& layer, WeightName weight) {
    switch (weight) {
    case WeightName::query:
    case WeightName::queryBias:
        return UnitsOfWeight{CutUnit::head, true, layer.headDim, layer.heads};
    case WeightName::key:
    case WeightName::keyBias:
    case WeightName::value:
    case WeightName::valueBias:
        return UnitsOfWeight{CutUnit::kvGroup, true, layer.headDim, layer.kvHeads};
    case WeightName::output:
        return UnitsOfWeight{CutUnit::head, false, layer.headDim, layer.heads};
    case WeightName::gate:
    case WeightName::gateBias:
    case WeightName::up:
    case WeightName::upBias:
        return UnitsOfWeight{CutUnit::neuron, true, 1, layer.ffn};
    case WeightName::down:
        return UnitsOfWeight{CutUnit::neuron, false, 1, layer.ffn};
    default:
        return {};
    }
}

} // namespace

std::vector<UnitMarks> unitMarks(const StoredTensor& tensor, const ModelSpec& spec) {
    std::vector<UnitMarks> marks;
    for (const TensorPart& part : tensor.parts) {
        if (part.layer < 0 || part.layer >= spec.layerCount())
            continue;
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(part.layer)];
        const std::optional<UnitsOfWeight> units = unitsOf(layer, part.weight);
        // The matrix of a linear attention has no heads that can be cut one by one.
        if (!units || units->count == 0 || unitsIn(layer, units->unit) == 0)
            continue;
        const bool isVector = tensor.shape.size() < 2;
        const bool alongRows = !isVector && units->alongRows != part.transposed;
        marks.push_back({.unit = units->unit,
                         .layer = part.layer,
                         .axis = alongRows ? GridAxis::rows : GridAxis::columns,
                         .begin = units->alongRows ? part.begin : 0,
                         .size = units->size,
                         .count = units->count});
    }
    return marks;
}

std::optional<MarkedUnit> unitAt(std::span<const UnitMarks> marks, GridAxis axis, std::int64_t position) {
    for (const UnitMarks& mark : marks)
        if (mark.axis == axis && position >= mark.begin && position < mark.begin + mark.size * mark.count)
            return MarkedUnit{mark.unit, mark.layer, static_cast<int>((position - mark.begin) / mark.size)};
    return {};
}

std::string unitName(const MarkedUnit& unit) {
    const char letter = unit.unit == CutUnit::neuron ? 'N' : unit.unit == CutUnit::kvGroup ? 'G' : 'H';
    return fmt::format("L{}.{}{}", unit.layer, letter, unit.index);
}

} // namespace secateur
