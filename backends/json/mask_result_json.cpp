#include "backends/json/mask_result_json.h"

#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"
#include "backends/json/json_fields.h"
#include "backends/session/mask_json.h"

namespace secateur {

namespace {

/// Selects a field of each count of a price.
template <typename Take>
OrderedJson counts(const PricedMask& mask, Take take) {
    const Price& price = mask.price;
    const auto ofModel = [&](auto value) { return mask.hasModel ? OrderedJson(value) : OrderedJson(); };
    return {{"heads", take(price.heads)},
            {"kv_heads", take(price.kvHeads)},
            {"neurons", take(price.neurons)},
            {"attention", take(price.attention)},
            {"mlp", take(price.mlps)},
            {"blocks", take(price.blocks)},
            {"parameters", ofModel(take(price.parameters))},
            {"bytes", ofModel(take(price.bytes))},
            {"kv_bytes_per_token", ofModel(take(price.kvBytesPerToken))},
            {"operations_per_token", ofModel(take(price.operationsPerToken))}};
}

OrderedJson layerCuts(const PruningMask& mask) {
    OrderedJson layers = OrderedJson::array();
    for (int index = 0; index < mask.layerCount(); ++index)
        if (const std::string cuts = description(mask.layer(index)); !cuts.empty())
            layers.push_back({{"layer", index}, {"cuts", cuts}});
    return layers;
}

OrderedJson fields(const PricedMask& mask) {
    OrderedJson removed = counts(mask, [](const auto& share) { return share.saved(); });
    removed["bypassed"] = mask.price.bypassed;
    OrderedJson groups = OrderedJson::array();
    for (const HalfCutGroup& group : mask.price.halfCutGroups)
        groups.push_back({{"layer", group.layer}, {"group", group.group}});
    return {{"digest", maskDigest(mask.mask)},
            {"removed", std::move(removed)},
            {"left", counts(mask, [](const auto& share) { return share.left; })},
            {"layers", layerCuts(mask.mask)},
            {"half_cut_groups", std::move(groups)}};
}

OrderedJson maskFields(const std::string& path, const PricedMask& mask, std::span<const std::string> warnings) {
    OrderedJson result{{"mask", path.empty() ? OrderedJson() : OrderedJson(path)}};
    result.update(fields(mask));
    result["warnings"] = std::vector<std::string>(warnings.begin(), warnings.end());
    return result;
}

/// A budget in the form of a mask file: the number 8, or the text "12.5%" or "params:20%".
OrderedJson budgetField(const Budget& budget) {
    return budget.isPercentage ? OrderedJson(budgetText(budget)) : OrderedJson(budget.amount);
}

} // namespace

std::string maskResultJson(const std::string& path, const PricedMask& mask, std::span<const std::string> warnings) {
    return jsonText(maskFields(path, mask, warnings));
}

std::string pruneJson(const std::string& path, const MaskProvenance& provenance, const PricedMask& mask,
                      const std::optional<Prediction>& predicted, std::span<const std::string> warnings) {
    OrderedJson result{{"strategy", provenance.strategy}, {"options", OrderedJson::object()}};
    for (const auto& [option, value] : provenance.options)
        result["options"][option] = value;
    result["budget"] = provenance.budget ? budgetField(*provenance.budget) : OrderedJson();
    result["seed"] = provenance.seed ? OrderedJson(*provenance.seed) : OrderedJson();
    result.update(maskFields(path, mask, warnings));
    if (provenance.history)
        result["history"] = OrderedJson::parse(historyJson(*provenance.history));
    if (!provenance.alphaCurves.empty())
        result["alpha_curves"] = OrderedJson::parse(alphaCurvesJson(provenance.alphaCurves));
    if (predicted) {
        result["predicted_delta_nats"] = predicted->nats;
        result["predicted_interval"] = {predicted->low, predicted->high};
    }
    return jsonText(result);
}

std::string maskDifferenceJson(const std::string& path, const PricedMask& either, const PricedMask& onlyFirst,
                               const PricedMask& onlySecond, const PricedMask& both,
                               std::span<const std::string> warnings) {
    OrderedJson result = maskFields(path, either, warnings);
    result["only_first"] = fields(onlyFirst);
    result["only_second"] = fields(onlySecond);
    result["both"] = fields(both);
    return jsonText(result);
}

} // namespace secateur
