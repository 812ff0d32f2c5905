#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A command as the arguments of a program, its name first. Paths are used as given: a command that works in any folder
/// needs absolute ones.
using CommandLine = std::vector<std::string>;

/// Quoted for a POSIX shell.
std::string shellText(const CommandLine& command);

/// @param resultIds at least one
CommandLine measureCommand(const std::string& model, const std::vector<std::string>& resultIds);
/// Commands that repeat measurements, one for each text. Results do not tell whether a text was a task.
/// @param maskFile of the results that were measured under a mask
std::vector<CommandLine> measureCommands(const std::string& model, const std::vector<const MetricResult*>& results,
                                         const std::string& maskFile);

/// @param source a session, or a model on which the figure's results are measured
/// @param figure "id[:key=value]..." @param out file, whose extension decides the format
CommandLine plotCommand(const std::string& source, const std::string& figure, const std::string& out = "figure.pdf");

/// For figures of a prompt. @param maskFile that the model runs under; empty = dense
CommandLine plotPromptCommand(const std::string& model, const std::string& figure, const std::string& prompt,
                              const std::string& maskFile, const std::string& out = "figure.pdf");

/// Commands that repeat an evaluation: one for its text, one for each task, one for its times. A text that was stopped
/// is scored to its end. Unknown, and therefore missing: the field of a .jsonl, and files of examples and labels.
/// @param maskFile the mask that it ran under; empty = dense
std::vector<CommandLine> evaluateCommands(const std::string& model, const Evaluation& evaluation,
                                          const std::string& maskFile);

/// The command that repeats how a strategy made a mask. None if the provenance is incomplete, or if the mask continued
/// another one whose file has no absolute path.
std::optional<CommandLine> pruneCommand(const std::string& model, const MaskProvenance& provenance,
                                        const std::string& out);

CommandLine showMaskCommand(const std::string& model, const std::string& maskFile);

/// @param target id of an export target @param out a .gguf file for a GGUF in one piece, else a folder
CommandLine exportCommand(const std::string& model, const std::string& maskFile, std::string_view target,
                          const std::string& out);

} // namespace secateur
