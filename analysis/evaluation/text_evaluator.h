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
    std::int64_t streamBudget = 0;   ///< maximum bytes of cached residual streams, on the model's device
    std::int64_t batchTokens = 4096; ///< maximum of a batch, but at least one window; slow machines get smaller batches
    double groupSeconds = 4;         ///< interval between partial results; longer if one batch takes longer
    bool alone = false;              ///< whether masks are scored without running the dense model on the same windows
};

/// The loss under a mask and its difference from the dense model's, on the windows that are scored so far.
struct MaskEvaluation {
    Perplexity run;            ///< over the scored windows, in the order of the text
    Perplexity dense;          ///< over the same windows; empty with EvaluatorOptions::alone
    LossDifference difference; ///< mask minus dense
    std::size_t windows = 0;   ///< number in the whole text
    int reusedLayers = 0;      ///< layers not run because their output was cached: minimum over the batches of this
                               ///< call; all layers if no batch had to run
    int streamInterval = 1;    ///< TextEvaluator::streamInterval()
    double secondsLeft = 0;    ///< expected time for the rest of the text

    bool isComplete() const { return run.windows.size() == windows; }
};

/// Scores a text under one mask after the other and reuses earlier streams. It caches residual streams of the dense
/// model and of the previous mask, and starts at the first layer in which the masks differ. Streams are float32, so
/// losses equal those of a full run.
///
/// Windows (wordPpl: pages) run in a shuffled order, so that the first ones are a fair sample of the text. The order is
/// the same for every mask, so that any two runs have windows in common (pairedDifference()). Losses of the most recent
/// masks are kept, so a cancelled run continues where it stopped.
///
/// Not thread-safe.
class TextEvaluator {
public:
    /// Called with the result so far after each group of windows.
    using Sink = std::function<void(const MaskEvaluation&)>;

    /// Times a layer and the LM head (runSpeed()). @param model must outlive it
    /// @throws Error as perplexity(); Cancelled
    TextEvaluator(const Model& model, ScoredText text, const EvaluatorOptions& options, const Progress& progress = {});
    ~TextEvaluator();

    const ScoredText& text() const;
    ComputeType type() const; ///< never automatic
    /// The stream of every k-th layer is cached; k depends on the budget. A mask that differs from layer l on runs from
    /// layer l - l % k on. If no stream is cached, k is the number of layers, and every mask runs through all layers.
    int streamInterval() const;
    std::int64_t streamBytes() const; ///< bytes of streams that are cached now

    /// Expected time for the rest of the text under a mask and, on the same windows, with the dense model; from the
    /// numbers of operations and the dense model's speed. @throws Error if the mask does not fit the model
    double expectedSeconds(const PruningMask& mask) const;

    /// Scores the rest of the text. The dense model runs on each group of windows once, before the first mask does.
    /// @throws Error as perplexity(); Cancelled
    MaskEvaluation evaluate(const PruningMask& mask, const Sink& sink = {}, const Progress& progress = {});

    /// The result so far of one of the most recent masks, without running anything.
    std::optional<MaskEvaluation> known(const PruningMask& mask) const;

    /// Restores losses that known() returned in an earlier session. Uses those of complete batches at the front of the
    /// shuffled order only; evaluate() continues after them. @throws Error for windows that the text does not have
    void know(const PruningMask& mask, std::span<const WindowLoss> losses);

private:
    class State;
    std::unique_ptr<State> m_state;
};

} // namespace secateur
