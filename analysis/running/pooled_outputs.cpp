#include "analysis/running/pooled_outputs.h"

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace secateur {

at::Tensor pooledOutputs(const Model& model, const Plan& plan, const PaddedBatches& batches, const Progress& progress) {
    std::map<std::size_t, at::Tensor> outputs; // by sequence
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const at::Tensor own = model.runner().lmHead(plan, x, batches.batches[batch]).to(at::kCPU, at::kDouble);
        for (std::size_t row = 0; row < batches.sequences[batch].size(); ++row)
            outputs[batches.sequences[batch][row]] = own[static_cast<std::int64_t>(row)];
    };
    forEachLayer(model.runner(), plan, batches.batches, walk, progress);
    std::vector<at::Tensor> ordered;
    for (const auto& [sequence, output] : outputs)
        ordered.push_back(output);
    return at::stack(ordered);
}

} // namespace secateur
