#include "analysis/figures/figure_text.h"

#include <fmt/core.h>

namespace secateur {

std::string axisLabel(const MetricResult& result) {
    const MetricInfo& info = *result.request.info;
    std::string label(info.title);
    for (const auto& [name, value] : result.request.options)
        label += value == "true" ? fmt::format(", {}", name) : fmt::format(", {}={}", name, value);
    if (!info.unit.empty())
        label = fmt::format("{} ({})", label, info.unit);
    return result.label.empty() ? label : fmt::format("{}, {}", label, result.label);
}

std::string figureCaption(const ModelCard& model, const std::string& what) {
    const LayerSpec widest = model.spec.layers.empty() ? LayerSpec{} : model.spec.layers.front();
    return fmt::format("{} of {} ({}, {} layers, {} heads, {} KV heads).", what, model.name, model.spec.architecture,
                       model.spec.layerCount(), widest.heads, widest.kvHeads);
}

std::string unitLabel(Scope scope) {
    switch (scope) {
    case Scope::head:
        return "head";
    case Scope::kvGroup:
        return "KV group";
    case Scope::neuron:
        return "neuron";
    case Scope::layer:
        return {};
    }
    return {};
}

} // namespace secateur
