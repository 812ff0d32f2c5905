#pragma once

#include "analysis/training/training_settings.h"

#include <cstdint>
#include <optional>
#include <string>

namespace secateur {

/// The training of the recovered points of a sweep, in the form in which the user chooses it.
struct RecoveryChoice {
    std::string recipe{}; ///< id of a recipe; empty = no point is recovered
    std::string data{};   ///< path of the training data; empty = the built-in text
    /// The duration, at most one of them; without any, that of the recipe.
    std::optional<std::int64_t> steps{};
    std::optional<double> epochs{};
    std::optional<double> minutes{};

    bool isWanted() const { return !recipe.empty(); }
    bool operator==(const RecoveryChoice&) const = default;
};

/// The settings of the recipe with the chosen duration. @throws UsageError
TrainingSettings settingsOf(const RecoveryChoice& choice);

/// The recipe with the options that replace its own, as in PointKey::recovered: "quick:steps=50:data=alpaca".
std::string nameOf(const RecoveryChoice& choice);

} // namespace secateur
