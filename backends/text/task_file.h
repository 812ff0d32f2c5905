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
    std::string format = {}; ///< id in taskFormats(); empty = detected from the fields of the first row
    std::string labels = {}; ///< label file of a PIQA task, one label per line; empty = NAME-labels.lst in its folder
};

/// Reads a task from a file with one JSON object per line. Blank lines are skipped.
/// @throws UsageError for an unknown format; Error naming the file, the line and the field; Cancelled
Task readTask(const std::string& path, const TaskFileOptions& options = {}, const Progress& progress = {});

/// Reads a task file and the file of its examples (shots).
/// @throws UsageError for an unknown format, and for examples of a format that has none; Error naming the file, the
/// line and the field; Cancelled
AskedTask readAskedTask(const TaskRequest& request, const Progress& progress = {});

/// For a classification task, sets the names of the classes from the model.
void nameClasses(AskedTask& asked, const ModelCard& model);

// --- rows of a task file (task_rows.cpp) -----------------------------------------------------------------------------

/// The format (id in taskFormats()) whose fields a row has; empty if no format fits.
std::optional<std::string_view> detectedFormat(const JsonObject& row);

/// A row as a question, for the kinds choice and lastWord. Some formats have several sets of field names: those of the
/// Hugging Face hub, and those of the original files. The set that the row has is used.
/// @param label label from a separate file; empty = the row contains it
/// @throws Error naming row and field
TaskQuestion taskQuestion(std::string_view formatId, const JsonObject& row,
                          const std::optional<std::string>& label = {});

/// A row of the format "classification". @throws Error as taskQuestion()
LabelledText labelledText(const JsonObject& row);

/// A row of the format "generate". @throws Error as taskQuestion()
AnswerPrompt answerPrompt(const JsonObject& row);

/// Number of code points of valid UTF-8.
std::size_t codePoints(std::string_view text);

/// The text with its first character in title case and all others in lower case, as Python's str.capitalize() returns.
std::string capitalised(std::string_view text);

/// Removes the markup of WikiHow from HellaSwag's texts: spaces at the ends, " [title]" (replaced by a full stop),
/// other texts in brackets, and double spaces.
std::string withoutWikiHow(std::string_view text);

// --- answers that a model writes -------------------------------------------------------------------------------------

/// Normalises an answer as SQuAD does before answers are compared: lower case, no ASCII punctuation, no words a, an and
/// the, and single spaces.
std::string normalisedAnswer(std::string_view text);

/// Normalises an answer that `extract` found, before answers are compared: lower case, no commas, no dollar signs, no
/// final full stop. Signs and decimal points are kept.
std::string normalisedNumber(std::string_view text);

/// Harmonic mean of precision and recall of words. 1 if neither text has words, 0 if only one has.
double wordF1(std::string_view found, std::string_view right);

/// A function that compares generated answers with the reference answers of a task. An answer is exact if it equals a
/// reference answer after normalisation. If `extract` finds nothing in a text, the answer is not exact.
/// @param path path of the task, for error messages
/// @throws Error naming the line if `extract` is not a valid regular expression. The returned function throws Error if
/// a regular expression takes too many steps
AnswerJudge answerJudge(const Task& task, const std::string& path);

} // namespace secateur
