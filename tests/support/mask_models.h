#pragma once

#include "analysis/model/model_spec.h"

namespace secateur::test {

/// Four layers: three heads, two heads on one KV group, a linear attention without heads, and a bypassed attention.
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

/// Six layers with the weights of two: layers 0, 2 and 4 share theirs, as do 1, 3 and 5.
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
