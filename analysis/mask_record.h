#pragma once

#include "analysis/pruning_mask.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace secateur {

/// How much a strategy was asked to remove: units, or a percentage of what the strategy counts.
struct Budget {
    double amount = 0; ///< from 0
    bool isPercentage = false;
    bool operator==(const Budget&) const = default;
};

/// Where a mask came from. Empty = not known or not applicable; all of it for the record, nothing reads it again.
struct MaskProvenance {
    std::string strategy; ///< id in the strategy table
    std::map<std::string, std::string> options;
    std::optional<Budget> budget;
    std::string text; ///< what the strategy measured on
    std::optional<std::int64_t> seed;
    std::string created;  ///< ISO 8601, UTC
    std::string secateur; ///< version
    bool operator==(const MaskProvenance&) const = default;
};

/// A mask with what a mask file says of it besides.
struct MaskRecord {
    PruningMask mask;
    std::string modelName;   ///< for people; may be empty
    std::string fingerprint; ///< of the model that it was made on; may be empty
    std::string note;
    std::optional<MaskProvenance> provenance;
    bool operator==(const MaskRecord&) const = default;
};

} // namespace secateur
