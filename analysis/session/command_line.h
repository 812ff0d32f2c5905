#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A command as the arguments that a program gets, its name first. Files in it stand as they are given here: a command
/// that is to work anywhere needs absolute ones.
using CommandLine = std::vector<std::string>;

/// As a POSIX shell reads it back, whatever is in it.
std::string shellText(const CommandLine& command);

/// @param resultIds one at least
CommandLine measureCommand(const std::string& model, const std::vector<std::string>& resultIds);
/// What measures some results once more, those of one text by one command. Whether a text was a task is not known any
/// more. @param maskFile of those that were measured under a mask
std::vector<CommandLine> measureCommands(const std::string& model, const std::vector<const MetricResult*>& results,
                                         const std::string& maskFile);

/// @param source a session, or a model of which what the figure needs is measured
/// @param figure "id[:key=value]..." @param out file, whose extension decides the format
CommandLine plotCommand(const std::string& source, const std::string& figure, const std::string& out = "figure.pdf");

/// Of the figure "attention". @param maskFile that the model runs under; empty = dense
CommandLine attentionCommand(const std::string& model, const std::string& figure, const std::string& prompt,
                             const std::string& maskFile, const std::string& out = "figure.pdf");

/// What gives the figures of an evaluation once more: a command for its text, one for each task, one for its times;
/// none where it holds nothing. A text that was stopped is scored to its end. Not known any more, and so not in them:
/// the field of a .jsonl, and a file that examples or labels came from.
/// @param maskFile the mask that it ran under; empty = dense
std::vector<CommandLine> evaluateCommands(const std::string& model, const Evaluation& evaluation,
                                          const std::string& maskFile);

/// What makes a mask once more that a strategy made; empty when its record does not say all that needs, or it was cut
/// from another mask that lies in no file of a full path.
std::optional<CommandLine> pruneCommand(const std::string& model, const MaskProvenance& provenance,
                                        const std::string& out);

CommandLine showMaskCommand(const std::string& model, const std::string& maskFile);

/// @param target id of an export target @param out a .gguf file for a GGUF in one piece, else a folder
CommandLine exportCommand(const std::string& model, const std::string& maskFile, std::string_view target,
                          const std::string& out);

} // namespace secateur
