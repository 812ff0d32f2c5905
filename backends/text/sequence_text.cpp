#include "backends/text/sequence_text.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/task.h"
#include "backends/base/sha256.h"
#include "backends/formats/hf_config.h"
#include "backends/text/text_source.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace secateur {

namespace {

template <typename Value>
using Named = std::pair<std::string_view, Value>;

constexpr std::array splits{Named<TextSplit>{"document", TextSplit::document},
                            Named<TextSplit>{"line", TextSplit::line}, Named<TextSplit>{"stream", TextSplit::stream},
                            Named<TextSplit>{"windows", TextSplit::windows}};
constexpr std::array bosRules{Named<BosRule>{"tokenizer_default", BosRule::tokenizerDefault},
                              Named<BosRule>{"always", BosRule::always}, Named<BosRule>{"never", BosRule::never},
                              Named<BosRule>{"first_only", BosRule::firstOnly}};

template <typename Value>
std::string_view nameOf(std::span<const Named<Value>> known, Value value) {
    return std::ranges::find(known, value, &Named<Value>::second)->first;
}

template <typename Value>
Value valueOf(std::span<const Named<Value>> known, std::string_view name, const char* option) {
    const auto found = std::ranges::find(known, name, &Named<Value>::first);
    if (found != known.end())
        return found->second;
    std::vector<std::string> names;
    for (const auto& [own, value] : known)
        names.emplace_back(own);
    throw UsageError(fmt::format("\"{}\" must be one of {}", name, join(names, ", ")), option);
}

/// The prompts of a task without the answers.
std::vector<std::string> promptsOf(const Task& task) {
    std::vector<std::string> prompts;
    for (const TaskQuestion& question : task.questions)
        prompts.push_back(question.description + question.options.front().context);
    for (const LabelledText& text : task.texts)
        prompts.push_back(text.pair ? text.text + "\n" + *text.pair : text.text);
    for (const AnswerPrompt& prompt : task.prompts)
        prompts.push_back(prompt.prompt);
    return prompts;
}

/// The task of a request, if it names one.
std::optional<Task> taskOf(const SequenceRequest& request, const Progress& progress) {
    if (request.task.empty())
        return {};
    if (!request.path.empty())
        throw UsageError("is a text of its own; name a text or a task", "--task");
    if (request.rules.split != TextSplit::document)
        throw UsageError("is for texts; each prompt of a task is a document", "--split");
    return readTask(request.task, request.taskOptions, progress);
}

/// @param given documents of the request; empty = they are read
SequenceSet sequencesOf(const SequenceRequest& request, const std::optional<std::vector<std::string>>& given,
                        const std::optional<Task>& task, const Tokenizer& tokenizer, const SequenceRules& rules,
                        const Progress& progress) {
    const std::vector<std::string> documents =
        given  ? *given
        : task ? promptsOf(*task)
               : readDocuments(request.path, request.field, request.rules.split);
    return makeSequences({documents.begin(), documents.end()}, tokenizer, rules, progress);
}

/// Reads the labelled texts of a task. Reads as many as fit the maximum number of tokens, but at least one.
void readLabelled(const Model& model, const Task& task, const Tokenizer& tokenizer, const SequenceRules& rules,
                  SequenceText& text) {
    TaskRules own;
    own.tokens.mostInputs = static_cast<std::size_t>(rules.length);
    const std::vector<std::string> names = classNames(model.card());
    for (TokenSequence& sequence : labelledSequences(model.spec(), tokenizer, task, own)) {
        const std::int64_t tokens = text.set.tokens + std::ssize(sequence.ids);
        if (tokens > rules.mostTokens && !text.set.sequences.empty())
            return;
        const std::size_t label =
            classOf(task.texts[sequence.document], names, static_cast<std::size_t>(model.spec().classes));
        text.labels.push_back(static_cast<int>(label));
        text.set.tokens = tokens;
        text.set.sequences.push_back(std::move(sequence));
    }
}

std::int64_t usualLength(const ModelSpec& spec) {
    const std::int64_t usual = spec.family == Family::encoder ? 128 : 512;
    return spec.context > 0 ? std::min<std::int64_t>(usual, spec.context) : usual;
}

PerplexityRules settledRules(const PerplexityRules& rules, const Model& model) {
    try {
        return withDefaults(rules, model.spec());
    } catch (const UsageError&) {
        throw;
    } catch (const Error& error) {
        throw error.within(model.card().path);
    }
}

ScoredText cut(const TextRequest& request, const std::vector<std::string>& documents, const PerplexityRules& rules,
               const Tokenizer& tokenizer, const Progress& progress) {
    try {
        return scoredText(documents, tokenizer, rules, progress);
    } catch (const Error& error) {
        throw error.within(sourceName(request.path));
    }
}

/// The text of a token with visible signs in place of line breaks, tabs and spaces.
std::string labelOf(std::string_view text) {
    std::string label;
    for (const char c : text)
        if (c == '\n')
            label += "⏎";
        else if (c == '\t')
            label += "⇥";
        else if (c != '\r')
            label += c;
    if (label.find_first_not_of(' ') != std::string::npos)
        return label.substr(label.find_first_not_of(' '));
    std::string blanks;
    for (std::size_t i = 0; i < label.size(); ++i)
        blanks += "␣";
    return blanks;
}

} // namespace

