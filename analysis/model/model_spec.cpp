#include "analysis/model/model_spec.h"

#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace secateur {

int ModelSpec::maxHeads() const {
    int most = 0;
    for (const LayerSpec& layer : layers)
        most = std::max(most, layer.heads);
    return most;
}

int ModelSpec::maxKvHeads() const {
    int most = 0;
    for (const LayerSpec& layer : layers)
        most = std::max(most, layer.kvHeads);
    return most;
}

std::string ModelSpec::structure() const {
    std::vector<std::string> runs;
    for (std::size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
        const auto shape = [](const LayerSpec& l) {
            return fmt::format("{}/{}x{}+{}", l.heads, l.kvHeads, l.headDim, l.ffn);
        };
        const std::string first = shape(layers[begin]);
        while (end < layers.size() && shape(layers[end]) == first)
            ++end;
        runs.push_back(fmt::format("{}x{}", end - begin, first));
    }
    return join(runs, ",");
}

int ModelSpec::storedLayer(int layer) const {
    const int stored = layers[static_cast<std::size_t>(layer)].stored;
    return stored < 0 ? layer : stored;
}

std::vector<std::vector<int>> ModelSpec::tiedGroups() const {
    std::map<int, std::vector<int>> byStored;
    for (int layer = 0; layer < layerCount(); ++layer)
        byStored[storedLayer(layer)].push_back(layer);
    if (byStored.size() == layers.size())
        return {};
    std::vector<std::vector<int>> groups;
    for (auto& [_, group] : byStored)
        groups.push_back(std::move(group));
    return groups;
}

std::string_view name(Family family) {
    return family == Family::decoder ? "decoder" : "encoder";
}

std::string_view name(AttentionKind kind) {
    switch (kind) {
    case AttentionKind::full:
        return "full";
    case AttentionKind::none:
        return "none";
    case AttentionKind::valueOnly:
        return "value_only";
    case AttentionKind::linear:
        return "linear";
    }
    return "";
}

} // namespace secateur
