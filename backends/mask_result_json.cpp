#include "backends/mask_result_json.h"

#include "analysis/strategy.h"
#include "backends/mask_digest.h"
#include "backends/mask_json.h"

#include <nlohmann/json.hpp>

namespace secateur {

namespace {

using Json = nlohmann::ordered_json;

/// Paths need not be UTF-8; whatever is not is replaced rather than refused.
std::string print(const Json& document) {
    return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

/// What of every count a reader takes.
template <typename Take>
Json counts(const PricedMask& mask, Take take) {
    const Price& price = mask.price;
    const auto ofModel = [&](auto value) { return mask.hasModel ? Json(value) : Json(); };
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

Json layerCuts(const PruningMask& mask) {
    Json layers = Json::array();
    for (int index = 0; index < mask.layerCount(); ++index)
        if (const std::string cuts = description(mask.layer(index)); !cuts.empty())
            layers.push_back({{"layer", index}, {"cuts", cuts}});
    return layers;
}

Json fields(const PricedMask& mask) {
    Json removed = counts(mask, [](const auto& share) { return share.saved(); });
    removed["bypassed"] = mask.price.bypassed;
    Json groups = Json::array();
    for (const HalfCutGroup& group : mask.price.halfCutGroups)
        groups.push_back({{"layer", group.layer}, {"group", group.group}});
    return {{"digest", maskDigest(mask.mask)},
            {"removed", std::move(removed)},
            {"left", counts(mask, [](const auto& share) { return share.left; })},
            {"layers", layerCuts(mask.mask)},
            {"half_cut_groups", std::move(groups)}};
}

Json maskFields(const std::string& path, const PricedMask& mask, std::span<const std::string> warnings) {
    Json result{{"mask", path.empty() ? Json() : Json(path)}};
    result.update(fields(mask));
    result["warnings"] = std::vector<std::string>(warnings.begin(), warnings.end());
    return result;
}

/// As a mask file has it: 8, or "12.5%".
Json budgetField(const Budget& budget) {
    return budget.isPercentage ? Json(budgetText(budget)) : Json(budget.amount);
}

} // namespace

std::string maskResultJson(const std::string& path, const PricedMask& mask, std::span<const std::string> warnings) {
    return print(maskFields(path, mask, warnings));
}

std::string pruneJson(const std::string& path, const MaskProvenance& provenance, const PricedMask& mask,
                      const std::optional<Prediction>& predicted, std::span<const std::string> warnings) {
    Json result{{"strategy", provenance.strategy}, {"options", Json::object()}};
    for (const auto& [option, value] : provenance.options)
        result["options"][option] = value;
    result["budget"] = provenance.budget ? budgetField(*provenance.budget) : Json();
    result["seed"] = provenance.seed ? Json(*provenance.seed) : Json();
    result.update(maskFields(path, mask, warnings));
    if (provenance.history)
        result["history"] = Json::parse(historyJson(*provenance.history));
    if (predicted) {
        result["predicted_delta_nats"] = predicted->nats;
        result["predicted_interval"] = {predicted->low, predicted->high};
    }
    return print(result);
}

std::string maskDifferenceJson(const std::string& path, const PricedMask& either, const PricedMask& onlyFirst,
                               const PricedMask& onlySecond, const PricedMask& both,
                               std::span<const std::string> warnings) {
    Json result = maskFields(path, either, warnings);
    result["only_first"] = fields(onlyFirst);
    result["only_second"] = fields(onlySecond);
    result["both"] = fields(both);
    return print(result);
}

} // namespace secateur
