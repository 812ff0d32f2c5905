#pragma once

#include "analysis/base/progress.h"

#include <cstdint>
#include <functional>

namespace secateur {

/// Numbers of a grid that are read at a time: they stay in the cache of a core.
inline constexpr std::int64_t chunkNumbers = 16384;

/// Number of workers of eachTask().
int workerCount();

/// Calls `work` once for each task, on all threads. @param work (worker, task): calls of one worker follow each other
/// @throws Cancelled, and what `work` throws
void eachTask(std::int64_t tasks, const std::function<void(int worker, std::int64_t task)>& work,
              const Progress& progress);

} // namespace secateur
