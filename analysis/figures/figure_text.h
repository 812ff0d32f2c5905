#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"

#include <string>

namespace secateur {

/// "gate-norm per head, fold_norm (nats)": what an axis of a result measures.
std::string axisLabel(const MetricResult& result);
/// "gate-norm of SmolLM2 (llama, 30 layers, 9 heads, 3 KV heads)."
std::string figureCaption(const ModelCard& model, const std::string& what);
/// "head", "KV group", "neuron"; empty for layers.
std::string unitLabel(Scope scope);

} // namespace secateur
