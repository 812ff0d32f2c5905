#include "analysis/compensation/projection_fit.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr std::array muGrid{0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0};

/// The solution X of X (A + diagonal) = B for a positive semidefinite A. @param diagonal [n] or a scalar tensor
at::Tensor ridgeSolution(const at::Tensor& a, const at::Tensor& diagonal, const at::Tensor& b) {
    const at::Tensor sum = a.clone();
    sum.diagonal().add_(diagonal);
    const auto [factor, info] = at::linalg_cholesky_ex(sum);
    if (info.item<int>() != 0)
        throw Error("The inputs of a projection are not finite: it cannot be compensated");
    return at::cholesky_solve(b.t(), factor).t().contiguous();
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

/// The squared error as a function of x: error - 2 <x, right> + <x, x matrix>. x is the difference to the model's
/// weight [hidden, width], or that of the units' factors to 1 [1, units]: a projection without an error stays as it is.
struct Equations {
    at::Tensor matrix;
    at::Tensor right;
    at::Tensor sizes; ///< |change of the weight|² for x = 1: [units], or 1
    double error = 0; ///< of the model's weight
};

Equations equations(CompensationMode mode, const FitSums& sums, const at::Tensor& weight, std::int64_t unitColumns) {
    Equations made;
    const at::Tensor cross = sums.cross.t().contiguous();
    const at::Tensor residual = cross - at::mm(weight, sums.gram); // [hidden, width]
    made.error = sums.squares - (weight * (cross + residual)).sum().item<double>();
    if (mode == CompensationMode::weights) {
        made.matrix = sums.gram;
        made.right = residual;
        made.sizes = at::ones({}, sums.gram.options());
        return made;
    }
    const at::Tensor products = at::mm(weight.t(), weight); // [width, width]
    made.matrix = summedBlocks(sums.gram * products, unitColumns);
    made.right = (residual * weight).sum(0).reshape({1, -1, unitColumns}).sum(2);
    made.sizes = products.diagonal().reshape({-1, unitColumns}).sum(1);
    return made;
}

/// The x with the least error plus ridge |change of the weight|². @param ridge above 0
at::Tensor solution(const Equations& of, double ridge) {
    // A unit whose columns are 0 has no effect: its factor stays 1.
    return ridgeSolution(of.matrix, at::where(of.sizes > 0, ridge * of.sizes, at::ones_like(of.sizes)), of.right);
}

double errorOf(const Equations& of, const at::Tensor& x) {
    return of.error + (x * (at::mm(x, of.matrix) - 2 * of.right)).sum().item<double>();
}

/// What a bias changes in the squared error. @param weight the compensated weight
double errorOfBias(const FitSums& sums, const at::Tensor& bias, const at::Tensor& weight) {
    const at::Tensor rest = sums.outputs - at::mv(weight, sums.inputs);
    return (bias * (sums.weight * bias - 2 * rest)).sum().item<double>();
}

/// The sums whose equations a fit solves.
FitSums sumsToSolve(CompensationMode mode, const FitSums& sums) {
    return mode == CompensationMode::both ? centred(sums) : sums;
}

double meanDiagonal(const FitSums& sums) {
    return sums.gram.diagonal().mean().item<double>();
}

/// The projection of a solution.
FittedProjection projectionOf(CompensationMode mode, const FitSums& sums, const at::Tensor& weight,
                              std::int64_t unitColumns, const at::Tensor& x) {
    FittedProjection fitted;
    if (mode == CompensationMode::weights) {
        fitted.weight = weight + x;
        return fitted;
    }
    fitted.factors = 1 + x.squeeze(0);
    fitted.weight = weight * fitted.factors.repeat_interleave(unitColumns);
    if (mode == CompensationMode::both)
        fitted.bias = meanResidual(sums, fitted.weight);
    return fitted;
}

/// gram += leftᵀ right, a symmetric matrix: blocks above the diagonal are copied from those below.
void addSymmetric(at::Tensor& gram, const at::Tensor& left, const at::Tensor& right) {
    constexpr std::int64_t block = 256; // columns; smaller products are slower
    const std::int64_t width = gram.size(0);
    for (std::int64_t begin = 0; begin < width; begin += block) {
        const std::int64_t count = std::min(block, width - begin);
        at::Tensor below = gram.narrow(0, begin, width - begin).narrow(1, begin, count);
        below.addmm_(left.narrow(1, begin, width - begin).t(), right.narrow(1, begin, count));
        const std::int64_t after = begin + count;
        gram.narrow(0, begin, count).narrow(1, after, width - after).copy_(below.narrow(0, count, width - after).t());
    }
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
    addSymmetric(gram, weighted, in);
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

void FitSums::addToOutputs(const at::Tensor& constant) {
    squares += (constant * (2 * outputs + weight * constant)).sum().item<double>();
    cross += at::outer(inputs, constant);
    outputs += weight * constant;
}

void FitSums::scaleInputs(double factor) {
    gram *= factor * factor;
    cross *= factor;
    inputs *= factor;
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
    if (mode == CompensationMode::bias)
        return {{}, meanResidual(sums, weight), weight};
    const double ridge = mu * meanDiagonal(sums);
    const bool isFitted = mode != CompensationMode::own && mode != CompensationMode::none;
    if (!isFitted || ridge <= 0) // without inputs there is nothing to fit
        return {{}, {}, weight};
    const Equations made = equations(mode, sumsToSolve(mode, sums), weight, unitColumns);
    return projectionOf(mode, sums, weight, unitColumns, solution(made, ridge));
}

double squaredError(const FitSums& sums, const FittedProjection& fitted) {
    const at::Tensor& weight = fitted.weight;
    const at::Tensor explained = at::mm(weight, sums.gram) - 2 * sums.cross.t(); // [hidden, width]
    double error = sums.squares + (explained * weight).sum().item<double>();
    if (fitted.bias.defined())
        error += errorOfBias(sums, fitted.bias, weight);
    return std::max(error, 0.0); // it may be below 0 by rounding
}

ChosenMu chooseMu(CompensationMode mode, const FitSums& fitted, const FitSums& other, const at::Tensor& weight,
                  std::int64_t unitColumns) {
    ChosenMu best;
    const double mean = meanDiagonal(fitted);
    if (mode == CompensationMode::bias || mean <= 0) {
        best.mu = muGrid.front();
        best.error = squaredError(other, fittedProjection(mode, fitted, weight, unitColumns, best.mu));
        best.errorWithout = squaredError(other, {{}, {}, weight});
        return best;
    }
    const Equations own = equations(mode, sumsToSolve(mode, fitted), weight, unitColumns);
    const Equations others = equations(mode, other, weight, unitColumns);
    best.errorWithout = std::max(others.error, 0.0);
    best.error = std::numeric_limits<double>::infinity();
    for (const double mu : muGrid) {
        const at::Tensor x = solution(own, mu * mean);
        double error = errorOf(others, x);
        if (mode == CompensationMode::both) {
            const FittedProjection found = projectionOf(mode, fitted, weight, unitColumns, x);
            error += errorOfBias(other, found.bias, found.weight);
        }
        if (error < best.error) {
            best.mu = mu;
            best.error = std::max(error, 0.0);
        }
    }
    return best;
}

} // namespace secateur
