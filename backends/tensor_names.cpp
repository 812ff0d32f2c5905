#include "backends/tensor_names.h"

#include <algorithm>

namespace secateur {

namespace {

void replace(std::string& text, std::string_view placeholder, std::string_view value) {
    if (const auto at = text.find(placeholder); at != std::string::npos)
        text.replace(at, placeholder.size(), value);
}

const LayerSpec& layerOf(const ModelSpec& spec, int layer) {
    return spec.layers[static_cast<std::size_t>(layer)];
}

} // namespace

TensorNames::TensorNames(const ArchitectureInfo& architecture, std::span<const TensorPattern> patterns,
                         const Checkpoint& checkpoint)
    : m_patterns(patterns)
    , m_prefix(architecture.prefixes.front()) {
    for (const std::string_view prefix : architecture.prefixes) {
        TensorNames tried = *this;
        tried.m_prefix = prefix;
        if (checkpoint.find(tried.name(-1, Which::embedding))) {
            m_prefix = prefix;
            break;
        }
    }
}

std::string TensorNames::name(int layer, Which which) const {
    const auto found = std::ranges::find(m_patterns, which, &TensorPattern::which);
    if (found == m_patterns.end())
        return {};
    std::string name(found->pattern);
    replace(name, "{prefix}", m_prefix);
    replace(name, "{layer}", std::to_string(layer));
    return name;
}

bool isOfLayer(Which which) {
    return which != Which::embedding && which != Which::finalNorm && which != Which::readOut;
}

bool isRequired(const ModelSpec& spec, int layer, Which which) {
    if (!isOfLayer(which))
        return which != Which::readOut || !spec.tiedEmbeddings;
    const LayerSpec& current = layerOf(spec, layer);
    const bool attention = current.attention != AttentionKind::none;
    switch (which) {
    case Which::queryBias:
        return attention && current.queryBias;
    case Which::keyBias:
        return attention && current.keyBias;
    case Which::valueBias:
        return attention && current.valueBias;
    case Which::outputBias:
        return attention && current.outputBias;
    case Which::mlpNorm:
    case Which::up:
    case Which::down:
        return current.ffn > 0;
    case Which::gate:
        return current.ffn > 0 && spec.gatedMlp;
    default:
        return attention;
    }
}

std::vector<std::int64_t> expectedShape(const ModelSpec& spec, int layer, Which which) {
    const std::int64_t hidden = spec.hidden;
    if (!isOfLayer(which))
        return which == Which::finalNorm ? std::vector{hidden} : std::vector<std::int64_t>{spec.vocab, hidden};
    const LayerSpec& current = layerOf(spec, layer);
    const std::int64_t queries = std::int64_t{current.heads} * current.headDim;
    const std::int64_t keys = std::int64_t{current.kvHeads} * current.headDim;
    switch (which) {
    case Which::query:
        return {queries, hidden};
    case Which::key:
    case Which::value:
        return {keys, hidden};
    case Which::output:
        return {hidden, queries};
    case Which::queryBias:
        return {queries};
    case Which::keyBias:
    case Which::valueBias:
        return {keys};
    case Which::gate:
    case Which::up:
        return {current.ffn, hidden};
    case Which::down:
        return {hidden, current.ffn};
    default:
        return {hidden};
    }
}

} // namespace secateur
