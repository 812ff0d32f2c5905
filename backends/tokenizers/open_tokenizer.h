#pragma once

#include "analysis/model/model_card.h"
#include "analysis/text/tokenizer.h"

#include <memory>
#include <string>

namespace secateur {

struct TokenizerParts;

/// Opens the tokenizer of a checkpoint: a Hugging Face directory, a weights file in one, a .gguf file or a directory
/// with one, or the folder of a repository in the hub's cache. Also opens a tokenizer file itself: tokenizer.json,
/// tokenizer.model, spiece.model, vocab.txt, or vocab.json with merges.txt. If a directory has several of these files,
/// the first in this order is used.
/// @throws Error naming the file, the place in it and the reason
std::shared_ptr<const Tokenizer> openTokenizer(const std::string& path);

/// The tokenizer of an opened model. Added tokens with ids beyond the model's embedding cannot be run; its card then
/// has a warning. @throws Error also if the vocabulary without added tokens is larger than the embedding
std::shared_ptr<const Tokenizer> openTokenizer(const ModelCard& model);

/// The steps of the tokenizer that openTokenizer() would open. Their card names the file as its source. @throws Error
TokenizerParts readTokenizerParts(const std::string& path);

} // namespace secateur
