#pragma once

#include "analysis/text/sequences.h"
#include "analysis/text/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// How a model answers the questions of a task.
enum class TaskKind {
    choice,         ///< the answer is the likeliest of several continuations
    lastWord,       ///< the greedy continuation is right if it is the expected one
    classification, ///< the answer is the label that a classifier gives to a text
    generation,     ///< the answer is a generated text, which is compared with reference answers
};

/// A format of task files, and of the prompts that are made from them. Files have one JSON object per line
/// (resources/manual/formats.md, Task files; resources/manual/evaluation.md, Prompts).
struct TaskFormat {
    std::string_view id;
    std::string_view summary;
    TaskKind kind;
    std::string_view metric; ///< id of the metric that papers report
    std::string_view fields; ///< fields of a row, as they are named on the Hugging Face hub
};

std::span<const TaskFormat> taskFormats();
/// The format with this id. @throws UsageError that lists the known formats
const TaskFormat& taskFormat(std::string_view id);

/// A continuation of a context. `codePoints` and `bytes` are the length of the choice in the continuation; acc_norm and
/// acc_bytes divide by them.
struct TaskOption {
    std::string context;
    std::string continuation; ///< includes the space at its beginning
    std::size_t codePoints = 0;
    std::size_t bytes = 0;

    bool operator==(const TaskOption&) const = default;
};

/// A question of TaskKind::choice or lastWord. A question of kind lastWord has one option.
struct TaskQuestion {
    std::size_t line = 0;    ///< line in the task file, counted from 1
    std::string subject;     ///< empty if the format has none
    std::string description; ///< text in front of the examples and the context
    std::vector<TaskOption> options;
    std::size_t gold = 0;

    /// The question as an example: its context followed by the right answer.
    std::string solved() const { return options.at(gold).context + options.at(gold).continuation; }
};

/// A text, or a pair of texts, of TaskKind::classification.
struct LabelledText {
    std::size_t line = 0;
    std::string text;
    std::optional<std::string> pair; ///< the second text of a pair
    std::string label;               ///< name of a class, or its index in digits
};

/// A prompt of TaskKind::generation, including examples.
struct AnswerPrompt {
    std::size_t line = 0;
    std::string prompt;
    std::vector<std::string> answers; ///< reference answers; any of them is right
    std::vector<std::string> stops;   ///< the answer ends before the first of these texts that is generated
    int mostTokens = 256;
    std::string extract; ///< regular expression whose last match in the generated text is compared; empty = whole text
};

/// The content of a task file. Only one of `questions`, `texts` and `prompts` is filled, depending on the format.
struct Task {
    std::string name;          ///< name of the file without its suffix
    std::string_view formatId; ///< id in taskFormats()
    std::vector<TaskQuestion> questions;
    std::vector<LabelledText> texts;
    std::vector<AnswerPrompt> prompts = {};
};

/// A context and its continuation as tokens. The tokens from `firstScored` on are scored.
struct OptionTokens {
    std::vector<int> ids;
    std::size_t firstScored = 0; ///< at least 1

    bool operator==(const OptionTokens&) const = default;
};

struct OptionTokenRules {
    /// For tasks, firstOnly is the same as tokenizerDefault.
    BosRule bos = BosRule::tokenizerDefault;
    std::size_t mostInputs = 0; ///< maximum number of input tokens, beyond which the first are dropped; 0 = no limit
};

/// The tokens of a context, with special tokens as `bos` says. May be empty.
std::vector<int> contextTokens(std::string_view text, const Tokenizer& tokenizer, BosRule bos);

/// The options of a question as tokens (resources/manual/evaluation.md, Tokens). Spaces at the end of a context move to
/// the continuation. Context and continuation are encoded together; if the context alone has n tokens, the continuation
/// has those after the first n. An empty context becomes one BOS, or EOS if the tokenizer has no BOS.
/// @throws Error with the question's line if a continuation has no tokens, or more than rules.mostInputs
std::vector<OptionTokens> optionTokens(const TaskQuestion& question, const Tokenizer& tokenizer,
                                       const OptionTokenRules& rules);

/// How the examples (solved questions) in front of each question are chosen.
enum class ShotChoice {
    first, ///< the first of the list; for a question with a subject, the first of that subject
    drawn, ///< drawn separately for each question; not the same draw as in lm-eval
};

struct ShotRules {
    std::size_t count = 0;
    ShotChoice choice = ShotChoice::first;
    std::uint64_t seed = 1234;
};

/// How the examples were chosen, as text for results: "first 5 of the list", "own few-shot draw (5, seed 1234)". Empty
/// without examples.
std::string shotLabel(const ShotRules& rules);

/// Puts descriptions and examples before the contexts (resources/manual/evaluation.md, Examples). A question is never
/// an example of itself. Changes only TaskOption::context.
/// @param all questions of the task in the order of the file @param examples questions from which examples are chosen
/// @throws Error with the subject if there are too few examples
std::vector<TaskQuestion> withShots(std::span<const TaskQuestion> all, std::span<const TaskQuestion> examples,
                                    const ShotRules& rules);

/// The numbers 0 to count - 1, shuffled. The order depends only on count and seed. With a limit of k, the first k
/// numbers are the indices of the questions to ask.
std::vector<std::size_t> shuffledOrder(std::size_t count, std::uint64_t seed);

} // namespace secateur
