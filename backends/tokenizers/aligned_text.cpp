#include "backends/tokenizers/aligned_text.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "backends/tokenizers/unicode.h"

#include <algorithm>
#include <limits>

namespace secateur {

namespace {

constexpr std::size_t mostTextBytes = std::numeric_limits<std::int32_t>::max(); // that places of 32 bits can tell

} // namespace

AlignedText::AlignedText(std::string_view given, bool tracked)
    : m_tracked(tracked) {
    if (given.size() > mostTextBytes)
        throw Error("is longer than 2 GiB, more than can be tokenised at once", "the text");
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
    if (m_fresh.size() > mostTextBytes)
        throw Error("becomes longer than 2 GiB by what the tokenizer does to it first", "the text");
    m_old = std::move(m_fresh);
}

} // namespace secateur
