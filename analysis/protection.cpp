#include "analysis/protection.h"

#include "analysis/text.h"
#include "analysis/usage_error.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace secateur {

namespace {

constexpr const char* option = "--protect";

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool isWhole = failure == std::errc() && end == text.data() + text.size() && value >= 0;
    return isWhole ? std::optional(value) : std::nullopt;
}

/// "4" or "1-3", both ends included.
std::optional<std::pair<int, int>> range(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = number(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
    if (!first || !last || *last < *first)
        return {};
    return std::pair(*first, *last);
}

void checkBelow(int index, int count, const char* what, const std::string& part) {
    if (index >= count)
        throw UsageError(
            fmt::format("\"{}\" names {} {}, but there are only {}: they count from 0", part, what, index, count),
            option);
}

void addPart(Protection& protection, const std::string& part, const ModelSpec& spec) {
    const std::size_t point = part.find('.');
    const auto layers = range(std::string_view(part).substr(0, point));
    const auto heads = point == std::string::npos ? std::nullopt : range(std::string_view(part).substr(point + 1));
    const bool namesHeads = point != std::string::npos;
    if (!layers || (namesHeads && (!heads || layers->first != layers->second)))
        throw UsageError(fmt::format("\"{}\" is no layer (0), range of layers (0-2), head (3.4) or range of heads of a "
                                     "layer (5.1-3); first_last and none stand alone",
                                     part),
                         option);
    checkBelow(layers->second, spec.layerCount(), "layer", part);
    if (!namesHeads) {
        for (int layer = layers->first; layer <= layers->second; ++layer)
            protection.protectLayer(layer);
        return;
    }
    checkBelow(heads->second, spec.layers[static_cast<std::size_t>(layers->first)].heads, "head", part);
    for (int head = heads->first; head <= heads->second; ++head)
        protection.protectHead({layers->first, head});
}

} // namespace

Protection::Protection(const ModelSpec& spec)
    : m_mask(spec) {}

Protection Protection::parse(std::string_view text, const ModelSpec& spec) {
    Protection protection(spec);
    if (text == "none")
        return protection;
    if (text == "first_last") {
        for (const int layer : {0, spec.layerCount() - 1})
            protection.protectLayer(layer);
        return protection;
    }
    for (const std::string& part : split(text, ','))
        addPart(protection, part, spec);
    return protection;
}

void Protection::protectLayer(int layer) {
    setBlock(m_mask, layer, false);
}

void Protection::protectHead(const HeadId& head) {
    setHeads(m_mask, std::array{head}, false);
}

bool Protection::isEmpty() const {
    return m_mask.keepsAll();
}

bool Protection::covers(const ModelSpec& spec, CutUnit unit, int layer, int index) const {
    const LayerMask& own = m_mask.layer(layer);
    if (!own.block)
        return true;
    const auto isProtected = [&](int head) { return !own.heads.at(static_cast<std::size_t>(head)); };
    const auto anyOf = [&](int begin, int end) {
        for (int head = begin; head < end; ++head)
            if (isProtected(head))
                return true;
        return false;
    };
    const LayerSpec& shape = spec.layers.at(static_cast<std::size_t>(layer));
    switch (unit) {
    case CutUnit::head:
        return isProtected(index);
    case CutUnit::kvGroup: {
        const int perGroup = shape.heads / shape.kvHeads;
        return anyOf(index * perGroup, (index + 1) * perGroup);
    }
    case CutUnit::attention:
    case CutUnit::block:
        return anyOf(0, shape.heads);
    case CutUnit::neuron:
    case CutUnit::mlp:
        return false;
    }
    return false;
}

void Protection::restore(PruningMask& mask) const {
    mask = subtraction(mask, m_mask);
    // A bypass changes what a protected head does: subtraction knows only of heads that are gone.
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        LayerMask own = mask.layer(layer);
        const LayerMask& spared = m_mask.layer(layer);
        if (own.attention != AttentionCut::bypassQk || spared.keepsAll())
            continue;
        own.attention = AttentionCut::keep;
        mask.setLayer(layer, std::move(own));
    }
}

} // namespace secateur
