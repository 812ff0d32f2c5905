#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// The parts of a layer that a mask keeps, with their counts.
struct LayerParts {
    bool block = true; ///< false = the block is dropped: the layer's output is its input
    /// `none` if there is no attention, or it is dropped or bypassed with alpha 0. `valueOnly` if it is bypassed with
    /// another alpha. The mask or the layer itself may state the bypass.
    AttentionKind attention = AttentionKind::full;
    bool mlp = true;
    int heads = 0;   ///< 0 if attention is `none` or `linear`
    int kvHeads = 0; ///< KV heads with at least one kept query head
    int neurons = 0;
};

/// @param mask mask of the layer; it must have the layer's structure
LayerParts partsLeft(const LayerSpec& layer, const LayerMask& mask);

/// Multiplications and additions per token in the kept part of a layer. Counts matrix products, and the
/// attention scores and weighted sums of a sequence of `positions` tokens.
double layerOperations(const ModelSpec& spec, int layer, const LayerMask& mask, int positions);
double layerOperations(const ModelSpec& spec, int layer, const LayerParts& parts, int positions);

/// Multiplications and additions per token in the LM head of a decoder.
double lmHeadOperations(const ModelSpec& spec);

/// For each layer, the operations under a mask from that layer up to the LM head, divided by all operations of the
/// dense model: [layers + 1]. The last element is the LM head alone. For L equal layers of c operations and an LM head
/// of r operations, s(l) = ((L - l) c + r) / (L c + r).
std::vector<double> operationShares(const ModelSpec& spec, const PruningMask& mask, int positions);

/// An amount in the dense model, and the part of it that a mask keeps.
template <typename Number>
struct Share {
    Number all = 0;
    Number left = 0;
    Number saved() const { return all - left; }
    bool operator==(const Share&) const = default;
};

/// A KV group of which some query heads are cut and others kept. The kept heads still need the group's keys and values,
/// so that the KV cache does not become smaller.
struct HalfCutGroup {
    int layer = 0;
    int group = 0;
    bool operator==(const HalfCutGroup&) const = default;
};

/// The size of a model under a mask. Cut units count as removed, not as set to 0. All units of a dropped block or
/// sublayer count as cut. Biases that a compensation adds do not count. Layers that share their weights count one by
/// one, except in parameters and bytes.
struct Price {
    Share<int> heads;
    Share<int> kvHeads; ///< a KV head is removed only if all its query heads are cut
    Share<std::int64_t> neurons;
    Share<int> attention; ///< attention sublayers; one that is bypassed with alpha 0 counts as dropped
    Share<int> mlps;
    Share<int> blocks;
    int bypassed = 0; ///< attention sublayers that the mask bypasses with an alpha above 0
    /// Number of weights (parameters). Weights that several layers share count once.
    Share<std::int64_t> parameters;
    Share<std::int64_t> layerParameters; ///< those of attention and MLPs with their biases, without norms
    /// Bytes in the types of the file; `all` is ModelCard::bytes. A quantised weight with cut columns is counted in its
    /// type, although an export may have to store the kept columns in a wider type.
    Share<std::int64_t> bytes;
    /// Bytes by which the KV cache grows with each token, until a sliding window is full. It is 0 for encoders, and for
    /// layers without attention scores (bypassed, dropped, linear).
    Share<double> kvBytesPerToken;
    /// The part of kvBytesPerToken in layers with a sliding window. Their cache stops growing when the window is full.
    Share<double> windowedKvBytesPerToken;
    std::vector<int> windowedLayers; ///< layers with a sliding window that have a KV cache under the mask
    /// layerOperations() of all layers, and lmHeadOperations() for a decoder.
    Share<double> operationsPerToken;
    /// In order of layer and group. Cutting their heads removes only rows of W_q and columns of W_o.
    std::vector<HalfCutGroup> halfCutGroups;

    double parameterShare() const; ///< kept parameters divided by all parameters
    double operationShare() const;
};

/// Assumptions about the use of a model, which its weights do not determine.
struct PriceTerms {
    int positions = 1024;         ///< length of the sequence for which attention scores are counted
    double cacheElementBytes = 2; ///< bytes of a number in the KV cache; most runtimes use 16-bit floats
};

using StoredBytes = std::function<std::int64_t(int layer, WeightName which)>;

/// The sizes of all weights of a model. They are computed once, so that the price of a mask takes a fraction of a
/// millisecond and does not need the model. Immutable: any thread may call it.
///
/// A weight counts as removed if an export that removes cut units leaves it out:
/// - a bypassed attention needs neither q nor k nor head norms; it keeps v of the groups and o of the kept heads;
/// - an attention or MLP without a kept head or neuron is removed, unless its output has a bias: the bias still acts,
///   so the sublayer stays, with its norms but without the norms of queries and keys;
/// - the norm before a sublayer is removed with it; the norm that parallel sublayers share, if both are removed;
/// - the norm after a sublayer is removed with it if it normalises the update (sandwich norm); if it normalises the sum
///   with the residual stream (post-norm), only with the block.
class PriceList {
public:
    /// Every parameter counts with the average number of bytes.
    explicit PriceList(const ModelCard& card, const PriceTerms& terms = {});
    /// @param storedBytes size of a weight in the file; 0 = not known
    PriceList(const ModelCard& card, const StoredBytes& storedBytes, const PriceTerms& terms = {});

    const ModelSpec& spec() const;
    /// Number of weights in all layers. Weights that several layers share count once.
    std::int64_t layerWeights() const;
    /// The price of a mask. @throws Error if the mask is for another structure
    Price price(const PruningMask& mask) const;

private:
    struct Tariff;

    std::shared_ptr<const Tariff> m_tariff;
};

/// A sentence about a KV group that remains: "L3: group 1 still serves head 5".
std::string sentence(const HalfCutGroup& group, const ModelSpec& spec, const PruningMask& mask);

} // namespace secateur
