#include "analysis/compensation/projection_fit.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

constexpr std::array muGrid{0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0};

/// The solution X of (A + diagonal) X = B for a positive semidefinite A. @param diagonal [n] or a scalar tensor
at::Tensor ridgeSolution(const at::Tensor& a, const at::Tensor& diagonal, const at::Tensor& b) {
    const at::Tensor sum = a.clone();
    sum.diagonal().add_(diagonal);
    const auto [factor, info] = at::linalg_cholesky_ex(sum);
    if (info.item<int>() != 0)
        throw Error("The inputs of a projection are not finite: it cannot be compensated");
    return at::cholesky_solve(b, factor);
}

/// The sums of inputs and outputs minus their means.
FitSums centred(const FitSums& sums) {
    FitSums result = sums;
    result.gram = sums.gram - at::outer(sums.inputs, sums.inputs) / sums.weight;
    result.cross = sums.cross - at::outer(sums.inputs, sums.outputs) / sums.weight;
    return result;
}

/// The mean of what a weight leaves of the outputs.
at::Tensor meanResidual(const FitSums& sums, const at::Tensor& weight) {
    return (sums.outputs - at::mv(weight, sums.inputs)) / sums.weight;
}

/// Sums blocks of unitColumns columns and rows. @param matrix [width, width]
at::Tensor summedBlocks(const at::Tensor& matrix, std::int64_t unitColumns) {
    if (unitColumns == 1)
        return matrix;
    const std::int64_t units = matrix.size(0) / unitColumns;
    return matrix.reshape({units, unitColumns, units, unitColumns}).sum({1, 3});
}

/// The factors of the units, ridge towards 1. P_j = the part of the output that comes from unit j.
/// @param ridge absolute
at::Tensor fittedFactors(const FitSums& sums, const at::Tensor& weight, std::int64_t unitColumns, double ridge) {
    const at::Tensor products = at::mm(weight.t(), weight); // [width, width]
    const at::Tensor matrix = summedBlocks(sums.gram * products, unitColumns);
    const at::Tensor residual = sums.cross - at::mm(sums.gram, weight.t()); // [width, hidden]
    const at::Tensor right = (residual * weight.t()).sum(1).reshape({-1, unitColumns}).sum(1);
    const at::Tensor sizes = products.diagonal().reshape({-1, unitColumns}).sum(1);
    // A unit whose columns are 0 has no effect: its factor stays 1.
    const at::Tensor diagonal = at::where(sizes > 0, ridge * sizes, at::ones_like(sizes));
    return 1 + ridgeSolution(matrix, diagonal, right.unsqueeze(1)).squeeze(1);
}

} // namespace

FitSums::FitSums(std::int64_t width, std::int64_t hidden, at::Device device)
    : gram(at::zeros({width, width}, at::device(device).dtype(at::kDouble)))
    , cross(at::zeros({width, hidden}, gram.options()))
    , inputs(at::zeros({width}, gram.options()))
    , outputs(at::zeros({hidden}, gram.options())) {}

void FitSums::add(const at::Tensor& a, const at::Tensor& y, const at::Tensor& weights) {
    const at::Tensor in = a.to(gram.options());
    const at::Tensor out = y.to(gram.options());
    const at::Tensor factors = weights.defined() ? weights.to(gram.options()).unsqueeze(1) : weights;
    const at::Tensor weighted = factors.defined() ? in * factors : in;
    gram.addmm_(weighted.t(), in);
    cross.addmm_(weighted.t(), out);
    inputs += weighted.sum(0);
    const at::Tensor weightedOut = factors.defined() ? out * factors : out;
    outputs += weightedOut.sum(0);
    squares += (weightedOut * out).sum().item<double>();
    weight += weights.defined() ? weights.sum().item<double>() : static_cast<double>(in.size(0));
}

void FitSums::add(const FitSums& other) {
    gram += other.gram;
    cross += other.cross;
    inputs += other.inputs;
    outputs += other.outputs;
    squares += other.squares;
    weight += other.weight;
}

FitSums FitSums::of(const at::Tensor& columns) const {
    const at::Tensor index = columns.to(gram.device());
    FitSums chosen = *this;
    chosen.gram = gram.index_select(0, index).index_select(1, index);
    chosen.cross = cross.index_select(0, index);
    chosen.inputs = inputs.index_select(0, index);
    return chosen;
}

FittedProjection fittedProjection(CompensationMode mode, const FitSums& sums, const at::Tensor& weight,
                                  std::int64_t unitColumns, double mu) {
    const double ridge = mu * sums.gram.diagonal().mean().item<double>();
    const bool hasInputs = ridge > 0 || mode == CompensationMode::bias;
    switch (hasInputs ? mode : CompensationMode::none) {
    case CompensationMode::bias:
        return {{}, meanResidual(sums, weight), weight};
    case CompensationMode::scale:
    case CompensationMode::both: {
        const bool hasBias = mode == CompensationMode::both;
        FittedProjection fitted;
        fitted.factors = fittedFactors(hasBias ? centred(sums) : sums, weight, unitColumns, ridge);
        fitted.weight = weight * fitted.factors.repeat_interleave(unitColumns);
        if (hasBias)
            fitted.bias = meanResidual(sums, fitted.weight);
        return fitted;
    }
    case CompensationMode::weights: {
        // The difference to the model's weight, so that a projection without an error stays as it is.
        const at::Tensor residual = sums.cross - at::mm(sums.gram, weight.t());
        const at::Tensor change = ridgeSolution(sums.gram, at::scalar_tensor(ridge, at::kDouble), residual);
        return {{}, {}, weight + change.t()};
    }
    case CompensationMode::own:
    case CompensationMode::none:
        break;
    }
    return {{}, {}, weight};
}

double squaredError(const FitSums& sums, const FittedProjection& fitted) {
    const at::Tensor& weight = fitted.weight;
    const at::Tensor explained = at::mm(weight, sums.gram) - 2 * sums.cross.t(); // [hidden, width]
    double error = sums.squares + (explained * weight).sum().item<double>();
    if (fitted.bias.defined()) {
        const at::Tensor rest = sums.outputs - at::mv(weight, sums.inputs);
        error += (fitted.bias * (sums.weight * fitted.bias - 2 * rest)).sum().item<double>();
    }
    return std::max(error, 0.0); // it may be below 0 by rounding
}

ChosenMu chooseMu(CompensationMode mode, const FitSums& fitted, const FitSums& other, const at::Tensor& weight,
                  std::int64_t unitColumns) {
    ChosenMu best;
    best.errorWithout = squaredError(other, {{}, {}, weight});
    bool isFirst = true;
    for (const double mu : muGrid) {
        const double error = squaredError(other, fittedProjection(mode, fitted, weight, unitColumns, mu));
        if (isFirst || error < best.error) {
            best.mu = mu;
            best.error = error;
        }
        isFirst = false;
        if (mode == CompensationMode::bias)
            break;
    }
    return best;
}

} // namespace secateur
