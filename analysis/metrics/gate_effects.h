#pragma once

#include "analysis/base/matrix.h"
#include "analysis/metrics/gate_gradients.h"
#include "analysis/metrics/measure_stages.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// First and second derivatives of the loss with respect to gates (resources/manual/metrics.md, Prediction of a mask).
/// l_t is the loss of target t (a next token; for classifiers the label), ξ_u the gate of unit u. Derivatives are at
/// ξ_u = 1, for gates of bypasses at ξ_u = 0.
struct GateEffects {
    std::vector<Gate> gates;
    std::vector<double> slopes; ///< [gates] g_u: mean over targets of dl_t/dξ_u, nats
    /// [samples, gates] F_uv = sum over samples s of factors(s, u) * factors(s, v): an unbiased estimate of the mean
    /// over targets of (dl_t/dξ_u)(dl_t/dξ_v). A sample is a sequence with one drawing of random signs. The estimate is
    /// exact if sequences have one target each.
    Matrix factors;
    Matrix neuronSlopes;      ///< [layers, ffn] g of gates at the down projection's input; NaN = no such neuron
    Matrix neuronFisher;      ///< [layers, ffn] the diagonal of F for the same gates
    std::int64_t targets = 0; ///< number of targets in the means
    int passes = 0;           ///< number of drawings of signs; 0 if none are needed

    double fisher(std::size_t u, std::size_t v) const;
    /// Predicted change of the loss, -g·c + cᵀFc/2. @param cuts c: 1 closes a gate, -alpha opens a bypass to alpha
    double change(std::span<const double> cuts) const;
};

inline constexpr int fewestSignPasses = 4;         ///< fewer drawings of signs make F too noisy to rank masks
inline constexpr std::int64_t sampledLength = 128; ///< length of sequences, in tokens, that gives a good estimate of F

/// Computes the derivatives with 1 + `passes` backward passes, or with one pass if each sequence has one target. Layers
/// that share their weights share one gate per unit; their neurons are in the row of the first of these layers.
/// @param run the derivatives are taken under the mask of its plan
/// @throws UsageError for encoders without labels, which have no loss; Error if there is no target, or gradients are
/// not finite; Cancelled
GateEffects gateEffects(const Model& model, const GradientRun& run, int passes, const Progress& progress,
                        GateKinds kinds = {});

/// Sequences cut into pieces of `length` tokens: shorter sequences give more samples of F for the same number of
/// tokens. The last piece of a sequence may be shorter; pieces of fewer than 16 tokens are left out, except the first.
/// @param most maximum number of tokens of all pieces together
std::vector<TokenSequence> shortSequences(std::span<const TokenSequence> sequences, std::int64_t length,
                                          std::int64_t most);

} // namespace secateur
