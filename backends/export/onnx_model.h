#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "backends/export/onnx_graph.h"

namespace secateur {

/// An encoder under a mask as an ONNX graph of plain operations. Cut heads and neurons and dropped sublayers are left
/// out, and the compensation of the mask is in the weights and biases. Layers that share their weights share them in
/// the graph too. The model must outlive the graph, because its weights are read when the graph is written.
///
/// Inputs, int64 [batch, sequence]: `input_ids`, `attention_mask` (1 = token, 0 = padding), `token_type_ids`.
/// Outputs, float32: `logits` [batch, classes] of a model with a classifier; otherwise `last_hidden_state` [batch,
/// sequence, hidden] and, of a model with a pooler, `pooler_output` [batch, hidden].
/// @param model must have no reason against it (onnxReasons()) @throws Error if the mask does not fit the model
OnnxGraph onnxModel(const Model& model, const PruningMask& mask);

} // namespace secateur
