#pragma once

#include "backends/engine/plan_layer.h"

#include <optional>
#include <vector>

namespace secateur {

/// Reads and converts the weights of one layer (-1: of none) of a model, and counts what they take. For sources only:
/// pulls in ATen.
class WeightReader {
public:
    WeightReader(const Model& model, int layer, const Conversion& conversion);

    /// As stored. @throws Error when there is none
    at::Tensor weight(WeightName which) const;
    /// Float32 on the device, undefined where the model has none.
    at::Tensor vector(WeightName which) const;
    /// Without a weight where the model has none.
    Norm norm(WeightName weight, std::optional<WeightName> bias = {}, double scale = 1) const;
    /// Matrices side by side as one, all multiplied by `scale`; biases likewise, zeros where only some are there.
    Linear linear(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& biases, double scale = 1);

    std::int64_t bytes() const { return m_bytes; }

private:
    at::ScalarType type() const;

    const Model& m_model;
    int m_layer;
    Conversion m_conversion;
    std::int64_t m_bytes = 0;
};

} // namespace secateur
