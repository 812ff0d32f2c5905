#pragma once

#include "analysis/metrics/metric.h"
#include "app/cli/cli_common.h"
#include "backends/text/sequence_text.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// The arguments of `measure` about the text.
struct MeasureOptions {
    SequenceRequest text;
    std::int64_t batchTokens = 4096;
};

/// --text, --field, --split, --seq-len, --max-tokens, --bos, --batch-tokens
/// @returns --text
CLI::Option* addSequenceOptions(CLI::App& verb, MeasureOptions& options);
/// The same and --task, --format, --labels: the text may be the prompts of a task.
void addMeasureOptions(CLI::App& verb, MeasureOptions& options);

/// Whether a metric runs the model on a text.
bool runsModel(const MetricRequest& request);

/// measure() of what the arguments name. Before the model runs, prints a forecast of the time. Warnings about the text
/// and the mask are added to those of the model. Where the model runs and has no plan yet, the plan is that of the
/// whole model.
/// @returns metrics of weights first; of stopped work the results so far
std::vector<MetricResult> measureAll(ReadyModel& ready, const MeasureOptions& options,
                                     const std::vector<MetricRequest>& requests, const Console& console,
                                     const Progress& progress);

} // namespace secateur::cli
