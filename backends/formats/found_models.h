#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/found_model.h"

#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The folder to which scripts/fetch-demo-model.sh fetches the demo model: $XDG_CACHE_HOME/secateur, or
/// ~/.cache/secateur if that variable is not set. It need not exist. Empty if there is no home directory.
std::string demoModelFolder();

/// The checkpoints of a folder and of its subfolders, in the order of their names. Reads a few hundred entries and one
/// level of subfolders. Hidden folders are left out. @throws Cancelled
std::vector<FoundModel> modelsOfFolder(const std::string& folder, const Progress& progress = {});

/// Checkpoints on this computer, newest first: in the Hugging Face cache (hubCacheFolder()), in the folder of the demo
/// model, and next to files that were opened. Each checkpoint is listed once. A checkpoint in the Hugging Face cache is
/// not listed for its folder. @param opened paths of models, sessions and other files @throws Cancelled
std::vector<FoundModel> foundModels(std::span<const std::string> opened, const Progress& progress = {});

} // namespace secateur
