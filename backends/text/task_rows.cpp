#include "backends/text/task_file.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <utility>

namespace secateur {

namespace {

std::string replaced(std::string_view text, std::string_view old, std::string_view by) {
    std::string result;
    std::size_t begin = 0;
    for (std::size_t at = text.find(old); at != std::string_view::npos; at = text.find(old, begin)) {
        result += text.substr(begin, at - begin);
        result += by;
        begin = at + old.size();
    }
    return result += text.substr(begin);
}

/// A text without its parts in brackets, "[...]". Such a part lies within one line and ends at the first "]".
std::string withoutBrackets(const std::string& text) {
    std::string kept;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t open = std::min(text.find('[', at), text.size());
        kept.append(text, at, open - at);
        const std::size_t end = std::min(text.find_first_of("]\n", open), text.size());
        at = end;
        if (end < text.size() && text[end] == ']')
            ++at;
        else
            kept.append(text, open, end - open);
        if (at < text.size() && at == end)
            kept += text[at++];
    }
    return kept;
}

using Label = std::optional<std::string>;

std::string fieldText(const JsonObject& row, const std::string& key) {
    const auto text = row.text(key);
    if (!text)
        row.refuse(key, "is missing");
    return *text;
}

std::vector<std::string> textsOf(const JsonObject& row, const std::string& key, std::size_t least, std::size_t most,
                                 std::string_view what = "choices") {
    const auto texts = row.texts(key);
    if (!texts)
        row.refuse(key, "is missing");
    if (texts->size() < least || texts->size() > most)
        row.refuse(key, fmt::format("expected {} to {} {}, found {}", least, most, what, texts->size()));
    return *texts;
}

constexpr std::size_t leastChoices = 2;
constexpr std::size_t mostChoices = 100;
constexpr std::size_t mostAnswers = 10'000;

std::vector<std::string> choicesOf(const JsonObject& row, const std::string& key) {
    return textsOf(row, key, leastChoices, mostChoices);
}

/// The index of the right choice, counted from 0. A row states it as a number or as digits. @param count number of
/// choices @param first number that the row uses for the first choice
std::size_t indexOf(const JsonObject& row, const std::string& key, std::size_t count, std::size_t first = 0) {
    const std::size_t last = first + count - 1;
    if (!row.isText(key)) {
        const auto index = row.integer(key, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last));
        if (!index)
            row.refuse(key, "is missing");
        return static_cast<std::size_t>(*index) - first;
    }
    for (std::size_t i = first; i <= last; ++i)
        if (*row.text(key) == std::to_string(i))
            return i - first;
    row.refuse(key, fmt::format("expected a number from {} to {}, found \"{}\"", first, last, *row.text(key)));
}

/// A question with one context and several choices to continue it.
TaskQuestion asked(const std::string& context, const std::vector<std::string>& choices, std::size_t gold) {
    TaskQuestion question;
    for (const std::string& choice : choices)
        question.options.push_back({context, " " + choice, codePoints(choice), choice.size()});
    question.gold = gold;
    return question;
}

/// A question with several contexts and one text that continues each of them.
TaskQuestion fitted(const std::vector<std::string>& contexts, const std::string& end, std::size_t gold) {
    TaskQuestion question;
    for (const std::string& context : contexts)
        question.options.push_back({context, " " + end, codePoints(end), end.size()});
    question.gold = gold;
    return question;
}

TaskQuestion boolq(const JsonObject& row, const Label&) {
    const std::string context = fieldText(row, "passage") + "\nQuestion: " + fieldText(row, "question") + "?\nAnswer:";
    const auto answer = row.isSet("label") ? std::nullopt : row.flag("answer");
    return asked(context, {"no", "yes"}, answer ? static_cast<std::size_t>(*answer) : indexOf(row, "label", 2));
}

TaskQuestion rte(const JsonObject& row, const Label&) {
    const bool isGlue = row.isSet("sentence1");
    const std::string context = fieldText(row, isGlue ? "sentence1" : "premise") +
                                "\nQuestion: " + fieldText(row, isGlue ? "sentence2" : "hypothesis") +
                                " True or False?\nAnswer:";
    const std::string label = row.isText("label") ? *row.text("label") : "";
    const bool isNamed = label == "entailment" || label == "not_entailment";
    const std::size_t gold = isNamed ? static_cast<std::size_t>(label != "entailment") : indexOf(row, "label", 2);
    return asked(context, {"True", "False"}, gold);
}

TaskQuestion hellaswag(const JsonObject& row, const Label&) {
    const std::string context = fieldText(row, "ctx_a") + " " + capitalised(fieldText(row, "ctx_b"));
    std::vector<std::string> endings = choicesOf(row, "endings");
    std::ranges::transform(endings, endings.begin(), withoutWikiHow);
    const std::size_t gold = indexOf(row, "label", endings.size());
    return asked(withoutWikiHow(fieldText(row, "activity_label") + ": " + context), endings, gold);
}

