#pragma once

#include "analysis/campaigns/campaign.h"
#include "analysis/campaigns/recovery_choice.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace secateur {

/// The window's choice of a sweep, in the form in which the user makes it. Sessions keep it, so that a sweep can go on
/// after a restart.
struct SweepSetup {
    std::vector<std::string> strategies{};                   ///< "id[:key=value]..."
    std::string budgets = "params:5%,params:10%,params:20%"; ///< separated by commas
    int repetitions = 3;                                     ///< of strategies that depend on the seed
    std::string text{};               ///< calibration text: file or folder; empty = the built-in text
    std::int64_t tokens = 8192;       ///< maximum of the calibration text
    std::string score{};              ///< scored text; empty = the last third of the calibration text
    std::int64_t scoreTokens = 8192;  ///< maximum of the scored text
    std::vector<std::string> tasks{}; ///< task files
    int stabilityParts = 1;           ///< parts of the calibration text to choose masks on (chooseOnParts()); 1 = none
    RecoveryChoice recovery{};        ///< training of a further point beside each pruned one

    bool operator==(const SweepSetup&) const = default;
};

/// The points of a setup. @throws UsageError for unknown strategies and malformed budgets, and if there are none
SweepRequest requestOf(const SweepSetup& setup, const std::string& protect);

/// Entries of a session's view that hold a setup.
std::map<std::string, std::string> viewOf(const SweepSetup& setup);
/// The setup that a session's view holds; a setup with default values if it holds none.
SweepSetup setupOf(const std::map<std::string, std::string>& view);

} // namespace secateur
