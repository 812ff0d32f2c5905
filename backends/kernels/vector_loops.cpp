#include "backends/kernels/vector_loops.h"

#include "backends/kernels/bfloat16_rows.h"

#include <algorithm>
#include <atomic>

namespace secateur {

namespace generic {
extern const VectorLoops loops;
}
#ifdef SECATEUR_INSTRUCTION_SETS
namespace v3 {
extern const VectorLoops loops;
}
namespace v4 {
extern const VectorLoops loops;
}
#endif

std::int64_t padded(const VectorLoops& loops, std::int64_t count) {
    return (count + loops.lanes - 1) / loops.lanes * loops.lanes;
}

std::int64_t scratchFloats(const VectorLoops& loops, const AttentionShape& shape, std::int64_t runKeys) {
    const std::int64_t columns = padded(loops, shape.headDim);
    const std::int64_t scores = VectorLoops::blockKeys + loops.lanes;
    std::int64_t group = 0; // number of query heads of the largest KV group
    for (int i = 0; i < shape.kvHeads; ++i)
        group = std::max<std::int64_t>(group, shape.groupHeads(i));
    constexpr std::int64_t step = RowProduct::width;
    const std::int64_t inBfloat16 =
        (runKeys + 2 * step) / 2 + 3 * (columns + step) / 2; // in bfloat16, but for the context
    const std::int64_t ofBlock = VectorLoops::blockQueries * (runKeys + loops.lanes + columns + inBfloat16);
    const std::int64_t ofGroup = group * (scores + 2 * columns) + VectorLoops::blockKeys * columns;
    return ofBlock > ofGroup ? ofBlock : ofGroup;
}

// The layout of the scratch memory is that of GroupAttentionBackward (attention_backward_loops.cpp).
std::int64_t groupBackwardFloats(const VectorLoops& loops, const AttentionShape& shape, std::int64_t count) {
    const std::int64_t columns = padded(loops, shape.headDim);
    const std::int64_t keys = (count + loops.panelKeys - 1) / loops.panelKeys * loops.panelKeys;
    const std::int64_t ofKeys = 2 * keys * shape.headDim + 3 * count * columns;
    const std::int64_t ofQueries = VectorLoops::blockQueries * (3 * columns + 2 * (keys + loops.lanes));
    return ofKeys + ofQueries + keys;
}

namespace {

const VectorLoops* loopsOf(std::string_view instructionSet) {
#ifdef SECATEUR_INSTRUCTION_SETS
    if (instructionSet == "v4" && __builtin_cpu_supports("x86-64-v4"))
        return &v4::loops;
    if (instructionSet == "v3" && __builtin_cpu_supports("x86-64-v3"))
        return &v3::loops;
#endif
    return instructionSet == "generic" ? &generic::loops : nullptr;
}

std::atomic<const VectorLoops*>& chosen() {
    static std::atomic<const VectorLoops*> loops = loopsOf("v4")   ? loopsOf("v4")
                                                   : loopsOf("v3") ? loopsOf("v3")
                                                                   : loopsOf("generic");
    return loops;
}

} // namespace

const VectorLoops& vectorLoops() {
    return *chosen();
}

bool useVectorLoops(std::string_view instructionSet) {
    const VectorLoops* loops = loopsOf(instructionSet);
    if (loops)
        chosen() = loops;
    return loops;
}

} // namespace secateur
