#pragma once

#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/task.h"

#include <string>
#include <string_view>

namespace secateur {

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
