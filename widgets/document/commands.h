#pragma once

#include "analysis/session/command_line.h"

#include <QString>

#include <string>
#include <vector>

namespace secateur {

class Document;

/// What is open as a command names it from anywhere: the model's full path.
std::string modelPath(const Document& document);

/// What draws a figure of metrics again: from the model, or from the session where the checkpoint is not here.
/// @param figure "id[:key=value]..."
std::string plotText(const Document& document, const std::string& figure);

/// As a person pastes them into a shell, a line each.
QString linesOf(const std::vector<CommandLine>& commands);
/// The same on the clipboard.
void copyCommands(const std::vector<CommandLine>& commands);

} // namespace secateur
