// How the parts of a conversation become tokens.

#include "backends/training/row_templates.h"

#include <algorithm>
#include <span>
#include <utility>

namespace secateur {

namespace {

using TemplateParts = std::span<const TemplatePart>;

/// A text that is put together from parts, with the range of each part.
class JoinedText {
public:
    void add(const TemplatePart& part) {
        m_ranges.push_back({m_text.size(), m_text.size() + part.text.size()});
        m_isTrained.push_back(part.isTrained);
        m_text += part.text;
    }

    const std::string& text() const { return m_text; }
    TextRange range(std::size_t part) const { return m_ranges[part]; }

    /// Whether a token's range has bytes of a trained part. A range without bytes belongs to the part that follows it.
    bool isTrained(TextRange token) const {
        for (std::size_t i = 0; i < m_ranges.size(); ++i) {
            const bool holds = token.begin == token.end
                                   ? m_ranges[i].begin <= token.begin && token.begin < m_ranges[i].end
                                   : std::max(m_ranges[i].begin, token.begin) < std::min(m_ranges[i].end, token.end);
            if (m_isTrained[i] && holds)
                return true;
        }
        return false;
    }

private:
    std::string m_text;
    std::vector<TextRange> m_ranges;
    std::vector<bool> m_isTrained;
};

void append(EncodedRow& row, const Encoding& encoding, const JoinedText& text) {
    row.ids.insert(row.ids.end(), encoding.ids.begin(), encoding.ids.end());
    for (const TextRange range : encoding.ranges)
        row.isTrained.push_back(text.isTrained(range));
}

/// Whether the special tokens of an encoding are those of the parts, and none was found in the text of a row.
bool hasOnlyOwnSpecials(const Encoding& encoding, TemplateParts parts, const JoinedText& text,
                        const Tokenizer& tokenizer) {
    std::size_t part = 0;
    const auto skipTexts = [&] {
        while (part < parts.size() && !parts[part].token)
            ++part;
    };
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        if (!tokenizer.isSpecial(encoding.ids[i]))
            continue;
        skipTexts();
        if (part == parts.size() || encoding.ids[i] != parts[part].token ||
            encoding.ranges[i].begin > text.range(part).begin || encoding.ranges[i].end < text.range(part).end)
            return false;
        ++part;
    }
    skipTexts();
    return part == parts.size();
}

/// Encodes the texts between special tokens one by one. The result differs from that of the whole text only in
/// tokenizers that treat the beginning of a text in another way than what follows a special token.
void appendPieces(EncodedRow& row, TemplateParts parts, const Tokenizer& tokenizer) {
    JoinedText text;
    const auto flush = [&] {
        append(row, tokenizer.encode(text.text(), {false, SpecialText::plain, true}), text);
        text = {};
    };
    for (const TemplatePart& part : parts) {
        if (!part.token) {
            text.add(part);
            continue;
        }
        flush();
        row.ids.push_back(*part.token);
        row.isTrained.push_back(part.isTrained);
    }
    flush();
}

void appendText(EncodedRow& row, TemplateParts parts, const Tokenizer& tokenizer) {
    JoinedText text;
    for (const TemplatePart& part : parts)
        text.add(part);
    const Encoding whole = tokenizer.encode(text.text(), {false, SpecialText::parsed, true});
    if (hasOnlyOwnSpecials(whole, parts, text, tokenizer))
        append(row, whole, text);
    else
        appendPieces(row, parts, tokenizer);
}

} // namespace

std::vector<int> beginningTokens(const Tokenizer& tokenizer, BosRule bos) {
    if (bos == BosRule::never)
        return {};
    if (tokenizer.card().addsBos)
        return {tokenizer.encode("").ids.front()};
    return bos == BosRule::always && tokenizer.card().bos ? std::vector{*tokenizer.card().bos} : std::vector<int>();
}

EncodedRow encodedRow(const std::vector<TemplatePart>& parts, const Tokenizer& tokenizer, BosRule bos) {
    EncodedRow row;
    for (auto begin = parts.begin(); begin != parts.end();) {
        const auto end = std::find_if(begin + 1, parts.end(), [](const TemplatePart& part) { return part.startsText; });
        if (begin->startsText) {
            for (const int id : beginningTokens(tokenizer, bos)) {
                row.ids.push_back(id);
                row.isTrained.push_back(begin->isTrained);
            }
        }
        appendText(row, {begin, end}, tokenizer);
        begin = end;
    }
    return row;
}

} // namespace secateur
