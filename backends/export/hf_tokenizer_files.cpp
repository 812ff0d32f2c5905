#include "backends/export/hf_tokenizer_files.h"

#include "backends/export/hf_tokenizer_json.h"
#include "backends/tokenizers/gguf_tokenizer.h"
#include "backends/tokenizers/unicode.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <utility>

namespace secateur {

namespace {

using Json = nlohmann::ordered_json;

/// The special tokens by the names of their roles in Hugging Face's files.
Json namedSpecials(const TokenizerParts& parts) {
    const TokenizerCard& card = parts.card;
    Json names = Json::object();
    const auto add = [&](const char* name, std::optional<int> id) {
        if (id)
            names[name] = std::string(parts.model->vocabulary().text(*id));
    };
    add("bos_token", card.bos);
    add("eos_token", card.eos);
    add("unk_token", card.unknown);
    add("sep_token", card.separator);
    add("pad_token", card.padding);
    add("cls_token", card.classifier);
    add("mask_token", card.mask);
    return names;
}

Json addedTokensById(const TokenizerParts& parts) {
    Json tokens = Json::object();
    for (const AddedToken& token : parts.added.all())
        tokens.push_back({std::to_string(token.id), Json{{"content", token.text},
                                                         {"lstrip", token.stripsLeft},
                                                         {"normalized", token.normalized},
                                                         {"rstrip", token.stripsRight},
                                                         {"single_word", token.singleWord},
                                                         {"special", token.special}}});
    return tokens;
}

std::optional<std::int64_t> contextLength(const GgufMetadata& metadata) {
    const std::string architecture = metadata.text("general.architecture").value_or("");
    return metadata.integer(architecture + ".context_length", 1, std::numeric_limits<std::int64_t>::max());
}

std::string tokenizerConfig(const GgufMetadata& metadata, const TokenizerParts& parts) {
    const bool isBert = metadata.text("tokenizer.ggml.model") == "bert";
    Json config{{"added_tokens_decoder", addedTokensById(parts)}};
    config.update(namedSpecials(parts));
    if (!parts.card.chatTemplate.empty()) {
        if (!unicode::isValid(parts.card.chatTemplate))
            metadata.refuse("tokenizer.chat_template", "is not UTF-8");
        config["chat_template"] = parts.card.chatTemplate;
    }
    config["clean_up_tokenization_spaces"] = false;
    // Without this list, the generic class gives token types to models that have none.
    config["model_input_names"] =
        isBert ? Json{"input_ids", "token_type_ids", "attention_mask"} : Json{"input_ids", "attention_mask"};
    if (const auto length = contextLength(metadata))
        config["model_max_length"] = *length;
    config["tokenizer_class"] = "PreTrainedTokenizerFast";
    return config.dump(2) + '\n';
}

/// The tokens at which generation begins and ends; empty if neither is known.
std::string generationConfig(const GgufMetadata& metadata, const TokenizerParts& parts) {
    const TokenizerCard& card = parts.card;
    if (!card.bos && !card.eos)
        return {};
    Json config{{"_from_model_config", true}};
    if (card.bos)
        config["bos_token_id"] = *card.bos;
    const auto endOfTurn = metadata.integer("tokenizer.ggml.eot_token_id", std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max());
    const bool hasTurns = endOfTurn && card.eos && *endOfTurn != *card.eos && *endOfTurn >= 0 &&
                          *endOfTurn < parts.model->vocabulary().size();
    if (hasTurns)
        config["eos_token_id"] = Json::array({*card.eos, *endOfTurn});
    else if (card.eos)
        config["eos_token_id"] = *card.eos;
    if (card.padding)
        config["pad_token_id"] = *card.padding;
    return config.dump(2) + '\n';
}

} // namespace

HfTokenizerFiles hfTokenizerFilesOf(const GgufMetadata& metadata) {
    const TokenizerParts parts = readGgufTokenizer(metadata);
    HfTokenizerFiles result;
    result.warnings = parts.card.warnings;
    result.files.push_back({"tokenizer.json", hfTokenizerJson(metadata, parts, result.warnings)});
    result.files.push_back({"tokenizer_config.json", tokenizerConfig(metadata, parts)});
    result.files.push_back({"special_tokens_map.json", namedSpecials(parts).dump(2) + '\n'});
    if (std::string generation = generationConfig(metadata, parts); !generation.empty())
        result.files.push_back({"generation_config.json", std::move(generation)});
    return result;
}

} // namespace secateur
