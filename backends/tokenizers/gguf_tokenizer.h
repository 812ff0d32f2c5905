#pragma once

#include "backends/formats/gguf_metadata.h"
#include "backends/tokenizers/pipeline.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace secateur {

/// The types of tokens in GGUF ("tokenizer.ggml.token_type").
namespace gguf_token {
inline constexpr std::int32_t normal = 1;
inline constexpr std::int32_t unknown = 2;
inline constexpr std::int32_t control = 3;
inline constexpr std::int32_t userDefined = 4;
inline constexpr std::int32_t unused = 5;
inline constexpr std::int32_t byte = 6;
} // namespace gguf_token

/// A pre-tokenizer of byte-level vocabularies ("tokenizer.ggml.pre" of the kind gpt2), and the settings that its name
/// implies.
struct GgufPreTokenizer {
    std::string_view name;
    /// The expression that splits texts. For `digitsAndGpt2` each digit becomes a word first, then GPT-2's splits.
    enum class Cut { gpt2, digitsAndGpt2, llama3, qwen2, tekken } cut;
    bool wholeWords = false; ///< whether a word that is a token becomes that token without merging
    bool addsBos = false;    ///< default of "add_bos_token"
    bool addsEos = false;    ///< default of "add_eos_token"
};

/// The known pre-tokenizers. Of rows with the same properties, the first has the most common name.
std::span<const GgufPreTokenizer> ggufPreTokenizers();

/// How a vocabulary of the kind bert cleans texts: as the file states (normalizer.lowercase, normalizer.strip_accents).
/// A file that does not state it keeps capital letters if one of its tokens has some.
BertCleaning ggufBertCleaning(const GgufMetadata& metadata);

/// Reads the tokenizer in the metadata of a GGUF file. It is of the kind llama (SentencePiece's BPE), gpt2 (byte-level
/// BPE), bert (WordPiece) or t5 (Unigram). @throws Error if something is missing, inconsistent or unknown
TokenizerParts readGgufTokenizer(const GgufMetadata& metadata);

} // namespace secateur
