#pragma once

#include "analysis/evaluation/change_scale.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/price.h"

#include <optional>
#include <span>
#include <string>

namespace secateur {

// What `prune` and `mask VERB` print with --json (contract.md).

/// A mask with what it removes. Counts that need weights are null where the model is not at hand.
struct PricedMask {
    const PruningMask& mask;
    const Price& price;
    bool hasModel = true;
};

/// {"mask", "digest", "removed", "left", "layers", "half_cut_groups", "warnings"} @param path of the mask; empty = null
std::string maskResultJson(const std::string& path, const PricedMask& mask, std::span<const std::string> warnings);

/// The same with {"strategy", "options", "budget", "seed"} before it, and behind it "history" (historyJson) and
/// {"predicted_delta_nats", "predicted_interval"}, where there are such. @param provenance how the mask was made
std::string pruneJson(const std::string& path, const MaskProvenance& provenance, const PricedMask& mask,
                      const std::optional<Prediction>& predicted, std::span<const std::string> warnings);

/// {"mask", "removed", ...} of what only one cuts, and "only_first", "only_second", "both" with the same of each part.
std::string maskDifferenceJson(const std::string& path, const PricedMask& either, const PricedMask& onlyFirst,
                               const PricedMask& onlySecond, const PricedMask& both,
                               std::span<const std::string> warnings);

} // namespace secateur
