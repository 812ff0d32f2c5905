#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// What a mask keeps of a layer, counted.
struct LayerParts {
    bool block = true; ///< false = the layer passes its input on
    /// `none` if absent, dropped or bypassed with alpha 0; `valueOnly` if bypassed with another alpha
    AttentionKind attention = AttentionKind::full;
    bool mlp = true;
    int heads = 0;   ///< 0 where attention is `none` or `linear`
    int kvHeads = 0; ///< that a kept query head still reads
    int neurons = 0;
};

/// @param mask of the layer's structure
LayerParts partsLeft(const LayerSpec& layer, const LayerMask& mask);

/// Multiplications and additions per token in the kept part of a layer: matrix products, and attention scores in a
/// sequence of so many positions.
double layerOperations(const ModelSpec& spec, int layer, const LayerMask& mask, int positions);
double layerOperations(const ModelSpec& spec, int layer, const LayerParts& parts, int positions);

/// The same of the LM head of a decoder.
double lmHeadOperations(const ModelSpec& spec);

/// Operations under a mask from each layer on, LM head included, relative to all operations of the dense model
/// -> [layers + 1]; the last is the LM head alone. For L equal layers of c operations and an LM head of r:
/// s(l) = ((L - l) c + r) / (L c + r).
std::vector<double> operationShares(const ModelSpec& spec, const PruningMask& mask, int positions);

/// An amount in the model, and the part of it that a mask keeps.
template <typename Number>
struct Share {
    Number all = 0;
    Number left = 0;
    Number saved() const { return all - left; }
    bool operator==(const Share&) const = default;
};

/// A KV group some of whose heads are cut: it still serves the others, so the KV cache gets no smaller.
struct HalfCutGroup {
    int layer = 0;
    int group = 0;
    bool operator==(const HalfCutGroup&) const = default;
};

/// What a mask keeps of a model, counted as if cut units were removed from the file, not set to 0. A dropped part
/// counts with everything in it: a dropped block with its attention, heads, MLP and neurons. Layers that share their
/// weights count one by one, except in parameters and bytes.
struct Price {
    Share<int> heads;
    Share<int> kvHeads; ///< a KV head is removed only with all its query heads
    Share<std::int64_t> neurons;
    Share<int> attention; ///< sublayers; bypassing one with alpha 0 drops it
    Share<int> mlps;
    Share<int> blocks;
    int bypassed = 0; ///< attention sublayers that the mask bypasses, with an alpha above 0
    /// Numbers in the weights; weights that several layers share are counted once.
    Share<std::int64_t> parameters;
    /// In the type in which the file stores each weight; the sum is ModelCard::bytes. Columns cut from a quantised
    /// weight count in its own type, though an export may have to store the others in a wider one.
    Share<std::int64_t> bytes;
    /// Bytes that each token adds to the KV cache, as long as no window is full. 0 for encoders and for layers without
    /// attention scores (bypassed, dropped, linear).
    Share<double> kvBytesPerToken;
    /// The part of it in layers with a sliding window, whose cache stops growing once the window is full.
    Share<double> windowedKvBytesPerToken;
    std::vector<int> windowedLayers; ///< that still have such a cache under the mask
    /// As layerOperations(), with the LM head of a decoder.
    Share<double> operationsPerToken;
    /// In order of layer and group. Their cuts still save rows of q and columns of o.
    std::vector<HalfCutGroup> halfCutGroups;

    double parameterShare() const; ///< left / all
    double operationShare() const;
};

/// Conditions that the weights do not tell.
struct PriceTerms {
    int positions = 1024;         ///< of the sequence whose scores are counted
    double cacheElementBytes = 2; ///< of the KV cache; 16-bit floats in most runtimes
};

using StoredBytes = std::function<std::int64_t(int layer, WeightName which)>;

/// Sizes of everything in a model, gathered once, so that a mask is priced within a fraction of a millisecond and
/// without the model. Immutable: any thread may call it.
///
/// A weight is kept while the output of the pruned model can depend on it:
/// - a bypassed attention needs neither q nor k nor head norms; it keeps v of the groups and o of the kept heads;
/// - an attention or MLP without a kept head or neuron keeps the bias of its output, if it has one, and the norms after
///   it;
/// - the norm before a sublayer is removed with it; the one that parallel sublayers share, with the last of them;
/// - the norm after a sublayer is removed with it where it normalises the update (sandwich norm), and stays where it
///   normalises the sum with the residual stream (post-norm), unless the block is dropped.
class PriceList {
public:
    /// Takes every parameter to be stored in the average number of bytes.
    explicit PriceList(const ModelCard& card, const PriceTerms& terms = {});
    /// @param storedBytes by layer and weight, as the file keeps it; 0 = not known
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
