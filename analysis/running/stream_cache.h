#pragma once

#include "analysis/masks/pruning_mask.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace secateur {

/// Number of layers, from the first one on, in which two masks are equal.
int commonLayers(const PruningMask& one, const PruningMask& other);

/// Caches the inputs X_l of layers for each batch: under the dense model, and under the mask of the batch's latest run.
/// A run under another mask resumes at the first layer that differs. X_l can be reused if the masks are equal in all
/// layers below l. Masks are compared directly, without digests. Streams are float32, so that a resumed run gives the
/// results of a full run. X_0, the embedding, is not stored, because it costs little. For sources only: includes ATen.
class StreamCache {
public:
    using Mask = std::shared_ptr<const PruningMask>;
    enum class Of { dense, mask };

    /// Stores the input of every k-th layer, with k as small as the budget allows.
    /// @param streamBytes bytes of the inputs of one layer, for all batches together @param budget maximum bytes
    StreamCache(Mask dense, std::size_t batches, std::int64_t streamBytes, std::int64_t budget);

    /// The interval k; the number of layers if nothing is stored.
    int interval() const { return m_interval; }
    /// Bytes that are stored at the moment. Streams that the dense model and the mask share count once.
    std::int64_t bytes() const;

    /// The deepest layer whose input under this mask is stored; 0 = none.
    /// @param onceDenseRan whether to assume that the dense model has run, so that its streams are stored
    int resumeLayer(std::size_t batch, const PruningMask& mask, bool onceDenseRan = false) const;
    /// The stored X_layer under a mask. @param layer resumeLayer() or a lower multiple of interval(), except 0
    const at::Tensor& stream(std::size_t batch, const PruningMask& mask, int layer) const;

    /// Begins a run of a batch from `firstLayer` under a mask. Frees the streams of the previous mask, except those
    /// that are valid for both masks.
    void begin(std::size_t batch, Of of, const Mask& mask, int firstLayer);
    /// Stores X_layer of the run that begin() has begun. Call it for all layers in order, from firstLayer + 1 on.
    void keep(std::size_t batch, Of of, int layer, const at::Tensor& x);

private:
    struct Kept {
        Mask mask;
        std::vector<at::Tensor> streams; ///< X_k, X_2k and so on
    };

    int resumeLayer(const Kept& kept, const PruningMask& mask) const;
    Kept& kept(std::size_t batch, Of of) { return of == Of::dense ? m_dense[batch] : m_last[batch]; }

    int m_layers;
    int m_interval;
    Mask m_denseMask;
    std::vector<Kept> m_dense; ///< streams of each batch under the dense model
    std::vector<Kept> m_last;
};

/// Streams that a backward walk stores for the next walk over the same batches. If the mask changed from some layer on,
/// the streams below this layer are still valid, and the forward pass resumes there. The backward pass covers all
/// layers, because all gradients change. For sources only: includes ATen.
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

    bool keepsStreams = true; ///< whether X_l are stored; if not, every walk begins at layer 0
    int firstLayer = 0;       ///< layer at which the next forward pass resumes; the mask must be unchanged below it
    std::vector<std::vector<at::Tensor>> streams; ///< for each batch, the streams X_l by layer
    std::vector<at::Tensor> tops;                 ///< for each batch, the output of the last layer
    std::vector<std::vector<double>> values; ///< for each batch, the first scalar of each row; empty = not computed
};

} // namespace secateur
