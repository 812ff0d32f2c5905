#pragma once

#include "analysis/model/model_card.h"
#include "analysis/text/tokenizer.h"

#include <memory>
#include <string>

namespace secateur {

/// Opens the tokenizer of a checkpoint (a Hugging Face directory, a weights file in one, a .gguf file or a directory
/// with one, a repository's folder in the hub's cache) or a tokenizer's own file (tokenizer.json, tokenizer.model,
/// spiece.model, vocab.txt, vocab.json with merges.txt). If a directory has several of these files, opens the first in
/// this order.
/// @throws Error naming the file, the place in it and the reason
std::shared_ptr<const Tokenizer> openTokenizer(const std::string& path);

/// The tokenizer of an opened model. If it has added tokens beyond the model's embedding, which cannot be run, the card
/// has a warning. @throws Error also if the vocabulary itself is larger than the embedding
std::shared_ptr<const Tokenizer> openTokenizer(const ModelCard& model);

} // namespace secateur
