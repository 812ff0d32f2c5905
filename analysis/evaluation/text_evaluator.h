#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
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
    std::int64_t streamBudget = 0;   ///< most bytes of residual streams to keep, on the model's device
    std::int64_t batchTokens = 4096; ///< most to run side by side, but at least one window; fewer on slow machines
    double groupSeconds = 4;         ///< how often partial results come, as far as one batch allows
    bool alone = false; ///< masks are scored without the dense model, which runs only when it is asked for itself
};

/// How much worse a mask does than the dense model, as far as is known yet.
struct MaskEvaluation {
    Perplexity run;            ///< over the windows used, in the order of the text
    Perplexity dense;          ///< over the same windows; of evaluations alone empty
    LossDifference difference; ///< positive = the mask is worse
    std::size_t windows = 0;   ///< of the whole text
    int reusedLayers = 0;      ///< of the batches that ran in this call, the least; all layers when none had to run
    int streamInterval = 1;    ///< TextEvaluator::streamInterval()
    double secondsLeft = 0;    ///< for the rest of the text

    bool isComplete() const { return run.windows.size() == windows; }
};

/// Scores a text under one mask after the other, and runs of each only what is not known: it keeps the residual streams
/// of the dense model and of the mask before, and starts in the layer that an edit reaches first. Streams are float32:
/// losses are those of a full run.
///
/// Windows (wordPpl: pages) are walked in one shuffled order, the same for every mask, so that a part of them speaks
/// for the whole text, and any two runs have windows in common (pairedDifference). What was scored is kept for the
/// masks asked for last: work that was cancelled, or given up for another mask, goes on where it stopped.
///
/// Not thread-safe: one thread at a time.
class TextEvaluator {
public:
    /// Called with what is known after each group of windows.
    using Sink = std::function<void(const MaskEvaluation&)>;

    /// Times a layer and the read-out (runSpeed()). @param model must outlive it
    /// @throws Error as perplexity(); Cancelled
    TextEvaluator(const Model& model, ScoredText text, const EvaluatorOptions& options, const Progress& progress = {});
    ~TextEvaluator();

    const ScoredText& text() const;
    ComputeType type() const; ///< never automatic
    /// Streams are kept of every k-th layer, as the budget allows; then an edit in layer l runs from the layer before
    /// whose number k divides. The number of layers when none is kept: every edit runs all layers.
    int streamInterval() const;
    std::int64_t streamBytes() const; ///< held now

    /// For what is left to run of a mask, and of the dense model on the same windows: operations times what they took
    /// of the dense model. @throws Error when the mask does not fit
    double expectedSeconds(const PruningMask& mask) const;

    /// Goes on until the whole text is scored. The dense model runs once, each group of windows before any mask does.
    /// @throws Error as perplexity(); Cancelled
    MaskEvaluation evaluate(const PruningMask& mask, const Sink& sink = {}, const Progress& progress = {});

    /// What is known of a mask without running anything: after a stop, or of one of the last masks. Nothing for others.
    std::optional<MaskEvaluation> known(const PruningMask& mask) const;

    /// Takes losses of a mask that were scored before, as known() gave them: what is left goes on behind the windows
    /// that lie in one piece at the beginning of the walk. @throws Error for windows that the text does not have
    void know(const PruningMask& mask, std::span<const WindowLoss> losses);

private:
    class State;
    std::unique_ptr<State> m_state;
};

} // namespace secateur
