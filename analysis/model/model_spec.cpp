#include "analysis/model/model_spec.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
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

int ModelSpec::firstSharing(int layer) const {
    int first = 0;
    while (storedLayer(first) != storedLayer(layer))
        ++first;
    return first;
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

namespace {

// Limits for the memory that a structure may need. A structure may come from an untrusted file.
constexpr std::int64_t mostParts = 100'000'000; // heads and neurons together; the largest known models have 7 million
constexpr int mostLayers = 100'000;

/// Parses a number at the beginning of a text and removes it, together with the character `after`, which must follow
/// it.
/// @param after '\0' = the text must end after the number @returns false if the text begins differently
bool take(std::string_view& text, char after, int& number) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || number < 0)
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (after == '\0')
        return text.empty();
    if (!text.starts_with(after))
        return false;
    text.remove_prefix(1);
    return true;
}

} // namespace

ModelSpec specOf(const std::string& architecture, std::string_view structure) {
    ModelSpec spec;
    spec.architecture = architecture;
    std::int64_t parts = 0;
    for (const std::string& run : split(structure, ',')) {
        LayerSpec layer;
        int count = 0;
        std::string_view rest = run;
        const bool reads = take(rest, 'x', count) && take(rest, '/', layer.heads) && take(rest, 'x', layer.kvHeads) &&
                           take(rest, '+', layer.headDim) && take(rest, '\0', layer.ffn);
        const bool hasGroups = layer.kvHeads == 0 || layer.heads % layer.kvHeads == 0;
        if (!reads || !hasGroups)
            throw Error(fmt::format("\"{}\" is not a structure such as 30x9/3x64+1536", structure));
        parts += std::int64_t{count} * (std::int64_t{layer.heads} + layer.ffn + 1);
        if (count > mostLayers - spec.layerCount() || parts > mostParts)
            throw Error(fmt::format("\"{}\" has more layers, heads or neurons than any model", structure));
        if (layer.kvHeads == 0)
            layer.attention = layer.heads > 0 ? AttentionKind::linear : AttentionKind::none;
        spec.layers.insert(spec.layers.end(), static_cast<std::size_t>(count), layer);
    }
    return spec;
}

} // namespace secateur