TaskQuestion winogrande(const JsonObject& row, const Label&) {
    const std::string sentence = fieldText(row, "sentence");
    const std::size_t gap = sentence.find('_');
    if (gap == std::string::npos || sentence.find('_', gap + 1) != std::string::npos)
        row.refuse("sentence", "expected one gap \"_\"");
    const std::string before = sentence.substr(0, gap);
    const std::string_view after = trimmed(std::string_view(sentence).substr(gap + 1));
    return fitted({before + fieldText(row, "option1"), before + fieldText(row, "option2")}, std::string(after),
                  indexOf(row, "answer", 2, 1));
}

/// Choices and their labels. The field answerKey contains the label of the right choice.
struct LabelledChoices {
    std::vector<std::string> texts;
    std::vector<std::string> labels;
};

LabelledChoices labelledChoices(const JsonObject& row, const std::optional<JsonObject>& nested) {
    if (!nested) {
        const auto choices = row.object("choices");
        if (!choices)
            row.refuse("choices", "is missing");
        return {choicesOf(*choices, "text"), choicesOf(*choices, "label")};
    }
    LabelledChoices all;
    const auto choices = nested->objects("choices");
    for (const JsonObject& choice : choices.value_or(std::vector<JsonObject>())) {
        all.texts.push_back(fieldText(choice, "text"));
        all.labels.push_back(fieldText(choice, "label"));
    }
    if (all.texts.size() < leastChoices || all.texts.size() > mostChoices)
        nested->refuse("choices",
                       fmt::format("expected {} to {} choices, found {}", leastChoices, mostChoices, all.texts.size()));
    return all;
}

/// @param stemKey key of the question's text, if the text is in the row itself
TaskQuestion schoolQuestion(const JsonObject& row, const std::string& stemKey, std::string_view front,
                            std::string_view end) {
    const auto nested = row.isObject("question") ? row.object("question") : std::nullopt;
    const LabelledChoices choices = labelledChoices(row, nested);
    if (choices.labels.size() != choices.texts.size())
        row.refuse("choices", fmt::format("has {} labels for {} texts", choices.labels.size(), choices.texts.size()));
    const std::string answer(trimmed(fieldText(row, "answerKey")));
    const auto found = std::ranges::find(choices.labels, answer);
    if (found == choices.labels.end())
        row.refuse("answerKey", fmt::format("is \"{}\", which labels no choice", answer));
    const std::string stem = nested ? fieldText(*nested, "stem") : fieldText(row, stemKey);
    return asked(fmt::format("{}{}{}", front, stem, end), choices.texts,
                 static_cast<std::size_t>(found - choices.labels.begin()));
}

TaskQuestion arc(const JsonObject& row, const Label&) {
    return schoolQuestion(row, "question", "Question: ", "\nAnswer:");
}

TaskQuestion openbookqa(const JsonObject& row, const Label&) {
    return schoolQuestion(row, "question_stem", "", "");
}

TaskQuestion piqa(const JsonObject& row, const Label& label) {
    const std::size_t gold = label ? static_cast<std::size_t>(*label == "1") : indexOf(row, "label", 2);
    return asked("Question: " + fieldText(row, "goal") + "\nAnswer:", {fieldText(row, "sol1"), fieldText(row, "sol2")},
                 gold);
}

TaskQuestion mmlu(const JsonObject& row, const Label&) {
    constexpr std::size_t letters = 26;
    const std::vector<std::string> choices = textsOf(row, "choices", leastChoices, letters);
    std::string context(trimmed(fieldText(row, "question")));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        names.emplace_back(1, static_cast<char>('A' + i));
        context += "\n" + names.back() + ". " + choices[i];
    }
    const auto letter = row.isText("answer") ? std::ranges::find(names, *row.text("answer")) : names.end();
    const std::size_t gold =
        letter != names.end() ? static_cast<std::size_t>(letter - names.begin()) : indexOf(row, "answer", names.size());
    TaskQuestion question = asked(context + "\nAnswer:", names, gold);
    question.subject = fieldText(row, "subject");
    std::string spoken = question.subject;
    std::ranges::replace(spoken, '_', ' ');
    question.description =
        fmt::format("The following are multiple choice questions (with answers) about {}.\n\n", spoken);
    return question;
}

TaskQuestion generic(const JsonObject& row, const Label&) {
    if (row.isSet("context_options")) {
        const std::vector<std::string> contexts = choicesOf(row, "context_options");
        return fitted(contexts, fieldText(row, "continuation"), indexOf(row, "gold", contexts.size()));
    }
    const std::vector<std::string> choices = choicesOf(row, "choices");
    return asked(fieldText(row, "query"), choices, indexOf(row, "gold", choices.size()));
}

TaskQuestion lambada(const JsonObject& row, const Label&) {
    return asked(fieldText(row, "context"), {fieldText(row, "continuation")}, 0);
}

/// Whether a row is from an original file of OpenBookQA. Its rows have the same fields as rows of ARC. Ids of
/// OpenBookQA are like "7-980", while ids of ARC begin with a letter.
bool isNestedOpenBook(const JsonObject& row) {
    if (!row.isObject("question") || !row.isText("id"))
        return false;
    const std::string id = *row.text("id");
    const std::size_t dash = id.find('-');
    return dash > 0 && dash != std::string::npos && id.find_first_not_of("0123456789-") == std::string::npos;
}

