#pragma once

#include "analysis/base/progress.h"
#include "analysis/training/trainer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// A step in the record of a run.
struct StepRecord {
    double lossNats = 0; ///< StepResult::lossNats
    double learningRate = 0;
    std::int64_t tokens = 0; ///< of the step's sequences
    double seconds = 0;      ///< duration of the step, without scores
};

/// A score of the held-out sequences.
struct HeldOutScore {
    std::int64_t step = 0; ///< number of steps done; 0 = the pruned model
    double lossNats = 0;   ///< mean over all targets
    double accuracy = 0;   ///< of classifiers, 0 to 1; 0 otherwise
};

/// The mean difference of two runs on the same sequences, in nats per target.
struct PairedNats {
    double nats = 0;          ///< first minus second; NaN without a target
    double standardError = 0; ///< over sequences; NaN for a single one
};
/// @param first, second losses of the same sequences in the same order
PairedNats pairedNats(std::span<const ExampleLoss> first, std::span<const ExampleLoss> second);

/// A training run: its settings, its results and its state, from which a run that was stopped continues.
struct TrainingRun {
    std::string key; ///< digest of everything that the run depends on; compared before a run continues
    TrainingSettings settings;
    std::int64_t scoreEvery = 0; ///< steps between scores of the held-out sequences; 0 = a tenth of all steps
    double saveSeconds = 120;    ///< time between calls of TrainingCallbacks::save
    int patience = 0;            ///< scores without a lower loss after which the run ends; 0 = it runs to its end

    std::int64_t steps = 0; ///< number of all steps; 0 while it is not known
    TrainingState state;
    std::vector<StepRecord> records;    ///< [state.step]
    std::vector<HeldOutScore> scores;   ///< the first is that of the pruned model
    TrainingState best;                 ///< the state after a step with the lowest held-out loss, without moments
    std::vector<ExampleLoss> dense;     ///< held-out losses of the dense model
    std::vector<ExampleLoss> pruned;    ///< held-out losses before the first step
    std::vector<ExampleLoss> recovered; ///< held-out losses of the best state
    bool isDone = false;

    /// The state whose adapter is the result: the best one, or the current one if none was scored.
    const TrainingState& result() const { return best.tensors.empty() ? state : best; }
    double seconds() const;      ///< of all steps
    std::int64_t tokens() const; ///< of all steps
};

/// Callbacks of runTraining(). Each may be empty. They are called between steps, on the calling thread.
struct TrainingCallbacks {
    std::function<void(const TrainingRun&)> stepped; ///< after each step; TrainingRun::state is not current
    std::function<void(const TrainingRun&)> scored;  ///< after each score
    std::function<void(const TrainingRun&)> save;    ///< stores the run, so that it can continue
};

/// Trains to the end of a run. A new run has no records. With TrainingSettings::minutes, the number of steps is
/// computed from the time of the first five and stored. If it is stopped, saves the run and throws Cancelled.
/// @param heldOut sequences that are not trained on; may be empty: then the last state is the best one
/// @param teacher as for Trainer
/// @throws Error as Trainer does, after saving
void runTraining(TrainingRun& run, const Model& model, const PruningMask& mask, const TrainingSet& set,
                 std::span<const TrainingExample> heldOut, const TrainingCallbacks& callbacks,
                 const Progress& progress = {}, TeacherStore* teacher = nullptr);

} // namespace secateur
