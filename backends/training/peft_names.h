#pragma once

#include "analysis/training/adapter.h"
#include "backends/config/architectures.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A weight by the name that it has in the class of transformers.
struct PeftWeight {
    WeightPlace place;
    std::string module; ///< "model.layers.3.self_attn.q_proj"; parts of a fused matrix have the same module
    std::string kind;   ///< "weight" or "bias"
    FusedPart part = FusedPart::whole;
    bool transposed = false; ///< whether the class stores the matrix as [in, out] (Conv1D)
};

/// Whether an adapter can replace a weight: weights and biases of norms, of the pooler and of the classifier.
bool canBeReplaced(WeightName name);

/// The weights of a model, in the order of their places. Of layers that share their weights,
/// only the first. A model in GGUF has the names of its class in transformers.
/// @param prefix of the module names; empty = that of the class which transformers opens the model with
/// @throws Error if the architecture has no class in transformers
std::vector<PeftWeight> peftWeights(const Model& model, std::optional<std::string_view> prefix = {});

/// The prefixes that module names of the architecture may have: "model.", "".
std::span<const std::string_view> peftPrefixes(const Model& model);

} // namespace secateur
