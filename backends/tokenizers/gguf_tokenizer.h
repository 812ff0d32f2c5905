#pragma once

#include "backends/formats/gguf_metadata.h"
#include "backends/tokenizers/pipeline.h"

namespace secateur {

/// The tokenizer in a GGUF file's metadata: llama (SentencePiece's BPE), gpt2 (byte-level BPE), bert (WordPiece) or t5
/// (Unigram). @throws Error if something is missing, inconsistent or unknown
TokenizerParts readGgufTokenizer(const GgufMetadata& metadata);

} // namespace secateur
