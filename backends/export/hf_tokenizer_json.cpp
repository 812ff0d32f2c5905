#include "backends/export/hf_tokenizer_json.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/gguf_tokenizer.h"
#include "backends/tokenizers/model_builders.h"
#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

using Json = nlohmann::ordered_json;

/// What the steps of a tokenizer.json are made from.
struct JsonSource {
    const GgufMetadata& metadata;
    const TokenizerParts& parts;
    std::vector<std::string>& warnings;

    const Vocabulary& vocabulary() const { return parts.model->vocabulary(); }
    std::string token(int id) const { return std::string(vocabulary().text(id)); }
    bool flag(const char* key, bool otherwise) const { return metadata.flag(key).value_or(otherwise); }
};

Json addedTokensOf(const TokenizerParts& parts) {
    Json list = Json::array();
    for (const AddedToken& token : parts.added.all())
        list.push_back({{"id", token.id},
                        {"content", token.text},
                        {"single_word", token.singleWord},
                        {"lstrip", token.stripsLeft},
                        {"rstrip", token.stripsRight},
                        {"normalized", token.normalized},
                        {"special", token.special}});
    return list;
}

Json vocabularyOf(const JsonSource& source) {
    Json tokens = Json::object();
    auto& list = tokens.get_ref<Json::object_t&>(); // appended to directly: operator[] would search all keys
    for (int id = 0; id < source.vocabulary().size(); ++id) {
        if (source.vocabulary().holds(id))
            list.emplace_back(source.token(id), id);
    }
    return tokens;
}

/// The items of a template, and the special tokens in it.
Json templateItems(const std::vector<TemplateItem>& items, const JsonSource& source, Json& specials) {
    Json list = Json::array();
    for (const TemplateItem& item : items) {
        if (item.kind != TemplateItem::Kind::special) {
            const char* name = item.kind == TemplateItem::Kind::first ? "A" : "B";
            list.push_back({{"Sequence", {{"id", name}, {"type_id", item.type}}}});
            continue;
        }
        for (const int id : item.ids) {
            const std::string text = source.token(id);
            list.push_back({{"SpecialToken", {{"id", text}, {"type_id", item.type}}}});
            specials[text] = {{"id", text}, {"ids", {id}}, {"tokens", {text}}};
        }
    }
    return list;
}

/// The template for special tokens around texts; null if there are none.
Json templateOf(const JsonSource& source) {
    if (source.parts.post.single.size() < 2)
        return nullptr;
    Json specials = Json::object();
    Json step{{"type", "TemplateProcessing"}};
    step["single"] = templateItems(source.parts.post.single, source, specials);
    step["pair"] = templateItems(source.parts.post.pair, source, specials);
    step["special_tokens"] = std::move(specials);
    return step;
}

Json sequenceOf(const char* key, Json steps) {
    return {{"type", "Sequence"}, {key, std::move(steps)}};
}

Json byteLevel(bool prefix, bool trims, bool splits) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", trims}, {"use_regex", splits}};
}

Json bpeModel(const JsonSource& source) {
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocabularyOf(source)}};
}

const GgufPreTokenizer& preTokenizerOf(const JsonSource& source) {
    const std::string name = source.metadata.text("tokenizer.ggml.pre").value_or("default");
    const auto rows = ggufPreTokenizers();
    const auto found = std::ranges::find(rows, std::string_view(name), &GgufPreTokenizer::name);
    return found == rows.end() ? rows.front() : *found; // the reader refused other names than "default"
}

std::string_view expressionOf(GgufPreTokenizer::Cut cut) {
    switch (cut) {
    case GgufPreTokenizer::Cut::llama3:
        return llama3Pattern;
    case GgufPreTokenizer::Cut::qwen2:
        return qwen2Pattern;
    case GgufPreTokenizer::Cut::tekken:
        return tekkenPattern;
    default:
        return gpt2Pattern;
    }
}

