#pragma once

#include "analysis/model/kernels.h"
#include "analysis/model/model_spec.h"
#include "analysis/model/rows.h"

#include <functional>
#include <memory>
#include <optional>

namespace secateur {

/// A value that is not exact yet. The standard error is that of the value.
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

/// Gate-norms of one wide layer by products in the precision that its cancellation allows (methods.md 1.3), with sums
/// in float64. Reads and rounds the weights when a value needs it, and keeps them. Not thread-safe.
class WideQueryKey {
public:
    WideQueryKey(const Kernels& kernels, WideSource source);

    at::Tensor squaredHeadNorms();  ///< [heads] float64
    at::Tensor squaredGroupNorms(); ///< [kvHeads] float64, the queries of each group summed
    /// `between` is called between parts of the work, and may throw.
    double squaredLayerNorm(const std::function<void()>& between);
    /// How the last squaredLayerNorm() multiplied.
    Precision precision() const { return m_precision; }

    /// Whether the layer's value costs enough to be estimated first: else Gram matrices give it at once.
    static bool isWorthEstimating(const WideSource& source);
    /// The layer's gate-norm from products with 64 vectors of random signs, the same ones for each layer of a width
    /// (Hutchinson; methods.md 1.4).
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
    std::unique_ptr<const Factors> m_factors;          ///< once they were needed
    std::unique_ptr<const GramInnerProducts> m_blocks; ///< of the heads, where the layer was measured by them
    at::Tensor m_keyGram;                              ///< beside its diagonal, of all key rows, once it was needed
    at::Tensor m_headNorms;                            ///< squared, once they were asked for
    Precision m_precision;
};

} // namespace secateur
