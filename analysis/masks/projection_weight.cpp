#include "analysis/masks/projection_weight.h"

#include <ATen/ATen.h>

namespace secateur {

at::Tensor tensorOf(const SharedWeight& weight, std::int64_t rows) {
    const std::int64_t columns = static_cast<std::int64_t>(weight->size()) / rows;
    const auto keep = [weight](void*) {};
    return at::from_blob(const_cast<float*>(weight->data()), {rows, columns}, keep, at::kFloat);
}

const SharedWeight& replacementOf(const LayerCompensation& compensation, WeightName which) {
    static const SharedWeight none;
    return which == WeightName::output ? compensation.outputWeight
           : which == WeightName::down ? compensation.downWeight
                                       : none;
}

at::Tensor projectionWeight(const Model& model, int layer, WeightName which, const LayerCompensation& compensation) {
    const SharedWeight& own = replacementOf(compensation, which);
    if (!own)
        return model.tensor(layer, which);
    const at::Tensor weight = tensorOf(own, model.spec().hidden);
    const at::Tensor update = model.update(layer, which);
    return update.defined() ? weight + update : weight;
}

} // namespace secateur
