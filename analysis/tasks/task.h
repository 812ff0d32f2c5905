#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What is asked of a model in a task, and how its answer is judged.
enum class TaskKind {
    choice,         ///< the likeliest of several continuations
    lastWord,       ///< whether the greedy continuation is the expected one
    classification, ///< a classifier's label of a text
    generation,     ///< a text that the model writes, held against right ones
};

/// A way to write tasks down, one JSON object a line, and the prompts made of it (evaluation.md 2.3, 2.4).
struct TaskFormat {
    std::string_view id;
    std::string_view summary;
    TaskKind kind;
    std::string_view metric; ///< what papers report
    std::string_view fields; ///< of its rows, as on the Hugging Face hub
};

std::span<const TaskFormat> taskFormats();
/// @throws UsageError naming the known ones
const TaskFormat& taskFormat(std::string_view id);

/// One text that may follow another, and how long the choice in it is: what acc_norm and acc_bytes divide by.
struct TaskOption {
    std::string context;
    std::string continuation; ///< with the blank in front
    std::size_t codePoints = 0;
    std::size_t bytes = 0;

    bool operator==(const TaskOption&) const = default;
};

/// One question of TaskKind choice or lastWord; the latter has one option.
struct TaskQuestion {
    std::size_t line = 0;    ///< in its file, from 1
    std::string subject;     ///< empty where the format knows none
    std::string description; ///< stands in front of everything, examples included
    std::vector<TaskOption> options;
    std::size_t gold = 0;

    /// What an example of it reads like: the right answer behind its context.
    std::string solved() const { return options.at(gold).context + options.at(gold).continuation; }
};

/// One text of TaskKind classification.
struct LabelledText {
    std::size_t line = 0;
    std::string text;
    std::optional<std::string> pair; ///< the second text of a pair
    std::string label;               ///< a name, or a number from 0 in digits
};

/// One prompt of TaskKind generation. Examples, where there are any, are in it.
struct AnswerPrompt {
    std::size_t line = 0;
    std::string prompt;
    std::vector<std::string> answers; ///< each of them is right
    std::vector<std::string> stops;   ///< texts that end what is written, and are no part of it
    int mostTokens = 256;
    std::string extract; ///< expression whose last match in what is written is the answer; empty = all of it
};

/// The content of a task file. Of `questions`, `texts` and `prompts` the one that goes with the format is filled.
struct Task {
    std::string name;          ///< the file's, without its ending
    std::string_view formatId; ///< of taskFormats()
    std::vector<TaskQuestion> questions;
    std::vector<LabelledText> texts;
    std::vector<AnswerPrompt> prompts = {};
};

} // namespace secateur
