#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// How much a strategy removes: units, or a percentage of the units that it counts.
struct Budget {
    double amount = 0; ///< from 0
    bool isPercentage = false;
    bool operator==(const Budget&) const = default;
};

/// A head that a strategy in steps has cut.
struct HistoricCut {
    int step = 0;     ///< from 1; a step may cut several heads
    HeadId head;      ///< of layers that share their weights, in the first
    double score = 0; ///< value of the metric, before the step
    double value = 0; ///< of PruneHistory::measure, after the step
    bool operator==(const HistoricCut&) const = default;
};

/// The steps of such a strategy.
struct PruneHistory {
    std::string measure; ///< "loss_nats" (per token), "acc", "agreement" or "pooled_distance"
    double before = 0;   ///< value of the measure without any of these cuts
    std::vector<HistoricCut> cuts;
    int steps = 0; ///< in the mask; later steps were measured and taken back
    bool operator==(const PruneHistory&) const = default;
};

/// How a mask was made, for the record. Empty = not known or not applicable.
struct MaskProvenance {
    std::string strategy; ///< id in the strategy table
    std::map<std::string, std::string> options;
    std::optional<Budget> budget;
    std::string text; ///< text that the strategy measured on
    std::optional<std::int64_t> seed;
    std::string created;  ///< ISO 8601, UTC
    std::string secateur; ///< version
    std::optional<PruneHistory> history = {};
    bool operator==(const MaskProvenance&) const = default;
};

/// A mask with the other fields of a mask file.
struct MaskRecord {
    PruningMask mask;
    std::string modelName;   ///< for people; may be empty
    std::string fingerprint; ///< of the model that the mask was made on; may be empty
    std::string note;
    std::optional<MaskProvenance> provenance;
    bool operator==(const MaskRecord&) const = default;
};

} // namespace secateur
