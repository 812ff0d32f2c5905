#pragma once

#include "analysis/model/attention_feature.h"
#include "backends/kernels/block_type.h"
#include "backends/kernels/layer_loops.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace secateur {

struct RowProduct;

/// The attention features to compute for the queries of a block, and where they are written.
struct FeatureOutput {
    const AttentionFeature* wanted = nullptr;
    int count = 0;
    float* values = nullptr; ///< first feature of the first query; queries are contiguous, features `stride` apart
    std::int64_t stride = 0;
};

/// Consecutive queries of one head in a row of the batch.
struct QueryBlock {
    const float* queries = nullptr; ///< [count, headDim]
    int count = 0;                  ///< at most VectorLoops::blockQueries
    std::int64_t first = 0;         ///< position of the first query in the row
    std::int64_t keyFrom = 0;       ///< index of the first packed key, a multiple of panelKeys
    std::int64_t keyEnd = 0;        ///< end of the range of the row's keys
    const float* panels = nullptr;  ///< keys from keyFrom on, in panels of [headDim, panelKeys]
    const float* values = nullptr;  ///< values from keyFrom on, valueStride apart, padded to whole vectors
    std::int64_t valueStride = 0;
    const std::byte* keyTiles = nullptr;   ///< instead of panels and values: keys from keyFrom on in bfloat16, for
                                           ///< RowProduct (bfloat16_rows.h), in strips of 32 keys
    const std::byte* valueTiles = nullptr; ///< the values in steps of 32 keys, each with strips of 32 columns
    void (*multiply)(const RowProduct& product) = nullptr; ///< for these tiles
    Destination context;                                   ///< context of the first query
    std::int64_t contextStride = 0;
    std::int64_t runKeys = 0; ///< number of keys whose scores are in memory at a time, a multiple of panelKeys
    FeatureOutput features;   ///< the features shiftedLog and shifted need all keys in one run
};

/// One query of each head of a KV group, and consecutive keys that all of these queries see.
struct QueryGroup {
    const float* queries = nullptr; ///< query of the first head; heads are queryStride apart
    std::int64_t queryStride = 0;
    int heads = 0;
    Source keys; ///< [count, headDim]
    Source values;
    std::int64_t count = 0;   ///< at most VectorLoops::blockKeys
    float* largest = nullptr; ///< [heads], largest score
    float* sums = nullptr;    ///< [heads], sum of exp(score - largest)
    float* context = nullptr; ///< [heads, headDim], not yet divided by the sum
};

/// The query heads of one row that share a KV head, for the backward pass of attention. Pointers point to the first
/// position and the first head. Heads are contiguous.
struct GroupBackward {
    const float* queries = nullptr; ///< queries before norm and rotation, `stride` from one position to the next
    const float* keys = nullptr;
    const float* values = nullptr;
    std::int64_t stride = 0;
    int heads = 0;          ///< number of query heads
    std::int64_t count = 0; ///< number of positions
    NormValues queryNorm;   ///< its `weight` is null if there is no norm
    NormValues keyNorm;
    RotaryTables rotary; ///< begins at the first position
    const float* dContext = nullptr;
    std::int64_t dContextStride = 0;
    float* dQueries = nullptr;
    std::int64_t dQueryStride = 0;
    float* dKeys = nullptr;
    float* dValues = nullptr;
    std::int64_t dKeyStride = 0; ///< also for dValues
};

/// Products of vectors with a matrix. The result for each vector is the sum of the magnitudes of its product.
struct MagnitudeBlock {
    const float* vectors = nullptr; ///< `count` vectors of `depth` numbers, vectorStride apart
    std::int64_t vectorStride = 0;
    int count = 0;
    std::int64_t depth = 0;
    const float* panels = nullptr; ///< `columns` columns, in panels of [depth, panelKeys], padded with zeros
    std::int64_t columns = 0;
    double* sums = nullptr; ///< a sum for each vector, sumStride apart
    std::int64_t sumStride = 0;
};

/// A matrix, and the sums over its columns. Either `floats` or `halves` is set.
struct ColumnBlock {
    const float* floats = nullptr;         ///< [rows, columns], `stride` from one row to the next
    const std::uint16_t* halves = nullptr; ///< the same numbers in bfloat16
    std::int64_t stride = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    double* magnitudes = nullptr; ///< [columns]; the sum of |v| is added
    double* sums = nullptr;
    double* squares = nullptr;
};

/// Products of vectors with one panel of a packed weight (PackedMatrix). Either `floats` or `halves` is set.
struct PanelProduct {
    const float* inputs = nullptr; ///< `inputCount` vectors of `depth` numbers, inputStride apart
    std::int64_t inputStride = 0;
    int inputCount = 0;
    std::int64_t depth = 0;
    const float* floats = nullptr;         ///< [depth, panelOutputs]
    const std::uint16_t* halves = nullptr; ///< bfloat16 [depth / 2 rounded up, panelOutputs, 2]
    float* result = nullptr;               ///< [inputCount, panelOutputs]

    static constexpr int panelOutputs = 64;
};

