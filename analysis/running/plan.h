#pragma once

#include "analysis/masks/pruning_mask.h"

#include <string>
#include <string_view>

namespace secateur {

/// The dtype of matrix products. Norms, softmax, rotation, losses and the residual stream are float32 in every dtype.
enum class ComputeType { automatic, float32, bfloat16, float16 };

std::string_view name(ComputeType type);
/// @throws Error naming the dtypes
ComputeType computeTypeOf(std::string_view name);

/// A model under a mask, ready to run: converted weights without cut units, on the device. A layer's weights are
/// converted when they are first needed and freed when memory is short; plans share layers whose masks are equal.
/// Immutable; belongs to the Runner that made it.
class Plan {
public:
    virtual ~Plan() = default;

    const PruningMask& mask() const { return m_mask; }
    ComputeType type() const { return m_type; } ///< never automatic
    /// Why this type was chosen: "float32: ..." for ComputeType::automatic, else empty.
    const std::string& reason() const { return m_reason; }
    /// Whether all layers fit the memory budget at once; if not, runs should go layer by layer (forEachLayer).
    bool isResident() const { return m_isResident; }

protected:
    Plan(PruningMask mask, ComputeType type, std::string reason, bool isResident)
        : m_mask(std::move(mask))
        , m_type(type)
        , m_reason(std::move(reason))
        , m_isResident(isResident) {}

private:
    PruningMask m_mask;
    ComputeType m_type;
    std::string m_reason;
    bool m_isResident;
};

} // namespace secateur
