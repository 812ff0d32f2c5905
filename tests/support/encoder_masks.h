#pragma once

#include "analysis/masks/pruning_mask.h"

#include <algorithm>
#include <random>
#include <vector>

namespace secateur::test {

/// The kinds of cuts that a layer of an encoder can have.
enum class EncoderCut {
    nothing,
    heads,
    allHeads,
    neurons,
    allNeurons,
    attention,
    mlp,
    block,
    bypass,
    bypassOfSomeHeads,
    headsAndNeurons,
    count
};

/// A mask of an encoder that gives the layers random cuts. @param first the kind of the first layer
inline PruningMask drawnEncoderMask(const ModelSpec& spec, EncoderCut first, unsigned seed) {
    std::mt19937 random(seed);
    const auto cutSome = [&](std::vector<bool>& units) {
        for (std::size_t i = 0; i < units.size(); ++i)
            units[i] = random() % 2 == 0;
        if (!units.empty()) { // some are kept, and some are cut
            units.front() = true;
            units.back() = units.size() == 1;
        }
    };
    PruningMask mask(spec);
    for (int index = 0; index < spec.layerCount(); ++index) {
        const auto kind =
            index == 0 ? first : static_cast<EncoderCut>(random() % static_cast<unsigned>(EncoderCut::count));
        if (mask.tiedTo(index).front() != index)
            continue;
        LayerMask layer = mask.layer(index);
        const bool some =
            kind == EncoderCut::heads || kind == EncoderCut::bypassOfSomeHeads || kind == EncoderCut::headsAndNeurons;
        if (some)
            cutSome(layer.heads);
        if (kind == EncoderCut::neurons || kind == EncoderCut::headsAndNeurons)
            cutSome(layer.neurons);
        if (kind == EncoderCut::allHeads)
            layer.heads.assign(layer.heads.size(), false);
        if (kind == EncoderCut::allNeurons)
            layer.neurons.assign(layer.neurons.size(), false);
        if (kind == EncoderCut::bypass || kind == EncoderCut::bypassOfSomeHeads) {
            layer.attention = AttentionCut::bypassQk;
            layer.alpha = 0.25 * (1 + static_cast<double>(random() % 7));
        }
        if (kind == EncoderCut::attention)
            layer.attention = AttentionCut::drop;
        layer.mlp = kind != EncoderCut::mlp;
        layer.block = kind != EncoderCut::block;
        mask.setLayer(index, layer);
    }
    return mask;
}

} // namespace secateur::test
