#pragma once

#include "analysis/model_card.h"

#include <string>

namespace at {
class Tensor;
}

namespace secateur {

/// The weights a layer may have, as [out, in] however the file keeps them. Layer -1 holds those of no layer.
enum class Which {
    embedding,
    finalNorm,
    readOut,
    attentionNorm,
    query,
    key,
    value,
    output,
    queryBias,
    keyBias,
    valueBias,
    outputBias,
    mlpNorm,
    gate,
    up,
    down,
};

/// An opened checkpoint. Immutable: every call is const and may come from any thread.
class Model {
public:
    virtual ~Model() = default;

    virtual const ModelCard& card() const = 0;
    const ModelSpec& spec() const { return card().spec; }

    virtual bool has(int layer, Which which) const = 0;
    /// As stored (float32, float16, bfloat16: a view of the mapped file where its layout allows), float32 when the file
    /// holds it quantised; rotary rows are in the half-rotation layout. @throws Error naming file and tensor
    virtual at::Tensor tensor(int layer, Which which) const = 0;
    /// "sha256:..." over names, shapes and a sample of the bytes; taken on first use (contract.md, Mask JSON).
    virtual std::string fingerprint() const = 0;
};

} // namespace secateur
