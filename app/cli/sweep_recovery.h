#pragma once

#include "analysis/base/progress.h"
#include "analysis/campaigns/campaign.h"
#include "analysis/model/model.h"
#include "backends/engine/open_model.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace secateur::cli {

/// Options of `sweep` about recovery trainings.
struct RecoveryOptions {
    std::string recipe; ///< empty = no point is recovered
    std::string data;   ///< path; empty = the built-in text
    std::optional<std::int64_t> steps;
    std::optional<double> epochs;
    std::optional<double> minutes;

    bool isWanted() const { return !recipe.empty(); }
};

/// Adds --recover, --recover-data, --recover-steps, --recover-epochs and --recover-minutes.
void addRecoveryOptions(CLI::App& verb, RecoveryOptions& options);

/// The settings of the recipe with the duration of the options. @throws UsageError
TrainingSettings settingsOf(const RecoveryOptions& options);

/// Reads the training data. Trainings write to SESSION.adapters/DIGEST-RECIPE, continue from there, and are read from
/// there when they are done. @param session path of the session @param open options with which the model was opened
SweepRecovery sweepRecovery(std::shared_ptr<const Model> model, const RecoveryOptions& options,
                            const std::string& session, const OpenOptions& open, const Progress& progress);

} // namespace secateur::cli
