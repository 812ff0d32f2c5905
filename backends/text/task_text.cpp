#include "backends/text/task_text.h"

#include "analysis/base/text.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>

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

/// Without each shortest "[...]" within a line.
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
    // A sigma in the middle looks at what stands in front of it, so the whole is made lower.
    icu::UnicodeString result =
        icu::UnicodeString(first).toTitle(nullptr, anyLanguage, 0) + lower(whole).tempSubString(lower(first).length());
    std::string utf8;
    return result.toUTF8String(utf8);
}

std::string withoutWikiHow(std::string_view text) {
    return replaced(withoutBrackets(replaced(trimmed(text), " [title]", ". ")), "  ", " ");
}

} // namespace secateur
