#pragma once

#include "backends/tokenizers/vocabulary.h"
#include "backends/tokenizers/word_cache.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What turns the words that pre-tokenizers leave into tokens. Immutable.
class TokenModel {
public:
    virtual ~TokenModel() = default;

    /// Appends the word's tokens; their lengths add up to the word's.
    /// @param word valid UTF-8, not empty. @throws Error when nothing stands for a part of it
    virtual void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const = 0;
    virtual const Vocabulary& vocabulary() const = 0;
    virtual std::string_view kind() const = 0;
};

} // namespace secateur
