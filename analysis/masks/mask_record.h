#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/pruning_mask.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// What a budget counts.
enum class BudgetOf {
    own,             ///< the units that the strategy's row states
    parameters,      ///< parameters of the model
    layerParameters, ///< parameters of attention and MLPs, without norms
    kvBytes,         ///< bytes of the KV cache per token
    operations,      ///< multiplications and additions per token
    fileBytes,       ///< bytes of the weight files of an export
    seconds,         ///< seconds of a forward pass
};

/// How much a strategy removes. With BudgetOf::own, a number of units or a percentage of all units of their kind. With
/// the others, a percentage of the dense model's amount.
struct Budget {
    double amount = 0; ///< at least 0
    bool isPercentage = false;
    BudgetOf of = BudgetOf::own;
    bool operator==(const Budget&) const = default;
};

/// A unit that a ranking strategy cut, in the first layer of those that share its weights.
struct OrderedCut {
    CutUnit unit = CutUnit::head;
    int layer = 0;
    int index = 0;    ///< as the argument of isCut()
    double score = 0; ///< the value by which it was chosen, at the time of its cut
    bool operator==(const OrderedCut&) const = default;
};

/// A unit that was cut by a strategy that works in steps.
struct HistoricCut {
    int step = 0;     ///< counted from 1; a step may cut several units
    HeadId head;      ///< in the first layer of those that share its weights; of other units the layer, and head 0
    double score = 0; ///< the value by which the unit was chosen, before the step: a metric, or the rise of the loss
    double value = 0; ///< value of PruneHistory::measure after the step
    CutUnit unit = CutUnit::head; ///< a head, attention sublayer, MLP or block
    bool operator==(const HistoricCut&) const = default;
};

/// The steps of a strategy that works in steps.
struct PruneHistory {
    std::string measure; ///< "loss_nats" or "kl_and_loss_nats" (per token), "acc", "agreement" or "pooled_distance"
    double before = 0;   ///< value of the measure before the first cut
    std::vector<HistoricCut> cuts;
    int steps = 0; ///< number of steps whose cuts the mask has; later steps were undone
    bool operator==(const PruneHistory&) const = default;
};

/// Losses of a model with a bypassed attention sublayer for values of its factor alpha, on the text on which alpha was
/// chosen.
struct AlphaCurve {
    int layer = 0;
    double alpha = 0;           ///< the chosen factor
    std::vector<double> alphas; ///< the factors that were tried
    std::vector<double> losses; ///< [alphas] in nats per token; of classifiers in nats per text
    bool operator==(const AlphaCurve&) const = default;
};

/// How a projection of a compensation was fitted.
struct FittedPart {
    int layer = 0;
    bool isAttention = false; ///< the output projection of attention, else the down projection of the MLP
    double mu = 0;            ///< in multiples of the mean diagonal; 0 for the mode bias
    /// Squared errors on the tokens that were held out to choose mu, divided by the squares of the outputs
    /// that the whole sublayers have.
    double errorBefore = 0;
    double errorAfter = 0;
    bool operator==(const FittedPart&) const = default;
};

/// How a mask was made. A field is empty if it is unknown or does not apply.
struct MaskProvenance {
    std::string strategy; ///< id of the strategy
    std::map<std::string, std::string> options;
    std::optional<Budget> budget;
    std::string text; ///< source of the text on which the strategy measured
    std::optional<std::int64_t> seed;
    std::string created;  ///< time in UTC as ISO 8601
    std::string secateur; ///< version of Secateur
    std::optional<PruneHistory> history = {};
    std::string textDigest = {};         ///< digest of the tokens of `text`
    std::vector<OrderedCut> order = {};  ///< the cuts of a ranking strategy, first cut first; empty = not recorded
    std::vector<std::string> notes = {}; ///< sentences about choices that the strategy made
    std::vector<AlphaCurve> alphaCurves =
        {}; ///< one for each layer whose alpha was searched, in the order of the search
    std::vector<FittedPart> fits = {}; ///< of a fitted compensation, in the order in which they were fitted
    bool operator==(const MaskProvenance&) const = default;
};

/// A mask and the other fields of a mask file.
struct MaskRecord {
    PruningMask mask;
    std::string modelName;   ///< for display only; may be empty
    std::string fingerprint; ///< fingerprint of the model that the mask was made for; may be empty
    std::string note;
    std::optional<MaskProvenance> provenance;
    bool operator==(const MaskRecord&) const = default;
};

} // namespace secateur
