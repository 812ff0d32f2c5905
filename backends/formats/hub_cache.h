#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/found_model.h"

#include <string>
#include <vector>

namespace secateur {

/// The folder of downloads from the Hugging Face hub. It is the first of $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE,
/// $HF_HOME/hub and $XDG_CACHE_HOME/huggingface/hub whose variable is set, otherwise ~/.cache/huggingface/hub. The
/// folder need not exist. Empty if there is no home directory.
std::string hubCacheFolder();

/// All checkpoints in a hub cache, newest first. Lists one snapshot per repository: that of refs/main if it has a
/// checkpoint, otherwise the newest that has one. Symbolic links are followed. Unreadable files are left out. @throws
/// Cancelled
std::vector<FoundModel> cachedModels(const std::string& folder, const Progress& progress = {});

/// The snapshot of a repository's folder in a hub cache ("models--ORG--NAME"). If the snapshot contains one GGUF model
/// and no other checkpoint, its GGUF file. Any other path is returned unchanged.
std::string snapshotOf(const std::string& path);

} // namespace secateur
