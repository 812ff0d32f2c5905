#pragma once

#include "analysis/running/runner_results.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace secateur {

// What gradients at a layer's taps say of its heads. Of projections W the gradient G = sum_t delta_t u_t^T comes from
// what they read (u) and the gradient of what comes out (delta). For sources only: pulls in ATen.

/// How ||G||_F^2 is found: from the products of tokens with each other, <delta delta^T, u u^T>, without G; or from G.
enum class NormForm { tokens, matrix };
/// The faster one for sequences of that many positions.
NormForm fasterForm(std::int64_t positions, std::int64_t hidden);

/// Norms of the gradients of several projections that read the same.
class ProjectionNorms {
public:
    /// @param input [rows, positions, hidden], of no matter what where `delta` is 0
    explicit ProjectionNorms(const at::Tensor& input, std::optional<NormForm> form = {});

    /// @param delta [rows, positions, heads, headDim] gradient of what comes out
    /// @returns ||G||_F^2 of each row and head, [rows, heads] float64 on the processor
    at::Tensor squares(const at::Tensor& delta) const;

private:
    at::Tensor m_input;
    at::Tensor m_products; ///< [rows, positions, positions] float64, of NormForm::tokens
};

/// G of each row and head, [rows, heads, headDim, hidden].
at::Tensor projectionGradients(const at::Tensor& delta, const at::Tensor& input);
/// ||G||_F^2, [rows, heads] float64 on the processor.
at::Tensor squaredNorms(const at::Tensor& gradients);

/// What each token gives to the gradients of heads' gates, which stand before the output projection:
/// <ctx_t, dF/dctx_t>, [rows, positions, heads] float64 on the processor. @param context of Tap::context
at::Tensor tokenGates(const TapGradient& context);

} // namespace secateur
