#pragma once

#include "analysis/model/attention_feature.h"
#include "backends/kernels/layer_loops.h"

#include <cstdint>
#include <string_view>

namespace secateur {

/// Where numbers go that are written as float32 or as bfloat16.
struct Destination {
    float* floats = nullptr;
    std::uint16_t* halves = nullptr;
};

/// Numbers of the attention of some queries, and where they go.
struct FeatureOutput {
    const AttentionFeature* features = nullptr;
    int count = 0;
    float* values = nullptr; ///< of the first feature and query; queries lie side by side, features `stride` apart
    std::int64_t stride = 0;
};

/// The queries of one head that are attended to together, at consecutive positions of a row.
struct QueryBlock {
    const float* queries = nullptr; ///< [count, headDim]
    int count = 0;                  ///< at most VectorLoops::blockQueries
    std::int64_t first = 0;         ///< position of the first
    std::int64_t keyFrom = 0;       ///< the first packed key, a multiple of panelKeys
    std::int64_t keyEnd = 0;        ///< behind the last key of the row
    const float* panels = nullptr;  ///< keys by panels of [headDim, panelKeys], from keyFrom
    const float* values = nullptr;  ///< of keyFrom and on, valueStride apart, whole vectors readable
    std::int64_t valueStride = 0;
    Destination context; ///< of the first query
    std::int64_t contextStride = 0;
    std::int64_t runKeys = 0; ///< whose scores are held at a time, a multiple of panelKeys
    FeatureOutput described;    ///< besides; entropies of shifted probabilities need all keys in one run
};

/// One query of each head of a KV group, and a run of keys that all of them see.
struct QueryGroup {
    const float* queries = nullptr; ///< of the first head, queryStride apart
    std::int64_t queryStride = 0;
    int heads = 0;
    const float* keys = nullptr; ///< [count, headDim]
    const float* values = nullptr;
    std::int64_t count = 0;   ///< at most VectorLoops::blockKeys
    float* largest = nullptr; ///< [heads]
    float* sums = nullptr;    ///< [heads], of exp(score - largest)
    float* context = nullptr; ///< [heads, headDim], not yet divided by the sum
};

/// Query heads of one row that read one key head, whose attention is gone through backwards. Pointers are to the first
/// position and head; heads lie side by side.
struct GroupBackward {
    const float* queries = nullptr; ///< as projected, `stride` from one position to the next
    const float* keys = nullptr;
    const float* values = nullptr;
    std::int64_t stride = 0;
    int heads = 0;          ///< of queries
    std::int64_t count = 0; ///< positions
    NormValues queryNorm;   ///< without weight = none
    NormValues keyNorm;
    RotaryTables rotary; ///< of the first position and on
    const float* dContext = nullptr;
    std::int64_t dContextStride = 0;
    float* dQueries = nullptr;
    std::int64_t dQueryStride = 0;
    float* dKeys = nullptr;
    float* dValues = nullptr;
    std::int64_t dKeyStride = 0; ///< of values too
};

/// Vectors that are multiplied with a matrix, of which only sums of magnitudes are wanted.
struct MagnitudeBlock {
    const float* vectors = nullptr; ///< `count` of `depth` numbers, vectorStride apart
    std::int64_t vectorStride = 0;
    int count = 0;
    std::int64_t depth = 0;
    const float* panels = nullptr; ///< `columns` columns by panels of [depth, panelKeys]; zeros behind the last
    std::int64_t columns = 0;
    double* sums = nullptr; ///< of each vector, sumStride apart
    std::int64_t sumStride = 0;
};

/// Rows of numbers whose columns are summed.
struct ColumnBlock {
    const float* floats = nullptr; ///< [rows, columns], `stride` from one row to the next; or
    const std::uint16_t* halves = nullptr;
    std::int64_t stride = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    double* magnitudes = nullptr; ///< [columns], to which |v| is added
    double* sums = nullptr;
    double* squares = nullptr;
};

/// What log softmax of a row needs.
struct ExponentialSum {
    float largest = 0; ///< logit, before any softcap
    float largestCapped = 0;
    float targetCapped = 0;
    double sum = 0;                  ///< of exp(capped logit - largestCapped)
    std::int64_t blockOfLargest = 0; ///< of logitBlock numbers, the first that holds it
};

constexpr std::int64_t logitBlock = 2048;

/// The loops over one row or block, as one kind of processor runs them fastest. `scratch` is the caller's, of
/// scratchFloats() numbers, and comes back changed.
struct VectorLoops {
    /// sum = x + added where `added` is given, and the norm of that.
    void (*norm)(const float* x, const float* added, float* sum, const NormValues& norm, std::int64_t width,
                 const Destination& out);
    void (*rotate)(const float* cosines, const float* sines, int dims, float* head);
    void (*activate)(const float* gate, const float* up, Activation activation, std::int64_t width, const Destination& out);
    ExponentialSum (*sumExponentials)(const float* logits, std::int64_t count, std::int64_t target, float softcap);
    void (*attendBlock)(const QueryBlock& block, const AttentionShape& shape, float* scratch);
    void (*attendGroup)(const QueryGroup& group, const AttentionShape& shape, float* scratch);
    /// `count` keys, `stride` apart, to a panel; the rest of their last vector becomes 0.
    void (*packKeys)(const float* keys, std::int64_t stride, std::int64_t count, int headDim, float* panel);
    void (*write)(const float* from, std::int64_t count, const Destination& to);
    /// products = x x, a a, z z, x a, x z, a z
    void (*innerProducts)(const float* x, const float* a, const float* z, std::int64_t width, double* products);
    /// Adds |v|, v and v v to three sums of each column.
    void (*addColumns)(const ColumnBlock& block);
    /// sums += factor v
    void (*addScaled)(const float* values, double factor, std::int64_t count, double* sums);
    void (*sumMagnitudes)(const MagnitudeBlock& block);
    double (*magnitudes)(const float* values, std::int64_t count); ///< their sum
    /// The ways back, from the gradient of what came out: `result` is that of what was read.
    void (*normBackward)(const float* x, const float* gradient, const NormValues& norm, std::int64_t width, float* result);
    void (*activateBackward)(const float* gate, const float* up, const float* gradient, Activation activation,
                         std::int64_t width, float* dGate, float* dUp);                      ///< no gate, no dGate
    void (*attendBackward)(const GroupBackward& group, const AttentionShape& shape, float* scratch); ///< of groupBackwardFloats()
    int lanes;
    int panelKeys;

    static constexpr int blockQueries = 48;
    static constexpr int blockKeys = 512;
};

/// `count` in whole vectors.
std::int64_t padded(const VectorLoops& loops, std::int64_t count);
/// @param runKeys as of QueryBlock
std::int64_t scratchFloats(const VectorLoops& loops, const AttentionShape& shape, std::int64_t runKeys);
/// @param count of GroupBackward
std::int64_t groupBackwardFloats(const VectorLoops& loops, const AttentionShape& shape, std::int64_t count);
/// The best for this processor, unless others were asked for.
const VectorLoops& vectorLoops();
/// For tests and benchmarks: those of "generic", "v3" or "v4" from now on. False if this processor cannot run them or
/// they were not built.
bool useVectorLoops(std::string_view level);

} // namespace secateur
