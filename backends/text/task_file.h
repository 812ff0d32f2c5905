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

/// The format (id in taskFormats()) that has the fields of a row; nothing if none has.
std::optional<std::string_view> detectedFormat(const JsonObject& row);

/// A row as a question, for the kinds choice and lastWord. If a format has several sets of field names (those of the
/// Hugging Face hub, and those of the original files), uses the one that the row has.
/// @param label from a separate file; absent = the label is in the row
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

/// Removes WikiHow's markup from HellaSwag's texts: spaces at the ends, " [title]" (replaced by a full stop), other
/// texts in brackets, and double spaces.
std::string withoutWikiHow(std::string_view text);

// --- answers that a model writes -------------------------------------------------------------------------------------

/// An answer in the form in which SQuAD compares answers: in lower case, without ASCII punctuation, without the words
/// a, an and the, with single spaces.
std::string normalisedAnswer(std::string_view text);

/// An answer that `extract` found, in the form for comparing: in lower case, without commas, dollar signs and a final
/// full stop. Signs and decimal points stay.
std::string normalisedNumber(std::string_view text);

/// Harmonic mean of precision and recall of words. 1 if neither text has words, 0 if only one has.
double wordF1(std::string_view found, std::string_view right);

/// A function that compares generated answers with the reference answers of a task. An answer is exact if it equals a
/// reference answer after normalisation; a text in which `extract` finds nothing is not exact.
/// @param path of the task, for messages
/// @throws Error naming the line whose `extract` is no regular expression. The returned function throws Error if a
/// regular expression takes too many steps
AnswerJudge answerJudge(const Task& task, const std::string& path);

} // namespace secateur
