#pragma once

#include "analysis/text/tokenizer.h"

#include <cstddef>
#include <string>
#include <vector>

namespace secateur {

/// Decodes tokens as they come, and never gives half a character away: what add() and finish() return, put together,
/// is what Tokenizer::decode makes of all ids, unless later ids change what earlier ones decode to (byte tokens that
/// are no UTF-8). The tokenizer must outlive it.
class TextStream {
public:
    explicit TextStream(const Tokenizer& tokenizer, bool skipSpecial = false)
        : m_tokenizer(tokenizer)
        , m_skipSpecial(skipSpecial) {}

    /// The text that is certain now; often empty after the first bytes of a character.
    std::string add(int id);
    /// What is left: whatever was held back.
    std::string finish();

private:
    std::string grow(bool final);

    const Tokenizer& m_tokenizer;
    bool m_skipSpecial;
    std::vector<int> m_ids;    ///< of the window that is still decoded
    std::size_t m_settled = 0; ///< tokens at the front of the window that only give context
    std::string m_shown;       ///< what the window's tokens had given away
};

} // namespace secateur
