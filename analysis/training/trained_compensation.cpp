#include "analysis/training/trained_compensation.h"

#include <cstddef>
#include <memory>
#include <utility>

namespace secateur {

namespace {

/// Multiplies the columns of a weight by the factors of their units. @param width columns of a unit
SharedWeight scaledWeight(const std::vector<float>& weight, const std::vector<float>& factors, std::size_t width) {
    auto made = std::make_shared<std::vector<float>>(weight);
    const std::size_t columns = factors.size() * width;
    for (std::size_t i = 0; i < made->size(); ++i)
        (*made)[i] *= factors[i % columns / width];
    return made;
}

/// The part of a compensation at one projection.
struct ProjectionPart {
    std::vector<float>& factors;
    std::vector<float>& bias;
    SharedWeight& weight;
};

ProjectionPart partOf(LayerCompensation& compensation, WeightName projection) {
    if (projection == WeightName::output)
        return {compensation.headScale, compensation.attentionBias, compensation.outputWeight};
    return {compensation.neuronScale, compensation.mlpBias, compensation.downWeight};
}

} // namespace

PruningMask withoutFactorsAndBias(PruningMask mask, const WeightPlace& place) {
    LayerMask own = mask.layer(place.first);
    LayerCompensation rest = compensationOf(own);
    const ProjectionPart part = partOf(rest, place.second);
    part.factors.clear();
    part.bias.clear();
    own.compensation = std::make_shared<const LayerCompensation>(std::move(rest));
    mask.setLayer(place.first, std::move(own));
    return mask;
}

PruningMask withTrainedCompensation(PruningMask mask, const TrainingState& state, const ModelSpec& spec) {
    for (const TrainedTensor& tensor : state.tensors) {
        if (tensor.part != TrainedPart::factors && tensor.part != TrainedPart::bias)
            continue;
        const auto& [layer, projection] = tensor.place;
        LayerMask own = mask.layer(layer);
        LayerCompensation changed = compensationOf(own);
        const ProjectionPart part = partOf(changed, projection);
        const int headDim = spec.layers[static_cast<std::size_t>(layer)].headDim;
        if (tensor.part == TrainedPart::bias)
            part.bias = tensor.values;
        else if (part.weight)
            part.weight = scaledWeight(*part.weight, tensor.values,
                                       projection == WeightName::output ? static_cast<std::size_t>(headDim) : 1);
        else
            part.factors = tensor.values;
        own.compensation = std::make_shared<const LayerCompensation>(std::move(changed));
        mask.setLayer(layer, std::move(own));
    }
    return mask;
}

} // namespace secateur
