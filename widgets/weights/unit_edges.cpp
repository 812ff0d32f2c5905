#include "widgets/weights/unit_edges.h"

#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"

#include <algorithm>
#include <array>
#include <set>

namespace secateur {

namespace {

bool isUnitCut(const PruningMask& mask, const ModelSpec& spec, const MarkedUnit& unit) {
    return isCut(mask, spec, unit.unit, unit.layer, unit.index);
}

/// What the names of units begin with, without the layer, which is that of the tensor: "H".
QString namePrefix(CutUnit unit) {
    const QString first = QString::fromStdString(unitName({unit, 0, 0})).section('.', -1);
    return first.chopped(1);
}

} // namespace

Hatch unitHatch(const MaskEditor& masks, const MarkedUnit& unit) {
    const bool here = isUnitCut(masks.mask(), masks.spec(), unit);
    if (masks.preview()) {
        const bool then = isUnitCut(*masks.preview(), masks.spec(), unit);
        return !then ? Hatch::none : here ? Hatch::cut : Hatch::preview;
    }
    const bool there = masks.compared() && isUnitCut(*masks.compared(), masks.spec(), unit);
    return here && there ? Hatch::both : here ? Hatch::cut : there ? Hatch::onlyThere : Hatch::none;
}

std::vector<HeadId> headsOf(const ModelSpec& spec, const MarkedUnit& unit) {
    if (unit.unit == CutUnit::head)
        return {{unit.layer, unit.index}};
    std::vector<HeadId> heads;
    if (unit.unit != CutUnit::kvGroup)
        return heads;
    const LayerSpec& layer = spec.layers[static_cast<std::size_t>(unit.layer)];
    for (int head = 0; head < layer.heads; ++head)
        if (layer.kvGroup(head) == unit.index)
            heads.push_back({unit.layer, head});
    return heads;
}

UnitEdge unitEdge(std::span<const UnitMarks> marks, GridAxis axis, const MaskEditor& masks, const Selection& selection,
                  const std::optional<MarkedUnit>& chosen) {
    UnitEdge edge;
    std::int64_t end = 0; // units that others contain are not marked twice
    for (const UnitMarks& run : marks) {
        if (run.axis != axis || run.begin < end)
            continue;
        const QString prefix = namePrefix(run.unit);
        for (int index = 0; index < run.count; ++index) {
            const MarkedUnit unit{run.unit, run.layer, index};
            const std::vector<HeadId> heads = headsOf(masks.spec(), unit);
            const bool areHeadsSelected = !heads.empty() && std::ranges::all_of(heads, [&](HeadId head) {
                return selection.heads().contains(head);
            });
            const std::int64_t from = run.begin + index * run.size;
            edge.marks.push_back({from, from + run.size, prefix + QString::number(index), unitHatch(masks, unit),
                                  areHeadsSelected || chosen == unit});
            edge.units.push_back(unit);
        }
        end = run.begin + run.count * run.size;
    }
    return edge;
}

void cutOrRestoreUnit(MaskEditor& masks, const MarkedUnit& unit) {
    const bool cut = !isUnitCut(masks.mask(), masks.spec(), unit);
    const std::vector<HeadId> heads = headsOf(masks.spec(), unit);
    if (!heads.empty())
        masks.setHeadsCut(std::set<HeadId>(heads.begin(), heads.end()), cut);
    else
        masks.setNeuronsCut(unit.layer, std::array{unit.index}, cut);
}

} // namespace secateur
