#include "analysis/training/training_forecast.h"

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

/// Passes over the held-out sequences: the dense model, the pruned model, and ten scores on the way.
constexpr double heldOutPasses = 12;

/// Seconds of a forward pass, for each token.
double forwardSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, double positions) {
    constexpr std::int64_t tokens = 1 << 16; // so that nothing is rounded
    const int length = std::max(1, static_cast<int>(std::lround(positions)));
    return runSeconds(speed, spec, mask, {tokens, length, tokens}) / static_cast<double>(tokens);
}

} // namespace

TrainingSize sizeOf(const TrainingSplit& data) {
    TrainingSize size;
    size.examples = std::ssize(data.training.examples);
    for (const TrainingExample& example : data.training.examples)
        size.tokens += std::ssize(example.ids);
    for (const TrainingExample& example : data.heldOut.examples)
        size.heldOutTokens += std::ssize(example.ids);
    return size;
}

TrainingForecast trainingForecast(const TrainingSettings& settings, const TrainingSize& size, const RunSpeed& speed,
                                  const ModelSpec& spec, const PruningMask& mask) {
    const auto examples = static_cast<double>(std::max<std::int64_t>(1, size.examples));
    const double length = static_cast<double>(size.tokens) / examples;
    const double forward = forwardSeconds(speed, spec, mask, length);
    const double inStep = settings.sequencesOfStep();
    const double stepSeconds = trainingFactor * forward * length * inStep;
    const bool isTimed = settings.steps == 0 && settings.minutes > 0;
    TrainingForecast forecast;
    if (settings.steps > 0)
        forecast.steps = settings.steps;
    else if (isTimed)
        forecast.steps = std::llround(settings.minutes * 60 / std::max(1e-9, stepSeconds));
    else
        forecast.steps = std::llround(settings.epochs * std::ceil(examples / inStep));
    forecast.steps = std::max<std::int64_t>(1, forecast.steps);
    const auto steps = static_cast<double>(forecast.steps);
    forecast.tokens = steps * length * inStep;
    forecast.seconds = (isTimed ? settings.minutes * 60 : steps * stepSeconds) +
                       heldOutPasses * forward * static_cast<double>(size.heldOutTokens);
    return forecast;
}

} // namespace secateur
