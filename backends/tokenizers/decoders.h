#pragma once

#include "backends/tokenizers/pre_tokenizers.h"
#include "backends/tokenizers/regex.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// A step on the way from tokens to text: rewrites the list of their texts. Immutable.
class Decoder {
public:
    virtual ~Decoder() = default;
    virtual void apply(std::vector<std::string>& tokens) const = 0;
};

using DecoderPtr = std::unique_ptr<const Decoder>;

/// Bytes that the tokens spell in GPT-2's alphabet, as one text.
DecoderPtr makeByteLevelDecoder();
/// Runs of <0x..> tokens as the characters they spell; U+FFFD for each of a run that spells none.
DecoderPtr makeByteFallbackDecoder();
DecoderPtr makeFuse();
DecoderPtr makeStripDecoder(std::string character, std::size_t fromStart, std::size_t fromEnd);
DecoderPtr makeReplaceTextDecoder(std::string pattern, std::string replacement);
DecoderPtr makeReplaceRegexDecoder(std::shared_ptr<const Regex> pattern, std::string replacement);
DecoderPtr makeMetaspaceDecoder(std::string mark, PrependScheme scheme);
/// Blanks before all tokens but those with the prefix, which is taken off. @param cleanUp English punctuation joined on
DecoderPtr makeWordPieceDecoder(std::string prefix, bool cleanUp);
/// Blanks where a word's end is marked.
DecoderPtr makeWordEndDecoder(std::string wordEnd);

} // namespace secateur
