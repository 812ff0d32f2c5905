#pragma once

#include "analysis/compensation/compensation_mode.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace secateur {

// For sources only: includes ATen. All tensors are float64. Those of one fit are on one device.

/// Weighted sums over tokens of a projection's inputs a [width] and of the outputs y [hidden] that it should have,
/// without its bias. They are additive.
struct FitSums {
    at::Tensor gram;    ///< [width, width] sum of w a aᵀ
    at::Tensor cross;   ///< [width, hidden] sum of w a yᵀ
    at::Tensor inputs;  ///< [width] sum of w a
    at::Tensor outputs; ///< [hidden] sum of w y
    double squares = 0; ///< sum of w |y|²
    double weight = 0;  ///< sum of w

    FitSums() = default;
    FitSums(std::int64_t width, std::int64_t hidden, at::Device device = at::kCPU);
    /// @param a [tokens, width] @param y [tokens, hidden], both of any floating type on any device
    /// @param weights [tokens] float64 on any device; undefined = 1 for each token
    void add(const at::Tensor& a, const at::Tensor& y, const at::Tensor& weights = {});
    void add(const FitSums& other);
    /// Adds a constant to the outputs. @param constant [hidden] float64
    void addToOutputs(const at::Tensor& constant);
    /// Multiplies the inputs.
    void scaleInputs(double factor);
    /// The sums of some inputs only. @param columns [columns] int64 on any device
    FitSums of(const at::Tensor& columns) const;
};

/// A compensated projection.
struct FittedProjection {
    at::Tensor factors; ///< [units]; undefined = 1 for each unit
    at::Tensor bias;    ///< [hidden] in addition to that of the model; undefined = none
    at::Tensor weight;  ///< [hidden, width] with the factors
};

/// The projection that minimises the squared error plus mu |W - weight|², where W is the compensated weight. A bias is
/// not penalised.
/// @param mode bias, scale, both or weights @param weight [hidden, width], that of the model
/// @param unitColumns number of successive columns that have one factor: the size of a head, or 1 for neurons
/// @param mu in multiples of the mean diagonal of the gram matrix; without effect for the mode bias
/// @throws Error if the sums are not finite
FittedProjection fittedProjection(CompensationMode mode, const FitSums& sums, const at::Tensor& weight,
                                  std::int64_t unitColumns, double mu);

/// The sum of w |y - W a - b|².
double squaredError(const FitSums& sums, const FittedProjection& fitted);

/// The mu of the grid 0.01, 0.03, 0.1, 0.3, 1, 3, 10 whose fit has the least error on other tokens.
struct ChosenMu {
    double mu = 0;
    double error = 0;        ///< squared error on the other tokens
    double errorWithout = 0; ///< squared error on them of the uncompensated projection
};
ChosenMu chooseMu(CompensationMode mode, const FitSums& fitted, const FitSums& other, const at::Tensor& weight,
                  std::int64_t unitColumns);

} // namespace secateur
