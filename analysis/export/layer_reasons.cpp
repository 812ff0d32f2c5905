#include "analysis/export/layer_reasons.h"

#include "analysis/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace secateur {

std::string named(const std::vector<int>& layers) {
    if (layers.size() == 1)
        return fmt::format("layer {}", layers.front());
    constexpr std::size_t shown = 4;
    const bool isShort = layers.size() <= shown + 1;
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < (isShort ? layers.size() - 1 : shown); ++i)
        numbers.push_back(std::to_string(layers[i]));
    const std::string last =
        isShort ? std::to_string(layers.back()) : fmt::format("{} more", layers.size() - numbers.size());
    return fmt::format("layers {} and {}", join(numbers, ", "), last);
}

std::vector<int> MaskedModel::layers(const Condition& holds) const {
    std::vector<int> found;
    for (int index = 0; index < m_spec.layerCount(); ++index)
        if (holds(cutLayer(m_spec, m_mask, index)))
            found.push_back(index);
    return found;
}

void MaskedModel::refuse(Reasons& reasons, const Condition& holds, std::string_view sentence) const {
    if (std::vector<int> found = layers(holds); !found.empty()) {
        std::string text = fmt::format("{}: {}", named(found), sentence);
        reasons.emplace_back(std::move(text), std::move(found));
    }
}

void MaskedModel::refuseVarying(Reasons& reasons, const Count& count, std::string_view sentence) const {
    std::map<int, std::vector<int>> layersByCount;
    layers([&](const CutLayer& layer) {
        if (layer.mask.block)
            layersByCount[count(layer)].push_back(layer.index);
        return false;
    });
    if (layersByCount.size() < 2)
        return;
    const auto commonest =
        std::ranges::max_element(layersByCount, {}, [](const auto& entry) { return entry.second.size(); });
    const int usual = commonest->first;
    reasons.emplace_back(std::string(sentence),
                         layers([&](const CutLayer& layer) { return layer.mask.block && count(layer) != usual; }));
}

void MaskedModel::refuseBypass(Reasons& reasons, std::string_view sentence) const {
    refuse(
        reasons, [](const CutLayer& layer) { return layer.bypasses() && layer.hasAttention(); }, sentence);
}

void MaskedModel::refuseUnequalGroups(Reasons& reasons) const {
    const std::size_t before = reasons.size();
    refuse(
        reasons, [](const CutLayer& layer) { return !keepsEqualGroups(layer.mask, layer.spec); },
        "KV groups keep different numbers of heads; those of a legalised mask keep equal numbers");
    if (reasons.size() == before)
        return;
    ExportReason& reason = reasons.back();
    for (const int layer : reason.layers) {
        const std::vector<bool>& kept = m_mask.layer(layer).heads;
        for (std::size_t head = 0; head < kept.size(); ++head)
            if (!kept[head])
                reason.heads.push_back({layer, static_cast<int>(head)});
    }
}

} // namespace secateur
