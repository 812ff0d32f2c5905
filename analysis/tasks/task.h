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

/// A context and its continuation as tokens: those from `firstScored` on are predicted, each from all before it.
struct OptionTokens {
    std::vector<int> ids;
    std::size_t firstScored = 0; ///< 1 at least

    bool operator==(const OptionTokens&) const = default;
};

struct OptionTokenRules {
    /// tokenizerDefault, always or never; firstOnly is the same as the first of them.
    BosRule bos = BosRule::tokenizerDefault;
    std::size_t mostInputs = 0; ///< tokens that the model sees at most, older ones are left out; 0 = no limit
};

/// What stands in front of a continuation, with the special tokens that the rule wants; may be empty.
std::vector<int> contextTokens(std::string_view text, const Tokenizer& tokenizer, BosRule bos);

/// The options of a question as tokens (evaluation.md 2.1): blanks at the end of a context go to the continuation; the
/// context's tokens are those it has alone; the continuation's are those of both texts together from as many on; a
/// context without tokens is one BOS, or EOS where the tokenizer has no BOS.
/// @throws Error naming the line, when a continuation has no tokens or more than the model sees
std::vector<OptionTokens> optionTokens(const TaskQuestion& question, const Tokenizer& tokenizer,
                                       const OptionTokenRules& rules);

/// Which solved questions stand in front of one that is asked.
enum class ShotChoice {
    first, ///< the first ones of the list, of the question's own subject where it has one
    drawn, ///< other ones for each question, by our own draw: not those that lm-eval draws
};

struct ShotRules {
    std::size_t count = 0;
    ShotChoice choice = ShotChoice::first;
    std::uint64_t seed = 1234;
};

/// How results say where their examples came from: "first 5 of the list", "own few-shot draw (5, seed 1234)"; empty
/// without examples.
std::string shotLabel(const ShotRules& rules);

/// Puts examples and descriptions in front of the contexts (evaluation.md 2.2); a question is no example of itself,
/// also where it stands in the list. Only `context` of the options changes.
/// @param all those asked, in the order of their file @param examples to choose from
/// @throws Error when there are too few examples, naming the subject
std::vector<TaskQuestion> withShots(std::span<const TaskQuestion> all, std::span<const TaskQuestion> examples,
                                    const ShotRules& rules);

/// 0 to count-1 in an order that count and seed alone decide: the first k are what a limited evaluation asks.
std::vector<std::size_t> shuffledOrder(std::size_t count, std::uint64_t seed);

} // namespace secateur
