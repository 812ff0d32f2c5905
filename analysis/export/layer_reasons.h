#pragma once

#include "analysis/export/export_target.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Layers as text: "layer 3", "layers 3, 7 and 28", "layers 0, 1, 2, 3 and 26 more".
std::string named(const std::vector<int>& layers);

/// The sentence for MLPs whose widths must be equal.
inline constexpr std::string_view varyingWidths =
    "MLP widths vary between layers, but the configuration has one value for all";

/// A model under a mask, for checks of all layers.
class MaskedModel {
public:
    using Condition = std::function<bool(const CutLayer&)>;
    using Count = std::function<int(const CutLayer&)>;

    MaskedModel(const PruningMask& mask, const ModelSpec& spec)
        : m_mask(mask)
        , m_spec(spec) {}

    /// The layers for which a condition holds.
    std::vector<int> layers(const Condition& holds) const;

    /// If the condition holds for any layer, adds the reason "layers 3 and 7: SENTENCE".
    void refuse(Reasons& reasons, const Condition& holds, std::string_view sentence) const;

    /// Adds a reason if the layers whose block is kept have different counts. It concerns the layers that differ from
    /// the commonest count.
    void refuseVarying(Reasons& reasons, const Count& count, std::string_view sentence) const;

    void refuseBypass(Reasons& reasons, std::string_view sentence) const;
    /// Adds a reason for layers that do not satisfy keepsEqualGroups(). It concerns the cut heads of these layers.
    void refuseUnequalGroups(Reasons& reasons) const;

private:
    const PruningMask& m_mask;
    const ModelSpec& m_spec;
};

} // namespace secateur
