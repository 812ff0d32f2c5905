#include "backends/tokenizers/gguf_tokenizer.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/model_builders.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

std::string key(const char* name) {
    return std::string("tokenizer.ggml.") + name;
}

using PreKind = GgufPreTokenizer;

/// The values of keys that every kind of vocabulary has.
struct GgufVocabulary {
    const GgufMetadata& metadata;
    std::vector<ListedToken> tokens;
    std::vector<std::int64_t> types;
    std::vector<float> scores;
    std::shared_ptr<const Vocabulary> vocabulary;
    const PreKind* pre = nullptr; ///< for gpt2 vocabularies only

    std::string subject(const char* name) const { return metadata.subject() + ": " + key(name); }
    /// The id of a special token. Empty if the file states an id outside the vocabulary, which means that there is
    /// none.
    std::optional<int> special(const char* name) const {
        const auto id = metadata.integer(key(name), std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max());
        return id && *id >= 0 && *id < static_cast<std::int64_t>(tokens.size()) ? std::optional(static_cast<int>(*id))
                                                                                : std::nullopt;
    }
    bool flag(const char* name, bool otherwise) const { return metadata.flag(key(name)).value_or(otherwise); }
    std::vector<bool> ofTypes(std::initializer_list<std::int64_t> wanted) const {
        std::vector<bool> bits;
        for (const std::int64_t type : types)
            bits.push_back(std::ranges::find(wanted, type) != wanted.end());
        return bits;
    }
};

GgufVocabulary readSource(const GgufMetadata& metadata) {
    GgufVocabulary source{metadata, {}, {}, {}, nullptr, nullptr};
    const auto texts = metadata.texts(key("tokens"));
    if (!texts || texts->empty())
        metadata.refuse(key("tokens"), "is missing, so there is no vocabulary");
    for (const std::string_view text : *texts)
        source.tokens.push_back({std::string(text), static_cast<std::int64_t>(source.tokens.size()), 0});
    const auto checkCount = [&](const char* name, std::size_t count) {
        if (count != texts->size())
            metadata.refuse(key(name), fmt::format("has {} elements, but the vocabulary has {}", count, texts->size()));
    };
    source.types = metadata.integers(key("token_type"), 0, mostIds)
                       .value_or(std::vector<std::int64_t>(texts->size(), gguf_token::normal));
    checkCount("token_type", source.types.size());
    source.scores = metadata.numbers(key("scores")).value_or(std::vector<float>(texts->size(), 0.F));
    checkCount("scores", source.scores.size());
    if (!std::ranges::all_of(source.scores, [](float score) { return std::isfinite(score); }))
        metadata.refuse(key("scores"), "has a value that is not a finite number");
    return source;
}

using enum PreKind::Cut;

// The first row with the properties of a tokenizer gives the name that is written.
constexpr std::array preKinds{
    PreKind{"gpt-2", gpt2},
    PreKind{"gpt2", gpt2},
    PreKind{"phi-2", gpt2},
    PreKind{"roberta-bpe", gpt2, false, true, true},
    PreKind{"mpt", gpt2},
    PreKind{"olmo", gpt2},
    PreKind{"smollm", digitsAndGpt2},
    PreKind{"starcoder", digitsAndGpt2},
    PreKind{"refact", digitsAndGpt2},
    PreKind{"command-r", digitsAndGpt2},
    PreKind{"llama-bpe", llama3, true, true},
    PreKind{"llama3", llama3, true, true},
    PreKind{"llama-v3", llama3, true, true},
    PreKind{"falcon3", llama3, true, true},
    PreKind{"dbrx", llama3},
    PreKind{"smaug-bpe", llama3},
    PreKind{"qwen2", qwen2},
    PreKind{"deepseek-r1-qwen", qwen2},
    PreKind{"tekken", tekken, true, true},
};

