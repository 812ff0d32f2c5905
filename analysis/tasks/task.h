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
    choice,         ///< with the likeliest of several continuations
    lastWord,       ///< correct if the greedy continuation is the expected one
    classification, ///< with a classifier's label of a text
    generation,     ///< with a generated text, compared with reference answers
};

/// A format of task files, one JSON object a line, with its prompts (resources/manual/formats.md, Task files;
/// resources/manual/evaluation.md, Prompts).
struct TaskFormat {
    std::string_view id;
    std::string_view summary;
    TaskKind kind;
    std::string_view metric; ///< id of the metric that papers report
    std::string_view fields; ///< of a row, named as on the Hugging Face hub
};

std::span<const TaskFormat> taskFormats();
/// @throws UsageError that lists the known formats
const TaskFormat& taskFormat(std::string_view id);

/// A continuation of a context. The lengths are those of the choice in it: the divisors of acc_norm and acc_bytes.
struct TaskOption {
    std::string context;
    std::string continuation; ///< including the blank in front
    std::size_t codePoints = 0;
    std::size_t bytes = 0;

    bool operator==(const TaskOption&) const = default;
};

/// One question of TaskKind choice or lastWord; the latter has one option.
struct TaskQuestion {
    std::size_t line = 0;    ///< in its file, from 1
    std::string subject;     ///< empty if the format has none
    std::string description; ///< in front of examples and context
    std::vector<TaskOption> options;
    std::size_t gold = 0;

    /// The question as an example: its context followed by the right answer.
    std::string solved() const { return options.at(gold).context + options.at(gold).continuation; }
};

/// One text of TaskKind classification.
struct LabelledText {
    std::size_t line = 0;
    std::string text;
    std::optional<std::string> pair; ///< the second text of a pair
    std::string label;               ///< a name, or a number from 0 in digits
};

/// One prompt of TaskKind generation, examples included.
struct AnswerPrompt {
    std::size_t line = 0;
    std::string prompt;
    std::vector<std::string> answers; ///< reference answers; each is right
    std::vector<std::string> stops;   ///< texts that end the generated text and are not part of it
    int mostTokens = 256;
    std::string extract; ///< regular expression; its last match in the generated text is the answer; empty = whole text
};

/// The content of a task file. The format decides whether `questions`, `texts` or `prompts` is filled.
struct Task {
    std::string name;          ///< of the file, without its suffix
    std::string_view formatId; ///< of taskFormats()
    std::vector<TaskQuestion> questions;
    std::vector<LabelledText> texts;
    std::vector<AnswerPrompt> prompts = {};
};

/// A context and its continuation as tokens. Those from `firstScored` on are predicted.
struct OptionTokens {
    std::vector<int> ids;
    std::size_t firstScored = 0; ///< at least 1

    bool operator==(const OptionTokens&) const = default;
};

struct OptionTokenRules {
    /// tokenizerDefault, always or never; firstOnly is the same as tokenizerDefault.
    BosRule bos = BosRule::tokenizerDefault;
    std::size_t mostInputs = 0; ///< maximum number of input tokens; the first ones are left out; 0 = no limit
};

/// The tokens of a context, with special tokens by the rule; may be empty.
std::vector<int> contextTokens(std::string_view text, const Tokenizer& tokenizer, BosRule bos);

/// The options of a question as tokens (resources/manual/evaluation.md, Tokens). Blanks at the end of a context move to
/// the continuation. The continuation's tokens are those of both texts together, behind as many as the context has
/// alone. An empty context becomes one BOS, or EOS if the tokenizer has no BOS.
/// @throws Error with the line, if a continuation has no tokens or more than the model's maximum
std::vector<OptionTokens> optionTokens(const TaskQuestion& question, const Tokenizer& tokenizer,
                                       const OptionTokenRules& rules);

/// Choice of the solved questions in front of each question.
enum class ShotChoice {
    first, ///< the first of the list; of the question's own subject, if it has one
    drawn, ///< drawn anew for each question; lm-eval draws others
};

struct ShotRules {
    std::size_t count = 0;
    ShotChoice choice = ShotChoice::first;
    std::uint64_t seed = 1234;
};

/// Origin of the examples, as results name it: "first 5 of the list", "own few-shot draw (5, seed 1234)"; empty without
/// examples.
std::string shotLabel(const ShotRules& rules);

/// Puts descriptions and examples in front of the contexts (resources/manual/evaluation.md, Examples). A question is
/// never its own example. Only `context` of the options changes.
/// @param all questions of the task, in the order of the file @param examples to choose from
/// @throws Error with the subject, if there are too few examples
std::vector<TaskQuestion> withShots(std::span<const TaskQuestion> all, std::span<const TaskQuestion> examples,
                                    const ShotRules& rules);

/// 0 to count - 1, shuffled. The order depends on count and seed only; the first k are the questions of a limit k.
std::vector<std::size_t> shuffledOrder(std::size_t count, std::uint64_t seed);

} // namespace secateur
