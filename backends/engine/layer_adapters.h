#pragma once

#include "analysis/running/plan_adapters.h"
#include "analysis/running/runner.h"
#include "backends/engine/plan_layer.h"

#include <cstdint>

namespace secateur {

/// A key for the dropout of a batch, made from its tokens.
std::uint64_t dropoutKeyOf(const Batch& batch);

/// A layer with the low-rank updates, the trained norms and the trained compensation of a plan. Cut units are left out
/// of them as they are of the layer. The tensors of the result are linked to the graph of those in `adapters`. For
/// sources only: includes ATen.
/// @param layer as makePlanLayer() makes it @param batchKey as returned by dropoutKeyOf()
PlanLayer withAdapters(const PlanLayer& layer, const ModelSpec& spec, int index, const LayerMask& mask,
                       const PlanAdapters& adapters, std::uint64_t batchKey);

/// Embedding and head with the trained final norm and classifier of a plan.
EmbeddingAndHead withAdapters(const EmbeddingAndHead& weights, const ModelSpec& spec, const PlanAdapters& adapters);

} // namespace secateur
