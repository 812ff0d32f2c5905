#pragma once

#include "backends/tokenizers/pre_tokenizers.h"
#include "backends/tokenizers/regex.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// A step from tokens to text: rewrites the list of their texts. Immutable.
class Decoder {
public:
    virtual ~Decoder() = default;
    virtual void apply(std::vector<std::string>& tokens) const = 0;
};

using DecoderPtr = std::unique_ptr<const Decoder>;

/// Joins the bytes that the tokens spell in GPT-2's alphabet to one text.
DecoderPtr makeByteLevelDecoder();
/// Replaces runs of <0x..> tokens by the characters that they spell; each token of an invalid run by U+FFFD.
DecoderPtr makeByteFallbackDecoder();
DecoderPtr makeFuse();
DecoderPtr makeStripDecoder(std::string character, std::size_t fromStart, std::size_t fromEnd);
DecoderPtr makeReplaceTextDecoder(std::string pattern, std::string replacement);
DecoderPtr makeReplaceRegexDecoder(std::shared_ptr<const Regex> pattern, std::string replacement);
DecoderPtr makeMetaspaceDecoder(std::string mark, PrependScheme scheme);
/// Puts spaces before all tokens except those with the prefix, which is removed.
/// @param cleanUp whether to remove spaces before English punctuation
DecoderPtr makeWordPieceDecoder(std::string prefix, bool cleanUp);
/// Puts spaces in place of word-end marks.
DecoderPtr makeWordEndDecoder(std::string wordEnd);

} // namespace secateur
