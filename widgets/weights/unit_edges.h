#pragma once

#include "analysis/weights/unit_marks.h"
#include "widgets/weights/matrix_map.h"

#include <optional>
#include <span>
#include <vector>

namespace secateur {

class MaskEditor;
class Selection;

/// The hatching of a unit under the current mask and its preview or, without a preview, the compared mask.
Hatch unitHatch(const MaskEditor& masks, const MarkedUnit& unit);

/// The units along an edge of a tensor: marks for MatrixMap, and the unit of each.
struct UnitEdge {
    MatrixMarks marks;
    std::vector<MarkedUnit> units; ///< of `marks`
};

/// The units along an axis of a tensor. @param chosen a neuron or KV group that is selected; heads are selected in
/// `selection`
UnitEdge unitEdge(std::span<const UnitMarks> marks, GridAxis axis, const MaskEditor& masks, const Selection& selection,
                  const std::optional<MarkedUnit>& chosen);

/// The heads of a unit: itself, or those of the KV group; none of a neuron.
std::vector<HeadId> headsOf(const ModelSpec& spec, const MarkedUnit& unit);

/// Cuts a unit, or restores it if it is cut.
void cutOrRestoreUnit(MaskEditor& masks, const MarkedUnit& unit);

} // namespace secateur
