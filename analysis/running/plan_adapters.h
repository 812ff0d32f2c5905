#pragma once

#include "analysis/model/model.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <utility>

namespace secateur {

/// The tensors of a low-rank update W' = W + scale B A. They have the shapes of the whole projection, also under a
/// mask.
struct LowRankTensors {
    at::Tensor a; ///< [rank, in] float32
    at::Tensor b; ///< [out, rank] float32
    double scale = 1;
};

/// Trained tensors that a plan uses beside the weights of its model. The trainer changes their numbers in place between
/// runs. Of layers that share their weights, only the first has tensors. Tensors for which gradients are wanted are
/// leaves that require them. For sources only: includes ATen.
struct PlanAdapters {
    using Place = std::pair<int, WeightName>; ///< layer, -1 = outside of the layers, and weight

    std::map<Place, LowRankTensors> updates;
    std::map<Place, at::Tensor> weights; ///< replace norms of layers, the final norm, and weights of the classifier
    /// The factors and biases of a compensation (LayerCompensation), at the output and down projections: factors of all
    /// heads [heads] and neurons [ffn], and biases [hidden]. The mask of the plan has none in their place. The factors
    /// multiply the inputs of the projection.
    std::map<Place, at::Tensor> factors;
    std::map<Place, at::Tensor> biases;
    /// Probability with which each input of an update is replaced by 0; the others are divided by 1 - dropout.
    double dropout = 0;
    /// Together with the tokens of a batch it determines which inputs are dropped.
    std::uint64_t dropoutSeed = 0;
};

} // namespace secateur
