#include "analysis/training/training_settings.h"

#include "analysis/base/known_ids.h"
#include "analysis/base/usage_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace secateur {

namespace {

using enum WeightName;

constexpr std::array<std::pair<WeightName, std::string_view>, 7> projections{
    {{query, "q"}, {key, "k"}, {value, "v"}, {output, "o"}, {gate, "gate"}, {up, "up"}, {down, "down"}}};

constexpr std::array<std::pair<RateDecay, std::string_view>, 3> decays{
    {{RateDecay::linear, "linear"}, {RateDecay::cosine, "cosine"}, {RateDecay::none, "none"}}};

TrainingSettings ofAmp() {
    TrainingSettings settings;
    settings.targets = {query, key, value, output, gate, up, down};
    settings.accumulation = 16;
    return settings;
}

TrainingSettings ofGateNorm() {
    TrainingSettings settings;
    settings.targets = {query, key, value, output};
    settings.length = 2048;
    settings.steps = 2000;
    return settings;
}

TrainingSettings quick() {
    TrainingSettings settings = ofAmp();
    settings.accumulation = 4;
    settings.learningRate = 1e-3;
    settings.adapter.dropout = 0;
    settings.minutes = 10;
    return settings;
}

constexpr std::array recipes{
    TrainingRecipe{"amp", "LoRA of rank 8 on all projections, 16 sequences a step, 2 epochs", "AMP, section 4", ofAmp},
    TrainingRecipe{"gate_norm", "LoRA of rank 8 on the attention projections, 2,000 steps of 2,048 tokens",
                   "Gate-Norm, table 3", ofGateNorm},
    TrainingRecipe{"quick", "LoRA of rank 8 on all projections, for a number of minutes", "", quick},
};

} // namespace

std::span<const TrainingRecipe> trainingRecipes() {
    return recipes;
}

const TrainingRecipe& trainingRecipe(std::string_view id) {
    const auto* found = std::ranges::find(recipes, id, &TrainingRecipe::id);
    if (found == recipes.end())
        refuseUnknown("recipe", id, idsOf(recipes));
    return *found;
}

TrainingSettings defaultTrainingSettings() {
    TrainingSettings settings = ofAmp();
    settings.accumulation = 1;
    return settings;
}

std::string_view shortName(WeightName projection) {
    const auto* found = std::ranges::find(projections, projection, [](const auto& row) { return row.first; });
    return found == projections.end() ? title(projection) : found->second;
}

WeightName projectionOf(std::string_view shortName) {
    if (shortName == "fc1")
        return up;
    if (shortName == "fc2")
        return down;
    const auto* found = std::ranges::find(projections, shortName, [](const auto& row) { return row.second; });
    if (found == projections.end())
        refuseUnknown("projection", shortName, {"q", "k", "v", "o", "gate", "up", "down", "fc1", "fc2"});
    return found->first;
}

std::string_view name(RateDecay decay) {
    return std::ranges::find(decays, decay, [](const auto& row) { return row.first; })->second;
}

RateDecay rateDecayOf(std::string_view name) {
    const auto* found = std::ranges::find(decays, name, [](const auto& row) { return row.second; });
    if (found == decays.end())
        refuseUnknown("decay of the learning rate", name, {"linear", "cosine", "none"});
    return found->first;
}

double learningRateAt(const TrainingSettings& settings, std::int64_t step, std::int64_t steps) {
    const auto warmup = static_cast<double>(settings.warmupSteps);
    const auto now = static_cast<double>(step);
    if (now < warmup)
        return settings.learningRate * now / std::max(1.0, warmup);
    const double rest = std::max(1.0, static_cast<double>(steps) - warmup);
    const double done = std::min(1.0, (now - warmup) / rest);
    switch (settings.decay) {
    case RateDecay::linear:
        return settings.learningRate * (1 - done);
    case RateDecay::cosine:
        return settings.learningRate * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case RateDecay::none:
        break;
    }
    return settings.learningRate;
}

void checkSettings(const TrainingSettings& settings) {
    const auto check = [](bool isValid, std::string_view sentence) {
        if (!isValid)
            throw UsageError(std::string(sentence));
    };
    const AdapterSettings& adapter = settings.adapter;
    check(settings.hasAdapter() || settings.trainsCompensation,
          "There is nothing to train: name projections, norms, the classifier or the compensation");
    check(adapter.rank >= 1 && adapter.rank <= 4096, "The rank must be between 1 and 4096");
    check(std::isfinite(adapter.alpha) && adapter.alpha > 0, "Alpha must be positive");
    check(adapter.dropout >= 0 && adapter.dropout < 1, "The dropout must be at least 0 and less than 1");
    check(std::isfinite(settings.learningRate) && settings.learningRate > 0, "The learning rate must be positive");
    check(std::isfinite(settings.weightDecay) && settings.weightDecay >= 0, "The weight decay must not be negative");
    check(std::isfinite(settings.clipNorm) && settings.clipNorm >= 0,
          "The limit of the norm of the gradients must not be negative");
    check(settings.teacherWeight >= 0 && settings.teacherWeight <= 1,
          "The weight of the teacher must be between 0 and 1");
    check(settings.teacherTop >= 1 && settings.teacherTop <= 4096,
          "The number of tokens of the teacher must be between 1 and 4096");
    check(settings.warmupSteps >= 0 && settings.steps >= 0, "Numbers of steps must not be negative");
    check(settings.batch >= 1 && settings.accumulation >= 1, "A step needs at least one sequence");
    check(settings.length >= 2, "A sequence needs at least 2 tokens");
    check(settings.steps > 0 || settings.minutes > 0 || (std::isfinite(settings.epochs) && settings.epochs > 0),
          "Give a number of steps, epochs or minutes");
    check(std::isfinite(settings.minutes) && settings.minutes >= 0, "The minutes must not be negative");
}

} // namespace secateur
