#pragma once

#include "analysis/metrics/ablation.h"
#include "analysis/evaluation/asked_task.h"
#include "app/cli/cli_common.h"

#include <memory>
#include <vector>

namespace secateur::cli {

/// A task that a model is asked without each of its parts.
struct AblatedTask {
    AskedTask asked;
    std::shared_ptr<const Tokenizer> tokenizer;
    MeasuredData data; ///< its questions; tokens of asking it once
};

/// @param asked as its file says @throws Error as workOf()
AblatedTask ablatedTask(const ReadyModel& ready, AskedTask asked, const Progress& progress);

/// By how much the accuracy falls that papers report of the task.
/// @param requests of accuracy @throws as askTask(); Cancelled before anything is there
std::vector<MetricResult> ablateTask(const ReadyModel& ready, const AblatedTask& task,
                                     const std::vector<MetricRequest>& requests, const AblationMemory& memory,
                                     const Progress& progress);

} // namespace secateur::cli
