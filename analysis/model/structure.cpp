#include "analysis/model/structure.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace secateur {

namespace {

// A structure may come from a file that anybody wrote: what is allocated for it has bounds.
constexpr std::int64_t mostParts = 100'000'000; // heads and neurons together; the largest known models have 7 million
constexpr int mostLayers = 100'000;

/// Takes a number and the character behind it off the text; behind the last one there is none.
bool take(std::string_view& text, char behind, int& number) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || number < 0)
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (behind == '\0')
        return text.empty();
    if (!text.starts_with(behind))
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
            throw Error(fmt::format("\"{}\" is no structure such as 30x9/3x64+1536", structure));
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
