#pragma once

#include "backends/formats/gguf_metadata.h"

#include <string>
#include <vector>

namespace secateur {

/// The files of a tokenizer in a Hugging Face directory.
struct HfTokenizerFiles {
    struct File {
        std::string name;
        std::string content; ///< JSON
    };
    std::vector<File> files;           ///< tokenizer.json, tokenizer_config.json, special_tokens_map.json,
                                       ///< generation_config.json (only if BOS or EOS is known)
    std::vector<std::string> warnings; ///< texts for which ids may differ; warnings of the reader
};

/// Converts the tokenizer in the metadata of a GGUF file, of the kind gpt2, llama or bert. AutoTokenizer opens the
/// files as PreTrainedTokenizerFast and gives the same ids as Secateur's reader of the GGUF file.
/// @throws Error naming the key if the metadata are invalid or cannot be expressed
HfTokenizerFiles hfTokenizerFilesOf(const GgufMetadata& metadata);

} // namespace secateur
