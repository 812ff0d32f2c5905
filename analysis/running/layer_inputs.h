#pragma once

#include "analysis/base/progress.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

namespace secateur {

/// The residual streams of a text in front of any layer. goTo() resumes at the highest layer whose inputs are known.
/// For sources only: includes ATen.
class LayerInputs {
public:
    /// The runner must outlive this object, the plan until setPlan().
    LayerInputs(const Runner& runner, const Plan& plan, PaddedBatches batches);

    const PaddedBatches& batches() const { return m_batches; }
    /// The layer that goTo() reached; -1 = none.
    int layer() const { return m_layer; }
    /// The inputs of layer(), for each batch.
    const std::vector<at::Tensor>& streams() const { return m_streams; }

    /// Goes on under another plan of the same type. Streams of layers below the first difference remain valid.
    void setPlan(const Plan& plan);
    /// Stores the inputs of every k-th layer from `firstLayer` to `lastLayer` when goTo() passes them, with k as small
    /// as `bytes` allows, so that goTo() can go back to these layers.
    /// @param streamBytes bytes of the streams in front of one layer
    void keep(int firstLayer, int lastLayer, std::int64_t bytes, std::int64_t streamBytes);
    /// Runs the streams up to the input of a layer. @throws Cancelled
    void goTo(int layer, const Progress& progress);

private:
    void resumeBelow(int layer);
    bool isKept(int layer) const;

    const Runner& m_runner;
    const Plan* m_plan;
    PaddedBatches m_batches;
    int m_layer = -1;                              ///< layer whose inputs are in m_streams; -1 = none
    std::vector<at::Tensor> m_streams;             ///< for each batch, the input of layer m_layer
    std::map<int, std::vector<at::Tensor>> m_kept; ///< stored inputs of layers, for each batch
    int m_firstKept = 0;
    int m_lastKept = -1;
    int m_keptInterval = 1;
};

} // namespace secateur
