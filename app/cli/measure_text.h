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

/// What `measure` is told of the text that a model reads.
struct MeasureOptions {
    SequenceRequest text;
    std::int64_t batchTokens = 4096;
};

/// --text, --field, --split, --seq-len, --max-tokens, --bos, --batch-tokens
/// @returns --text
CLI::Option* addSequenceOptions(CLI::App& verb, MeasureOptions& options);
/// These, and --task, --format, --labels, of whose prompts the text may be.
void addMeasureOptions(CLI::App& verb, MeasureOptions& options);

/// Whether a metric needs a text.
bool runsModel(const MetricRequest& request);

/// Measures what needs the weights alone, on the whole model; then, where there is more, reads the text, says how long
/// a pass over it will take, and measures on it. What the text and the mask give cause to say is added to the model's
/// warnings. Where the model runs and has no plan yet, it gets the whole model's.
/// @returns in that order; of work that was stopped, what there is
std::vector<MetricResult> measureAll(ReadyModel& ready, const MeasureOptions& options,
                                     const std::vector<MetricRequest>& requests, const Console& console,
                                     const Progress& progress);

} // namespace secateur::cli
