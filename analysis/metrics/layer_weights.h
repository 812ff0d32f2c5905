#pragma once

#include "analysis/model/model.h"
#include "analysis/base/progress.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

/// Variants of what enters a gate-norm (methods.md 1.5).
struct QueryKeyVariant {
    bool foldNorm = false;  ///< columns multiplied by the input norm's weight: logits as a function of the plain stream
    bool augmented = false; ///< biases appended as one more column
    bool normedHeads = false; ///< scale taken out of each head, and the weights of its norms put in
    auto operator<=>(const QueryKeyVariant&) const = default;
};

/// The projections of one variant in float64; heads of a group stand side by side.
struct QueryKey;
struct WideSource;
class WideQueryKey;

/// Whether layers are so wide that their products are worth all threads and an own choice of precision
/// (methods.md 1.3); their pages are let go once they are measured.
bool isWide(const ModelSpec& spec);

/// The weights of one layer, read and converted once for all metrics that look at them. Not thread-safe.
class LayerWeights {
public:
    /// @param progress asked between parts of long work
    LayerWeights(const Model& model, int layer, const Progress& progress);
    ~LayerWeights();
    LayerWeights(const LayerWeights&) = delete;
    LayerWeights& operator=(const LayerWeights&) = delete;

    const LayerSpec& spec() const;
    const QueryKey& queryKey(QueryKeyVariant variant);
    /// Whether wideQueryKey() can be had of a variant.
    bool hasWideQueryKey(QueryKeyVariant variant) const;
    WideQueryKey& wideQueryKey(QueryKeyVariant variant);
    /// The same before any conversion.
    WideSource wideSource(QueryKeyVariant variant);
    const Kernels& kernels() const { return m_model.kernels(); }
    /// @throws Cancelled
    void checkProgress() const { m_progress.check(); }
    /// As the model gives it: any type, any strides.
    at::Tensor stored(WeightName which);
    /// A sentence on each weight read so far that holds numbers that are none. Reads them again.
    std::vector<std::string> notFinite() const;

private:
    at::Tensor read(int layer, WeightName which); ///< in float64
    at::Tensor read(WeightName which);
    at::Tensor inputGain();

    const Model& m_model;
    int m_layer;
    const Progress& m_progress;
    std::map<QueryKeyVariant, std::unique_ptr<QueryKey>> m_queryKey;
    std::map<QueryKeyVariant, std::unique_ptr<WideQueryKey>> m_wideQueryKey;
    std::set<std::pair<int, WeightName>> m_read;
};

} // namespace secateur
