#pragma once

#include "analysis/campaigns/recovery_choice.h"

#include <CLI/CLI.hpp>

namespace secateur::cli {

/// Adds --recover, --recover-data, --recover-steps, --recover-epochs and --recover-minutes.
void addRecoveryOptions(CLI::App& verb, RecoveryChoice& choice);

} // namespace secateur::cli
