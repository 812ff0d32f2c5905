#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// How much a strategy was asked to remove: units, or a percentage of what the strategy counts.
struct Budget {
    double amount = 0; ///< from 0
    bool isPercentage = false;
    bool operator==(const Budget&) const = default;
};

/// A head that a strategy cut which measures again after each step.
struct HistoricCut {
    int step = 0;     ///< from 1; several heads may go in one step
    HeadId head;      ///< of layers that share their weights in the first one
    double score = 0; ///< of the head, before the step
    double value = 0; ///< of PruneHistory::measure, behind the step
    bool operator==(const HistoricCut&) const = default;
};

/// How such a strategy came to its mask.
struct PruneHistory {
    std::string measure; ///< "loss_nats" (a token), "acc", "agreement" or "pooled_distance": GreedyQuality
    double before = 0;   ///< of it, without any of these cuts
    std::vector<HistoricCut> cuts;
    int steps = 0; ///< that the mask holds; those behind were measured, and are not in it
    bool operator==(const PruneHistory&) const = default;
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
    std::optional<PruneHistory> history = {};
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
