#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_spec.h"

#include <string_view>

namespace secateur {

/// How a checkpoint takes the biases that a compensation adds to a sublayer.
enum class BiasRoom {
    none,      ///< programs that open the source read no such bias
    own,       ///< the projection has a bias already
    addedOnce, ///< GGUF of llama.cpp's architecture llama: a bias tensor for each projection that needs one
    addedToAll ///< transformers: the configuration gives biases to all projections of such sublayers; others are 0
};

/// @param attention whether of the output projection of attention, else of the down projection @param layer must have
/// the sublayer @param format id of the source's format
BiasRoom biasRoom(const ModelSpec& spec, const LayerSpec& layer, bool attention, std::string_view format);

/// The spec of a model to which BiasRoom::addedOnce and BiasRoom::addedToAll have added the biases that a mask's
/// compensation needs.
ModelSpec withCompensationBiases(ModelSpec spec, const PruningMask& mask, std::string_view format);

/// Whether a mask adds a bias to the attention, else to the MLP, of a layer that keeps this sublayer.
bool addsBias(const LayerSpec& layer, const LayerMask& mask, bool attention);

} // namespace secateur