Json byteLevelSplit(const JsonSource& source, GgufPreTokenizer::Cut cut) {
    const bool prefix = source.flag("tokenizer.ggml.add_space_prefix", false);
    if (cut == GgufPreTokenizer::Cut::gpt2)
        return byteLevel(prefix, true, true);
    if (prefix)
        source.metadata.refuse("tokenizer.ggml.add_space_prefix",
                               "is true, which tokenizer.json cannot express for this pre-tokenizer");
    const Json digits{{"type", "Digits"}, {"individual_digits", true}};
    if (cut == GgufPreTokenizer::Cut::digitsAndGpt2)
        return sequenceOf("pretokenizers", Json::array({digits, byteLevel(false, true, true)}));
    const Json split{
        {"type", "Split"}, {"pattern", {{"Regex", expressionOf(cut)}}}, {"behavior", "Isolated"}, {"invert", false}};
    return sequenceOf("pretokenizers", Json::array({split, byteLevel(false, true, false)}));
}

void addByteLevelSteps(const JsonSource& source, Json& document) {
    const GgufPreTokenizer& pre = preTokenizerOf(source);
    document["normalizer"] = pre.cut == GgufPreTokenizer::Cut::qwen2 ? Json{{"type", "NFC"}} : Json(nullptr);
    document["pre_tokenizer"] = byteLevelSplit(source, pre.cut);
    const Json around = templateOf(source);
    const Json bytes = byteLevel(true, false, true);
    document["post_processor"] = around.is_null() ? bytes : sequenceOf("processors", Json::array({bytes, around}));
    document["decoder"] = byteLevel(true, true, true);
    Json model = bpeModel(source);
    model["ignore_merges"] = pre.wholeWords;
    Json merges = Json::array();
    for (const std::string_view line :
         source.metadata.texts("tokenizer.ggml.merges").value_or(std::vector<std::string_view>()))
        merges.push_back(line);
    model["merges"] = std::move(merges);
    document["model"] = std::move(model);
}

std::size_t charactersIn(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char byte) { return !unicode::isContinuation(byte); }));
}

/// The merges of a vocabulary with scores in the order in which Hugging Face's conversion lists them: by score; of
/// equal scores, those with longer tokens first.
std::vector<BpeMerge> sortedMerges(const JsonSource& source, const std::vector<std::int64_t>& types,
                                   const std::vector<float>& scores) {
    std::vector<bool> usable;
    for (const std::int64_t type : types)
        usable.push_back(type == gguf_token::normal || type == gguf_token::userDefined || type == gguf_token::unused);
    std::vector<BpeMerge> merges = mergesByScore(source.vocabulary(), scores, usable);
    std::vector<std::size_t> lengths;
    for (int id = 0; id < source.vocabulary().size(); ++id)
        lengths.push_back(charactersIn(source.vocabulary().text(id)));
    std::ranges::stable_sort(merges, [&](const BpeMerge& a, const BpeMerge& b) {
        const auto order = [&](const BpeMerge& merge) {
            return std::tuple(merge.rank, ~lengths[static_cast<std::size_t>(merge.left)],
                              ~lengths[static_cast<std::size_t>(merge.right)]);
        };
        return order(a) < order(b);
    });
    return merges;
}

/// Warns if several tokens have the same score. The leftmost pair then merges first, but in tokenizer.json every merge
/// has a rank of its own.
void warnOfEqualScores(const JsonSource& source, const std::vector<BpeMerge>& merges,
                       const std::vector<std::int64_t>& types) {
    std::uint32_t rank = 0;
    int result = -1;
    int shared = 0;
    for (const BpeMerge& merge : merges) {
        if (types[static_cast<std::size_t>(merge.result)] == gguf_token::userDefined)
            continue; // found in texts before anything merges
        shared += result >= 0 && merge.rank == rank && merge.result != result;
        rank = merge.rank;
        result = merge.result;
    }
    if (shared > 0)
        source.warnings.push_back(fmt::format("{} merges into different tokens have equal scores; tokenizer.json "
                                              "orders them, so that ids may differ in rare texts",
                                              shared));
}

