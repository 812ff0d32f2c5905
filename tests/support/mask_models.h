#pragma once

#include "analysis/model/model_spec.h"

namespace secateur::test {

/// A model of four layers of different shapes: three heads; two heads in one KV group; linear attention without heads;
/// and four heads in two KV groups.
inline ModelSpec raggedSpec() {
    ModelSpec spec;
    spec.architecture = "llama";
    spec.layers.resize(4);
    const auto shape = [&](std::size_t layer, int heads, int kvHeads, int headDim, int ffn) {
        LayerSpec& one = spec.layers[layer];
        one.heads = heads;
        one.kvHeads = kvHeads;
        one.headDim = headDim;
        one.ffn = ffn;
    };
    shape(0, 3, 3, 8, 40);
    shape(1, 2, 1, 8, 9);
    shape(2, 0, 0, 0, 12);
    shape(3, 4, 2, 8, 1);
    spec.layers[2].attention = AttentionKind::linear;
    return spec;
}

/// A model of six layers that stores the weights of two. Layers 0, 2 and 4 share their weights, and so do layers 1, 3
/// and 5.
inline ModelSpec tiedSpec() {
    ModelSpec spec;
    spec.architecture = "albert";
    spec.family = Family::encoder;
    spec.layersPerGroup = 2;
    for (int index = 0; index < 6; ++index) {
        LayerSpec layer;
        layer.heads = layer.kvHeads = 4;
        layer.headDim = 3;
        layer.ffn = 10;
        layer.stored = index % 2;
        spec.layers.push_back(layer);
    }
    return spec;
}

} // namespace secateur::test
