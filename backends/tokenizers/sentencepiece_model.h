#pragma once

#include "backends/tokenizers/pipeline.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A SentencePiece model file (tokenizer.model, spiece.model, sentencepiece.bpe.model) as it lies there.
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

/// @throws Error when the file ends early, or says something that cannot be
SentencePieceFile parseSentencePiece(std::string_view bytes, const std::string& subject);

/// The tokenizer that SentencePiece itself makes of it: nothing is put around texts, and control tokens are added
/// tokens.
/// @throws Error on what contradicts itself, or is not known
TokenizerParts makeSentencePieceParts(const SentencePieceFile& file, const std::string& subject);

} // namespace secateur
