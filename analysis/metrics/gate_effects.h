#pragma once

#include "analysis/base/matrix.h"
#include "analysis/metrics/gate_gradients.h"
#include "analysis/metrics/measure_stages.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// First and second derivatives of the loss with respect to gates (resources/manual/metrics.md, Prediction of a mask):
/// l_t is the loss of a target (next token; of classifiers the label), ξ_u a gate at 1, of a bypass at 0.
struct GateEffects {
    std::vector<Gate> gates;
    std::vector<double> slopes; ///< [gates] g_u: mean over targets of dl_t/dξ_u, nats
    /// [samples, gates] F_uv = sum over samples of factors(s, u) * factors(s, v) estimates, without bias, the mean over
    /// targets of (dl_t/dξ_u)(dl_t/dξ_v). Each sample is a sequence with one drawing of random signs. The estimate is
    /// exact where sequences have one target each.
    Matrix factors;
    Matrix neuronSlopes;      ///< [layers, ffn] as slopes, of the down projection's input; NaN = no such neuron
    Matrix neuronFisher;      ///< [layers, ffn] the diagonal of F
    std::int64_t targets = 0; ///< number of targets of the means
    int passes = 0;           ///< drawings of signs; 0 where none are needed

    double fisher(std::size_t u, std::size_t v) const;
    /// -g·c + cᵀFc/2 for a vector of cuts: 1 closes a gate, -alpha opens a bypass by alpha.
    double change(std::span<const double> cuts) const;
};

inline constexpr int fewestSignPasses = 4;         ///< with fewer, F is too noisy to rank masks
inline constexpr std::int64_t sampledLength = 128; ///< tokens of a sequence for a good estimate of F

/// From one backward walk with 1 + `passes` passes; for texts with one target each, one pass. Layers that share their
/// weights have one gate, and the neurons' rows of the first of them.
/// @param run its plan's mask is the point of the derivatives
/// @throws UsageError when there is no loss: encoders without labels; Error when there is no sequence, or gradients are
/// not finite; Cancelled
GateEffects gateEffects(const Model& model, const GradientRun& run, int passes, const Progress& progress,
                        GateKinds kinds = {});

/// Sequences cut into pieces of `length` tokens, and shorter rests: more samples of F from the same number of tokens.
/// @param most tokens of all pieces
std::vector<TokenSequence> shortSequences(std::span<const TokenSequence> sequences, std::int64_t length,
                                          std::int64_t most);

} // namespace secateur
