#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_card.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace secateur {

/// A module of a model, in the tables of Greedy-Gnorm.
struct ModuleSize {
    std::string_view name;   ///< "Encoder"
    std::int64_t before = 0; ///< number of parameters of the dense model
    std::int64_t after = 0;  ///< number of parameters that the mask keeps, as PriceList counts them
};

// Names of modules.
inline constexpr std::string_view wholeModule = "Model";
inline constexpr std::string_view baseModule = "Base"; ///< an encoder without its classifier
inline constexpr std::string_view lmHeadModule = "LM head";

/// The modules of a model, counted from its structure: the whole model, then its parts. Weights that layers share count
/// once. Encoders: Base, Embeddings, Encoder, Pooler, and Classifier with Weight and Bias or, for RoBERTa, with Dense
/// and Out_proj. Decoders: Embeddings, Attention, MLP, Norms, LM head, which has 0 parameters if its weights are those
/// of the embeddings. Other weights are a module Other.
/// @throws Error if the mask is for another structure
std::vector<ModuleSize> moduleSizes(const ModelCard& model, const PruningMask& mask);

} // namespace secateur
