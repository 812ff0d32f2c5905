#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/cached_model.h"

#include <string>
#include <vector>

namespace secateur {

/// The folder in which Hugging Face's programs keep downloads: the first that is set of $HF_HUB_CACHE,
/// $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub and $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. It need not
/// exist. Empty if there is no home.
std::string hubCacheFolder();

/// All checkpoints in a hub cache, newest first. Of each repository, lists the snapshot that refs/main names, or else
/// the newest one with a checkpoint. Follows links; leaves out unreadable files. @throws Cancelled
std::vector<CachedModel> cachedModels(const std::string& folder, const Progress& progress = {});

/// For a repository's folder in a hub cache ("models--ORG--NAME"), its snapshot, or the GGUF file if that is all it
/// contains; any other path unchanged.
std::string snapshotOf(const std::string& path);

} // namespace secateur
