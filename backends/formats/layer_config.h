#pragma once

#include "analysis/model/model_spec.h"
#include "backends/base/json_object.h"
#include "backends/config/architectures.h"

#include <vector>

namespace secateur {

// Parts of a config.json that describe single layers. Each function changes layers of equal shape to what the
// configuration says about them. Nothing changes if its key is absent or null.

/// Reads `pruned_heads` of transformers 4, {"0": [1, 5]}: heads, by index of the stored layer, whose weights are not in
/// the file. @throws Error naming the layer
void readPrunedHeads(const JsonObject& config, std::vector<LayerSpec>& layers);

/// Reads `block_configs` of DeciLM (nemotron-nas), a list with one object per layer:
///   attention: n_heads_in_group (query heads per KV head), no_op, replace_with_linear (one matrix [hidden, hidden]);
///   ffn: ffn_mult (the width is int(2 * ffn_mult * hidden / 3), rounded up to a multiple of 256), no_op.
/// A sublayer with no_op has neither weights nor a norm. @throws Error naming the layer and the key
void readBlockConfigs(const JsonObject& config, int hidden, std::vector<LayerSpec>& layers);

/// Reads `per_layer_config` of transformers (from 5.14): a map from the index of a layer ("3", also "03") to the
/// settings that differ from the global ones.
///   num_attention_heads, num_key_value_heads, head_dim, intermediate_size: from 1. Other head counts than the global
///     one need a stated head_dim, because transformers would otherwise derive it from the layer's heads or from the
///     global heads, by architecture.
///   sliding_window: null = all keys. Only layers with sliding attention have a window.
///   skip: ["attention", "mlp"]; a skipped sublayer has neither weights nor a norm.
/// Own settings, beside those of transformers:
///   bypass_qk: each token attends to itself only. Of the attention's weights only those of values and output, with
///     their biases, are in the file. The number multiplies the attention update (after a norm that follows it).
///   attention_output_bias, mlp_output_bias: whether o_proj or down_proj has a bias. They may also stand beside
///     per_layer_config, for all layers.
/// @param layers with window and shape of each layer @throws Error naming the layer and the key
void readLayerConfig(const JsonObject& config, const ArchitectureInfo& architecture, std::vector<LayerSpec>& layers);

} // namespace secateur
