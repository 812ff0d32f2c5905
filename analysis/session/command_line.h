#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/export/export_target.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A command, as the name of a program and its arguments. Paths are used unchanged. The command works in any folder
/// only if its paths are absolute.
using CommandLine = std::vector<std::string>;

/// The command as text, quoted for a POSIX shell.
std::string shellText(const CommandLine& command);

/// The file that `sweep --masks` writes for a mask of this name: other characters than letters, digits, points and hyphens
/// become underscores.
std::string maskFileName(const std::string& maskName);

/// The command that measures results. @param resultIds at least one
CommandLine measureCommand(const std::string& model, const std::vector<std::string>& resultIds);
/// Commands that repeat measurements, one for each text and mask. Results do not record whether they were measured on a
/// task. Measurements on a task are therefore repeated on its file as a text. Measurements on a part of a text are left
/// out, because no command reads a part.
/// @param maskFile file of the mask under which results were measured
std::vector<CommandLine> measureCommands(const std::string& model, const std::vector<const MetricResult*>& results,
                                         const std::string& maskFile);

/// The command that draws a figure. @param source a session, or a model on which the figure's results are measured
/// @param figure "id[:key=value]..." @param out file, whose extension determines the format
CommandLine plotCommand(const std::string& source, const std::string& figure, const std::string& out = "figure.pdf");

/// The command that draws a figure of a prompt. @param maskFile file of the model's mask; empty = dense
CommandLine plotPromptCommand(const std::string& model, const std::string& figure, const std::string& prompt,
                              const std::string& maskFile, const std::string& out = "figure.pdf");

/// Commands that repeat an evaluation: one for its text, one for its pooled outputs, one for each task and one for its
/// times. If scoring was stopped early, the command scores the whole text. Evaluations do not record the field of a
/// .jsonl file, nor the files of examples and labels. These are missing in the commands. Nor do they record the folder
/// of an adapter, which the commands expect under the adapter's name.
/// @param maskFile file of the mask of the evaluation; empty = dense
std::vector<CommandLine> evaluateCommands(const std::string& model, const Evaluation& evaluation,
                                          const std::string& maskFile);

/// The command with which a strategy makes the same mask again, before a compensation is fitted to it. Empty if the
/// provenance is incomplete, if the strategy read a part of a text, or if the mask extended another mask whose file has
/// no absolute path.
std::optional<CommandLine> pruneCommand(const std::string& model, const MaskProvenance& provenance,
                                        const std::string& out);

/// The command that fits the same compensation to a mask again, or removes it. Empty if the provenance states no fit.
/// @param maskFile file of the mask to compensate
std::optional<CommandLine> compensateCommand(const std::string& model, const MaskProvenance& provenance,
                                             const std::string& maskFile, const std::string& out);

CommandLine showMaskCommand(const std::string& model, const std::string& maskFile);

/// The command that exports a model under a mask. @param out a .gguf file for a GGUF in one piece; otherwise a folder
/// @param type ExportRequest::type
CommandLine exportCommand(const std::string& model, const std::string& maskFile, const ExportTarget& target,
                          const std::string& out, const std::string& type = {});

} // namespace secateur
