#pragma once

#include "analysis/model/model.h"
#include "analysis/masks/pruning_mask.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// How much of something the model has, and how much of it a mask leaves.
template <typename Number>
struct Share {
    Number all = 0;
    Number left = 0;
    Number saved() const { return all - left; }
    bool operator==(const Share&) const = default;
};

/// Heads of one KV group were cut in vain as far as the KV cache goes: the group still serves others.
struct HalfCutGroup {
    int layer = 0;
    int group = 0;
    bool operator==(const HalfCutGroup&) const = default;
};

/// What a mask leaves of a model, counted as if the cut were exported structurally: no zeros in place of what is gone.
/// Parts inside a dropped part are gone too: a dropped block takes its attention, its heads, its MLP and its neurons.
/// Layers that share their weights count each, except in parameters and bytes.
struct Price {
    Share<int> heads;
    Share<int> kvHeads; ///< a KV head goes only when all its query heads went
    Share<std::int64_t> neurons;
    Share<int> attention; ///< sublayers; bypassing one with alpha 0 drops it
    Share<int> mlps;
    Share<int> blocks;
    int bypassed = 0; ///< attention sublayers that the mask bypasses, with an alpha above 0
    /// Numbers in the weights; weights that several layers share are counted once.
    Share<std::int64_t> parameters;
    /// As the file stores each weight, together as ModelCard::bytes says. Columns cut out of a quantised weight are
    /// counted at its own type, though a file may have to keep what is left of it in a wider one.
    Share<std::int64_t> bytes;
    /// Bytes that each token adds to the KV cache, as long as no window is full: 0 for encoders, which keep none, and
    /// for layers without scores (bypassed, dropped, linear).
    Share<double> kvBytesPerToken;
    /// Of these, what falls to layers with a sliding window, whose cache stops growing once the window is full.
    Share<double> windowedKvBytesPerToken;
    std::vector<int> windowedLayers; ///< that still keep such a cache under the mask
    /// Multiplications and additions for one token, the read-out of a decoder included (layer_operations.h).
    Share<double> operationsPerToken;
    /// In order of layer and group. Says nothing of what else these cuts save: rows of q and columns of o.
    std::vector<HalfCutGroup> halfCutGroups;

    double parameterShare() const; ///< left / all
    double operationShare() const;
};

/// What is not in the weights and still decides a price.
struct PriceTerms {
    int positions = 1024;         ///< of the sequence whose scores are counted
    double cacheElementBytes = 2; ///< of the KV cache; 16-bit floats in most runtimes
};

using StoredBytes = std::function<std::int64_t(int layer, WeightName which)>;

/// What everything in a model costs, gathered once, so that a mask is priced within a fraction of a millisecond and
/// without the model. Immutable: any thread may ask.
///
/// A weight is left when the output of the pruned model can still depend on it:
/// - a bypassed attention needs neither q nor k nor the heads' norms; it keeps v of the groups and o of the heads left,
///   o in its own shape, not folded;
/// - of an attention or MLP without a head or neuron left only the bias of its output is, if it has one, and its norms
///   behind;
/// - the norm before a sublayer goes with it; the one that parallel sublayers share, with the last of them;
/// - the norm behind a sublayer goes with it where it norms the update (Gemma), and stays where it norms the sum with
///   the stream (encoders), unless the block goes.
class PriceList {
public:
    /// Without the weights, every parameter is taken to be stored in the average number of bytes.
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

/// "L3: group 1 still serves head 5": what keeps a half-cut group alive.
std::string sentence(const HalfCutGroup& group, const ModelSpec& spec, const PruningMask& mask);

} // namespace secateur
