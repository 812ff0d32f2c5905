#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/text/scored_text.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace secateur {

struct EvaluatorOptions {
    ComputeType type = ComputeType::automatic;
    std::int64_t streamBudget = 0;    ///< maximum bytes of cached residual streams on the model's device
    std::int64_t batchTokens = 4096;  ///< maximum tokens of a batch, but at least one window; smaller on slow machines
    double groupSeconds = 4;          ///< seconds between partial results; more if a single batch takes longer
    bool alone = false;               ///< whether the dense model is not run on the same windows
    const Cluster* cluster = nullptr; ///< ranks that share the batches, in one group; all of them get the results
};

/// The loss under a mask, and its difference from the loss of the dense model, on the windows that are scored so far.
struct MaskEvaluation {
    Perplexity run;            ///< loss under the mask over the scored windows, in the order of the text
    Perplexity dense;          ///< loss of the dense model over the same windows; empty with EvaluatorOptions::alone
    LossDifference difference; ///< mask minus dense model
    std::size_t windows = 0;   ///< number of windows in the whole text
    int reusedLayers = 0;      ///< layers not run because their output was cached: minimum over the batches of this
                               ///< call; all layers if no batch had to run
    int streamInterval = 1;    ///< TextEvaluator::streamInterval()
    double secondsLeft = 0;    ///< expected seconds for the rest of the text

    bool isComplete() const { return run.windows.size() == windows; }
};

/// Scores a text under one mask after another, and reuses residual streams. It caches streams of the dense model and of
/// the previous mask. A run starts at the first layer in which the masks differ. Streams are float32, so that losses
/// equal those of a full run.
///
/// Windows (wordPpl: pages) run in a shuffled order, so that the first windows are a fair sample of the text. The order
/// is the same for every mask, so that any two runs have windows in common (pairedDifference()). Losses of the most
/// recent masks are stored, so that a cancelled run continues where it stopped.
///
/// Not thread-safe.
class TextEvaluator {
public:
    /// Called with the result so far after each group of windows.
    using Sink = std::function<void(const MaskEvaluation&)>;

    /// Times a layer and the LM head (runSpeed()). @param model must outlive this object
    /// @throws Error as perplexity(); Cancelled
    TextEvaluator(const Model& model, ScoredText text, const EvaluatorOptions& options, const Progress& progress = {});
    ~TextEvaluator();

    const ScoredText& text() const;
    ComputeType type() const; ///< never ComputeType::automatic
    /// The interval k at which streams are cached, which depends on the budget: the input of every k-th layer. For a
    /// mask that differs from layer l on, a run starts at layer l - l % k. If no stream is cached, k is the number of
    /// layers, and every run starts at layer 0.
    int streamInterval() const;
    std::int64_t streamBytes() const; ///< bytes of the streams that are cached at the moment

    /// Expected seconds for the rest of the text under a mask and, if needed, with the dense model. Computed from the
    /// numbers of operations and the speed of the dense model. @throws Error if the mask does not fit the model
    double expectedSeconds(const PruningMask& mask) const;

    /// Scores the rest of the text. The dense model runs on each group of windows once, before the first mask does.
    /// @throws Error as perplexity(); Cancelled
    MaskEvaluation evaluate(const PruningMask& mask, const Sink& sink = {}, const Progress& progress = {});

    /// The stored result of one of the most recent masks. Runs nothing.
    std::optional<MaskEvaluation> known(const PruningMask& mask) const;

    /// Restores losses that known() returned in an earlier session. Uses only those of complete batches at the
    /// beginning of the shuffled order; evaluate() continues after them. @throws Error for windows that the text does
    /// not have
    void know(const PruningMask& mask, std::span<const WindowLoss> losses);

private:
    class State;
    class OwnState; // of a model of this process
    class FarState;
    std::unique_ptr<State> m_state;
};

} // namespace secateur
