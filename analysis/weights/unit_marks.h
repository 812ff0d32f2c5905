#pragma once

#include "analysis/masks/mask_algebra.h"
#include "analysis/model/model_spec.h"
#include "analysis/weights/stored_tensors.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

enum class GridAxis { rows, columns };

/// Rows or columns of a tensor that belong to the units of a layer: `count` units of `size` rows or columns each, one
/// after another.
struct UnitMarks {
    CutUnit unit = CutUnit::head; ///< head, kvGroup or neuron
    int layer = 0;
    GridAxis axis = GridAxis::rows;
    std::int64_t begin = 0; ///< row or column of the tensor where unit 0 begins
    std::int64_t size = 1;
    std::int64_t count = 0;
};

/// A unit of a layer.
struct MarkedUnit {
    CutUnit unit = CutUnit::head;
    int layer = 0;
    int index = 0;
    bool operator==(const MarkedUnit&) const = default;
};

/// The units to which rows and columns of a tensor belong, by What belongs to a unit in
/// resources/manual/architecture.md. Of a vector (a bias), the columns. Empty if the tensor has no such rows or
/// columns.
std::vector<UnitMarks> unitMarks(const StoredTensor& tensor, const ModelSpec& spec);
/// The unit of a row or column of the tensor; absent if it belongs to none.
std::optional<MarkedUnit> unitAt(std::span<const UnitMarks> marks, GridAxis axis, std::int64_t position);
/// "L3.H1", "L3.G0" or "L3.N17".
std::string unitName(const MarkedUnit& unit);

} // namespace secateur
