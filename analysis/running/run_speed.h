#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/text/scored_text.h"
#include "analysis/text/sequences.h"

#include <cstdint>

namespace secateur {

/// The speed of a model on this machine, estimated from the time of one layer and of the LM head.
struct RunSpeed {
    double secondsPerOperation = 0; ///< for operations in layers, as layerOperations() counts them
    double lmHeadSeconds = 0;       ///< per position; 0 for encoders
    double loadingSeconds = 0;      ///< to read and convert the weights of all layers of the dense model
    /// Share of the processor time of all threads that the machine gave to this program while it was timed: below 1 if
    /// it does other work, or if the threads wait for one another.
    double processorShare = 1;
};

/// Times the layer with the most operations, the next layer once (including the loading of its weights), and the LM
/// head, on random tokens. It takes less than a second except for large models. The plan keeps the loaded weights in
/// memory.
/// @param plan plan of model.runner()
/// @throws Error as Runner; Cancelled
RunSpeed runSpeed(const Model& model, const Plan& plan, const Progress& progress = {});

/// The amount of work of a run.
struct RunSize {
    std::int64_t tokens = 0; ///< number of tokens that run through all layers, including padding
    int positions = 1;       ///< length of a sequence
    std::int64_t read = 0;   ///< number of positions at which logits are computed
};

/// The work of one pass over a scored text, with logits at the scored positions.
RunSize sizeOf(const ScoredText& text);
/// The work of one pass over sequences, without logits.
RunSize sizeOf(const SequenceSet& set);

/// Upper bound of the duration of a pass with all forward metrics, divided by that of a plain forward pass.
inline constexpr double measuringFactor = 1.5;
/// Durations of the forward pass for gradients and of each backward pass, divided by that of a plain forward pass.
inline constexpr double upFactor = 1;
inline constexpr double backwardFactor = 3;

/// Estimated seconds of a run under a mask, without loading weights. @throws Error if the mask does not fit the model
double runSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const RunSize& size);

/// Estimated seconds to load a plan's weights.
/// @param isDenseLoaded whether the dense model is loaded, so that only layers with cuts must be loaded
double loadingSeconds(const RunSpeed& speed, const Plan& plan, bool isDenseLoaded);

/// Measures the seconds of one generation step, in which one token runs through all layers and the LM head. Runs the
/// whole model; twice if the plan is resident. 0 for models without an LM head. @throws Error as Runner; Cancelled
double stepSeconds(const Model& model, const Plan& plan, const Progress& progress = {});

/// The default number of tokens in interactive work: 8,192. If a forward pass of the dense model over them would take
/// more than three minutes of processor time of all threads, half of that, a quarter and so on, but at least 512.
/// Processor time and powers of 2, so that the number does not depend on what else the machine does.
std::int64_t interactiveTokens(const RunSpeed& speed, const ModelSpec& spec);

} // namespace secateur
