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
    std::string format = {}; ///< of taskFormats(); empty = what the fields of the first row speak for
    std::string labels = {}; ///< of a PIQA file without labels, one a line; empty = NAME-labels.lst beside NAME.jsonl
};

/// Reads a task, one JSON object a line; blank lines are left out.
/// @throws UsageError for an unknown format; Error naming the file, the line and the field; Cancelled
Task readTask(const std::string& path, const TaskFileOptions& options = {}, const Progress& progress = {});

/// Reads a task file, and the one that its examples come from; takes no model.
/// @throws UsageError for an unknown format, and examples of a format that takes none; Error naming the file, the line
/// and the field; Cancelled
AskedTask readAskedTask(const TaskRequest& request, const Progress& progress = {});

/// Fills in what a model calls its classes, where the task is one for classifiers.
void nameClasses(AskedTask& asked, const ModelCard& model);

// --- rows of a task file (task_rows.cpp) -----------------------------------------------------------------------------

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

/// Characters of valid UTF-8.
std::size_t codePoints(std::string_view text);

/// The first character as in a title and all others in lower case, as Python's str.capitalize() does.
std::string capitalised(std::string_view text);

/// HellaSwag's texts without what WikiHow left in them: blanks around the whole, " [title]" (which ends a sentence),
/// other brackets, double blanks.
std::string withoutWikiHow(std::string_view text);

// --- answers that a model writes -------------------------------------------------------------------------------------

/// In lower case, without punctuation (of ASCII), the words a, an and the, and more than one blank between words: how
/// SQuAD compares answers.
std::string normalisedAnswer(std::string_view text);

/// A number as answers are compared whose `extract` took them out of a text: in lower case, without commas, dollar
/// signs, and a full stop at the end. Signs and decimal points stay.
std::string normalisedNumber(std::string_view text);

/// Harmonic mean of precision and recall of words; of texts without words whether both are.
double wordF1(std::string_view found, std::string_view right);

/// Holds written answers against those of a task's prompts: exact when any of them is equal after normalising; what
/// `extract` does not find in a text is never.
/// @param path of the task, for messages
/// @throws Error naming the line whose `extract` is no regular expression; the judge, when one takes too many steps
AnswerJudge answerJudge(const Task& task, const std::string& path);

} // namespace secateur