const PreKind& preKindOf(const GgufVocabulary& source, TokenizerCard& card) {
    const auto name = source.metadata.text(key("pre"));
    if (!name || *name == "default") {
        card.warnings.emplace_back("the file does not name its pre-tokenizer; GPT-2's is used");
        return preKinds.front();
    }
    const auto found = std::ranges::find(preKinds, std::string_view(*name), &PreKind::name);
    if (found == preKinds.end())
        source.metadata.refuse(key("pre"), fmt::format("the pre-tokenizer \"{}\" is unknown", *name));
    return *found;
}

void addSteps(const GgufVocabulary& source, const PreKind& pre, TokenizerParts& parts) {
    switch (pre.cut) {
    case digitsAndGpt2:
        parts.preTokenizers.push_back(makeSplit(unicode::isNumber, Delimiters::isolated));
        [[fallthrough]];
    case gpt2:
        parts.preTokenizers.push_back(makeScan(gpt2Rule));
        break;
    case llama3:
        parts.preTokenizers.push_back(makeScan(llama3Rule));
        break;
    case qwen2:
        parts.normalizers.push_back(makeNormalForm(NormalForm::nfc));
        parts.preTokenizers.push_back(makeScan(qwen2Rule));
        break;
    case tekken:
        parts.preTokenizers.push_back(makeSplit(
            std::make_shared<const Regex>(std::string(tekkenPattern), source.subject("pre")), Delimiters::isolated));
        break;
    }
}

/// Reads a byte-level vocabulary.
void readGpt2(GgufVocabulary& source, TokenizerParts& parts) {
    const PreKind& pre = preKindOf(source, parts.card);
    source.pre = &pre;
    source.vocabulary = makeVocabulary(source.tokens, source.subject("tokens"));
    const auto lines = source.metadata.texts(key("merges"));
    if (!lines)
        source.metadata.refuse(key("merges"), "is missing");
    std::vector<MergeHalves> merges;
    for (const std::string_view line : *lines)
        merges.push_back(mergeHalves(line));
    BpeOptions options;
    options.byteLevel = true;
    options.wholeWords = pre.wholeWords;
    parts.model = std::make_unique<Bpe>(
        source.vocabulary, resolveMerges(*source.vocabulary, merges, "", source.subject("merges")), options);
    addSteps(source, pre, parts);
    if (source.flag("add_space_prefix", false))
        parts.preTokenizers.insert(parts.preTokenizers.begin(), makePrefixBlank());
    parts.decoders.push_back(makeByteLevelDecoder());
}

/// Adds the decoders that replace SentencePiece's marks by spaces.
void addMarkDecoders(bool prefix, TokenizerParts& parts) {
    parts.decoders.push_back(makeReplaceTextDecoder(std::string(spaceMark), " "));
    parts.decoders.push_back(makeByteFallbackDecoder());
    parts.decoders.push_back(makeFuse());
    if (prefix)
        parts.decoders.push_back(makeStripDecoder(" ", 1, 0));
}

void readLlama(GgufVocabulary& source, TokenizerParts& parts) {
    source.vocabulary = makeVocabulary(source.tokens, source.subject("tokens"));
    BpeOptions options;
    options.byteFallback = true;
    options.fuseUnknown = true;
    options.lateUnknown = true;
    options.unknown = source.special("unknown_token_id").value_or(0);
    const auto merges =
        mergesByScore(*source.vocabulary, source.scores,
                      source.ofTypes({gguf_token::normal, gguf_token::userDefined, gguf_token::unused}));
    parts.model = std::make_unique<Bpe>(source.vocabulary, merges, options);
    const bool prefix = source.flag("add_space_prefix", true);
    if (prefix)
        parts.normalizers.push_back(makePrepend(std::string(spaceMark)));
    parts.normalizers.push_back(makeReplaceText(" ", std::string(spaceMark)));
    addMarkDecoders(prefix, parts);
}

