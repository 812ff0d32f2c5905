#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/cached_model.h"

#include <string>
#include <vector>

namespace secateur {

/// The folder in which Hugging Face's programs keep downloads: the first of $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE,
/// $HF_HOME/hub and $XDG_CACHE_HOME/huggingface/hub whose variable is set, else ~/.cache/huggingface/hub. The folder
/// need not exist. Empty if there is no home.
std::string hubCacheFolder();

/// All checkpoints in a hub cache, newest first. Of each repository, lists the snapshot of refs/main if it has a
/// checkpoint, else the newest one that has. Follows links; leaves out unreadable files. @throws Cancelled
std::vector<CachedModel> cachedModels(const std::string& folder, const Progress& progress = {});

/// For a repository's folder in a hub cache ("models--ORG--NAME"), its snapshot, or the GGUF file if the snapshot has
/// one GGUF model and no other checkpoint; any other path unchanged.
std::string snapshotOf(const std::string& path);

} // namespace secateur