/// Products of vectors with rows of stored numbers.
struct BlockProduct {
    BlockType type = BlockType::float16;
    const std::uint8_t* const* rows = nullptr; ///< the first block of each of `count` rows, and of `ahead` more rows
    int count = 0;
    int ahead = 0;                 ///< number of rows between the row that is read and the row that is prefetched
    std::int64_t depth = 0;        ///< numbers of a row; whole blocks, unless the type has blocks of one number
    const float* inputs = nullptr; ///< `inputCount` vectors of `depth` numbers, inputStride apart
    std::int64_t inputStride = 0;
    int inputCount = 0;
    float* result = nullptr; ///< [inputCount, count], resultStride from one vector to the next
    std::int64_t resultStride = 0;
    const float* halves = nullptr; ///< [65536] the values of all float16 numbers, by their bits
};

/// The sum of exponentials in a row's log softmax, and its largest logit.
struct ExponentialSum {
    float largest = 0; ///< largest logit, before any softcap
    float largestCapped = 0;
    float targetCapped = 0;
    double sum = 0;                  ///< sum of exp(capped logit - largestCapped)
    std::int64_t blockOfLargest = 0; ///< index of the first block of logitBlock logits that contains the largest
};

constexpr std::int64_t logitBlock = 2048;

/// The loops over one row or block, compiled for one instruction set. `scratch` is memory for scratchFloats() numbers.
struct VectorLoops {
    /// out = norm(x); or, if `added` is not null, sum = x + added and out = norm(sum).
    void (*norm)(const float* x, const float* added, float* sum, const NormValues& norm, std::int64_t width,
                 const Destination& out);
    /// Rotates a head in place by the angles of its position.
    void (*rotate)(const float* cosines, const float* sines, int dims, float* head);
    void (*activate)(const float* gate, const float* up, Activation activation, std::int64_t width,
                     const Destination& out);
    ExponentialSum (*sumExponentials)(const float* logits, std::int64_t count, std::int64_t target, float softcap);
    void (*attendBlock)(const QueryBlock& block, const AttentionShape& shape, float* scratch);
    void (*attendGroup)(const QueryGroup& group, const AttentionShape& shape, float* scratch);
    /// Copies `count` keys, which are `stride` apart, to a panel. Pads the last vector of the panel with 0.
    void (*packKeys)(const float* keys, std::int64_t stride, std::int64_t count, int headDim, float* panel);
    void (*write)(const float* from, std::int64_t count, const Destination& to);
    void (*widen)(const Source& from, std::int64_t count, float* to); ///< copies numbers as float32
    /// products = <x, x>, <a, a>, <z, z>, <x, a>, <x, z>, <a, z>
    void (*innerProducts)(const float* x, const float* a, const float* z, std::int64_t width, double* products);
    /// Adds |v|, v and v^2 of each number v to three sums of its column.
    void (*addColumns)(const ColumnBlock& block);
    /// sums += factor * values
    void (*addScaled)(const float* values, double factor, std::int64_t count, double* sums);
    void (*sumMagnitudes)(const MagnitudeBlock& block);
    double (*magnitudes)(const float* values, std::int64_t count); ///< sum of |v|
    void (*multiplyPanel)(const PanelProduct& product);
    void (*multiplyBlocks)(const BlockProduct& product);
    // Backward passes: `gradient` is the gradient of the output; `result` (or dGate, dUp) is the gradient of the input.
    void (*normBackward)(const float* x, const float* gradient, const NormValues& norm, std::int64_t width,
                         float* result);
    void (*activateBackward)(const float* gate, const float* up, const float* gradient, Activation activation,
                             std::int64_t width, float* dGate, float* dUp); ///< gate and dGate may be null
    void (*attendBackward)(const GroupBackward& group, const AttentionShape& shape,
                           float* scratch); ///< memory for groupBackwardFloats() numbers
    int lanes;
    int panelKeys;

    static constexpr int blockQueries = 48;
    static constexpr int blockKeys = 512;
    /// Maximum number of vectors for which multiplyPanel and multiplyBlocks take about as long as for one, namely as
    /// long as reading the weights. More vectors are multiplied faster by blocked products.
    static constexpr int mostVectors = 8;
};

/// `count` rounded up to whole vectors.
std::int64_t padded(const VectorLoops& loops, std::int64_t count);
/// Number of floats of `scratch` for attendBlock and attendGroup. @param runKeys as in QueryBlock
std::int64_t scratchFloats(const VectorLoops& loops, const AttentionShape& shape, std::int64_t runKeys);
/// Number of floats of `scratch` for attendBackward. @param count as in GroupBackward
std::int64_t groupBackwardFloats(const VectorLoops& loops, const AttentionShape& shape, std::int64_t count);
/// The loops for the best instruction set of this processor, unless useVectorLoops() selected others.
const VectorLoops& vectorLoops();
/// For tests and benchmarks: makes vectorLoops() return the loops for "generic", "v3" or "v4". Returns false if this
/// processor cannot run these loops, or they were not compiled.
bool useVectorLoops(std::string_view instructionSet);

} // namespace secateur
