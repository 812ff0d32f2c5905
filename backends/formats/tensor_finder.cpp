#include "backends/formats/tensor_finder.h"

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

void replace(std::string& text, std::string_view what, std::string_view value) {
    if (const auto at = text.find(what); at != std::string::npos)
        text.replace(at, what.size(), value);
}

std::string filledIn(std::string_view pattern, std::string_view prefix, int layer, int layersPerGroup) {
    std::string name(pattern);
    replace(name, "{prefix}", prefix);
    replace(name, "{layer}", std::to_string(layer));
    replace(name, "{group}", std::to_string(layer / layersPerGroup));
    replace(name, "{inner}", std::to_string(layer % layersPerGroup));
    return name;
}

} // namespace

TensorFinder::TensorFinder(const Checkpoint& checkpoint, TensorPatterns patterns,
                           std::span<const std::string_view> prefixes)
    : m_checkpoint(checkpoint)
    , m_patterns(patterns) {
    for (const std::string_view prefix : prefixes) {
        m_prefix = prefix;
        if (holds(-1, WeightName::embedding))
            return;
    }
    m_prefix = prefixes.empty() ? std::string_view() : prefixes.front();
}

FoundTensor TensorFinder::find(int layer, WeightName which, int layersPerGroup) const {
    for (const auto& patterns : m_patterns) {
        for (const TensorPattern& pattern : patterns) {
            if (pattern.which != which)
                continue;
            if (const auto* entry = entryNamed(filledIn(pattern.pattern, m_prefix, layer, layersPerGroup)))
                return {entry, &pattern};
        }
    }
    return {};
}

const TensorEntry* TensorFinder::entryNamed(const std::string& name) const {
    if (const TensorEntry* entry = m_checkpoint.find(name))
        return entry;
    // What checkpoints converted from TensorFlow, bert-base-uncased among them, call the same.
    static constexpr std::array legacy{std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                       std::pair{"LayerNorm.bias", "LayerNorm.beta"}};
    for (const auto& [today, once] : legacy) {
        if (name.ends_with(today)) {
            std::string old = name;
            replace(old, today, once);
            return m_checkpoint.find(old);
        }
    }
    return nullptr;
}

std::string TensorFinder::name(int layer, WeightName which, int layersPerGroup) const {
    for (const auto& patterns : m_patterns) {
        const auto found = std::ranges::find(patterns, which, &TensorPattern::which);
        if (found != patterns.end())
            return filledIn(found->pattern, m_prefix, layer, layersPerGroup);
    }
    return {};
}

bool fits(std::string_view name, std::string_view pattern) {
    if (pattern.starts_with('*'))
        return name.ends_with(pattern.substr(1));
    if (pattern.ends_with('*'))
        return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name == pattern;
}

} // namespace secateur
