#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace at {
class Tensor;
}

namespace secateur {

/// Sums over tokens for forward metrics. Inputs are [rows, positions, width] on the model's device, float32 unless
/// stated otherwise. Results are float64 on the CPU. Stateless.
class TokenKernels {
public:
    virtual ~TokenKernels() = default;

    /// Inner products of three vectors per token: x x, a a, z z, x a, x z, a z. -> [rows, positions, 6]
    virtual at::Tensor innerProducts(const at::Tensor& x, const at::Tensor& a, const at::Tensor& z) const = 0;

    /// Weighted sums over the positions of a row. There are several sums for each row. Positions whose factors are all
    /// 0 may contain NaN. -> [rows, sums, width]
    /// @param factors float64 [rows, positions, sums], on the CPU
    virtual at::Tensor weightedSums(const at::Tensor& values, const at::Tensor& factors) const = 0;

    /// For each column, the sums of |v|, v and v v over the positions from 1 to lengths[row] - 1. -> [rows, 3, width]
    /// @param values of any type
    virtual at::Tensor columnSums(const at::Tensor& values, std::span<const int> lengths) const = 0;

    /// For each token and head, the 1-norm of the head's contribution: the sum over o of |sum_i weights[head, o, i]
    /// context[.., head, i]|.
    /// @param context [rows, positions, heads, headDim] of any type
    /// @param weights [heads, out, headDim] on the same device, as float32. They may be bfloat16 if `context` has only
    /// bfloat16 values; products are then computed in bfloat16 and summed in float32
    /// -> [rows, positions, heads]
    virtual at::Tensor contributions(const at::Tensor& context, const at::Tensor& weights) const = 0;
};

/// The reference implementation in ATen. It runs on the device of its inputs. Tests compare other implementations with
/// it.
const TokenKernels& plainTokenKernels();

struct GramInnerProducts;
struct Rows;

/// The type to which the factors of a product are rounded. Sums are float32 or wider. `split`: each number is the sum
/// of two bfloat16 numbers, high and low, and products omit low times low. The relative error of a product is about
/// 2^-17.
enum class Precision { bf16, split, float32 };

const char* name(Precision precision);

/// Sums and products for weight metrics. Stateless: any thread may call it. It uses all threads of the runtime.
class Kernels {
public:
    virtual ~Kernels() = default;

    /// The device of products: "cpu", "cuda", "cuda:1". Rows stay on it. Other results are on the CPU unless stated
    /// otherwise.
    virtual std::string device() const { return "cpu"; }

    /// The precisions that are useful on this machine, fastest first. The last one is float32.
    virtual std::span<const Precision> precisions() const = 0;

    /// Prepares the rows of a weight for products. Sums each `repeats` consecutive blocks of `blockRows` rows (the
    /// query heads of a KV group, see Gate-norm in resources/manual/metrics.md), multiplies the columns by `gain`, and
    /// rounds the results. -> [rows / repeats, columns]
    /// @param source [rows, columns] of any floating type; it is read once @param gain [columns] float32; undefined = 1
    virtual Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
                      Precision precision) const = 0;

    /// The matrix product a b in float32 on the same device. If b is the transpose of a, half of the product may be
    /// computed and mirrored. @param a, b [.., m, k] and [.., k, n] of any strides, both bfloat16 or both float32, with
    /// at most one leading dimension
    virtual at::Tensor product(const at::Tensor& a, const at::Tensor& b) const = 0;

    /// The Gram matrices of `blocks` equal blocks of rows. If Rows::low is defined, the rows are high + low, and the
    /// product of low with low may be omitted.
    /// -> [blocks, rows / blocks, rows / blocks] float32 on the device of the rows, symmetric
    virtual at::Tensor grams(const Rows& rows, std::int64_t blocks) const;

    /// Inner products of the Gram matrices of queries and keys (rows.h). No Gram matrix is in memory as a whole.
    /// Returns null if grams() and innerProducts() are as fast.
    /// @param query, key [rows, columns] of equal shapes @param gain as in rows() @param blocks number of blocks of
    /// rows, one for each head
    /// @param between called every few hundred milliseconds; may throw
    virtual std::unique_ptr<GramInnerProducts> gramInnerProducts(const at::Tensor& query, const at::Tensor& key,
                                                                 const at::Tensor& gain, std::int64_t blocks,
                                                                 const std::function<void()>& between) const;

    /// The inner product of each matrix in `a` with a matrix in `b`, summed in float64. -> [blocks] on the CPU
    /// @param a [blocks, rows, columns] @param b [fewer, rows, columns]; each of its matrices is used for blocks /
    /// fewer consecutive matrices of `a`. Both are float32 with contiguous columns
    virtual at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const = 0;

    /// The sum of squares of each column in float64. -> [columns] @param weight [rows, columns] of any type and strides
    virtual at::Tensor columnSquares(const at::Tensor& weight) const = 0;

    /// ||a^T b||_F^2 for matrices with equal numbers of rows. If Rows::low is defined, the rows are high + low, and the
    /// product of low with low may be omitted. The product matrix is never in memory as a whole.
    /// @param between called every few hundred milliseconds; may throw
    virtual double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const = 0;

    /// The kernels for sums over tokens on the same device.
    virtual const TokenKernels& tokens() const;
};

/// The reference implementation in ATen, in float32 on the CPU. Tests compare other implementations with it.
const Kernels& plainKernels();
/// The reference implementation on any device of libtorch.
std::unique_ptr<const Kernels> plainKernelsOn(const std::string& device);

} // namespace secateur
