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

/// The options of `measure` for the text.
struct MeasureOptions {
    SequenceRequest text;
    std::int64_t batchTokens = 4096;
};

/// --text, --field, --split, --seq-len, --max-tokens, --bos, --batch-tokens
/// @returns --text
CLI::Option* addSequenceOptions(CLI::App& verb, MeasureOptions& options);
/// The options of addSequenceOptions(), and --task, --format, --labels: the text may be the prompts of a task.
void addMeasureOptions(CLI::App& verb, MeasureOptions& options);

/// Whether a metric runs the model on a text.
bool runsModel(const MetricRequest& request);

/// measure() with the text of the options. Prints a forecast of the time before the model runs. Appends warnings about
/// the text and the mask to those of the model. If a metric runs the model and there is no plan yet, plans the whole
/// model. @returns the results; those so far if the work was stopped
std::vector<MetricResult> measureAll(ReadyModel& ready, const MeasureOptions& options,
                                     const std::vector<MetricRequest>& requests, const Console& console,
                                     const Progress& progress);

} // namespace secateur::cli
