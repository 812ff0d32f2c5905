#pragma once

#include "analysis/base/bytes.h"
#include "analysis/base/matrix.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/running/backward_walk.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner_results.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace secateur {

// The sums of gradient metrics over backward passes. For sources only: includes ATen.

/// Sums over rows, for each head. F = scalar of the row, n = number of its targets, v = gradient of F with respect to
/// the head's gate.
enum class HeadSum {
    queryNorm, ///< ‖∂F/∂W_q‖_F
    keyNorm,
    valueNorm,
    gate,           ///< n v
    gateSquare,     ///< v²
    gateMagnitude,  ///< |v|
    tokenMagnitude, ///< sum over tokens of the magnitude of the token's share of v
    batchMagnitude, ///< |mean of v over a batch|, summed over batches
    pairMagnitude,  ///< sum over pairs of tokens of |A ∂F/∂A|; A = attention probability
};

/// One backward pass over all rows.
struct GradientPass {
    ScalarChoice choice;
    std::set<HeadSum> wishes = {};

    bool wants(HeadSum sum) const { return wishes.contains(sum); }
    bool wantsNorms() const;
    bool wantsGates() const;
};

/// The sums of one pass. They are additive: batches may come in any order, and some may be missing.
struct PassSums {
    std::map<HeadSum, Matrix> heads; ///< [layers, heads]; layers that share their weights use the row of the first
    double rows = 0;                 ///< number of rows that have a scalar: at least one target, or any row for norms
    double targets = 0;
    double batches = 0;

    void add(const PassSums& other);
};

void put(Packer& packer, const PassSums& sums);
void get(Unpacker& unpacker, PassSums& sums);

/// The backward passes of one request at one layer: the argument of GradientMetric::finish().
struct GradientLayer {
    const MetricRequest& request;
    std::vector<const PassSums*> passes;   ///< one, or one for each drawing of signs
    const std::vector<std::size_t>& heads; ///< heads that the mask keeps
    std::size_t row = 0;                   ///< row in the matrices of PassSums

    /// A sum for each kept head. @param pass index in `passes`
    std::vector<double> sums(HeadSum sum, std::size_t pass = 0) const;
};

/// Sums gradients during a backward pass. Layers that share their weights count as one layer: their gradients are added
/// before a norm or a magnitude is computed.
class GradientSums {
public:
    /// All arguments must outlive this object.
    /// @param mergesRows whether norms are of the gradient of a whole batch (as in the code of Greedy-Gnorm's authors)
    GradientSums(const Model& model, const Plan& plan, const PaddedBatches& batches, const GradientScalars& scalars,
                 std::span<const GradientPass> passes, bool mergesRows);

    std::vector<Tap> taps(int layer, std::size_t pass) const;
    void add(const LayerBackward& backward);
    /// Called when the batches [first, end) are through all layers. Returns their sums, by pass.
    std::vector<PassSums> finish(std::size_t first, std::size_t end);
    /// Adds sums of batches to of().
    void add(const std::vector<PassSums>& sums);
    const std::vector<PassSums>& all() const { return m_sums; }

    const PassSums& of(std::size_t pass) const { return m_sums[pass]; }

private:
    /// Gradients of one layer for one batch and pass. If layers share weights: the sum over those that ran so far.
    struct Open {
        std::array<at::Tensor, 3> squares;   ///< [rows, heads] float64; for a layer that shares no weights
        std::array<at::Tensor, 3> gradients; ///< [rows, heads, headDim, hidden]; for layers that share weights
        at::Tensor gates;                    ///< [rows, positions, heads] float64
        at::Tensor pairs;                    ///< [rows, heads] float64
    };

    void addNorms(const LayerBackward& backward, bool isShared, Open& open) const;
    void close(int layer, std::size_t batch, std::size_t pass, const Open& open);
    void put(int layer, std::size_t pass, HeadSum sum, const at::Tensor& values);

    const ModelSpec& m_spec;
    const PruningMask& m_mask;
    const PaddedBatches& m_batches;
    const GradientScalars& m_scalars;
    std::span<const GradientPass> m_passes;
    bool m_mergesRows;
    std::map<std::pair<std::size_t, std::size_t>, Open> m_open; ///< by batch and pass
    std::vector<PassSums> m_pending;                            ///< sums of batches that have not passed all layers yet
    std::vector<PassSums> m_sums;
};

// Gradients of single heads. A projection W has the gradient G = sum_t delta_t u_t^T, where u is its input and delta
// the gradient of its output.

/// How ||G||_F^2 is computed. `tokens`: as <delta delta^T, u u^T> from products between tokens, without G. `matrix`:
/// from G.
enum class NormForm { tokens, matrix };
/// The faster form for sequences of `positions` tokens.
NormForm fasterForm(std::int64_t positions, std::int64_t hidden);

/// Norms of the gradients of several projections that have the same input.
class ProjectionNorms {
public:
    /// @param input [rows, positions, hidden]; positions at which `delta` is 0 may hold any finite numbers
    explicit ProjectionNorms(const at::Tensor& input, std::optional<NormForm> form = {});

    /// @param delta [rows, positions, heads, headDim] gradient of the output
    /// @returns ||G||_F^2 of each row and head, [rows, heads] float64 on the processor
    at::Tensor squares(const at::Tensor& delta) const;

private:
    at::Tensor m_input;
    at::Tensor m_products; ///< [rows, positions, positions] float64: u u^T; for NormForm::tokens only
};

/// G of each row and head, [rows, heads, headDim, hidden].
at::Tensor projectionGradients(const at::Tensor& delta, const at::Tensor& input);
/// ||G||_F^2, [rows, heads] float64 on the processor.
at::Tensor squaredNorms(const at::Tensor& gradients);

/// Each token's part of the gradients of the heads' gates: <ctx_t, dF/dctx_t>, [rows, positions, heads] float64 on the
/// processor. @param context value and gradient at Tap::context
at::Tensor tokenGates(const TapGradient& context);

} // namespace secateur
