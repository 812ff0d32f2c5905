#pragma once

#include "analysis/evaluation/change_scale.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/price.h"

#include <optional>
#include <span>
#include <string>

namespace secateur {

// The JSON documents of `prune` and `mask VERB` (resources/manual/formats.md, JSON output).

/// A mask and the counts that it removes. Counts that need weights are null if the model is not available.
struct PricedMask {
    const PruningMask& mask;
    const Price& price;
    bool hasModel = true;
};

/// {"mask", "digest", "removed", "left", "layers", "half_cut_groups", "warnings"}
/// @param path path of the mask file, which becomes the value of "mask"; empty = null
std::string maskResultJson(const std::string& path, const PricedMask& mask, std::span<const std::string> warnings);

/// The fields of maskResultJson() and more. "strategy", "options", "budget" and "seed" precede them. "history"
/// (historyJson()), "alpha_curves" (alphaCurvesJson()), "predicted_delta_nats" and "predicted_interval" follow, if available. @param provenance how the
/// mask was made
std::string pruneJson(const std::string& path, const MaskProvenance& provenance, const PricedMask& mask,
                      const std::optional<Prediction>& predicted, std::span<const std::string> warnings);

/// The fields of maskResultJson() for the cuts that exactly one of two masks has. The objects "only_first",
/// "only_second" and "both" follow, with the same fields. @param either the cuts of exactly one mask
std::string maskDifferenceJson(const std::string& path, const PricedMask& either, const PricedMask& onlyFirst,
                               const PricedMask& onlySecond, const PricedMask& both,
                               std::span<const std::string> warnings);

} // namespace secateur
