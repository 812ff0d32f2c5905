#pragma once

#include "analysis/text/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A text on its way through normalizers: valid UTF-8 that knows, when asked to, where its bytes came from.
class AlignedText {
public:
    AlignedText() = default;
    /// Bytes that are no UTF-8 become replacement characters. @throws Error when it is too long to be counted
    AlignedText(std::string_view given, bool tracked);

    const std::string& text() const { return m_text; }
    std::size_t size() const { return m_text.size(); }
    bool tracked() const { return m_tracked; }
    AlignedText slice(std::size_t begin, std::size_t end) const;
    /// Where bytes [begin, end) came from, whole characters; nothing useful when not tracked.
    TextRange origin(std::size_t begin, std::size_t end) const;
    /// Whether the byte at `at` came from the first one of what was given; needs no tracking.
    bool beginsAt(std::size_t at) const;

private:
    friend class Rewriter;
    struct Span {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    Span spanOf(std::size_t at) const;

    std::string m_text;
    bool m_tracked = false;
    bool m_moved = false;      ///< bytes lie no longer as they were given: m_spans tell where from, when tracked
    std::size_t m_base = 0;    ///< of the first byte, as long as nothing moved
    bool m_first = true;       ///< the text begins where what was given began
    std::vector<Span> m_spans; ///< of each byte
};

/// Writes a new version of an aligned text, from its beginning to its end.
class Rewriter {
public:
    explicit Rewriter(AlignedText& text);

    /// The bytes [begin, end) of the old text.
    void keep(std::size_t begin, std::size_t end);
    /// Others in place of the old bytes [begin, end), which may be none.
    void put(std::string_view bytes, std::size_t begin, std::size_t end);
    /// Others in front of the old character at `at`, from which they count as coming.
    void putBefore(std::string_view bytes, std::size_t at);
    /// Takes the last bytes written back.
    void drop(std::size_t bytes);
    const std::string& text() const { return m_fresh.m_text; }
    /// Replaces the old text; call once, at the end. @throws Error when it has become too long to be counted
    void finish();

private:
    AlignedText& m_old;
    AlignedText m_fresh;
};

} // namespace secateur
