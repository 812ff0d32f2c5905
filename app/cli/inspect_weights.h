#pragma once

#include "app/cli/cli_common.h"

#include <string>

namespace secateur::cli {

/// `inspect MODEL --statistics`: prints the statistics of all tensors. The architecture need not be known.
/// @param csvFolder folder for statistics.csv and histograms.csv; empty = no files @throws Error
void inspectStatistics(const std::string& path, const std::string& csvFolder, const Console& console);

/// `inspect FIRST --compare SECOND`: prints the differences of all tensors.
/// @param csvFolder folder for comparison.csv; empty = no file @throws Error
void inspectComparison(const std::string& first, const std::string& second, const std::string& csvFolder,
                       const Console& console);

} // namespace secateur::cli
