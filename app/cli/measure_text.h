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

/// The options of `measure` about the calibration text.
struct MeasureOptions {
    SequenceRequest text;
    std::int64_t batchTokens = 4096;
};

/// Adds --text, --field, --split, --seq-len, --max-tokens, --bos and --batch-tokens.
/// @returns the option --text
CLI::Option* addSequenceOptions(CLI::App& verb, MeasureOptions& options);
/// Adds the options of addSequenceOptions(), and --task, --format and --labels: the text may be the prompts of a task.
void addMeasureOptions(CLI::App& verb, MeasureOptions& options);

/// Whether a metric runs the model on a text.
bool runsModel(const MetricRequest& request);

/// Calls measure() with the text of the options. Prints the expected time before the model runs. Adds warnings about
/// the text and the mask to those of the model. If a metric runs the model and there is no plan yet, plans the whole
/// model.
/// @returns the results; if the work was stopped, the results so far
std::vector<MetricResult> measureAll(ReadyModel& ready, const MeasureOptions& options,
                                     const std::vector<MetricRequest>& requests, const Console& console,
                                     const Progress& progress);

} // namespace secateur::cli
