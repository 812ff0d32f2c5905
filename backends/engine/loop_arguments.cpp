#include "backends/engine/loop_arguments.h"

#include <ATen/ATen.h>

namespace secateur {

NormValues valuesOf(const Norm& norm) {
    const auto* bias = norm.bias.defined() ? norm.bias.data_ptr<float>() : nullptr;
    return {norm.kind, norm.epsilon, norm.weight.defined() ? norm.weight.data_ptr<float>() : nullptr, bias};
}

RotaryTables tablesOf(const RotaryTable& table) {
    if (!table.cosines.defined())
        return {};
    return {table.cosines.data_ptr<float>(), table.sines.data_ptr<float>(),
            static_cast<int>(2 * table.cosines.size(1))};
}

AttentionShape shapeOf(const AttentionInput& input) {
    const LayerSpec& spec = input.layer.spec;
    return {.heads = spec.heads,
            .kvHeads = spec.kvHeads,
            .headDim = spec.headDim,
            .causal = input.causal(),
            .window = spec.window,
            .scale = static_cast<float>(spec.scoreScale),
            .softcap = static_cast<float>(input.spec.scoreSoftcap),
            .groupBegin = input.layer.groupBegin.data()};
}

} // namespace secateur
