#pragma once

#include "analysis/training/training_run.h"

#include <optional>
#include <span>
#include <string>

namespace secateur {

/// Writes a training run, so that it can go on: a safetensors file with the trained numbers and the moments of their
/// gradients, and the record of the run in its metadata. The file is replaced as a whole. @throws Error
void writeTrainingRun(const std::string& path, const TrainingRun& run);

/// Reads a training run; empty if the file does not exist. @throws Error naming the file if it is not a training run
std::optional<TrainingRun> readTrainingRun(const std::string& path);

/// The record of a run as a table: one line for each step, with the scores of the held-out sequences.
std::string trainingCsv(const TrainingRun& run);

/// The outcome of a run as JSON: its settings, steps, scores and losses (resources/manual/formats.md).
/// @param out folder of the adapter
std::string trainingJson(const TrainingRun& run, const std::string& out, std::span<const std::string> warnings);

/// The settings of a run as JSON.
std::string settingsJson(const TrainingSettings& settings);

} // namespace secateur
