#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/cached_model.h"

#include <string>
#include <vector>

namespace secateur {

/// The folder where Hugging Face's programs keep downloads: $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
/// $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub. Empty if there is no home; need not exist.
std::string hubCacheFolder();

/// All checkpoints in a hub cache, newest first: of each repository, the snapshot that refs/main names, else the newest
/// one with a checkpoint. Links are followed; unreadable files are left out. @throws Cancelled
std::vector<CachedModel> cachedModels(const std::string& folder, const Progress& progress = {});

/// The snapshot in a repository's folder of a hub cache ("models--ORG--NAME"), or its GGUF file if it holds only one;
/// any other path unchanged.
std::string snapshotOf(const std::string& path);

} // namespace secateur
