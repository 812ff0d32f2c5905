#include "backends/text/data_digest.h"

#include "backends/base/sha256.h"

namespace secateur {

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
