#pragma once

#include "backends/base/json_object.h"
#include "backends/tokenizers/gguf_tokenizer.h"

namespace secateur {

/// The steps of a tokenizer.json before its model, as a byte-level tokenizer of GGUF has them.
struct ByteLevelSteps {
    GgufPreTokenizer::Cut cut;
    bool normalizes = false; ///< whether texts are normalised to NFC first, which llama.cpp does not do
};

/// Recognises the steps of a byte-level tokenizer by their expressions. @throws Error naming the step for which
/// llama.cpp has no pre-tokenizer
ByteLevelSteps byteLevelSteps(const JsonObject& document);

/// The steps of a tokenizer.json before its model, as the SentencePiece tokenizer of GGUF has them.
struct SpaceMarkSteps {
    bool prefix = false;    ///< whether a space is put in front of a text
    bool firstOnly = false; ///< whether it is not put in front of the text behind a special token, as llama.cpp does
};

/// Recognises the steps of a tokenizer with "▁" for spaces. @throws Error naming the step that llama.cpp does not have
SpaceMarkSteps spaceMarkSteps(const JsonObject& document);

/// Recognises the steps of BERT: how texts are cleaned. @throws Error naming the step that llama.cpp does not have
BertCleaning bertSteps(const JsonObject& document);

/// The name for a pre-tokenizer in llama.cpp. @param around whether BOS and EOS are put around texts, as for RoBERTa
/// @throws Error if there is none
std::string_view preTokenizerName(GgufPreTokenizer::Cut cut, bool wholeWords, bool around, const std::string& subject);

} // namespace secateur
