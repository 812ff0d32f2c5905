#include "analysis/weights/neuron_norms.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/model/kernels.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

namespace secateur {

namespace {

std::vector<double> roots(const at::Tensor& squares) {
    const at::Tensor values = squares.sqrt().to(at::kDouble).contiguous();
    return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

/// 2-norms of the columns of a weight, or of its rows.
std::vector<double> normsOf(const Model& model, int layer, WeightName weight, bool ofRows) {
    const at::Tensor values = model.tensor(layer, weight);
    return roots(model.kernels().columnSquares(ofRows ? values.t() : values));
}

} // namespace

NeuronNorms neuronNorms(const Model& model, int layer, const Progress& progress) {
    const ModelSpec& spec = model.spec();
    if (layer < 0 || layer >= spec.layerCount())
        throw UsageError(fmt::format("the model has layers 0 to {}", spec.layerCount() - 1),
                         fmt::format("layer {}", layer));
    if (spec.layers[static_cast<std::size_t>(layer)].ffn == 0)
        throw Error("has no MLP", fmt::format("layer {}", layer));
    NeuronNorms norms{.layer = layer};
    norms.up = normsOf(model, layer, WeightName::up, true);
    progress.check();
    if (model.has(layer, WeightName::gate))
        norms.gate = normsOf(model, layer, WeightName::gate, true);
    progress.check();
    norms.down = normsOf(model, layer, WeightName::down, false);
    model.checkFiles();
    return norms;
}

} // namespace secateur
