#pragma once

#include "backends/formats/gguf_fields.h"

#include <string>
#include <vector>

namespace secateur {

/// The metadata of a GGUF file that describe a tokenizer: the keys "tokenizer.ggml..." and "tokenizer.chat_template".
struct GgufTokenizer {
    std::vector<GgufField> fields;
    std::vector<std::string> warnings; ///< texts for which llama.cpp gives other tokens than the source
};

/// Converts the tokenizer of a Hugging Face directory, or a tokenizer file, as openTokenizer() finds it:
///
/// | tokenizer | kind in GGUF |
/// | --- | --- |
/// | BPE of bytes | gpt2, with the name of the pre-tokenizer that has the same expressions |
/// | BPE with byte fallback | llama. Scores are those of the SentencePiece model beside it, or follow from the merges.
/// | | WordPiece | bert | | SentencePiece model of the kind unigram | t5 |
///
/// @param rows number of rows of the model's embedding; ids without a token get an unused one. 0: no more than needed
/// @throws Error if llama.cpp has no such tokenizer, naming the step; also if it has more tokens than `rows`
GgufTokenizer ggufTokenizerOf(const std::string& path, int rows = 0);

} // namespace secateur
