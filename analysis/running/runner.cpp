#include "analysis/running/runner.h"

#include "analysis/running/runner_results.h"

#include <ATen/ATen.h>

namespace secateur {

LayerGradients Runner::backward(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                                const at::Tensor& dOutput, std::span<const Tap> wanted,
                                std::span<const float> attentionScales) const {
    const OutputGradient output{dOutput, {wanted.begin(), wanted.end()}};
    LayerGradients result;
    backwardEach(
        plan, layer, x, batch, {&output, 1}, [&](std::size_t, LayerGradients found) { result = std::move(found); },
        attentionScales);
    return result;
}

} // namespace secateur
