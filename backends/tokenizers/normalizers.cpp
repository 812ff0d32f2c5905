#include "backends/tokenizers/normalizers.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "backends/tokenizers/growth.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace secateur {

namespace {

constexpr std::size_t mostTextBytes = std::numeric_limits<std::int32_t>::max(); // limit of 32-bit positions

/// A normalizer that rewrites one character at a time.
class PerCharacter : public Normalizer {
public:
    /// @param map appends the replacement of a character to a text
    explicit PerCharacter(std::function<void(char32_t, std::string&)> map)
        : m_map(std::move(map)) {}

    void apply(AlignedText& text) const override {
        Rewriter fresh(text);
        const std::string& old = text.text();
        std::string becomes;
        std::size_t kept = 0; // text from here up to the current character is unchanged
        for (std::size_t at = 0; at < old.size();) {
            const unicode::Character character = unicode::characterAt(old, at);
            becomes.clear();
            m_map(character.code, becomes);
            if (std::string_view(old).substr(at, character.bytes) != becomes) {
                fresh.keep(kept, at);
                fresh.put(becomes, at, at + character.bytes);
                kept = at + character.bytes;
            }
            at += character.bytes;
        }
        if (kept == 0)
            return;
        fresh.keep(kept, old.size());
        fresh.finish();
    }

private:
    std::function<void(char32_t, std::string&)> m_map;
};

class Strip : public Normalizer {
public:
    Strip(bool left, bool right)
        : m_left(left)
        , m_right(right) {}

    void apply(AlignedText& text) const override {
        const std::string& old = text.text();
        std::size_t begin = 0;
        std::size_t end = old.size();
        while (m_left && begin < end) {
            const unicode::Character character = unicode::characterAt(old, begin);
            if (!unicode::isSpace(character.code))
                break;
            begin += character.bytes;
        }
        while (m_right && end > begin) {
            std::size_t last = end - 1;
            while (unicode::isContinuation(old[last]))
                --last;
            if (!unicode::isSpace(unicode::characterAt(old, last).code))
                break;
            end = last;
        }
        if (begin == 0 && end == old.size())
            return;
        Rewriter fresh(text);
        fresh.keep(begin, end);
        fresh.finish();
    }

private:
    bool m_left;
    bool m_right;
};

/// Several normalizers that are applied one after the other.
class NormalizerSteps : public Normalizer {
public:
    explicit NormalizerSteps(std::vector<NormalizerPtr> steps)
        : m_steps(std::move(steps)) {}

    void apply(AlignedText& text) const override {
        for (const auto& step : m_steps)
            step->apply(text);
    }

private:
    std::vector<NormalizerPtr> m_steps;
};

class Prepend : public Normalizer {
public:
    explicit Prepend(std::string front)
        : m_front(std::move(front)) {}

    void apply(AlignedText& text) const override {
        if (text.size() == 0)
            return;
        Rewriter fresh(text);
        fresh.putBefore(m_front, 0);
        fresh.keep(0, text.size());
        fresh.finish();
    }

private:
    std::string m_front;
};

class ReplaceText : public Normalizer {
public:
    ReplaceText(std::string pattern, std::string replacement)
        : m_pattern(std::move(pattern))
        , m_replacement(std::move(replacement)) {}

    void apply(AlignedText& text) const override {
        const std::string& old = text.text();
        std::size_t at = m_pattern.empty() ? std::string::npos : old.find(m_pattern);
        if (at == std::string::npos)
            return;
        Rewriter fresh(text);
        std::size_t kept = 0;
        for (; at != std::string::npos; at = old.find(m_pattern, kept)) {
            fresh.keep(kept, at);
            kept = at + m_pattern.size();
            fresh.put(m_replacement, at, kept);
        }
        fresh.keep(kept, old.size());
        fresh.finish();
    }

private:
    std::string m_pattern;
    std::string m_replacement;
};

class ReplaceRegex : public Normalizer {
public:
    ReplaceRegex(std::shared_ptr<const Regex> pattern, std::string replacement)
        : m_pattern(std::move(pattern))
        , m_replacement(std::move(replacement)) {}

