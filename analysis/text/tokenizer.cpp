#include "analysis/text/tokenizer.h"

#include <string_view>

namespace secateur {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD; an incomplete character is also decoded to it

/// The part of a text that later tokens cannot change: everything except the replacement characters at its end.
std::string_view certainPart(std::string_view text) {
    while (text.ends_with(replacement))
        text.remove_suffix(replacement.size());
    return text;
}

} // namespace

std::string TextStream::add(int id) {
    m_ids.push_back(id);
    return grow(false);
}

std::string TextStream::finish() {
    std::string rest = grow(true);
    m_ids.clear();
    m_settled = 0;
    m_shown.clear();
    return rest;
}

std::string TextStream::grow(bool final) {
    std::string text = m_tokenizer.decode(m_ids, m_skipSpecial);
    if (!text.starts_with(m_shown)) {
        // An invalid byte changed how earlier byte tokens are decoded. Text that was returned cannot be changed.
        // Therefore the context in m_ids is removed, and no text of the other tokens counts as returned.
        m_ids.erase(m_ids.begin(), m_ids.begin() + static_cast<std::ptrdiff_t>(m_settled));
        m_settled = 0;
        m_shown.clear();
        text = m_tokenizer.decode(m_ids, m_skipSpecial);
    }
    const std::string_view certain = final ? std::string_view(text) : certainPart(text);
    if (certain.size() <= m_shown.size())
        return {};
    std::string fresh(certain.substr(m_shown.size()));
    if (certain.size() < text.size() || final) {
        m_shown = certain;
        return fresh;
    }
    // Removes the old context. The new tokens become the context, so that leading spaces of the next tokens are decoded
    // as inside of a text.
    m_ids.erase(m_ids.begin(), m_ids.begin() + static_cast<std::ptrdiff_t>(m_settled));
    m_settled = m_ids.size();
    m_shown = m_tokenizer.decode(m_ids, m_skipSpecial);
    return fresh;
}

} // namespace secateur
