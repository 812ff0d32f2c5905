#pragma once

#include "analysis/tasks/task.h"
#include "backends/base/json_object.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// The format that the fields of a row speak for (of taskFormats()); nothing when none does.
std::optional<std::string_view> detectedFormat(const JsonObject& row);

/// A row as a question: kinds choice and lastWord. Of the forms of a format (the fields on the Hugging Face hub, those
/// of the original files) it takes whichever the row has.
/// @param label of a row whose label stands in another file; empty = in the row
/// @throws Error naming row and field
TaskQuestion taskQuestion(std::string_view formatId, const JsonObject& row,
                          const std::optional<std::string>& label = {});

/// A row of format classification. @throws Error as above
LabelledText labelledText(const JsonObject& row);

/// A row of format generate. @throws Error as above
AnswerPrompt answerPrompt(const JsonObject& row);

} // namespace secateur
