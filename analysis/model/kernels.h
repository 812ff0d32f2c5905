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

struct GramInnerProducts;
struct Rows;

/// What the factors of a product are rounded to; sums are float32 or better. `split` stands for two bfloat16 halves,
/// of which the product of the two lower ones is left out: 2^-17 is what it loses of a number.
enum class Precision { bf16, split, float32 };

const char* name(Precision precision);

/// The sums and products that weight metrics are made of, as this machine does them best. Stateless; every call
/// is const, may come from any thread and uses all threads of the runtime.
class Kernels {
public:
    virtual ~Kernels() = default;

    /// Where products are formed: "cpu", "cuda", "cuda:1". Rows stay there; all other results come back.
    virtual std::string device() const { return "cpu"; }

    /// Those worth using here, fastest first. The last one is float32.
    virtual std::span<const Precision> precisions() const = 0;

    /// Reads `source` once, [rows, columns] of any floating type, sums the `repeats` blocks of `blockRows` rows that
    /// make each group of rows (methods.md 1.1), multiplies its columns by `gain` (float32; undefined = by 1) and
    /// rounds. -> [rows / repeats, columns]
    virtual Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
                      Precision precision) const = 0;

    /// a b in float32 where they are, for a [.., m, k] and b [.., k, n], both bfloat16 or both float32, of any strides;
    /// one leading dimension or none. Of rows by their own transpose half may be left out and copied.
    virtual at::Tensor product(const at::Tensor& a, const at::Tensor& b) const = 0;

    /// Gram matrices of each of `blocks` blocks of rows, with their lower halves where they have them; the product of
    /// two lower ones may be left out. -> [blocks, rows / blocks, rows / blocks] float32 where the rows are, symmetric
    virtual at::Tensor grams(const Rows& rows, std::int64_t blocks) const;

    /// Inner products of the Gram matrices of queries and keys of one shape [rows, columns], their columns multiplied
    /// by `gain` as by rows(). No such matrix is held whole. Nothing where other products are as fast. `between` is
    /// called every few hundred milliseconds, and may throw.
    virtual std::unique_ptr<GramInnerProducts> gramInnerProducts(const at::Tensor& query, const at::Tensor& key,
                                                                 const at::Tensor& gain, std::int64_t blocks,
                                                                 const std::function<void()>& between) const;

    /// Inner products of matrices, summed in float64: of each a [blocks, rows, columns] with its b [fewer, rows,
    /// columns], each of which goes with as many blocks of `a` in a row. Both float32, columns side by side.
    /// -> [blocks], on the processor
    virtual at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const = 0;

    /// Sum of squares in float64 of each column of [rows, columns] of any type and strides. -> [columns]
    virtual at::Tensor columnSquares(const at::Tensor& weight) const = 0;

    /// ||a^T b||_F^2 for rows of the same number, with their lower halves where both have them. The matrix is never
    /// held whole. `between` is called every few hundred milliseconds, and may throw.
    virtual double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const = 0;

    /// What sums over the tokens of a run there.
    virtual const TokenKernels& tokens() const;
};

/// The same by ATen in float32 on the processor: what others are judged by.
const Kernels& plainKernels();
/// The same on any device of libtorch's.
std::unique_ptr<const Kernels> plainKernelsOn(const std::string& device);

} // namespace secateur
