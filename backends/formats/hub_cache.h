#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/cached_model.h"

#include <string>
#include <vector>

namespace secateur {

/// Where Hugging Face's programs keep what they fetch: $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
/// $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub. Empty when there is no home; need not exist.
std::string hubCacheFolder();

/// Every checkpoint in a hub cache, newest first: of each repository, the snapshot that refs/main names or else the
/// newest that holds one. Links are followed; whatever is broken or may not be read is left out. @throws Cancelled
std::vector<CachedModel> cachedModels(const std::string& folder, const Progress& progress = {});

/// The snapshot in a repository's folder of a hub cache ("models--ORG--NAME"), or its GGUF file when it holds just one;
/// every other path as it is.
std::string snapshotOf(const std::string& path);

} // namespace secateur
