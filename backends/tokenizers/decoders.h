#pragma once

#include "backends/tokenizers/pre_tokenizers.h"
#include "backends/tokenizers/regex.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A step of decoding. It rewrites the list of the texts of tokens. Immutable.
class Decoder {
public:
    virtual ~Decoder() = default;
    /// @param given size of the texts before the first decoder, which limits their growth @throws GrowthError
    virtual void apply(std::vector<std::string>& tokens, std::size_t given) const = 0;
};

using DecoderPtr = std::unique_ptr<const Decoder>;

/// Runs decoders one after another. @throws GrowthError if the texts grow too much
void decode(std::span<const DecoderPtr> decoders, std::vector<std::string>& tokens);

/// Decodes the bytes that tokens spell in GPT-2's alphabet, and joins them.
DecoderPtr makeByteLevelDecoder();
/// Replaces consecutive <0x..> tokens by the characters that they spell. If these are not valid UTF-8, each token
/// becomes U+FFFD.
DecoderPtr makeByteFallbackDecoder();
DecoderPtr makeFuse();
DecoderPtr makeStripDecoder(std::string character, std::size_t fromStart, std::size_t fromEnd);
DecoderPtr makeReplaceTextDecoder(std::string pattern, std::string replacement);
DecoderPtr makeReplaceRegexDecoder(std::shared_ptr<const Regex> pattern, std::string replacement);
DecoderPtr makeMetaspaceDecoder(std::string mark, PrependScheme scheme);
/// Puts a space before every token without the prefix, and removes the prefix from the others.
/// @param cleanUp whether to remove spaces before English punctuation and contractions
DecoderPtr makeWordPieceDecoder(std::string prefix, bool cleanUp);
/// Replaces word-end marks by spaces.
DecoderPtr makeWordEndDecoder(std::string wordEnd);

} // namespace secateur
