#pragma once

#include "analysis/base/matrix.h"
#include "analysis/masks/mask_record.h"
#include "analysis/strategies/prune.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace secateur {

// What strategies that cut both heads and neurons have in common.

/// The kinds of units that the option `units` names, in the order of `known`.
/// @param known kinds of units that the strategy can cut @throws UsageError if it names no or other kinds
std::vector<CutUnit> unitsOption(const StrategyRequest& request, std::span<const CutUnit> known);

/// Name of several kinds of units for messages.
std::string pluralOf(std::span<const CutUnit> units);

/// Number of units of these kinds in the model. Layers that share their weights count once.
std::size_t countOf(const ModelSpec& spec, std::span<const CutUnit> units);

/// The kinds of units that a strategy cuts: the option `components`.
struct CutComponents {
    bool heads = true;
    bool neurons = true;
};

/// The value of the option `components`. @throws UsageError if it is not both, heads or mlp
CutComponents componentsOf(const StrategyRequest& request);

/// For each layer, its units that can be cut, in the order in which they are cut. Later layers of a group that shares
/// its weights have none.
using LayerRanking = std::vector<std::vector<OrderedCut>>;

/// Units ranked by their values, after roundedScores(). Units that are protected, cut or without a value are left out.
/// @param values [layers, units of a layer] @param unit CutUnit::head or neuron
LayerRanking rankingOf(const PruneContext& context, CutUnit unit, Matrix values, bool highestFirst);

/// Values drawn uniformly at random for neurons. They are independent of randomValues() of heads with the same seed.
Matrix randomNeuronValues(const ModelSpec& spec, std::uint64_t seed);

/// Parameters of a head divided by those of a neuron, without biases: 4d/3 with as many KV heads as heads and a gated
/// MLP, where d is the size of a head. A head has the share 1/n of its KV group's parameters, where n is the number of
/// heads in the group.
double neuronsPerHead(const ModelSpec& spec, const LayerSpec& layer);

/// Whether a layer has the weights of an earlier layer. Both have the same cuts.
bool repeatsLayer(const PruningMask& mask, int layer);

} // namespace secateur
