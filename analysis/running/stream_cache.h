#pragma once

#include "analysis/masks/pruning_mask.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace secateur {

/// How many of the first layers two masks have in common: their input does not tell the masks apart.
int commonLayers(const PruningMask& one, const PruningMask& other);

/// Residual streams X_l of batches, of the dense model and of the mask that each batch ran under last: what an edit in
/// a layer does not reach need not run again. A stream is found by the masks of the layers before it, compared
/// themselves, not by a digest. Kept as they came, in float32: what resumes from them is what a full run gives. The
/// embedding (l = 0) is not kept, for it costs nothing. For sources only: pulls in ATen.
class StreamCache {
public:
    using Mask = std::shared_ptr<const PruningMask>;
    enum class Of { dense, mask };

    /// Keeps every k-th layer of all batches, k as small as the budget allows.
    /// @param streamBytes of one stream of all batches
    StreamCache(Mask dense, std::size_t batches, std::int64_t streamBytes, std::int64_t budget);

    /// k; the number of layers when nothing is kept.
    int interval() const { return m_interval; }
    /// Held now: streams that dense model and mask share are held once.
    std::int64_t bytes() const;

    /// The deepest layer whose input under this mask is kept, or, once the dense model ran, will be; 0 = none.
    int resumeLayer(std::size_t batch, const PruningMask& mask, bool onceDenseRan = false) const;
    /// X_layer under a mask. @param layer resumeLayer(), or a lower one by whole intervals; not 0
    const at::Tensor& stream(std::size_t batch, const PruningMask& mask, int layer) const;

    /// A batch is about to run under a mask from a layer on: lets the streams go that were kept of another mask, but
    /// for those that the two share.
    void begin(std::size_t batch, Of of, const Mask& mask, int firstLayer);
    /// X_layer of what began last. Layers come in order, from firstLayer + 1 on.
    void keep(std::size_t batch, Of of, int layer, const at::Tensor& x);

private:
    struct Kept {
        Mask mask;
        std::vector<at::Tensor> streams; ///< X_k, X_2k, ...
    };

    int resumeLayer(const Kept& kept, const PruningMask& mask) const;
    Kept& kept(std::size_t batch, Of of) { return of == Of::dense ? m_dense[batch] : m_last[batch]; }

    int m_layers;
    int m_interval;
    Mask m_denseMask;
    std::vector<Kept> m_dense; ///< of each batch
    std::vector<Kept> m_last;
};

/// What a walk leaves for the next one over the same batches: an edit of a layer leaves the streams below it as they
/// are, so that the way up begins there. The way down owes all layers: a gradient changes everywhere. For sources only:
/// pulls in ATen.
struct BackwardTrace {
    explicit BackwardTrace(std::size_t batches)
        : streams(batches)
        , tops(batches)
        , values(batches) {}

    /// @param inputs X_0, X_1, ... of all layers @param top X_layers
    void keep(std::size_t batch, const std::vector<at::Tensor>& inputs, const at::Tensor& top) {
        if (keepsStreams)
            streams[batch] = inputs;
        tops[batch] = top;
        values[batch].clear();
    }

    bool keepsStreams = true; ///< where not, nothing can be resumed
    int firstLayer = 0;       ///< where the next walk begins; below it masks must be those of the walk before
    std::vector<std::vector<at::Tensor>> streams; ///< of each batch, X_l by layer
    std::vector<at::Tensor> tops;                 ///< of each batch, what left the last layer
    std::vector<std::vector<double>> values; ///< of each batch, the first scalar of its rows; empty = none was asked
};

} // namespace secateur
