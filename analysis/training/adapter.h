#pragma once

#include "analysis/model/model.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

/// A low-rank update of a projection: W' = W + scale B A (LoRA, Hu et al. 2021). It has the shape of the model's
/// projection, including cut units, so that it does not depend on the cuts. Numbers of cut units are 0.
struct LowRankUpdate {
    int rank = 0;         ///< at least 1
    double scale = 1;     ///< alpha / rank
    std::vector<float> a; ///< [rank, in], row after row
    std::vector<float> b; ///< [out, rank], row after row
    bool operator==(const LowRankUpdate&) const = default;
};

/// The place of a weight in a model: its layer, -1 = outside of the layers, and its name.
using WeightPlace = std::pair<int, WeightName>;

/// The settings with which an adapter was made. PEFT files state them.
struct AdapterSettings {
    int rank = 8;
    double alpha = 16;
    double dropout = 0.05;
    bool operator==(const AdapterSettings&) const = default;
};

/// Trained changes of a model. Of layers that share their weights, only the first has updates. Places are in the layout
/// of Model::tensor().
struct Adapter {
    AdapterSettings settings;
    std::string modelName;   ///< for display only; may be empty
    std::string fingerprint; ///< fingerprint of the model that it was trained on; may be empty
    std::map<WeightPlace, LowRankUpdate> updates;
    /// Whole weights that replace the model's: norms, and the classifier. float32, in the shape of expectedShape().
    std::map<WeightPlace, std::vector<float>> weights;

    bool empty() const { return updates.empty() && weights.empty(); }
    bool operator==(const Adapter&) const = default;
};

/// The projections that can have a low-rank update: query, key, value, output, gate, up, down.
bool canHaveUpdate(WeightName name);

/// The spec of a model with an adapter. It differs only if the adapter brings a classifier with other classes.
ModelSpec specWith(const Adapter& adapter, ModelSpec spec);

/// A classifier of zeros, for an encoder that has none or one with other classes.
Adapter newClassifier(const ModelSpec& spec, int classes);

/// Checks that an adapter fits a model: layers, names and shapes, and that all numbers are finite.
/// @throws Error naming the layer and the projection
void checkFits(const Adapter& adapter, const ModelSpec& spec);

} // namespace secateur