    void apply(AlignedText& text) const override {
        Rewriter fresh(text);
        std::size_t kept = 0;
        m_pattern->forEach(text.text(), [&](std::size_t begin, std::size_t end) {
            fresh.keep(kept, begin);
            fresh.put(m_replacement, begin, end);
            kept = end;
        });
        if (kept == 0)
            return;
        fresh.keep(kept, text.size());
        fresh.finish();
    }

private:
    std::shared_ptr<const Regex> m_pattern;
    std::string m_replacement;
};

void cleanForBert(char32_t code, std::string& becomes) {
    if (code == 0 || code == unicode::replacement || unicode::isBertControl(code))
        return;
    unicode::append(becomes, unicode::isSpace(code) ? U' ' : code);
}

void setApart(char32_t code, std::string& becomes) {
    if (!unicode::isChinese(code))
        return unicode::append(becomes, code);
    becomes += ' ';
    unicode::append(becomes, code);
    becomes += ' ';
}

void cleanForNmt(char32_t code, std::string& becomes) {
    const auto within = [&](char32_t first, char32_t last) { return code >= first && code <= last; };
    if (within(1, 8) || code == 0xB || within(0xE, 0x1F) || code == 0x7F || code == 0x8F || code == 0x9F)
        return;
    const bool blank = code == 9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
                       within(0x200B, 0x200F) || code == 0x2028 || code == 0x2029 || code == 0x2581 || code == 0xFEFF ||
                       code == unicode::replacement;
    unicode::append(becomes, blank ? U' ' : code);
}

NormalizerPtr perCharacter(std::function<void(char32_t, std::string&)> map) {
    return std::make_unique<PerCharacter>(std::move(map));
}

void lower(char32_t code, std::string& becomes) {
    unicode::appendLower(becomes, code);
}

} // namespace