std::string_view name(TextSplit split) {
    return nameOf<TextSplit>(splits, split);
}

std::string_view name(BosRule rule) {
    return nameOf<BosRule>(bosRules, rule);
}

TextSplit textSplitOf(std::string_view name) {
    return valueOf<TextSplit>(splits, name, "--split");
}

BosRule bosRuleOf(std::string_view name) {
    return valueOf<BosRule>(bosRules, name, "--bos");
}

SequenceText readSequenceText(const Model& model, const SequenceRequest& request, const Progress& progress) {
    return sequenceText(model, request, std::nullopt, progress);
}

SequenceText sequenceText(const Model& model, const SequenceRequest& request,
                          const std::optional<std::vector<std::string>>& documents, const Progress& progress) {
    const ModelSpec& spec = model.spec();
    SequenceRules rules = request.rules;
    if (rules.length == 0)
        rules.length = usualLength(spec);
    const auto tokenizer = openTokenizer(model.card());
    const std::optional<Task> task = taskOf(request, progress);
    SequenceText text;
    text.warnings = tokenizer->card().warnings;
    const bool isLabelled = task && !task->texts.empty() && model.has(-1, WeightName::classifier);
    if (isLabelled)
        readLabelled(model, *task, *tokenizer, rules, text);
    else
        text.set = sequencesOf(request, documents, task, *tokenizer, rules, progress);
    const std::string source = request.task.empty() ? sourceName(request.path) : request.task;
    if (text.set.sequences.empty())
        throw Error("holds no text to measure on", source);
    if (spec.context > 0 && rules.length > spec.context)
        text.warnings.push_back(fmt::format("sequences of {} tokens are longer than the model's context of {}",
                                            rules.length, spec.context));
    if (text.set.droppedTails > 0)
        text.warnings.push_back(
            fmt::format("{} {} too short to be a sequence of its own left out", text.set.droppedTails,
                        text.set.droppedTails == 1 ? "rest of a document is" : "rests of documents are"));
    text.digest = dataDigest(text.set, text.labels);
    text.data = {source,
                 std::ssize(text.set.sequences),
                 text.set.tokens,
                 text.set.tokens,
                 rules.length,
                 std::string(name(rules.split)),
                 std::string(name(rules.bos))};
    return text;
}

EvaluationText readEvaluationText(const Model& model, const TextRequest& request, const Progress& progress) {
    settledRules(request.rules, model); // checked before anything is read
    return evaluationText(model, request, readDocuments(request.path, request.field, TextSplit::windows), progress);
}

EvaluationText evaluationText(const Model& model, const TextRequest& request, const std::vector<std::string>& documents,
                              const Progress& progress) {
    const PerplexityRules rules = settledRules(request.rules, model);
    const auto tokenizer = openTokenizer(model.card());
    EvaluationText text;
    text.source = sourceName(request.path);
    text.warnings = tokenizer->card().warnings;
    const int context = model.spec().context;
    if (context > 0 && rules.window > context)
        text.warnings.push_back(
            fmt::format("a window of {} tokens is longer than the model's context of {}", rules.window, context));
    text.scored = cut(request, documents, rules, *tokenizer, progress);
    text.digest = dataDigest(text.scored.windows);
    spdlog::info("{} windows, {} tokens with those of context", text.scored.windows.sequences.size(),
                 text.scored.windows.tokens);
    return text;
}