Json replaceStep(const char* before, std::string_view after) {
    return {{"type", "Replace"}, {"pattern", {{"String", before}}}, {"content", after}};
}

Json mergesWithMarks(const JsonSource& source) {
    const auto size = static_cast<std::size_t>(source.vocabulary().size());
    const auto scores = source.metadata.numbers("tokenizer.ggml.scores");
    if (!scores || scores->size() != size)
        source.metadata.refuse("tokenizer.ggml.scores", "is missing; the merges of tokenizer.json follow from it");
    const auto types = source.metadata.integers("tokenizer.ggml.token_type", 0, mostIds)
                           .value_or(std::vector<std::int64_t>(size, gguf_token::normal));
    const std::vector<BpeMerge> merges = sortedMerges(source, types, *scores);
    warnOfEqualScores(source, merges, types);
    Json list = Json::array();
    for (const BpeMerge& merge : merges)
        list.push_back(Json::array({source.token(merge.left), source.token(merge.right)}));
    return list;
}

void addMarkedSteps(const JsonSource& source, Json& document) {
    const bool prefix = source.flag("tokenizer.ggml.add_space_prefix", true);
    Json normalizers = Json::array();
    if (prefix)
        normalizers.push_back({{"type", "Prepend"}, {"prepend", spaceMark}});
    normalizers.push_back(replaceStep(" ", spaceMark));
    document["normalizer"] = sequenceOf("normalizers", std::move(normalizers));
    document["pre_tokenizer"] = nullptr;
    document["post_processor"] = templateOf(source);
    Json decoders = Json::array(
        {replaceStep(std::string(spaceMark).c_str(), " "), Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}}});
    if (prefix)
        decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    document["decoder"] = sequenceOf("decoders", std::move(decoders));
    Json model = bpeModel(source);
    model["unk_token"] = source.token(source.parts.card.unknown.value_or(0));
    model["fuse_unk"] = true;
    model["byte_fallback"] = true;
    model["merges"] = mergesWithMarks(source);
    document["model"] = std::move(model);
}

void addWordPieceSteps(const JsonSource& source, Json& document) {
    if (!source.parts.card.unknown)
        source.metadata.refuse("tokenizer.ggml.unknown_token_id", "is missing, but WordPiece needs an unknown token");
    const BertCleaning cleaning = ggufBertCleaning(source.metadata);
    document["normalizer"] = {{"type", "BertNormalizer"},
                              {"clean_text", cleaning.cleanText},
                              {"handle_chinese_chars", cleaning.apartChinese},
                              {"strip_accents", cleaning.stripAccents},
                              {"lowercase", cleaning.lowerCase}};
    document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
    document["post_processor"] = templateOf(source);
    document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
    document["model"] = {{"type", "WordPiece"},
                         {"unk_token", source.token(*source.parts.card.unknown)},
                         {"continuing_subword_prefix", "##"},
                         {"max_input_chars_per_word", 100},
                         {"vocab", vocabularyOf(source)}};
}

} // namespace

std::string hfTokenizerJson(const GgufMetadata& metadata, const TokenizerParts& parts,
                            std::vector<std::string>& warnings) {
    const JsonSource source{metadata, parts, warnings};
    Json document{{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
    document["added_tokens"] = addedTokensOf(parts);
    const std::string kind = metadata.text("tokenizer.ggml.model").value_or("");
    if (kind == "gpt2")
        addByteLevelSteps(source, document);
    else if (kind == "llama")
        addMarkedSteps(source, document);
    else if (kind == "bert")
        addWordPieceSteps(source, document);
    else
        metadata.refuse("tokenizer.ggml.model", fmt::format("the tokenizer \"{}\" cannot be written for Hugging Face; "
                                                            "supported are gpt2, llama, bert",
                                                            kind));
    return document.dump() + '\n';
}

} // namespace secateur
