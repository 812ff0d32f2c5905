#pragma once

#include "analysis/base/progress.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model.h"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

/// The table rows of the metrics from weights.
std::span<const MetricInfo> weightMetrics();

/// Variants of the query and key weights of a gate-norm (resources/manual/metrics.md, Gate-norm).
struct QueryKeyVariant {
    bool foldNorm = false;    ///< columns multiplied by the input norm's weight, which is then part of W_q and W_k
    bool augmented = false;   ///< biases appended as one more column
    bool normedHeads = false; ///< each head divided by its scale and multiplied by the weights of its norm
    auto operator<=>(const QueryKeyVariant&) const = default;
};

struct QueryKey;
struct WideSource;
class WideQueryKey;

/// Whether layers are so wide that each product uses all threads, in a precision chosen for it
/// (resources/manual/metrics.md, Gate-norm). The mapped pages of such a layer are released after it is measured.
bool isWide(const ModelSpec& spec);

/// The weights of one layer, read and converted once for all metrics that use them. Not thread-safe.
class LayerWeights {
public:
    /// @param progress only checked for cancelling, between parts of a long computation
    LayerWeights(const Model& model, int layer, const Progress& progress);
    ~LayerWeights();
    LayerWeights(const LayerWeights&) = delete;
    LayerWeights& operator=(const LayerWeights&) = delete;

    const LayerSpec& spec() const;
    const QueryKey& queryKey(QueryKeyVariant variant);
    /// Whether wideQueryKey() supports a variant.
    bool hasWideQueryKey(QueryKeyVariant variant) const;
    WideQueryKey& wideQueryKey(QueryKeyVariant variant);
    /// The weights before any conversion.
    WideSource wideSource(QueryKeyVariant variant);
    const Kernels& kernels() const { return m_model.kernels(); }
    /// @throws Cancelled
    void checkProgress() const { m_progress.check(); }
    /// A weight as the model stores it: any type, any strides.
    at::Tensor stored(WeightName which);
    /// A sentence for each weight read so far that contains NaN or infinite numbers. Reads these weights again.
    std::vector<std::string> notFinite() const;

    /// The factors of the norm whose output the layer reads, [hidden] in float64.
    at::Tensor inputGain();

private:
    at::Tensor read(int layer, WeightName which); ///< in float64
    at::Tensor read(WeightName which);

    const Model& m_model;
    int m_layer;
    const Progress& m_progress;
    std::map<QueryKeyVariant, std::unique_ptr<QueryKey>> m_queryKey;
    std::map<QueryKeyVariant, std::unique_ptr<WideQueryKey>> m_wideQueryKey;
    std::set<std::pair<int, WeightName>> m_read;
};

} // namespace secateur
