#pragma once

#include "backends/tokenizers/pipeline.h"

#include <string>

namespace secateur {

/// Whether a Hugging Face directory holds a tokenizer in a form that is read.
bool holdsTokenizer(const std::string& directory);

/// The tokenizer of a directory: of tokenizer.json, a SentencePiece model, vocab.txt, vocab.json with merges.txt the
/// first one that is there, with what tokenizer_config.json, special_tokens_map.json, added_tokens.json and config.json
/// say of it. @throws Error
TokenizerParts readHfTokenizer(const std::string& directory);

/// Whether a file's name is that of a tokenizer in one of these forms.
bool isTokenizerFile(const std::string& path);
/// A tokenizer's own file, with what lies beside it. @throws Error
TokenizerParts readTokenizerFile(const std::string& path);

} // namespace secateur
