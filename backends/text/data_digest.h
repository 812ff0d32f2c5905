#pragma once

#include "analysis/evaluation/asked_task.h"
#include "analysis/tasks/task.h"
#include "analysis/text/sequences.h"

#include <span>
#include <string>

namespace secateur {

/// "sha256:" and 64 lower-case hexadecimal digits, over the number of sequences, and of each its length and its ids,
/// all as int64, little-endian.
/// @param labels of the sequences, for classifiers; empty = nothing is added
std::string dataDigest(const SequenceSet& set, std::span<const int> labels = {});

/// In the same form, over all questions and right answers of a task, and the questions that may serve as examples. Two
/// runs of a task can be compared if they have the same digest.
std::string dataDigest(const Task& task, std::span<const TaskQuestion> examples);

/// In the same form, over a task and its rules (shots, limit, BOS). Equal digests identify the same measurement.
std::string dataDigest(const AskedTask& asked);

} // namespace secateur
