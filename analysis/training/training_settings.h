#pragma once

#include "analysis/training/adapter.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// How the learning rate falls after the warm-up.
enum class RateDecay { linear, cosine, none };

/// Settings of a training run. A step is one update of the trained numbers.
struct TrainingSettings {
    AdapterSettings adapter;
    std::vector<WeightName> targets; ///< projections that get a low-rank update
    bool trainsNorms = false;        ///< whether norms of layers and the final norm are trained
    bool trainsHead = false;         ///< whether the classifier is trained; encoders only
    /// Whether a compensation is trained: factors of kept heads and neurons, and biases of attention and MLP.
    bool trainsCompensation = false;
    /// Share of KL(dense model || model) in the loss, from 0 to 1; 0 = no teacher. Decoders only.
    double teacherWeight = 0;
    int teacherTop = 64; ///< the dense model's most probable tokens that the divergence tells apart
    double learningRate = 3e-4;
    double weightDecay = 0; ///< decoupled (AdamW); norms, biases and compensations do not decay
    double clipNorm = 1;    ///< largest Euclidean norm of all gradients together; 0 = no limit
    RateDecay decay = RateDecay::linear;
    std::int64_t warmupSteps = 0; ///< steps in which the rate rises linearly from 0
    int batch = 1;                ///< sequences of a batch
    int accumulation = 1;         ///< batches whose gradients are averaged in a step
    int length = 512;             ///< maximum tokens of a sequence
    double epochs = 2;            ///< passes over the training set, if `steps` is 0
    std::int64_t steps = 0;
    double minutes = 0; ///< duration from which the number of steps is computed after the first five; 0 = none
    std::int64_t seed = 0;

    int sequencesOfStep() const { return batch * accumulation; }
    /// Whether the result has an adapter, and not only the compensation of a mask.
    bool hasAdapter() const { return !targets.empty() || trainsNorms || trainsHead; }
    bool operator==(const TrainingSettings&) const = default;
};

/// Settings of a paper, or for a purpose.
struct TrainingRecipe {
    std::string_view id;
    std::string_view summary;
    std::string_view source; ///< paper; empty for our own
    TrainingSettings (*settings)();
};

std::span<const TrainingRecipe> trainingRecipes();
/// @throws UsageError that lists the known ids
const TrainingRecipe& trainingRecipe(std::string_view id);

/// The settings of a run without a recipe: the values of `amp`, with one batch of one sequence a step.
TrainingSettings defaultTrainingSettings();

/// The name of a projection in options and files: "q", "k", "v", "o", "gate", "up", "down".
std::string_view shortName(WeightName projection);
/// The projection with a short name; "fc1" and "fc2" are other names of up and down. @throws UsageError
WeightName projectionOf(std::string_view shortName);

std::string_view name(RateDecay decay);
/// @throws UsageError that lists the known names
RateDecay rateDecayOf(std::string_view name);

/// The learning rate of a step. @param step counted from 0 @param steps number of all steps
double learningRateAt(const TrainingSettings& settings, std::int64_t step, std::int64_t steps);

/// Checks that settings are possible. @throws UsageError naming the setting
void checkSettings(const TrainingSettings& settings);

} // namespace secateur
