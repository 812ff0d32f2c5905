#pragma once

#include "backends/base/json_object.h"
#include "backends/tokenizers/pipeline.h"

#include <string>
#include <string_view>

namespace secateur {

/// Reads Hugging Face's tokenizer.json. @param subject the file, for messages
/// @throws Error if something is malformed, inconsistent or unknown
TokenizerParts readTokenizerJson(std::string_view text, const std::string& subject);

// Steps of a tokenizer.json.
std::vector<NormalizerPtr> readNormalizers(const JsonObject& document);
/// @param byteLevel set to whether a step turns words into bytes
std::vector<PreTokenizerPtr> readPreTokenizers(const JsonObject& document, bool& byteLevel);
PostProcessor readPostProcessor(const JsonObject& document);
std::vector<DecoderPtr> readDecoders(const JsonObject& document);

/// "type" of a step. @throws Error if it has none
std::string typeOf(const JsonObject& step);
/// The steps under a key: one, or those of a Sequence, nested ones too. @param listKey of a Sequence
std::vector<JsonObject> stepsOf(const JsonObject& document, const std::string& key, const std::string& listKey);

} // namespace secateur
