#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/model/model_card.h"
#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/task.h"
#include "backends/base/json_object.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

struct TaskFileOptions {
    std::string format = {}; ///< of taskFormats(); empty = detected from the fields of the first row
    std::string labels = {}; ///< file of a PIQA task's labels, one per line; empty = NAME-labels.lst in its folder
};

/// Reads a task, one JSON object per line; blank lines are skipped.
/// @throws UsageError for an unknown format; Error naming the file, the line and the field; Cancelled
Task readTask(const std::string& path, const TaskFileOptions& options = {}, const Progress& progress = {});

/// Reads a task file and the file of its examples (shots).
/// @throws UsageError for an unknown format, and for examples of a format that has none; Error naming the file, the
/// line and the field; Cancelled
AskedTask readAskedTask(const TaskRequest& request, const Progress& progress = {});

/// Fills in the model's names of the classes, for classification tasks.
void nameClasses(AskedTask& asked, const ModelCard& model);

// --- rows of a task file (task_rows.cpp) -----------------------------------------------------------------------------

/// The format (of taskFormats()) that has the fields of a row; nothing when none has.
std::optional<std::string_view> detectedFormat(const JsonObject& row);

/// A row as a question, for the kinds choice and lastWord. A format may have several sets of field names (those of the
/// Hugging Face hub, those of the original files); the row decides.
/// @param label from a separate file; empty = the label is in the row
/// @throws Error naming row and field
TaskQuestion taskQuestion(std::string_view formatId, const JsonObject& row,
                          const std::optional<std::string>& label = {});

/// A row of format classification. @throws Error as above
LabelledText labelledText(const JsonObject& row);

/// A row of format generate. @throws Error as above
AnswerPrompt answerPrompt(const JsonObject& row);

/// Number of code points of valid UTF-8.
std::size_t codePoints(std::string_view text);

/// The first character in title case and all others in lower case, as Python's str.capitalize().
std::string capitalised(std::string_view text);

/// Removes WikiHow's markup from HellaSwag's texts: surrounding blanks, " [title]" (replaced by a full stop), other
/// brackets, double blanks.
std::string withoutWikiHow(std::string_view text);

// --- answers that a model writes -------------------------------------------------------------------------------------

/// In lower case, without ASCII punctuation, without the words a, an and the, with single blanks: as SQuAD compares
/// answers.
std::string normalisedAnswer(std::string_view text);

/// For answers that `extract` found in a text: in lower case, without commas, dollar signs and a final full stop. Signs
/// and decimal points stay.
std::string normalisedNumber(std::string_view text);

/// Harmonic mean of precision and recall of words. 1 where both texts have no words, 0 where one has none.
double wordF1(std::string_view found, std::string_view right);

/// Compares written answers with the answers of a task's prompts. An answer is exact when it equals one of them after
/// normalisation; a text in which `extract` finds nothing is not exact.
/// @param path of the task, for messages
/// @throws Error naming the line whose `extract` is no regular expression; the judge, when one takes too many steps
AnswerJudge answerJudge(const Task& task, const std::string& path);

} // namespace secateur
