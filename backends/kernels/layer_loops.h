#pragma once

#include "analysis/model/attention_feature.h"
#include "analysis/model/model_spec.h"

#include <cstdint>
#include <functional>
#include <span>

namespace at {
class Tensor;
}

namespace secateur {

// The loops of a layer on the CPU. Each one, except attention, reads memory once. Inputs are float32, contiguous and on
// the CPU. The caller allocates outputs as float32. Where stated, an output may be bfloat16, for the product that reads
// it next. All threads of the runtime are used; results do not depend on their number. Arguments are not checked,
// because the engine made these tensors.

/// The weights and settings of a norm. Statistics are float32 sums of float32 products. Epsilon is inside the root.
struct NormValues {
    NormKind kind = NormKind::rms;
    double epsilon = 0;
    const float* weight = nullptr; ///< [width], including an offset if the norm has one
    const float* bias = nullptr;   ///< [width]; null = none
};

/// x [rows, width] -> out [rows, width] (float32 or bfloat16).
void normRows(const at::Tensor& x, const NormValues& norm, const at::Tensor& out);
/// sum = x + added and out = norm(sum), in one pass. `sum` may be `x`.
void addAndNormRows(const at::Tensor& x, const at::Tensor& added, const at::Tensor& sum, const NormValues& norm,
                    const at::Tensor& out);

/// The shape and options of attention.
struct AttentionShape {
    int heads = 0;
    int kvHeads = 0;
    int headDim = 0;
    bool causal = true;
    int window = 0; ///< query i sees keys j with i - window < j (and, if not causal, j < i + window); 0 = all
    float scale = 1;
    float softcap = 0; ///< scores become softcap * tanh(score / softcap) before the mask; 0 = none
    /// [kvHeads + 1]: query heads of KV head g are groupBegin[g] to groupBegin[g + 1] - 1; null = equal groups.
    const int* groupBegin = nullptr;

    int firstHead(int group) const { return groupBegin ? groupBegin[group] : group * (heads / kvHeads); }
    int groupHeads(int group) const { return firstHead(group + 1) - firstHead(group); }
};

/// Cosines and sines by position, [positions, dims / 2] each. Rotary pair i is (x[i], x[i + dims / 2]).
struct RotaryTables {
    const float* cosines = nullptr;
    const float* sines = nullptr;
    int dims = 0; ///< rotary dimensions of a head; 0 = none; later dimensions are not rotated
};

/// Where numbers are written, as float32 or as bfloat16. One of the two pointers is set.
struct Destination {
    float* floats = nullptr;
    std::uint16_t* halves = nullptr;

    Destination behind(std::int64_t numbers) const {
        return {floats ? floats + numbers : nullptr, halves ? halves + numbers : nullptr};
    }
};

/// Where numbers are read, as float32 or as bfloat16. One of the two pointers is set.
struct Source {
    const float* floats = nullptr;
    const std::uint16_t* halves = nullptr;
};

/// Keys and values of each row: [rows, kvHeads, capacity, headDim], both float32 or both bfloat16.
struct KeyValueViews {
    Destination keys;
    Destination values;
    std::int64_t capacity = 0;

    KeyValueViews(const at::Tensor& allKeys, const at::Tensor& allValues);
    bool areHalves() const { return keys.halves; }
};

/// Splits the projections [rows, positions, (heads + 2 kvHeads) headDim] into queries, keys and values. Normalises the
/// heads of queries and keys, unless the norm's `weight` is null. Rotates them by position first[row] + i. Writes
/// queries to `queries` [rows, heads, positions, headDim]. Appends keys and values to `keysAndValues`, which already
/// contains first[row] positions. Writes only lengths[row] positions of each row.
void placeHeads(const at::Tensor& projected, const AttentionShape& shape, const NormValues& queryNorm,
                const NormValues& keyNorm, const RotaryTables& rotary, std::span<const int> first,
                std::span<const int> lengths, const at::Tensor& queries, const KeyValueViews& keysAndValues);

/// softmax(scale q k^T) v -> context [rows, positions, heads headDim] (float32 or bfloat16), with zeros after
/// lengths[row]. Query i of a row is at position first[row] + i and sees keys below first[row] + lengths[row].
void attend(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
            std::span<const int> first, std::span<const int> lengths, const at::Tensor& context);

/// attend(), which also computes features of the attention of each query.
/// @param features [rows, heads, number of features, positions] float32; nothing is written after lengths[row]
void attendWithFeatures(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
                        std::span<const int> first, std::span<const int> lengths, const at::Tensor& context,
                        std::span<const AttentionFeature> wanted, const at::Tensor& features);

/// hidden = activation(gate) * up; activation(up) if `gated` is false. `projected` is [rows, 2 width] (gate, then up)
/// or [rows, width]. `hidden` is [rows, width] (float32 or bfloat16).
void activateRows(const at::Tensor& projected, Activation activation, bool gated, const at::Tensor& hidden);

/// From logits [rows, vocab], computes -log softmax at targets[row], and whether the target has the largest logit (the
/// first of equal ones). Rows with a negative target get 0 and false. A softcap is applied to the logits first.
void crossEntropyRows(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy);

} // namespace secateur