/// How the rows of a format are recognised and read.
struct RowFormat {
    std::string_view id;
    std::initializer_list<const char*> fields; ///< required fields
    TaskQuestion (*question)(const JsonObject&, const Label&);
};

/// The formats of task rows, in the order in which they are tried: a row has the first format whose fields it contains.
constexpr std::array<RowFormat, 19> rowFormats{{
    {"boolq", {"passage", "question"}, boolq},
    {"rte", {"sentence1", "sentence2"}, rte},
    {"rte", {"premise", "hypothesis"}, rte},
    {"hellaswag", {"ctx_a", "ctx_b", "endings"}, hellaswag},
    {"winogrande", {"sentence", "option1", "option2"}, winogrande},
    {"openbookqa", {"question_stem"}, openbookqa},
    {"arc", {"question", "answerKey"}, arc},
    {"piqa", {"goal", "sol1", "sol2"}, piqa},
    {"mmlu", {"question", "choices", "answer"}, mmlu},
    {"generic", {"query", "choices", "gold"}, generic},
    {"generic", {"context_options", "continuation", "gold"}, generic},
    {"lambada", {"context", "continuation"}, lambada},
    {"generate", {"prompt", "answers"}, nullptr},
    {"classification", {"text", "label"}, nullptr},
    {"classification", {"text", "labels"}, nullptr},
    {"classification", {"sentence", "label"}, nullptr},
    {"classification", {"Title", "labels"}, nullptr},
    {"classification", {"Title", "label"}, nullptr},
    {"classification", {"sentence", "labels"}, nullptr},
}};

} // namespace

std::size_t codePoints(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::string capitalised(std::string_view text) {
    const auto whole = icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())});
    const icu::Locale& anyLanguage = icu::Locale::getRoot();
    const icu::UnicodeString first = whole.tempSubString(0, whole.moveIndex32(0, 1));
    const auto lower = [&](icu::UnicodeString part) { return part.toLower(anyLanguage); };
    // The lower case of sigma depends on the characters before it. Therefore the whole text is converted.
    icu::UnicodeString result =
        icu::UnicodeString(first).toTitle(nullptr, anyLanguage, 0) + lower(whole).tempSubString(lower(first).length());
    std::string utf8;
    return result.toUTF8String(utf8);
}

std::string withoutWikiHow(std::string_view text) {
    return replaced(withoutBrackets(replaced(trimmed(text), " [title]", ". ")), "  ", " ");
}

std::optional<std::string_view> detectedFormat(const JsonObject& row) {
    if (isNestedOpenBook(row))
        return "openbookqa";
    for (const RowFormat& format : rowFormats)
        if (std::ranges::all_of(format.fields, [&](const char* field) { return row.has(field); }))
            return format.id;
    return std::nullopt;
}

TaskQuestion taskQuestion(std::string_view formatId, const JsonObject& row, const std::optional<std::string>& label) {
    const auto format = std::ranges::find(rowFormats, formatId, &RowFormat::id);
    if (format == rowFormats.end() || !format->question)
        throw UsageError("has no questions with options", std::string(formatId));
    return format->question(row, label);
}

LabelledText labelledText(const JsonObject& row) {
    constexpr std::array firstTexts{"text", "sentence", "Title", "premise", "sentence1"};
    constexpr std::array secondTexts{"text_pair", "hypothesis", "sentence2"};
    const auto isText = [&](const char* key) { return row.isText(key); };
    const auto* const first = std::ranges::find_if(firstTexts, isText);
    if (first == firstTexts.end())
        throw Error("has none of the fields text, sentence, Title, premise, sentence1", row.subject());
    LabelledText text;
    text.text = *row.text(*first);
    if (const auto* const second = std::ranges::find_if(secondTexts, isText); second != secondTexts.end())
        text.pair = row.text(*second);
    const std::string key = row.isSet("label") ? "label" : "labels";
    if (!row.isSet(key))
        row.refuse("label", "is missing");
    text.label =
        row.isText(key) ? *row.text(key) : std::to_string(*row.integer(key, 0, std::numeric_limits<int>::max()));
    return text;
}

AnswerPrompt answerPrompt(const JsonObject& row) {
    constexpr int longestAnswer = 1 << 20;
    AnswerPrompt prompt;
    prompt.prompt = fieldText(row, "prompt");
    prompt.answers = textsOf(row, "answers", 1, mostAnswers, "answers");
    prompt.stops = row.texts("stop").value_or(std::vector<std::string>());
    if (std::ranges::find(prompt.stops, "") != prompt.stops.end())
        row.refuse("stop", "holds an empty text");
    prompt.mostTokens = static_cast<int>(row.integer("max_tokens", 1, longestAnswer).value_or(prompt.mostTokens));
    prompt.extract = row.text("extract").value_or("");
    return prompt;
}

} // namespace secateur
