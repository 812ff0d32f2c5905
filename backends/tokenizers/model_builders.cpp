#include "backends/tokenizers/model_builders.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>

namespace secateur {

namespace {

/// Halves of a line with several blanks: the first cut that leaves two tokens, or nothing.
MergeHalves cutLine(const std::string& line, const Vocabulary& vocabulary) {
    if (line.size() > 2 * longestToken + 1)
        return {};
    for (std::size_t blank = line.find(' '); blank != std::string::npos; blank = line.find(' ', blank + 1)) {
        if (vocabulary.find(line.substr(0, blank)) && vocabulary.find(line.substr(blank + 1)))
            return {line.substr(0, blank), line.substr(blank + 1)};
    }
    return {};
}

} // namespace

std::shared_ptr<const Vocabulary> makeVocabulary(const std::vector<ListedToken>& tokens, const std::string& subject) {
    if (tokens.empty())
        throw Error("has no tokens", subject);
    auto vocabulary = std::make_shared<Vocabulary>(tokens.size(), subject);
    for (const ListedToken& token : tokens) {
        if (!unicode::isValid(token.text))
            throw Error(fmt::format("has a token that is not UTF-8, of id {}", token.id), subject);
        if (token.text.size() > longestToken)
            throw Error(fmt::format("has a token of {} bytes, of id {}; at most {} are read", token.text.size(),
                                    token.id, longestToken),
                        subject);
        vocabulary->add(token.text, token.id);
    }
    return vocabulary;
}

std::vector<BpeMerge> resolveMerges(const Vocabulary& vocabulary, const std::vector<MergeHalves>& merges,
                                    const std::string& continuationPrefix, const std::string& subject) {
    std::vector<BpeMerge> resolved;
    resolved.reserve(merges.size());
    std::string result;
    for (const MergeHalves& merge : merges) {
        const auto fail = [&](const std::string& why) {
            throw Error(fmt::format("merge {} {}", resolved.size(), why), subject);
        };
        const MergeHalves halves = merge.second.empty() ? cutLine(merge.first, vocabulary) : merge;
        const std::string& left = halves.first;
        const std::string& right = halves.second;
        if (left.empty() || right.empty())
            fail(fmt::format("is {}, expected two tokens with a blank between them", inQuotes(merge.first)));
        const auto idOf = [&](const std::string& token) {
            const auto id = vocabulary.find(token);
            if (!id)
                fail(fmt::format("of {} and {} needs {}, which the vocabulary does not hold", inQuotes(left),
                                 inQuotes(right), inQuotes(token)));
            return *id;
        };
        result = left;
        result += std::string_view(right).substr(right.starts_with(continuationPrefix) ? continuationPrefix.size() : 0);
        resolved.push_back({idOf(left), idOf(right), idOf(result), static_cast<std::uint32_t>(resolved.size())});
    }
    return resolved;
}

} // namespace secateur
