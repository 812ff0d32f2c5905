#pragma once

#include "backends/formats/gguf_metadata.h"
#include "backends/tokenizers/pipeline.h"

namespace secateur {

/// Reads the tokenizer in the metadata of a GGUF file. It is of the kind llama (SentencePiece's BPE), gpt2 (byte-level
/// BPE), bert (WordPiece) or t5 (Unigram). @throws Error if something is missing, inconsistent or unknown
TokenizerParts readGgufTokenizer(const GgufMetadata& metadata);

} // namespace secateur