PromptTokens promptTokens(const Model& model, const std::string& text) {
    const auto tokenizer = openTokenizer(model.card());
    EncodeOptions options;
    options.ranges = true;
    Encoding encoding = tokenizer->encode(text, options);
    PromptTokens tokens;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const TextRange range = encoding.ranges[i];
        if (range.end > range.begin)
            tokens.labels.push_back(labelOf(std::string_view(text).substr(range.begin, range.end - range.begin)));
        else
            tokens.labels.push_back(tokenizer->token(encoding.ids[i]).value_or(fmt::format("#{}", encoding.ids[i])));
    }
    tokens.ids = std::move(encoding.ids);
    return tokens;
}

namespace {

void addTo(Sha256& sum, const std::string& text) {
    sum.add(static_cast<std::int64_t>(text.size()));
    sum.add(text.data(), text.size());
}

void addTo(Sha256& sum, std::span<const std::string> texts) {
    sum.add(static_cast<std::int64_t>(texts.size()));
    for (const std::string& text : texts)
        addTo(sum, text);
}

void addTo(Sha256& sum, std::span<const TaskQuestion> questions) {
    sum.add(static_cast<std::int64_t>(questions.size()));
    for (const TaskQuestion& question : questions) {
        sum.add(static_cast<std::int64_t>(question.line));
        addTo(sum, question.subject);
        addTo(sum, question.description);
        sum.add(static_cast<std::int64_t>(question.gold));
        sum.add(static_cast<std::int64_t>(question.options.size()));
        for (const TaskOption& option : question.options) {
            addTo(sum, option.context);
            addTo(sum, option.continuation);
            sum.add(static_cast<std::int64_t>(option.codePoints));
            sum.add(static_cast<std::int64_t>(option.bytes));
        }
    }
}

void addTo(Sha256& sum, const LabelledText& text) {
    sum.add(static_cast<std::int64_t>(text.line));
    addTo(sum, text.text);
    sum.add(std::int64_t{text.pair.has_value()});
    addTo(sum, text.pair.value_or(""));
    addTo(sum, text.label);
}

void addTo(Sha256& sum, const AnswerPrompt& prompt) {
    sum.add(static_cast<std::int64_t>(prompt.line));
    addTo(sum, prompt.prompt);
    addTo(sum, prompt.answers);
    addTo(sum, prompt.stops);
    sum.add(std::int64_t{prompt.mostTokens});
    addTo(sum, prompt.extract);
}

} // namespace

std::string dataDigest(const SequenceSet& set, std::span<const int> labels) {
    Sha256 sum;
    sum.add(static_cast<std::int64_t>(set.sequences.size()));
    for (const TokenSequence& sequence : set.sequences) {
        sum.add(static_cast<std::int64_t>(sequence.ids.size()));
        for (const int id : sequence.ids)
            sum.add(std::int64_t{id});
    }
    for (const int label : labels)
        sum.add(std::int64_t{label});
    return "sha256:" + sum.hexadecimal();
}

std::string dataDigest(const Task& task, std::span<const TaskQuestion> examples) {
    Sha256 sum;
    addTo(sum, std::string(task.formatId));
    addTo(sum, task.questions);
    addTo(sum, examples);
    for (const LabelledText& text : task.texts)
        addTo(sum, text);
    for (const AnswerPrompt& prompt : task.prompts)
        addTo(sum, prompt);
    return "sha256:" + sum.hexadecimal();
}

std::string dataDigest(const AskedTask& asked) {
    const TaskRules& rules = asked.rules;
    Sha256 sum;
    addTo(sum, asked.digest);
    for (const std::uint64_t number :
         {std::uint64_t{rules.shots.count}, static_cast<std::uint64_t>(rules.shots.choice), rules.shots.seed,
          std::uint64_t{rules.limit}, rules.seed, static_cast<std::uint64_t>(rules.tokens.bos),
          std::uint64_t{rules.tokens.mostInputs}})
        sum.add(static_cast<std::int64_t>(number));
    return "sha256:" + sum.hexadecimal();
}

} // namespace secateur