AlignedText::AlignedText(std::string_view given, bool tracked)
    : m_given(given.size())
    , m_tracked(tracked) {
    if (given.size() > mostTextBytes)
        throw Error("is longer than 2 GiB, the limit for one text", "the text");
    if (unicode::isValid(given)) {
        m_text = given;
        return;
    }
    m_moved = true;
    std::size_t broken = 0;
    for (std::size_t at = 0; at < given.size();) {
        const std::size_t length = validLength(given, at, broken);
        const std::size_t before = m_text.size();
        if (length > 0)
            m_text += given.substr(at, length);
        else
            unicode::append(m_text, unicode::replacement);
        const std::size_t end = at + (length > 0 ? length : broken);
        if (tracked)
            m_spans.insert(m_spans.end(), m_text.size() - before,
                           {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
        at = end;
    }
}

AlignedText AlignedText::slice(std::size_t begin, std::size_t end) const {
    AlignedText part;
    part.m_text = m_text.substr(begin, end - begin);
    part.m_given = m_given;
    part.m_tracked = m_tracked;
    part.m_moved = m_moved;
    part.m_base = m_base + begin;
    part.m_first = m_first && begin == 0;
    if (m_tracked && m_moved)
        part.m_spans.assign(m_spans.begin() + static_cast<std::ptrdiff_t>(begin),
                            m_spans.begin() + static_cast<std::ptrdiff_t>(end));
    return part;
}

AlignedText::Span AlignedText::spanOf(std::size_t at) const {
    if (m_moved)
        return m_spans[at];
    std::size_t begin = at;
    while (begin > 0 && unicode::isContinuation(m_text[begin]))
        --begin;
    std::size_t end = at + 1;
    while (end < m_text.size() && unicode::isContinuation(m_text[end]))
        ++end;
    return {static_cast<std::uint32_t>(m_base + begin), static_cast<std::uint32_t>(m_base + end)};
}

TextRange AlignedText::origin(std::size_t begin, std::size_t end) const {
    if (begin < end) {
        const std::size_t first = spanOf(begin).begin;
        return {first, std::max<std::size_t>(first, spanOf(end - 1).end)};
    }
    const std::size_t place = begin < m_text.size() ? spanOf(begin).begin : begin > 0 ? spanOf(begin - 1).end : m_base;
    return {place, place};
}

bool AlignedText::beginsAt(std::size_t at) const {
    return m_first && at == 0;
}

Rewriter::Rewriter(AlignedText& text)
    : m_old(text) {
    m_fresh.m_given = text.m_given;
    m_fresh.m_tracked = text.m_tracked;
    m_fresh.m_moved = true;
    m_fresh.m_base = text.m_base;
    m_fresh.m_first = text.m_first;
    m_fresh.m_text.reserve(text.size() + text.size() / 8);
    if (text.m_tracked)
        m_fresh.m_spans.reserve(text.size() + text.size() / 8);
}

void Rewriter::keep(std::size_t begin, std::size_t end) {
    m_fresh.m_text.append(m_old.m_text, begin, end - begin);
    if (m_old.m_tracked) {
        for (std::size_t at = begin; at < end; ++at)
            m_fresh.m_spans.push_back(m_old.spanOf(at));
    }
}

void Rewriter::put(std::string_view bytes, std::size_t begin, std::size_t end) {
    m_fresh.m_text += bytes;
    if (m_fresh.size() > growthLimit(m_fresh.m_given))
        throw GrowthError(m_fresh.m_given, "bytes");
    if (m_old.m_tracked) {
        const TextRange from = m_old.origin(begin, end);
        m_fresh.m_spans.insert(m_fresh.m_spans.end(), bytes.size(),
                               {static_cast<std::uint32_t>(from.begin), static_cast<std::uint32_t>(from.end)});
    }
}

void Rewriter::putBefore(std::string_view bytes, std::size_t at) {
    put(bytes, at, at < m_old.size() ? at + 1 : at);
}

void Rewriter::drop(std::size_t bytes) {
    m_fresh.m_text.resize(m_fresh.m_text.size() - bytes);
    if (m_fresh.m_tracked)
        m_fresh.m_spans.resize(m_fresh.m_text.size());
}

void Rewriter::finish() {
    if (m_fresh.size() > growthLimit(m_fresh.m_given))
        throw GrowthError(m_fresh.m_given, "bytes");
    if (m_fresh.size() > mostTextBytes)
        throw Error("becomes longer than 2 GiB when it is normalised", "the text");
    m_old = std::move(m_fresh);
}

NormalizerPtr makeLowercase() {
    return perCharacter(lower);
}

NormalizerPtr makeStrip(bool left, bool right) {
    return std::make_unique<Strip>(left, right);
}

NormalizerPtr makeStripAccents() {
    return perCharacter([](char32_t code, std::string& becomes) {
        if (!unicode::isStrippedAccent(code))
            unicode::append(becomes, code);
    });
}

NormalizerPtr makeBertCleaning(const BertCleaning& options) {
    std::vector<NormalizerPtr> steps;
    if (options.cleanText)
        steps.push_back(perCharacter(cleanForBert));
    if (options.apartChinese)
        steps.push_back(perCharacter(setApart));
    if (options.stripAccents) {
        steps.push_back(makeNormalForm(NormalForm::nfd));
        steps.push_back(perCharacter([](char32_t code, std::string& becomes) {
            if (!unicode::isNonspacingMark(code))
                unicode::append(becomes, code);
        }));
    }
    if (options.lowerCase)
        steps.push_back(makeLowercase());
    return std::make_unique<NormalizerSteps>(std::move(steps));
}

NormalizerPtr makePrepend(std::string text) {
    return std::make_unique<Prepend>(std::move(text));
}

NormalizerPtr makeReplaceText(std::string pattern, std::string replacement) {
    return std::make_unique<ReplaceText>(std::move(pattern), std::move(replacement));
}

NormalizerPtr makeReplaceRegex(std::shared_ptr<const Regex> pattern, std::string replacement) {
    return std::make_unique<ReplaceRegex>(std::move(pattern), std::move(replacement));
}

NormalizerPtr makeNmt() {
    return perCharacter(cleanForNmt);
}

NormalizerPtr makeByteLetters() {
    return perCharacter([](char32_t code, std::string& becomes) {
        for (const char byte : unicode::utf8(code))
            becomes += byteLetters()[static_cast<unsigned char>(byte)];
    });
}

} // namespace secateur
