#pragma once

#include "analysis/text/tokenizer.h"
#include "backends/tokenizers/added_tokens.h"
#include "backends/tokenizers/decoders.h"
#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/post_processor.h"
#include "backends/tokenizers/pre_tokenizers.h"
#include "backends/tokenizers/token_model.h"

#include <memory>
#include <vector>

namespace secateur {

/// A tokenizer as the steps a text goes through, in this order.
struct TokenizerParts {
    AddedTokens added;
    std::vector<NormalizerPtr> normalizers;
    std::vector<PreTokenizerPtr> preTokenizers;
    std::unique_ptr<const TokenModel> model;
    PostProcessor post;
    std::vector<DecoderPtr> decoders; ///< none: tokens are joined by blanks
    TokenizerCard card;               ///< kind, size and addsBos are filled in
};

std::shared_ptr<const Tokenizer> assemble(TokenizerParts parts);

} // namespace secateur
