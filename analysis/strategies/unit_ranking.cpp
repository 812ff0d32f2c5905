#include "analysis/strategies/unit_ranking.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/cut_order.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

/// Name of a kind of units in the option `units`.
std::string_view optionNameOf(CutUnit unit) {
    switch (unit) {
    case CutUnit::attention:
        return "attention";
    case CutUnit::mlp:
        return "mlps";
    default:
        return plural(unit);
    }
}

} // namespace

std::vector<CutUnit> unitsOption(const StrategyRequest& request, std::span<const CutUnit> known) {
    const std::string text = request.option("units");
    std::vector<std::string> names = split(text, '/');
    std::vector<CutUnit> units;
    std::vector<std::string> all;
    for (const CutUnit unit : known) {
        if (std::erase(names, optionNameOf(unit)) == 1)
            units.push_back(unit);
        all.emplace_back(optionNameOf(unit));
    }
    if (units.empty() || !names.empty())
        throw UsageError(fmt::format("units={} must be one or more of {}, separated by /", text, join(all, ", ")),
                         std::string(request.info->id));
    return units;
}

std::string pluralOf(std::span<const CutUnit> units) {
    std::vector<std::string> names;
    for (const CutUnit unit : units)
        names.emplace_back(plural(unit));
    return join(names, ", ");
}

std::size_t countOf(const ModelSpec& spec, std::span<const CutUnit> units) {
    std::size_t count = 0;
    for (const CutUnit unit : units)
        count += unitCount(spec, unit);
    return count;
}

CutComponents componentsOf(const StrategyRequest& request) {
    const std::string value = request.option("components");
    if (value == "both")
        return {true, true};
    if (value == "heads")
        return {true, false};
    if (value == "mlp")
        return {false, true};
    throw UsageError(fmt::format("components={} must be both, heads or mlp", value), std::string(request.info->id));
}

LayerRanking rankingOf(const PruneContext& context, CutUnit unit, Matrix values, bool highestFirst) {
    const Matrix scores = roundedScores(std::move(values));
    const auto all = static_cast<double>(cuttable(context.spec(), scores, unit, context.protection, context.base));
    LayerRanking ranking(context.spec().layers.size());
    for (const OrderedCut& cut : lowestUnits(context.spec(), scores, {unit, highestFirst, {all, false}, false},
                                             context.protection, context.base))
        ranking[static_cast<std::size_t>(cut.layer)].push_back(cut);
    return ranking;
}

Matrix randomNeuronValues(const ModelSpec& spec, std::uint64_t seed) {
    return randomValues(spec, CutUnit::neuron, ~seed);
}

double neuronsPerHead(const ModelSpec& spec, const LayerSpec& layer) {
    const double inGroup = layer.kvHeads > 0 ? static_cast<double>(layer.heads) / layer.kvHeads : 1;
    return (2 + 2 / inGroup) * layer.headDim / (spec.gatedMlp ? 3 : 2);
}

bool repeatsLayer(const PruningMask& mask, int layer) {
    return mask.tiedTo(layer).front() != layer;
}

} // namespace secateur
