#pragma once

#include "analysis/running/backward_walk.h"
#include "analysis/metrics/gradient_scalars.h"
#include "analysis/base/matrix.h"
#include "analysis/running/padded_batches.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace secateur {

// What gradient metrics keep of the backward passes. For sources only: pulls in ATen.

/// Sums over rows, for each head. n = targets of a row, v = gradient of the head's gate.
enum class HeadSum {
    queryNorm, ///< ‖∂F/∂W_q‖_F
    keyNorm,
    valueNorm,
    gate,           ///< n v
    gateSquare,     ///< v²
    gateMagnitude,  ///< |v|
    tokenMagnitude, ///< of the tokens' shares of v
    batchMagnitude, ///< |mean of v over a batch|, summed over batches
    pairMagnitude,  ///< |A ∂F/∂A| of all pairs of tokens
};

/// One backward pass over all rows.
struct GradientPass {
    ScalarChoice choice;
    std::set<HeadSum> wishes = {};

    bool wants(HeadSum sum) const { return wishes.contains(sum); }
    bool wantsNorms() const;
    bool wantsGates() const;
};

/// What one pass came to. Everything is additive: batches may come in any order, and be left out.
struct PassSums {
    std::map<HeadSum, Matrix> heads; ///< [layers, heads]; of layers that share their weights the first one's row
    double rows = 0;                 ///< that had something to differentiate
    double targets = 0;
    double batches = 0;

    void add(const PassSums& other);
};

/// Sums what gradients say while they go down. Layers that share their weights are one layer here: their gradients are
/// added before any norm or magnitude is taken.
class GradientSums {
public:
    /// @param mergesRows whether norms are of the gradient of a whole batch (as the authors of Greedy-Gnorm measure);
    /// all must outlive it
    GradientSums(const Model& model, const Plan& plan, const PaddedBatches& batches, const GradientScalars& scalars,
                 std::span<const GradientPass> passes, bool mergesRows);

    std::vector<Tap> taps(int layer, std::size_t pass) const;
    void add(const LayerBackward& pulled);
    /// The batches are through: what they gave counts.
    void finish(std::size_t first, std::size_t end);

    const PassSums& of(std::size_t pass) const { return m_sums[pass]; }

private:
    /// What the applications of one layer gave so far.
    struct Open {
        std::array<at::Tensor, 3> squares;   ///< [rows, heads] float64, of a layer with weights of its own
        std::array<at::Tensor, 3> gradients; ///< [rows, heads, headDim, hidden], of shared ones
        at::Tensor gates;                    ///< [rows, positions, heads] float64
        at::Tensor pairs;                    ///< [rows, heads] float64
    };

    void addNorms(const LayerBackward& pulled, bool isShared, Open& open) const;
    void close(int layer, std::size_t batch, std::size_t pass, const Open& open);
    void put(int layer, std::size_t pass, HeadSum sum, const at::Tensor& values);

    const ModelSpec& m_spec;
    const PruningMask& m_mask;
    const PaddedBatches& m_batches;
    const GradientScalars& m_scalars;
    std::span<const GradientPass> m_passes;
    bool m_mergesRows;
    std::map<std::pair<std::size_t, std::size_t>, Open> m_open; ///< by batch and pass
    std::vector<PassSums> m_pending;                            ///< of batches that are not through yet
    std::vector<PassSums> m_sums;
};

} // namespace secateur
