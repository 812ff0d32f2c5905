#pragma once

#include "analysis/model/model_card.h"
#include "analysis/text/tokenizer.h"

#include <memory>
#include <string>

namespace secateur {

/// Opens the tokenizer of a checkpoint (a Hugging Face directory, a weights file in one, a .gguf file or a directory
/// that holds one, a repository's folder in the hub's cache) or a tokenizer's own file (tokenizer.json,
/// tokenizer.model, spiece.model, vocab.txt, vocab.json with merges.txt). Of several files in a directory the first one
/// of this list counts.
/// @throws Error naming the file, the place in it and the reason
std::shared_ptr<const Tokenizer> openTokenizer(const std::string& path);

/// The tokenizer of an opened model. Added tokens beyond its embedding are a warning of the tokenizer's card: text with
/// one cannot be run. @throws Error also if the vocabulary is larger than the embedding
std::shared_ptr<const Tokenizer> openTokenizer(const ModelCard& model);

} // namespace secateur
