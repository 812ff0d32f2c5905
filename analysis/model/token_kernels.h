#pragma once

#include <span>

namespace at {
class Tensor;
}

namespace secateur {

/// The sums over tokens that forward metrics are made of, as this machine does them best. What comes in is float32, or
/// of a narrower type where said, where the model runs, [rows, positions, width]; what comes out is float64 on the
/// processor. Stateless.
class TokenKernels {
public:
    virtual ~TokenKernels() = default;

    /// Of the three vectors of each token x x, a a, z z, x a, x z, a z. -> [rows, positions, 6]
    virtual at::Tensor innerProducts(const at::Tensor& x, const at::Tensor& a, const at::Tensor& z) const = 0;

    /// Sums over positions of vectors times factors. What goes with factors that are all 0 may be no numbers.
    /// @param factors float64 [rows, positions, sums], on the processor -> [rows, sums, width]
    virtual at::Tensor weightedSums(const at::Tensor& values, const at::Tensor& factors) const = 0;

    /// Of each column the sums of |v|, v and v v over the positions from 1 up to lengths[row]. -> [rows, 3, width]
    /// @param values of any type
    virtual at::Tensor columnSums(const at::Tensor& values, std::span<const int> lengths) const = 0;

    /// Of each token and head the sum over `out` of |sum_i weights[head, out, i] context[.., head, i]|.
    /// @param context [rows, positions, heads, headDim] of any type @param weights [heads, out, headDim] beside it:
    /// float32, or bfloat16 where the numbers of `context` are, too; then they are multiplied as such, and summed in
    /// float32
    /// -> [rows, positions, heads]
    virtual at::Tensor contributions(const at::Tensor& context, const at::Tensor& weights) const = 0;
};

/// The same by ATen on whatever device tensors are: what others are judged by.
const TokenKernels& plainTokenKernels();

} // namespace secateur
