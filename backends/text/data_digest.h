#pragma once

#include "analysis/evaluation/asked_task.h"
#include "analysis/text/sequences.h"
#include "analysis/tasks/task.h"

#include <span>
#include <string>

namespace secateur {

/// "sha256:" and 64 lower-case hexadecimal digits, over the number of sequences, and of each its length and its ids,
/// all as int64, little-endian.
/// @param labels of a classifier that go with the sequences; none = nothing is added
std::string dataDigest(const SequenceSet& set, std::span<const int> labels = {});

/// The same form, over all that a task asks and takes for right, and the questions that may be examples: what two runs
/// of it must have in common to be compared.
std::string dataDigest(const Task& task, std::span<const TaskQuestion> examples);

/// The same of a task and how it is asked: what two measurements with it must have in common to be one.
std::string dataDigest(const AskedTask& asked);

} // namespace secateur
