#pragma once

#include "backends/formats/gguf_metadata.h"
#include "backends/tokenizers/pipeline.h"

#include <string>
#include <vector>

namespace secateur {

/// Writes a tokenizer.json for the tokenizer in the metadata of a GGUF file, of the kind gpt2, llama or bert.
/// @param parts the same tokenizer as readGgufTokenizer() reads it @param warnings gets texts for which ids may differ
/// @throws Error naming the key if tokenizer.json cannot express it
std::string hfTokenizerJson(const GgufMetadata& metadata, const TokenizerParts& parts,
                            std::vector<std::string>& warnings);

} // namespace secateur
