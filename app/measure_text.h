#pragma once

#include "analysis/metric.h"
#include "app/cli_common.h"
#include "backends/sequence_text.h"

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

/// --text, --field, --split, --seq-len, --max-tokens, --bos, --task, --format, --labels, --batch-tokens
void addMeasureOptions(CLI::App& verb, MeasureOptions& options);

/// Reads the text, says how long a pass over it will take, and measures. What the text and the mask give cause to say
/// is added to the model's warnings.
/// @param results get what the work comes to; stopped, what there is
void measureOnText(ReadyModel& ready, const MeasureOptions& options, const std::vector<MetricRequest>& requests,
                   const Console& console, const Progress& progress, std::vector<MetricResult>& results);

} // namespace secateur::cli
