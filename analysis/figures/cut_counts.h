#pragma once

#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/price.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_card.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// By what the cuts of masks are counted: units of one kind, or, if empty, parameters of attention and MLPs.
using CutKind = std::optional<CutUnit>;

/// "heads", "neurons", "attention", "mlps", "blocks" or "parameters": the value of an option. @throws UsageError for
/// others; `auto` is not among them
CutKind cutKindNamed(std::string_view name);
/// "heads", "attention sublayers", "parameters of the layers": for labels.
std::string cutKindLabel(CutKind kind);

/// The kind of units that all cuts of all masks consist of: blocks, else sublayers of one kind, else heads, else
/// neurons. A bypassed attention counts as a cut sublayer. Empty (parameters) if the masks cut units of several kinds.
CutKind commonKind(const ModelSpec& spec, std::span<const PruningMask* const> masks);

/// The cuts of two masks, in units or parameters.
struct CutOverlap {
    double both = 0;   ///< cut by both masks
    double either = 0; ///< cut by at least one of them
    /// both / either, the Jaccard index of the two sets of cuts; NaN if neither mask cuts anything.
    double jaccard() const;
};

/// Counts cuts. A unit in a dropped sublayer or block counts as cut.
class CutCounter {
public:
    explicit CutCounter(const ModelCard& card)
        : m_prices(card) {}

    /// The share of a layer's units that a mask cuts, from 0 to 1. NaN if the layer has none.
    double share(const PruningMask& mask, int layer, CutKind kind) const;
    /// @throws Error if the masks have different structures
    CutOverlap overlap(const PruningMask& a, const PruningMask& b, CutKind kind) const;

private:
    double removedParameters(const PruningMask& mask) const;

    PriceList m_prices;
};

} // namespace secateur
