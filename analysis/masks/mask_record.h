#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// How much a strategy removes: a number of units, or a percentage of all units of that kind.
struct Budget {
    double amount = 0; ///< at least 0
    bool isPercentage = false;
    bool operator==(const Budget&) const = default;
};

/// A head that a strategy in steps has cut.
struct HistoricCut {
    int step = 0;     ///< from 1; a step may cut several heads
    HeadId head;      ///< in the first of the layers that share its weights
    double score = 0; ///< the head's value of the metric before the step
    double value = 0; ///< value of PruneHistory::measure after the step
    bool operator==(const HistoricCut&) const = default;
};

/// The steps of a strategy that cuts step by step.
struct PruneHistory {
    std::string measure; ///< "loss_nats" (per token), "acc", "agreement" or "pooled_distance"
    double before = 0;   ///< value of the measure without any of `cuts`
    std::vector<HistoricCut> cuts;
    int steps = 0; ///< number of steps whose cuts the mask has; later ones were measured and then undone
    bool operator==(const PruneHistory&) const = default;
};

/// How a mask was made. A field is empty if it is not known or does not apply.
struct MaskProvenance {
    std::string strategy; ///< id in the strategy table
    std::map<std::string, std::string> options;
    std::optional<Budget> budget;
    std::string text; ///< source of the text that the strategy measured on
    std::optional<std::int64_t> seed;
    std::string created;  ///< ISO 8601, UTC
    std::string secateur; ///< version of Secateur
    std::optional<PruneHistory> history = {};
    bool operator==(const MaskProvenance&) const = default;
};

/// A mask with the other fields of a mask file.
struct MaskRecord {
    PruningMask mask;
    std::string modelName;   ///< for display only; may be empty
    std::string fingerprint; ///< of the model that the mask was made for; may be empty
    std::string note;
    std::optional<MaskProvenance> provenance;
    bool operator==(const MaskRecord&) const = default;
};

} // namespace secateur
