#pragma once

#include "backends/base/json_object.h"
#include "backends/tokenizers/pipeline.h"
#include "backends/tokenizers/sentencepiece_model.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Facts about a tokenizer that the other files in the folder of its vocabulary state.
struct HfContext {
    std::string folder;
    std::string modelType;                    ///< model_type in config.json
    std::string tokenizerClass;               ///< tokenizer_class in tokenizer_config.json
    std::map<std::string, std::string> roles; ///< by role: "bos", "eos", "unk", "sep", "pad", "cls", "mask"
    std::vector<AddedToken> added;
    std::optional<bool> addsBos, addsEos, lowerCase, stripAccents, apartChinese;
    std::string chatTemplate;

    /// Whether the tokenizer class contains `classPart` or the model type is `type`: is("Roberta", "roberta").
    bool is(std::string_view classPart, std::string_view type) const {
        return tokenizerClass.find(classPart) != std::string::npos || modelType == type;
    }
    std::string role(const std::string& name, const std::string& otherwise) const {
        const auto found = roles.find(name);
        return found == roles.end() ? otherwise : found->second;
    }
};

/// Adds the tokens of added_tokens_decoder in tokenizer_config.json, and those of added_tokens.json.
void readAddedTokens(const std::optional<JsonObject>& config, const std::optional<JsonObject>& added,
                     HfContext& context);

// The next functions read tokenizers of folders without a tokenizer.json, as the original libraries do. @throws Error

/// Reads the vocabulary of BERT: one token per line.
TokenizerParts readVocabText(std::string_view text, const std::string& subject, const HfContext& context);
/// Reads the byte-level BPE of GPT-2, RoBERTa and Qwen.
TokenizerParts readVocabJson(std::string_view vocab, std::string_view merges, const HfContext& context);
/// Reads the SentencePiece model of Llama, Gemma, Mistral, ALBERT or XLM-RoBERTa. XLM-RoBERTa's ids are shifted.
TokenizerParts readHfSentencePiece(SentencePieceFile file, const std::string& subject, const HfContext& context);

/// Reads Hugging Face's tokenizer.json. @param subject the file, for messages
/// @throws Error if something is malformed, inconsistent or unknown
TokenizerParts readTokenizerJson(std::string_view text, const std::string& subject);

// The next functions read steps of a tokenizer.json.
std::vector<NormalizerPtr> readNormalizers(const JsonObject& document);
/// @param byteLevel set to true if a step turns words into bytes
std::vector<PreTokenizerPtr> readPreTokenizers(const JsonObject& document, bool& byteLevel);
PostProcessor readPostProcessor(const JsonObject& document);
std::vector<DecoderPtr> readDecoders(const JsonObject& document);

/// The field "type" of a step. @throws Error if it has none
std::string typeOf(const JsonObject& step);
/// The steps under a key: a single step, or the steps of a Sequence, which may contain further Sequences.
/// @param listKey key of the list in a Sequence
std::vector<JsonObject> stepsOf(const JsonObject& document, const std::string& key, const std::string& listKey);

} // namespace secateur
