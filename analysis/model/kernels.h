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

/// Sums over tokens for forward metrics. Inputs are [rows, positions, width], float32 unless said otherwise, on the
/// device of the model; results are float64 on the CPU. Stateless.
class TokenKernels {
public:
    virtual ~TokenKernels() = default;

    /// Inner products of three vectors per token: x x, a a, z z, x a, x z, a z. -> [rows, positions, 6]
    virtual at::Tensor innerProducts(const at::Tensor& x, const at::Tensor& a, const at::Tensor& z) const = 0;

    /// Sums over positions of vectors times factors. Positions whose factors are all 0 may hold NaN.
    /// @param factors float64 [rows, positions, sums], on the CPU -> [rows, sums, width]
    virtual at::Tensor weightedSums(const at::Tensor& values, const at::Tensor& factors) const = 0;

    /// Sums of |v|, v and v v of each column over the positions from 1 up to lengths[row]. -> [rows, 3, width]
    /// @param values of any type
    virtual at::Tensor columnSums(const at::Tensor& values, std::span<const int> lengths) const = 0;

    /// For each token and head the sum over `out` of |sum_i weights[head, out, i] context[.., head, i]|.
    /// @param context [rows, positions, heads, headDim] of any type
    /// @param weights [heads, out, headDim] on the same device: float32, or bfloat16 if the values of `context` are
    /// bfloat16 values too; these are multiplied as bfloat16 and summed in float32
    /// -> [rows, positions, heads]
    virtual at::Tensor contributions(const at::Tensor& context, const at::Tensor& weights) const = 0;
};

/// The reference implementation in ATen, on the device of its inputs. Tests compare other implementations with it.
const TokenKernels& plainTokenKernels();

struct GramInnerProducts;
struct Rows;

/// The type to which the factors of a product are rounded; sums are float32 or wider. `split` represents a number by
/// two bfloat16 halves, and products leave out that of the two lower halves: the relative error is 2^-17.
enum class Precision { bf16, split, float32 };

const char* name(Precision precision);

/// Sums and products of weights for weight metrics. Stateless: every call is const, may come from any thread and uses
/// all threads of the runtime.
class Kernels {
public:
    virtual ~Kernels() = default;

    /// Device of the products: "cpu", "cuda", "cuda:1". Rows stay there; all other results are on the CPU.
    virtual std::string device() const { return "cpu"; }

    /// Precisions worth using on this machine, fastest first. The last one is float32.
    virtual std::span<const Precision> precisions() const = 0;

    /// Reads `source` [rows, columns] of any floating type once. Sums the `repeats` blocks of `blockRows` rows of each
    /// group (the query heads of a KV group, see Gate-norm in resources/manual/metrics.md), multiplies the columns by
    /// `gain` (float32; undefined = 1) and rounds. -> [rows / repeats, columns]
    virtual Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
                      Precision precision) const = 0;

    /// a b in float32 on the same device, for a [.., m, k] and b [.., k, n], both bfloat16 or both float32, of any
    /// strides; one leading dimension or none. If b is the transpose of a, half of the product may be mirrored.
    virtual at::Tensor product(const at::Tensor& a, const at::Tensor& b) const = 0;

    /// The Gram matrix of each of `blocks` equal blocks of rows. If Rows::low is defined, the rows are high + low; the
    /// product of low with low may be left out.
    /// -> [blocks, rows / blocks, rows / blocks] float32 on the device of the rows, symmetric
    virtual at::Tensor grams(const Rows& rows, std::int64_t blocks) const;

    /// Inner products of the Gram matrices of queries and keys of one shape [rows, columns], after their columns are
    /// multiplied by `gain` as in rows(). No Gram matrix is held whole. Returns null where other products are as fast.
    /// `between` is called every few hundred milliseconds, and may throw.
    virtual std::unique_ptr<GramInnerProducts> gramInnerProducts(const at::Tensor& query, const at::Tensor& key,
                                                                 const at::Tensor& gain, std::int64_t blocks,
                                                                 const std::function<void()>& between) const;

    /// Inner products of matrices, summed in float64: each of a [blocks, rows, columns] with one of b [fewer, rows,
    /// columns], where blocks / fewer consecutive blocks of `a` share one of `b`. Both are float32 with contiguous
    /// columns. -> [blocks], on the CPU
    virtual at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const = 0;

    /// Sums of squares in float64 of the columns of [rows, columns] of any type and strides. -> [columns]
    virtual at::Tensor columnSquares(const at::Tensor& weight) const = 0;

    /// ||a^T b||_F^2 for equal numbers of rows, including their lower halves. The matrix is never held whole. `between`
    /// is called every few hundred milliseconds, and may throw.
    virtual double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const = 0;

    /// Sums over tokens on the same device.
    virtual const TokenKernels& tokens() const;
};

/// The reference implementation in ATen, float32 on the CPU. Tests compare other implementations with it.
const Kernels& plainKernels();
/// The same on any device of libtorch.
std::unique_ptr<const Kernels> plainKernelsOn(const std::string& device);

} // namespace secateur
