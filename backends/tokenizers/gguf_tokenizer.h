#pragma once

#include "backends/formats/gguf_metadata.h"
#include "backends/tokenizers/pipeline.h"

namespace secateur {

/// The tokenizer in a GGUF file's metadata: of the kinds llama (SentencePiece's BPE), gpt2 (byte-level BPE), bert
/// (WordPiece) and t5 (Unigram). @throws Error on what is missing, contradicts itself, or is not known
TokenizerParts readGgufTokenizer(const GgufMetadata& metadata);

} // namespace secateur
