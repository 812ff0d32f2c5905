#pragma once

#include "backends/tokenizers/pipeline.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The content of a SentencePiece model file (tokenizer.model, spiece.model, sentencepiece.bpe.model).
struct SentencePieceFile {
    enum class Type : std::int64_t { normal = 1, unknown = 2, control = 3, userDefined = 4, unused = 5, byte = 6 };
    struct Piece {
        std::string text;
        float score = 0;
        Type type = Type::normal;
    };
    enum class Kind : std::int64_t { unigram = 1, bpe = 2, word = 3, character = 4 };

    std::vector<Piece> pieces;
    Kind kind = Kind::unigram;
    bool byteFallback = false;
    bool blanksAtEnds = false;
    std::int64_t unknown = 0, bos = 1, eos = 2, padding = -1;
    std::string charsmap;
    bool prefix = true;
    bool mergeBlanks = true;
    bool markBlanks = true;
};

/// Parses a model file. @throws Error if the file ends early or has invalid values
SentencePieceFile parseSentencePiece(std::string_view bytes, const std::string& subject);

/// The tokenizer that SentencePiece would build. It adds no special tokens to texts. Control pieces become added
/// tokens.
/// @throws Error if something is inconsistent or unknown
TokenizerParts makeSentencePieceParts(const SentencePieceFile& file, const std::string& subject);

} // namespace secateur