void readUnigram(GgufVocabulary& source, TokenizerParts& parts) {
    source.vocabulary = makeVocabulary(source.tokens, source.subject("tokens"));
    SentencePieceRules rules;
    if (const auto map = source.metadata.bytes(key("precompiled_charsmap")); map && !map->empty())
        rules.map = std::make_shared<const Charsmap>(charactersOf(*map), source.subject("precompiled_charsmap"));
    rules.prefix = source.flag("add_space_prefix", true);
    rules.mergeBlanks = source.flag("remove_extra_whitespaces", false);
    UnigramOptions options;
    options.unknown = source.special("unknown_token_id").value_or(2);
    options.singlePrecision = true;
    options.usable = source.ofTypes({gguf_token::normal, gguf_token::userDefined});
    options.userDefined = source.ofTypes({gguf_token::userDefined});
    parts.model = std::make_unique<Unigram>(
        source.vocabulary, std::vector<double>(source.scores.begin(), source.scores.end()), std::move(options));
    addMarkDecoders(rules.prefix, parts);
    parts.normalizers.push_back(makeSentencePiece(std::move(rules)));
}

/// Whether a token looks like a special token of BERT: "[MASK]". Files of older versions of llama.cpp do not mark its
/// place in a word.
bool isBracketed(std::string_view text) {
    return text.starts_with('[') && text.ends_with(']') && text.size() > 2;
}

/// Reads a vocabulary of BERT. GGUF marks tokens at the beginning of words, while WordPiece marks the other tokens of a
/// word.
void readBert(GgufVocabulary& source, TokenizerParts& parts) {
    for (std::size_t i = 0; i < source.tokens.size(); ++i) {
        std::string& text = source.tokens[i].text;
        if (source.types[i] != gguf_token::normal || isBracketed(text))
            continue;
        if (text.starts_with(spaceMark))
            text.erase(0, spaceMark.size());
        else if (!text.starts_with("##"))
            text.insert(0, "##");
    }
    source.vocabulary = makeVocabulary(source.tokens, source.subject("tokens"));
    constexpr std::size_t longestWord = 100;
    parts.model = std::make_unique<WordPiece>(source.vocabulary, "##", source.special("unknown_token_id").value_or(-1),
                                              longestWord);
    parts.normalizers.push_back(makeBertCleaning(ggufBertCleaning(source.metadata)));
    parts.preTokenizers.push_back(makeSplit(unicode::isSpace, Delimiters::removed));
    parts.preTokenizers.push_back(makeSplit(unicode::isBertPunctuation, Delimiters::isolated));
    parts.decoders.push_back(makeWordPieceDecoder("##", true));
}

/// Whether a token of a vocabulary of BERT has a capital letter, apart from special tokens.
bool hasCapitals(const GgufMetadata& metadata) {
    const auto tokens = metadata.texts(key("tokens")).value_or(std::vector<std::string_view>());
    const auto types = metadata.integers(key("token_type"), 0, mostIds);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool isNormal = !types || i >= types->size() || (*types)[i] == gguf_token::normal;
        if (isNormal && !isBracketed(tokens[i]) &&
            std::ranges::any_of(tokens[i], [](char letter) { return letter >= 'A' && letter <= 'Z'; }))
            return true;
    }
    return false;
}

void readSpecials(const GgufVocabulary& source, TokenizerParts& parts) {
    TokenizerCard& card = parts.card;
    card.bos = source.special("bos_token_id");
    card.eos = source.special("eos_token_id");
    card.unknown = source.special("unknown_token_id");
    card.separator = source.special("seperator_token_id"); // the key is misspelled in the format
    card.padding = source.special("padding_token_id");
    card.classifier = source.special("cls_token_id");
    card.mask = source.special("mask_token_id");
    card.chatTemplate = source.metadata.text("tokenizer.chat_template").value_or("");
    const bool roberta = source.pre && source.pre->name == "roberta-bpe";
    std::vector<AddedToken> added;
    for (std::size_t i = 0; i < source.tokens.size(); ++i) {
        const bool special = source.types[i] == gguf_token::control || source.types[i] == gguf_token::unknown;
        if (!special && source.types[i] != gguf_token::userDefined)
            continue;
        AddedToken token;
        token.id = static_cast<int>(i);
        token.text = source.tokens[i].text;
        token.normalized = false;
        token.special = special;
        token.stripsLeft = roberta && token.text == "<mask>"; // the space before the token is part of it
        added.push_back(std::move(token));
    }
    parts.added = AddedTokens(std::move(added), parts.normalizers);
}

