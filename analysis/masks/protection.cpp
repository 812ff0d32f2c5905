#include "analysis/masks/protection.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr const char* option = "--protect";

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool isWhole = failure == std::errc() && end == text.data() + text.size() && value >= 0;
    return isWhole ? std::optional(value) : std::nullopt;
}

/// Parses "4" or "1-3". Both ends of a range are included.
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
        throw UsageError(fmt::format("\"{}\" is no layer (0), range of layers (0-2), head (3.4) or range of heads "
                                     "(5.1-3); first_last and none stand alone",
                                     part),
                         option);
    checkBelow(layers->second, spec.layerCount(), "layer", part);
    if (!namesHeads) {
        for (int layer = layers->first; layer <= layers->second; ++layer)
            protection.protectLayer(spec, layer);
        return;
    }
    checkBelow(heads->second, spec.layers[static_cast<std::size_t>(layers->first)].heads, "head", part);
    for (int head = heads->first; head <= heads->second; ++head)
        protection.protectHead(spec, {layers->first, head});
}

/// A range as text: "0-2"; "4" for a single number.
std::string rangeText(int first, int last) {
    return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

/// Appends numbers to `parts`, with a prefix for each element. Consecutive numbers become one range.
void addRanges(std::vector<std::string>& parts, const std::string& prefix, const std::vector<int>& numbers) {
    for (std::size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
        for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;)
            ++end;
        parts.push_back(prefix + rangeText(numbers[begin], numbers[end - 1]));
    }
}

std::vector<int> tiedTo(const ModelSpec& spec, int layer) {
    for (const std::vector<int>& group : spec.tiedGroups())
        if (std::ranges::find(group, layer) != group.end())
            return group;
    return {layer};
}

bool sameMask(const NamedMask& a, const NamedMask& b) {
    return a.name == b.name && (a.record == b.record || *a.record == *b.record);
}

} // namespace

Protection Protection::parse(std::string_view text, const ModelSpec& spec) {
    Protection protection;
    if (text == "none")
        return protection;
    if (text == "first_last") {
        for (const int layer : {0, spec.layerCount() - 1})
            protection.protectLayer(spec, layer);
        return protection;
    }
    for (const std::string& part : split(text, ','))
        addPart(protection, part, spec);
    return protection;
}

std::string Protection::text(const ModelSpec& spec) const {
    if (empty())
        return "none";
    if (*this == parse("first_last", spec))
        return "first_last";
    std::vector<std::string> parts;
    addRanges(parts, {}, {layers.begin(), layers.end()});
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        std::vector<int> own;
        for (auto head = heads.lower_bound({layer, 0}); head != heads.end() && head->layer == layer; ++head)
            own.push_back(head->head);
        addRanges(parts, fmt::format("{}.", layer), own);
    }
    return join(parts, ",");
}

void Protection::protectLayer(const ModelSpec& spec, int layer) {
    for (const int tied : tiedTo(spec, layer))
        layers.insert(tied);
}

void Protection::protectHead(const ModelSpec& spec, const HeadId& head) {
    for (const int tied : tiedTo(spec, head.layer))
        heads.insert({tied, head.head});
}

void Protection::releaseLayer(const ModelSpec& spec, int layer) {
    for (const int tied : tiedTo(spec, layer))
        layers.erase(tied);
}

void Protection::releaseHead(const ModelSpec& spec, const HeadId& head) {
    for (const int tied : tiedTo(spec, head.layer)) {
        if (layers.erase(tied) > 0)
            for (int other = 0; other < spec.layers.at(static_cast<std::size_t>(tied)).heads; ++other)
                heads.insert({tied, other});
        heads.erase({tied, head.head});
    }
}

bool Protection::touches(int layer) const {
    const auto first = heads.lower_bound({layer, 0});
    return layers.contains(layer) || (first != heads.end() && first->layer == layer);
}

bool Protection::covers(const ModelSpec& spec, CutUnit unit, int layer, int index) const {
    if (layers.contains(layer))
        return true;
    const LayerSpec& shape = spec.layers.at(static_cast<std::size_t>(layer));
    switch (unit) {
    case CutUnit::head:
        return heads.contains({layer, index});
    case CutUnit::kvGroup: {
        const int perGroup = shape.heads / shape.kvHeads;
        const auto first = heads.lower_bound({layer, index * perGroup});
        return first != heads.end() && *first < HeadId{layer, (index + 1) * perGroup};
    }
    case CutUnit::attention:
    case CutUnit::block:
        return touches(layer);
    case CutUnit::neuron:
    case CutUnit::mlp:
        return false;
    }
    return false;
}

void Protection::restore(PruningMask& mask) const {
    PruningMask spared = mask;
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        LayerMask own = spared.layer(layer);
        own.compensation.reset(); // the subtraction below would take it away from layers that it leaves alone
        spared.setLayer(layer, std::move(own));
        setBlock(spared, layer, true);
    }
    for (const int layer : layers)
        setBlock(spared, layer, false);
    for (const HeadId& head : heads)
        if (!layers.contains(head.layer))
            setHeads(spared, std::array{head}, false);
    mask = subtraction(mask, spared);
    // A bypass changes protected heads without cutting them, so that the subtraction above does not remove it.
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        LayerMask own = mask.layer(layer);
        if (own.attention != AttentionCut::bypassQk || !touches(layer))
            continue;
        own.attention = AttentionCut::keep;
        mask.setLayer(layer, std::move(own));
    }
}

std::string MaskState::freeName(const std::string& wanted) const {
    std::string name = wanted;
    for (int number = 2; std::ranges::find(masks, name, &NamedMask::name) != masks.end(); ++number)
        name = fmt::format("{} {}", wanted, number);
    return name;
}

bool MaskState::operator==(const MaskState& other) const {
    return current == other.current && *isProtected == *other.isProtected &&
           std::ranges::equal(masks, other.masks, sameMask);
}

} // namespace secateur
