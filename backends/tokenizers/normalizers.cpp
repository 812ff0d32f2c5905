#include "backends/tokenizers/normalizers.h"

#include "backends/tokenizers/byte_letters.h"
#include "backends/tokenizers/unicode.h"

#include <algorithm>
#include <functional>

namespace secateur {

namespace {

/// Rewrites each character on its own.
class PerCharacter : public Normalizer {
public:
    /// @param map appends what a character becomes
    explicit PerCharacter(std::function<void(char32_t, std::string&)> map)
        : m_map(std::move(map)) {}

    void apply(AlignedText& text) const override {
        Rewriter fresh(text);
        const std::string& old = text.text();
        std::string becomes;
        std::size_t kept = 0; // what lies from here to the current character stays as it is
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

/// Steps that are one to whoever asks for them.
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
