#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A command as a program's name and its arguments. Paths are used as given: a command runs in any folder only if its
/// paths are absolute.
using CommandLine = std::vector<std::string>;

/// The command as text, quoted for a POSIX shell.
std::string shellText(const CommandLine& command);

/// @param resultIds at least one
CommandLine measureCommand(const std::string& model, const std::vector<std::string>& resultIds);
/// Commands that repeat measurements, one for each text and mask. Measurements on a task are repeated on its file as a
/// text, because results do not record the difference.
/// @param maskFile file of the mask under which results were measured
std::vector<CommandLine> measureCommands(const std::string& model, const std::vector<const MetricResult*>& results,
                                         const std::string& maskFile);

/// @param source a session, or a model on which the figure's results are measured
/// @param figure "id[:key=value]..." @param out file, whose extension decides the format
CommandLine plotCommand(const std::string& source, const std::string& figure, const std::string& out = "figure.pdf");

/// The command for a figure of a prompt. @param maskFile file of the model's mask; empty = dense
CommandLine plotPromptCommand(const std::string& model, const std::string& figure, const std::string& prompt,
                              const std::string& maskFile, const std::string& out = "figure.pdf");

/// Commands that repeat an evaluation: one for its text, one for its pooled outputs, one for each task, one for its
/// times. If scoring was stopped early, the command scores the whole text. The field of a .jsonl, and files of examples
/// and labels, are missing from the commands, because evaluations do not record them.
/// @param maskFile file of the mask of the evaluation; empty = dense
std::vector<CommandLine> evaluateCommands(const std::string& model, const Evaluation& evaluation,
                                          const std::string& maskFile);

/// The command with which a strategy makes the same mask again. None if the provenance is incomplete, or if the mask
/// extended another one whose file has no absolute path.
std::optional<CommandLine> pruneCommand(const std::string& model, const MaskProvenance& provenance,
                                        const std::string& out);

CommandLine showMaskCommand(const std::string& model, const std::string& maskFile);

/// @param target id of an export target @param out a .gguf file for a GGUF in one piece, else a folder
CommandLine exportCommand(const std::string& model, const std::string& maskFile, std::string_view target,
                          const std::string& out);

} // namespace secateur
