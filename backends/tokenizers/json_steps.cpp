// Reads the objects of a tokenizer.json as normalizers, pre-tokenizers, templates and decoders.

#include "backends/tokenizers/hf_vocabulary.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/decoders.h"
#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace secateur {

namespace {

constexpr int deepestSequence = 8;
void collect(const JsonObject& step, const std::string& listKey, int depth, std::vector<JsonObject>& steps) {
    if (typeOf(step) != "Sequence") {
        steps.push_back(step);
        return;
    }
    if (depth == deepestSequence)
        step.refuse("type", fmt::format("sequences nest deeper than {} levels", deepestSequence));
    for (const JsonObject& inner : step.objects(listKey).value_or(std::vector<JsonObject>()))
        collect(inner, listKey, depth + 1, steps);
}

bool flagOr(const JsonObject& step, const char* key, bool otherwise) {
    return step.flag(key).value_or(otherwise);
}

std::string requiredText(const JsonObject& object, const std::string& key) {
    auto text = object.text(key);
    if (!text)
        object.refuse(key, "is missing");
    return *std::move(text);
}

[[noreturn]] void refuseType(const JsonObject& step, const char* kind) {
    step.refuse("type", fmt::format("the {} \"{}\" is unknown", kind, typeOf(step)));
}

/// A pattern of a step: {"String": text} or {"Regex": expression}.
struct Pattern {
    std::optional<std::string> text;
    std::optional<std::string> regex;
};

Pattern patternOf(const JsonObject& step) {
    const auto object = step.object("pattern");
    if (!object)
        step.refuse("pattern", "is missing");
    Pattern pattern{object->text("String"), object->text("Regex")};
    if (!pattern.text && !pattern.regex)
        step.refuse("pattern", "has neither String nor Regex");
    return pattern;
}

std::shared_ptr<const Regex> regexOf(const JsonObject& step, const std::string& pattern) {
    return std::make_shared<const Regex>(pattern, step.subject());
}

std::shared_ptr<const Charsmap> charsmapOf(const JsonObject& step) {
    const auto blob = fromBase64(step.text("precompiled_charsmap").value_or(""));
    if (!blob)
        step.refuse("precompiled_charsmap", "is not base64");
    return std::make_shared<const Charsmap>(*blob, step.subject());
}

NormalizerPtr replaceOf(const JsonObject& step) {
    const Pattern pattern = patternOf(step);
    const std::string content = step.text("content").value_or("");
    return pattern.text ? makeReplaceText(*pattern.text, content)
                        : makeReplaceRegex(regexOf(step, *pattern.regex), content);
}

NormalizerPtr bertOf(const JsonObject& step) {
    const bool lower = flagOr(step, "lowercase", true);
    return makeBertCleaning({.cleanText = flagOr(step, "clean_text", true),
                             .apartChinese = flagOr(step, "handle_chinese_chars", true),
                             .stripAccents = flagOr(step, "strip_accents", lower),
                             .lowerCase = lower});
}

NormalizerPtr normalizerOf(const JsonObject& step) {
    const std::string type = typeOf(step);
    if (type == "NFC")
        return makeNormalForm(NormalForm::nfc);
    if (type == "NFD")
        return makeNormalForm(NormalForm::nfd);
    if (type == "NFKC")
        return makeNormalForm(NormalForm::nfkc);
    if (type == "NFKD")
        return makeNormalForm(NormalForm::nfkd);
    if (type == "Lowercase")
        return makeLowercase();
    if (type == "Strip")
        return makeStrip(flagOr(step, "strip_left", true), flagOr(step, "strip_right", true));
    if (type == "StripAccents")
        return makeStripAccents();
    if (type == "BertNormalizer")
        return bertOf(step);
    if (type == "Prepend")
        return makePrepend(step.text("prepend").value_or(""));
    if (type == "Replace")
        return replaceOf(step);
    if (type == "Precompiled")
        return makeGraphemeMap(charsmapOf(step));
    if (type == "ByteLevel")
        return makeByteLetters();
    if (type == "Nmt")
        return makeNmt();
    refuseType(step, "normalizer");
}

Delimiters delimitersOf(const JsonObject& step, const std::string& otherwise) {
    const std::string behaviour = step.text("behavior").value_or(otherwise);
    if (behaviour == "Removed")
        return Delimiters::removed;
    if (behaviour == "Isolated")
        return Delimiters::isolated;
    if (behaviour == "Contiguous")
        return Delimiters::contiguous;
    if (behaviour == "MergedWithPrevious")
        return Delimiters::mergedWithPrevious;
    if (behaviour == "MergedWithNext")
        return Delimiters::mergedWithNext;
    step.refuse("behavior", fmt::format("\"{}\" is unknown", behaviour));
}

PreTokenizerPtr splitOf(const JsonObject& step) {
    const Pattern pattern = patternOf(step);
    const Delimiters delimiters = delimitersOf(step, "");
    const bool invert = flagOr(step, "invert", false);
    // The matches of a known expression cover the whole text. `isolated` is therefore the same as `removed` with
    // `invert`.
    const auto rule = pattern.regex ? knownScanRule(*pattern.regex) : std::nullopt;
    if (rule && (delimiters == Delimiters::isolated || (delimiters == Delimiters::removed && invert)))
        return makeScan(*rule);
    if (pattern.text)
        return makeSplit(*pattern.text, delimiters, invert);
    return makeSplit(regexOf(step, *pattern.regex), delimiters, invert);
}

PreTokenizerPtr metaspaceOf(const JsonObject& step) {
    const std::string mark = step.text("replacement").value_or(std::string(spaceMark));
    const std::string scheme =
        step.text("prepend_scheme").value_or(flagOr(step, "add_prefix_space", true) ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never")
        step.refuse("prepend_scheme", fmt::format("\"{}\" is unknown", scheme));
    return makeMetaspace(mark,
                         scheme == "always"  ? PrependScheme::always
                         : scheme == "first" ? PrependScheme::first
                                             : PrependScheme::never,
                         flagOr(step, "split", true));
}

void addByteLevel(const JsonObject& step, std::vector<PreTokenizerPtr>& steps) {
    if (flagOr(step, "add_prefix_space", true))
        steps.push_back(makePrefixBlank());
    if (flagOr(step, "use_regex", true))
        steps.push_back(makeScan(gpt2Rule));
}

void addPreTokenizer(const JsonObject& step, std::vector<PreTokenizerPtr>& steps) {
    const std::string type = typeOf(step);
    if (type == "ByteLevel") {
        addByteLevel(step, steps);
    } else if (type == "Split") {
        steps.push_back(splitOf(step));
    } else if (type == "Digits") {
        steps.push_back(makeSplit(unicode::isNumber, flagOr(step, "individual_digits", false)
                                                         ? Delimiters::isolated
                                                         : Delimiters::contiguous));
    } else if (type == "Metaspace") {
        steps.push_back(metaspaceOf(step));
    } else if (type == "BertPreTokenizer") {
        steps.push_back(makeSplit(unicode::isSpace, Delimiters::removed));
        steps.push_back(makeSplit(unicode::isBertPunctuation, Delimiters::isolated));
    } else if (type == "WhitespaceSplit") {
        steps.push_back(makeSplit(unicode::isSpace, Delimiters::removed));
    } else if (type == "Whitespace") {
        steps.push_back(makeWordsAndOthers());
    } else if (type == "Punctuation") {
        steps.push_back(makeSplit(unicode::isBertPunctuation, delimitersOf(step, "Isolated")));
    } else if (type == "CharDelimiterSplit") {
        steps.push_back(makeSplit(requiredText(step, "delimiter"), Delimiters::removed));
    } else {
        refuseType(step, "pre-tokenizer");
    }
}

std::vector<int> idsOf(const JsonObject& specials, const std::string& name, const JsonObject& step) {
    const auto entry = specials.object(name);
    const auto ids = entry ? entry->sizes("ids") : std::nullopt;
    if (!ids)
        step.refuse("special_tokens", fmt::format("does not give the ids of {}", inQuotes(name)));
    std::vector<int> read;
    for (const std::int64_t id : *ids) {
        if (id > mostIds)
            step.refuse("special_tokens", fmt::format("the id {} is beyond any vocabulary", id));
        read.push_back(static_cast<int>(id));
    }
    return read;
}

std::vector<TemplateItem> templateOf(const JsonObject& step, const char* key) {
    std::vector<TemplateItem> items;
    const auto specials = step.object("special_tokens");
    for (const JsonObject& object : step.objects(key).value_or(std::vector<JsonObject>())) {
        const auto special = object.object("SpecialToken");
        const auto sequence = object.object("Sequence");
        if (!special == !sequence)
            step.refuse(key, "has an element that is neither SpecialToken nor Sequence");
        const JsonObject& item = special ? *special : *sequence;
        const auto type = static_cast<int>(item.integer("type_id", 0, 255).value_or(0));
        if (sequence)
            items.push_back(
                {requiredText(item, "id") == "B" ? TemplateItem::Kind::second : TemplateItem::Kind::first, type, {}});
        else if (specials)
            items.push_back({TemplateItem::Kind::special, type, idsOf(*specials, requiredText(item, "id"), step)});
        else
            step.refuse("special_tokens", "is missing");
    }
    if (std::ranges::find(items, TemplateItem::Kind::first, &TemplateItem::kind) == items.end())
        step.refuse(key, "has no place for the text");
    return items;
}

TemplateItem specialOf(const JsonObject& step, const char* key, int type) {
    const auto named = step.named(key);
    if (!named || named->second > mostIds)
        step.refuse(key, "is missing or beyond any vocabulary");
    return {TemplateItem::Kind::special, type, {static_cast<int>(named->second)}};
}

void readSeparators(const JsonObject& step, bool roberta, PostProcessor& post) {
    const TemplateItem front = specialOf(step, "cls", 0);
    const TemplateItem end = specialOf(step, "sep", 0);
    const TemplateItem first{TemplateItem::Kind::first, 0, {}};
    post.single = {front, first, end};
    if (roberta)
        post.pair = {front, first, end, end, {TemplateItem::Kind::second, 0, {}}, end};
    else
        post.pair = {front, first, end, {TemplateItem::Kind::second, 1, {}}, specialOf(step, "sep", 1)};
}

void readTrimming(const JsonObject& step, PostProcessor& post) {
    post.trimsBlanks = flagOr(step, "trim_offsets", true);
    post.keepsPrefix = flagOr(step, "add_prefix_space", true);
}

DecoderPtr stripDecoderOf(const JsonObject& step) {
    const std::string content = requiredText(step, "content");
    if (content.empty())
        step.refuse("content", "is empty");
    return makeStripDecoder(content, static_cast<std::size_t>(step.integer("start", 0, mostIds).value_or(0)),
                            static_cast<std::size_t>(step.integer("stop", 0, mostIds).value_or(0)));
}

DecoderPtr decoderOf(const JsonObject& step) {
    const std::string type = typeOf(step);
    if (type == "ByteLevel")
        return makeByteLevelDecoder();
    if (type == "ByteFallback")
        return makeByteFallbackDecoder();
    if (type == "Fuse")
        return makeFuse();
    if (type == "Strip")
        return stripDecoderOf(step);
    if (type == "Replace") {
        const Pattern pattern = patternOf(step);
        const std::string content = step.text("content").value_or("");
        return pattern.text ? makeReplaceTextDecoder(*pattern.text, content)
                            : makeReplaceRegexDecoder(regexOf(step, *pattern.regex), content);
    }
    if (type == "Metaspace") {
        const bool prefix =
            step.text("prepend_scheme").value_or("always") != "never" && flagOr(step, "add_prefix_space", true);
        return makeMetaspaceDecoder(step.text("replacement").value_or(std::string(spaceMark)),
                                    prefix ? PrependScheme::always : PrependScheme::never);
    }
    if (type == "WordPiece")
        return makeWordPieceDecoder(step.text("prefix").value_or("##"), flagOr(step, "cleanup", true));
    if (type == "BPEDecoder")
        return makeWordEndDecoder(step.text("suffix").value_or("</w>"));
    refuseType(step, "decoder");
}

} // namespace

std::string typeOf(const JsonObject& step) {
    return requiredText(step, "type");
}

std::vector<JsonObject> stepsOf(const JsonObject& document, const std::string& key, const std::string& listKey) {
    std::vector<JsonObject> steps;
    if (const auto step = document.object(key))
        collect(*step, listKey, 0, steps);
    return steps;
}

std::vector<NormalizerPtr> readNormalizers(const JsonObject& document) {
    std::vector<NormalizerPtr> normalizers;
    for (const JsonObject& step : stepsOf(document, "normalizer", "normalizers"))
        normalizers.push_back(normalizerOf(step));
    return normalizers;
}

std::vector<PreTokenizerPtr> readPreTokenizers(const JsonObject& document, bool& byteLevel) {
    std::vector<PreTokenizerPtr> preTokenizers;
    byteLevel = false;
    for (const JsonObject& step : stepsOf(document, "pre_tokenizer", "pretokenizers")) {
        if (byteLevel)
            step.refuse("type", "a step after ByteLevel is not supported");
        byteLevel = typeOf(step) == "ByteLevel";
        addPreTokenizer(step, preTokenizers);
    }
    return preTokenizers;
}

PostProcessor readPostProcessor(const JsonObject& document) {
    PostProcessor post;
    for (const JsonObject& step : stepsOf(document, "post_processor", "processors")) {
        const std::string type = typeOf(step);
        if (type == "TemplateProcessing") {
            post.single = templateOf(step, "single");
            post.pair = templateOf(step, "pair");
        } else if (type == "BertProcessing" || type == "RobertaProcessing") {
            readSeparators(step, type == "RobertaProcessing", post);
        } else if (type != "ByteLevel") {
            refuseType(step, "post-processor");
        }
        if (type == "ByteLevel" || type == "RobertaProcessing")
            readTrimming(step, post);
    }
    return post;
}

std::vector<DecoderPtr> readDecoders(const JsonObject& document) {
    std::vector<DecoderPtr> decoders;
    for (const JsonObject& step : stepsOf(document, "decoder", "decoders"))
        decoders.push_back(decoderOf(step));
    return decoders;
}

} // namespace secateur
