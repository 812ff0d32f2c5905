#pragma once

#include "analysis/masks/pruning_mask.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace secateur {

/// Number of leading layers in which two masks are equal.
int commonLayers(const PruningMask& one, const PruningMask& other);

/// Residual streams X_l of batches, for the dense model and for the mask that each batch ran under last: layers that an
/// edit does not reach need not run again. A stream is found by comparing the masks of the layers before it, without a
/// digest. Streams are stored in float32, so a resumed run gives the results of a full one. The embedding (l = 0) is
/// not stored: it costs little. For sources only: pulls in ATen.
class StreamCache {
public:
    using Mask = std::shared_ptr<const PruningMask>;
    enum class Of { dense, mask };

    /// Keeps the streams of every k-th layer, with k as small as the budget allows.
    /// @param streamBytes of one stream of all batches
    StreamCache(Mask dense, std::size_t batches, std::int64_t streamBytes, std::int64_t budget);

    /// k; the number of layers if nothing is kept.
    int interval() const { return m_interval; }
    /// Bytes held now. Streams shared by dense model and mask count once.
    std::int64_t bytes() const;

    /// The deepest layer whose input under this mask is kept; 0 = none.
    /// @param onceDenseRan count the layers that will be kept once the dense model has run
    int resumeLayer(std::size_t batch, const PruningMask& mask, bool onceDenseRan = false) const;
    /// X_layer under a mask. @param layer resumeLayer(), or a lower one by whole intervals; not 0
    const at::Tensor& stream(std::size_t batch, const PruningMask& mask, int layer) const;

    /// Starts a run of a batch from `firstLayer` under a mask: frees the streams of the mask before, except those that
    /// the two masks share.
    void begin(std::size_t batch, Of of, const Mask& mask, int firstLayer);
    /// X_layer of the run that began last. Layers come in order, from firstLayer + 1 on.
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

/// Streams that a backward walk leaves for the next walk over the same batches. After an edit of a layer the streams
/// below it are unchanged, so that the forward pass resumes there. The backward pass covers all layers: gradients
/// change everywhere. For sources only: pulls in ATen.
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

    bool keepsStreams = true; ///< if false, no walk can resume
    int firstLayer = 0;       ///< first layer of the next walk; below it the mask must be that of the walk before
    std::vector<std::vector<at::Tensor>> streams; ///< for each batch, X_l by layer
    std::vector<at::Tensor> tops;                 ///< for each batch, the output of the last layer
    std::vector<std::vector<double>> values;      ///< for each batch, the first scalar of its rows; empty = no scalar
};

} // namespace secateur
