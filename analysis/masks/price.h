#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// The kept parts of a layer, with counts.
struct LayerParts {
    bool block = true; ///< false = dropped: the layer returns its input
    /// `none` if absent, dropped, or bypassed with alpha 0; `valueOnly` if bypassed with another alpha. The bypass may
    /// be in the mask or in the layer itself.
    AttentionKind attention = AttentionKind::full;
    bool mlp = true;
    int heads = 0;   ///< 0 if attention is `none` or `linear`
    int kvHeads = 0; ///< KV heads with at least one kept query head
    int neurons = 0;
};

/// @param mask of the layer's structure
LayerParts partsLeft(const LayerSpec& layer, const LayerMask& mask);

/// Multiplications and additions per token in the kept part of a layer: of matrix products, and of attention scores and
/// weighted sums in a sequence of `positions` tokens.
double layerOperations(const ModelSpec& spec, int layer, const LayerMask& mask, int positions);
double layerOperations(const ModelSpec& spec, int layer, const LayerParts& parts, int positions);

/// Multiplications and additions per token in the LM head of a decoder.
double lmHeadOperations(const ModelSpec& spec);

/// For each layer, the operations under a mask from that layer to the LM head, divided by all operations of the dense
/// model. -> [layers + 1]; the last is the LM head alone. With L equal layers of c operations and an LM head of r:
/// s(l) = ((L - l) c + r) / (L c + r).
std::vector<double> operationShares(const ModelSpec& spec, const PruningMask& mask, int positions);

/// An amount in the dense model, and how much of it a mask keeps.
template <typename Number>
struct Share {
    Number all = 0;
    Number left = 0;
    Number saved() const { return all - left; }
    bool operator==(const Share&) const = default;
};

/// A KV group with cut and kept query heads. The kept ones still need its keys and values, so the KV cache gets no
/// smaller.
struct HalfCutGroup {
    int layer = 0;
    int group = 0;
    bool operator==(const HalfCutGroup&) const = default;
};

/// The size of a model under a mask, as if cut units were removed from the file, not set to 0. All units in a dropped
/// part count as cut: with a block also its attention, heads, MLP and neurons. Layers that share their weights count
/// one by one, except in parameters and bytes.
struct Price {
    Share<int> heads;
    Share<int> kvHeads; ///< a KV head is removed only with all its query heads
    Share<std::int64_t> neurons;
    Share<int> attention; ///< sublayers; bypassing one with alpha 0 drops it
    Share<int> mlps;
    Share<int> blocks;
    int bypassed = 0; ///< attention sublayers that the mask bypasses with an alpha above 0
    /// Numbers in the weights; weights that several layers share are counted once.
    Share<std::int64_t> parameters;
    /// Bytes in the file's own types; `all` is ModelCard::bytes. A quantised weight with cut columns counts in its
    /// type, though an export may have to store the kept columns in a wider one.
    Share<std::int64_t> bytes;
    /// Bytes that each token adds to the KV cache, until a sliding window is full. Encoders, and layers without
    /// attention scores (bypassed, dropped, linear), add none.
    Share<double> kvBytesPerToken;
    /// The part of kvBytesPerToken in layers with a sliding window, whose cache stops growing once the window is full.
    Share<double> windowedKvBytesPerToken;
    std::vector<int> windowedLayers; ///< layers with a sliding window that have a KV cache under the mask
    /// layerOperations() of all layers, and lmHeadOperations() for a decoder.
    Share<double> operationsPerToken;
    /// In order of layer and group. Cutting their heads saves rows of W_q and columns of W_o only.
    std::vector<HalfCutGroup> halfCutGroups;

    double parameterShare() const; ///< left / all
    double operationShare() const;
};

/// Assumptions about the use of the model that its weights do not determine.
struct PriceTerms {
    int positions = 1024;         ///< length of the sequence in which attention scores are counted
    double cacheElementBytes = 2; ///< of the KV cache; 16-bit floats in most runtimes
};

using StoredBytes = std::function<std::int64_t(int layer, WeightName which)>;

/// Sizes of all weights of a model, gathered once, so that pricing a mask takes a fraction of a millisecond and does
/// not need the model. Immutable: any thread may call it.
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
    /// Assumes that every parameter takes the average number of bytes.
    explicit PriceList(const ModelCard& card, const PriceTerms& terms = {});
    /// @param storedBytes size of a weight in the file; 0 = not known
    PriceList(const ModelCard& card, const StoredBytes& storedBytes, const PriceTerms& terms = {});

    const ModelSpec& spec() const;
    /// @throws Error when the mask is for another structure
    Price price(const PruningMask& mask) const;

private:
    struct Tariff;

    std::shared_ptr<const Tariff> m_tariff;
};

/// "L3: group 1 still serves head 5".
std::string sentence(const HalfCutGroup& group, const ModelSpec& spec, const PruningMask& mask);

} // namespace secateur
