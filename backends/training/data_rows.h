#pragma once

#include "backends/base/json_object.h"
#include "backends/text/json_rows.h"
#include "backends/text/text_source.h"
#include "backends/training/row_templates.h"

#include <string>
#include <vector>

namespace secateur {

/// A text and its label in a line such as `text@label`. The last @ separates them.
struct LabelledLine {
    std::string text;
    std::string label;
};

/// @param place file and line, for error messages @throws Error if text or label are missing
LabelledLine labelledLine(const std::string& line, const std::string& place);

/// The conversation in a row with the fields `instruction`, `input` and `output`. @throws Error naming row and field
std::vector<ChatMessage> instructionMessages(const JsonObject& row);
/// The conversation in a row with the field `messages`. @throws Error naming row and field
std::vector<ChatMessage> chatMessages(const JsonObject& row);

} // namespace secateur
