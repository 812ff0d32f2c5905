#pragma once

#include "analysis/metrics/gate_gradients.h"
#include "analysis/base/matrix.h"
#include "analysis/metrics/measure_gradient.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// What the loss of each target (next token; of classifiers the label) does when gates are turned, to second order
/// (methods.md 4.5): l_t is the loss of a target, ξ_u a gate at 1, a bypass's at 0.
struct GateEffects {
    std::vector<Gate> gates;
    std::vector<double> slopes; ///< [gates] g_u: mean over targets of dl_t/dξ_u, nats
    /// [samples, gates] F_uv = sum over samples of factors(s, u) * factors(s, v) estimates, without bias, the mean over
    /// targets of (dl_t/dξ_u)(dl_t/dξ_v): each sample is a sequence under one drawing of random signs. That is exact
    /// where sequences have one target each.
    Matrix factors;
    Matrix neuronSlopes;      ///< [layers, ffn] as slopes, of what the down projection reads; NaN = no such neuron
    Matrix neuronFisher;      ///< [layers, ffn] the diagonal of F
    std::int64_t targets = 0; ///< that the means are over
    int passes = 0;           ///< drawings of signs; 0 where none were needed

    double fisher(std::size_t u, std::size_t v) const;
    /// -g·c + cᵀFc/2 of a vector of cuts: 1 closes a gate, -alpha opens a bypass by alpha.
    double change(std::span<const double> cuts) const;
};

inline constexpr int fewestSignPasses = 4;         ///< with fewer F is too noisy to rank masks by
inline constexpr std::int64_t sampledLength = 128; ///< tokens of a sequence that F is well estimated from

/// From one walk down with 1 + passes backward passes; of texts of one target each with one. Layers that share their
/// weights have one gate, and rows of neurons that are the first one's.
/// @param run its plan's mask is what gates are turned from
/// @throws UsageError when there is no loss: encoders without labels; Error when there is no sequence, or gradients are
/// not finite; Cancelled
GateEffects gateEffects(const Model& model, const GradientRun& run, int passes, const Progress& progress,
                        GateKinds kinds = {});

/// Sequences cut into shorter ones, of `length` tokens but for rests, which make more samples of F of as many tokens.
/// @param most tokens of all
std::vector<TokenSequence> shortSequences(std::span<const TokenSequence> sequences, std::int64_t length,
                                          std::int64_t most);

} // namespace secateur
