#include "backends/text/answer_match.h"

#include "analysis/base/text.h"
#include "backends/tokenizers/regex.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace secateur {

namespace {

constexpr std::string_view punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::array<std::string_view, 3> articles{"a", "an", "the"};

std::string lowerCase(std::string_view text) {
    std::string lower;
    icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())})
        .toLower(icu::Locale::getRoot())
        .toUTF8String(lower);
    return lower;
}

std::vector<std::string_view> wordsOf(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t space = at < text.size() ? whiteSpaceAt(text, at) : 1;
        if (space > 0 && at > begin)
            words.push_back(text.substr(begin, at - begin));
        at += space > 0 ? space : 1;
        begin = space > 0 ? at : begin;
    }
    return words;
}

std::string joined(const std::vector<std::string_view>& words) {
    return fmt::format("{}", fmt::join(words, " "));
}

using Expressions = std::map<std::string, std::shared_ptr<const Regex>>;

AnswerVerdict verdict(const AnswerPrompt& prompt, std::string_view written, const Expressions& expressions) {
    const bool isExtracted = !prompt.extract.empty();
    const auto found = isExtracted ? expressions.at(prompt.extract)->last(written) : std::optional(written);
    if (!found)
        return {};
    const auto normalised = isExtracted ? normalisedNumber : normalisedAnswer;
    AnswerVerdict result{normalised(*found), false, 0};
    for (const std::string& answer : prompt.answers) {
        const std::string right = normalised(answer);
        result.isExact = result.isExact || right == result.compared;
        result.f1 = std::max(result.f1, wordF1(result.compared, right));
    }
    return result;
}

} // namespace

std::string normalisedAnswer(std::string_view text) {
    std::string lower = lowerCase(text);
    std::erase_if(lower, [](char c) { return punctuation.find(c) != std::string_view::npos; });
    std::vector<std::string_view> words = wordsOf(lower);
    std::erase_if(words, [](std::string_view word) { return std::ranges::find(articles, word) != articles.end(); });
    return joined(words);
}

std::string normalisedNumber(std::string_view text) {
    std::string lower = lowerCase(text);
    std::erase_if(lower, [](char c) { return c == ',' || c == '$'; });
    std::string words = joined(wordsOf(lower));
    if (words.ends_with('.'))
        words.pop_back();
    return words;
}

double wordF1(std::string_view found, std::string_view right) {
    std::vector<std::string_view> first = wordsOf(found);
    std::vector<std::string_view> second = wordsOf(right);
    if (first.empty() || second.empty())
        return first.empty() && second.empty() ? 1 : 0;
    std::ranges::sort(first);
    std::ranges::sort(second);
    std::vector<std::string_view> common;
    std::ranges::set_intersection(first, second, std::back_inserter(common));
    return 2 * static_cast<double>(common.size()) / static_cast<double>(first.size() + second.size());
}

AnswerJudge answerJudge(const Task& task, const std::string& path) {
    Expressions expressions;
    for (const AnswerPrompt& prompt : task.prompts)
        if (!prompt.extract.empty() && !expressions.contains(prompt.extract))
            expressions.emplace(
                prompt.extract,
                std::make_shared<Regex>(prompt.extract, fmt::format("{}: line {}: extract", path, prompt.line)));
    return [expressions = std::move(expressions)](const AnswerPrompt& prompt, std::string_view written) {
        return verdict(prompt, written, expressions);
    };
}

} // namespace secateur
