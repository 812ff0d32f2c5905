#pragma once

#include "analysis/training/training_run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace secateur {

/// Writes a training run, so that it can continue: a safetensors file with the trained numbers and the moments of their
/// gradients, and the record of the run in its metadata. The file is replaced as a whole. @throws Error
void writeTrainingRun(const std::string& path, const TrainingRun& run);

/// Reads a training run; empty if the file does not exist. @throws Error naming the file if it is not a training run
std::optional<TrainingRun> readTrainingRun(const std::string& path);

/// The key of a run: "sha256:..." over the fingerprint of the model, the mask, the data and the settings.
/// @param others further things that the run depends on
std::string trainingKey(const Model& model, const PruningMask& mask, const TrainingSet& set,
                        const TrainingSettings& settings, const std::string& others = {});

/// How a run scores the held-out sequences, for trainingKey(). @param share of the sequences that are held out
/// @param scoreEvery, patience as in TrainingRun
std::string scoringText(double share, std::int64_t scoreEvery, int patience);

/// The record of a run as a table: one line for each step, with the scores of the held-out sequences.
std::string trainingCsv(const TrainingRun& run);

/// The paths of a run's results; empty = none.
struct TrainingOutputs {
    std::string adapter; ///< folder of the adapter
    std::string mask;    ///< file of the mask with the trained compensation
};

/// The outcome of a run as JSON: its settings, steps, scores and losses (resources/manual/formats.md).
std::string trainingJson(const TrainingRun& run, const TrainingOutputs& outputs, std::span<const std::string> warnings);

} // namespace secateur
