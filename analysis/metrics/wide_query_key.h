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

/// The query and key projections of a layer as they are stored. For sources only: pulls in ATen.
struct WideSource {
    at::Tensor query; ///< [heads * headDim, hidden] of any type
    at::Tensor key;   ///< [kvHeads * headDim, hidden]
    at::Tensor gain;  ///< [hidden] float32: factors of the columns of both; undefined = 1
    int heads = 0;
    int kvHeads = 0;
    int headDim = 0;
};

/// Gate-norms of one wide layer. Sums are in float64, and products in the lowest precision that is accurate enough: the
/// further a layer's terms cancel, the higher it is (resources/manual/metrics.md, Gate-norm). Weights are read and
/// rounded when first needed, and kept. Not thread-safe.
class WideQueryKey {
public:
    WideQueryKey(const Kernels& kernels, WideSource source);

    at::Tensor squaredHeadNorms();  ///< [heads] float64
    at::Tensor squaredGroupNorms(); ///< [kvHeads] float64, of the sum of each group's query heads
    /// @param between called between parts of the work; may throw
    double squaredLayerNorm(const std::function<void()>& between);
    /// Precision of the products in the last squaredLayerNorm(). Not set if Gram matrices gave the value.
    Precision precision() const { return m_precision; }

    /// Whether the exact layer value takes so long that an estimate is useful. Otherwise Gram matrices give the exact
    /// value as fast.
    static bool isWorthEstimating(const WideSource& source);
    /// The layer's gate-norm from products with 64 vectors of random signs, the same ones for all layers of one width
    /// (Hutchinson's estimator; resources/manual/metrics.md, Gate-norm).
    static Estimate estimateLayerNorm(const Kernels& kernels, const WideSource& source);

private:
    struct Factors {
        Rows query; ///< rows of all query heads
        Rows group; ///< summed over the heads of each group; equals `query` if groups have one head
        Rows key;
    };

    const Factors& factors();
    Precision chosenPrecision();
    double squaredNormOfProduct(const std::function<void()>& between);
    const at::Tensor& keyGram();
    at::Tensor groupKeyGrams();

    const Kernels& m_kernels;
    WideSource m_source;
    std::unique_ptr<const Factors> m_factors;          ///< null until needed
    std::unique_ptr<const GramInnerProducts> m_blocks; ///< of the heads; null unless the layer's value came from them
    at::Tensor m_keyGram;                              ///< of all key rows, with a diagonal of 0; computed when needed
    at::Tensor m_headNorms;                            ///< squared; computed when needed
    Precision m_precision;
};

} // namespace secateur
