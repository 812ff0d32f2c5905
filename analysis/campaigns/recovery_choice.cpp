#include "analysis/campaigns/recovery_choice.h"

#include <fmt/core.h>

#include <filesystem>

namespace secateur {

TrainingSettings settingsOf(const RecoveryChoice& choice) {
    TrainingSettings settings = trainingRecipe(choice.recipe).settings();
    if (choice.steps || choice.epochs || choice.minutes) {
        settings.steps = choice.steps.value_or(0);
        settings.epochs = choice.epochs.value_or(settings.epochs);
        settings.minutes = choice.minutes.value_or(0);
    }
    checkSettings(settings);
    return settings;
}

std::string nameOf(const RecoveryChoice& choice) {
    std::string name = choice.recipe;
    if (choice.steps)
        name += fmt::format(":steps={}", *choice.steps);
    if (choice.epochs)
        name += fmt::format(":epochs={}", *choice.epochs);
    if (choice.minutes)
        name += fmt::format(":minutes={}", *choice.minutes);
    if (!choice.data.empty())
        name += ":data=" + std::filesystem::path(choice.data).stem().string();
    return name;
}

} // namespace secateur