TemplateItem around(std::optional<int> id, const GgufVocabulary& source, const char* name) {
    if (!id)
        source.metadata.refuse(key(name), "is missing or beyond the vocabulary, but the tokenizer adds it to texts");
    return {TemplateItem::Kind::special, 0, {*id}};
}

void readTemplate(const GgufVocabulary& source, const std::string& kind, TokenizerParts& parts) {
    const TokenizerCard& card = parts.card;
    bool bos = kind == "llama" || kind == "bert" || (source.pre && source.pre->addsBos);
    bool eos = kind == "bert" || kind == "t5" || (source.pre && source.pre->addsEos);
    bos = source.flag("add_bos_token", bos) || kind == "bert";
    eos = source.flag("add_eos_token", eos) || kind == "bert";
    const TemplateItem first{TemplateItem::Kind::first, 0, {}};
    const TemplateItem second{TemplateItem::Kind::second, 1, {}};
    std::vector<TemplateItem> front;
    std::vector<TemplateItem> end;
    if (bos)
        front = {around(kind == "bert" && card.classifier ? card.classifier : card.bos, source,
                        kind == "bert" ? "cls_token_id" : "bos_token_id")};
    if (eos)
        end = {around(kind == "bert" && card.separator ? card.separator : card.eos, source,
                      kind == "bert" ? "seperator_token_id" : "eos_token_id")};
    const auto joined = [](std::initializer_list<std::vector<TemplateItem>> lists) {
        std::vector<TemplateItem> items;
        for (const auto& list : lists)
            items.insert(items.end(), list.begin(), list.end());
        return items;
    };
    parts.post.single = joined({front, {first}, end});
    std::vector<TemplateItem> last = end;
    for (TemplateItem& item : last)
        item.type = 1;
    parts.post.pair = kind == "bert" ? joined({front, {first}, end, {second}, last})
                                     : joined({front, {first}, end, front, {second}, end});
}

} // namespace

BertCleaning ggufBertCleaning(const GgufMetadata& metadata) {
    const auto lower = metadata.flag(key("normalizer.lowercase"));
    const bool lowers = lower ? *lower : !hasCapitals(metadata);
    return {.stripAccents = metadata.flag(key("normalizer.strip_accents")).value_or(lowers), .lowerCase = lowers};
}

std::span<const GgufPreTokenizer> ggufPreTokenizers() {
    return preKinds;
}

TokenizerParts readGgufTokenizer(const GgufMetadata& metadata) {
    const auto kind = metadata.text(key("model"));
    if (!kind || *kind == "none" || *kind == "no_vocab")
        throw Error("has no tokenizer", metadata.subject());
    TokenizerParts parts;
    GgufVocabulary source = readSource(metadata);
    if (*kind == "llama")
        readLlama(source, parts);
    else if (*kind == "gpt2")
        readGpt2(source, parts);
    else if (*kind == "bert")
        readBert(source, parts);
    else if (*kind == "t5")
        readUnigram(source, parts);
    else
        metadata.refuse(key("model"),
                        fmt::format("the tokenizer \"{}\" is unknown; supported are llama, gpt2, bert, t5", *kind));
    parts.card.source = metadata.subject();
    readSpecials(source, parts);
    readTemplate(source, *kind, parts);
    return parts;
}

} // namespace secateur
