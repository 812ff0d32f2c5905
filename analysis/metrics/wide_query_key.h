#pragma once

#include "analysis/model/kernels.h"
#include "analysis/model/model_spec.h"
#include "analysis/model/rows.h"

#include <functional>
#include <memory>
#include <optional>

namespace secateur {

/// A sampled value with its standard error.
struct Estimate {
    double value = 0;
    double standardError = 0;
};

/// Queries and keys of a layer as they are stored. For sources only: pulls in ATen.
struct WideSource {
    at::Tensor query; ///< [heads * headDim, hidden] of any type
    at::Tensor key;   ///< [kvHeads * headDim, hidden]
    at::Tensor gain;  ///< [hidden] float32 that their columns are multiplied by; undefined = 1
    int heads = 0;
    int kvHeads = 0;
    int headDim = 0;
};

/// Gate-norms of one wide layer from products in the precision that its cancellation allows, with sums in float64
/// (resources/manual/metrics.md, Gate-norm). Reads and rounds the weights when a value needs them, and keeps them. Not
/// thread-safe.
class WideQueryKey {
public:
    WideQueryKey(const Kernels& kernels, WideSource source);

    at::Tensor squaredHeadNorms();  ///< [heads] float64
    at::Tensor squaredGroupNorms(); ///< [kvHeads] float64, the queries of each group summed
    /// `between` is called between parts of the work, and may throw.
    double squaredLayerNorm(const std::function<void()>& between);
    /// Of the products of the last squaredLayerNorm().
    Precision precision() const { return m_precision; }

    /// Whether the exact value takes long enough for an estimate to be useful; else Gram matrices give it at once.
    static bool isWorthEstimating(const WideSource& source);
    /// The layer's gate-norm from products with 64 vectors of random signs, the same ones for all layers of one width
    /// (Hutchinson's estimator; resources/manual/metrics.md, Gate-norm).
    static Estimate estimateLayerNorm(const Kernels& kernels, const WideSource& source);

private:
    struct Factors {
        Rows query; ///< of every head
        Rows group; ///< summed over the heads of each group; the same as `query` where a group is one head
        Rows key;
    };

    const Factors& factors();
    Precision chosenPrecision();
    double squaredNormOfProduct(const std::function<void()>& between);
    const at::Tensor& keyGram();
    at::Tensor groupKeyGrams();

    const Kernels& m_kernels;
    WideSource m_source;
    std::unique_ptr<const Factors> m_factors;          ///< once needed
    std::unique_ptr<const GramInnerProducts> m_blocks; ///< of the heads, where the layer's value came from them
    at::Tensor m_keyGram;                              ///< of all key rows without its diagonal, once needed
    at::Tensor m_headNorms;                            ///< squared, once needed
    Precision m_precision;
};

} // namespace secateur
