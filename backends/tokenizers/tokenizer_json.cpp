#include "backends/tokenizers/tokenizer_json.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/model_builders.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/unigram.h"
#include "backends/tokenizers/word_piece.h"

#include <fmt/format.h>

#include <cmath>

namespace secateur {

namespace {

/// The vocabulary and the merges, from which a model is built.
struct Source {
    const JsonObject& model;
    std::string subject; ///< of the vocabulary
    std::vector<ListedToken> tokens;
    std::shared_ptr<const Vocabulary> vocabulary;
    std::string_view merges; ///< JSON
    bool byteLevel = false;
};

/// The model's type, which older files leave out.
std::string modelType(const JsonObject& model, bool hasMerges, bool scored) {
    if (const auto type = model.text("type"))
        return *type;
    if (hasMerges)
        return "BPE";
    if (scored)
        return "Unigram";
    return model.has("continuing_subword_prefix") || model.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

/// The id of "unk_token"; -1 if there is no such key. @throws Error if it is not in the vocabulary
int unknownOf(const Source& source) {
    const auto name = source.model.text("unk_token");
    if (!name)
        return -1;
    const auto id = source.vocabulary->find(*name);
    if (!id)
        source.model.refuse("unk_token", fmt::format("{} is not in the vocabulary", inQuotes(*name)));
    return *id;
}

std::unique_ptr<const TokenModel> bpeOf(const Source& source, std::vector<std::string>& warnings) {
    const JsonObject& model = source.model;
    if (model.number("dropout").value_or(0) > 0)
        warnings.emplace_back("the tokenizer's dropout of merges is ignored: it is for training");
    BpeOptions options;
    options.byteLevel = source.byteLevel;
    options.byteFallback = model.flag("byte_fallback").value_or(false);
    options.fuseUnknown = model.flag("fuse_unk").value_or(false);
    options.wholeWords = model.flag("ignore_merges").value_or(false);
    options.continuationPrefix = model.text("continuing_subword_prefix").value_or("");
    options.wordEnd = model.text("end_of_word_suffix").value_or("");
    options.unknown = unknownOf(source);
    const std::string subject = model.subject() + ": merges";
    const auto merges = source.merges.empty() ? std::vector<BpeMerge>()
                                              : resolveMerges(*source.vocabulary, readMergeList(source.merges, subject),
                                                              options.continuationPrefix, subject);
    return std::make_unique<Bpe>(source.vocabulary, merges, std::move(options));
}

std::unique_ptr<const TokenModel> unigramOf(const Source& source) {
    UnigramOptions options;
    const auto unknown = source.model.integer("unk_id", 0, mostIds);
    if (unknown && !source.vocabulary->holds(static_cast<int>(*unknown)))
        source.model.refuse("unk_id", fmt::format("{} is beyond the {} tokens", *unknown, source.tokens.size()));
    options.unknown = static_cast<int>(unknown.value_or(-1));
    options.byteFallback = source.model.flag("byte_fallback").value_or(false);
    std::vector<double> scores;
    for (const ListedToken& token : source.tokens) {
        if (!std::isfinite(token.score))
            throw Error(fmt::format("gives {} a score that is not finite", inQuotes(token.text)), source.subject);
        scores.push_back(token.score);
    }
    return std::make_unique<Unigram>(source.vocabulary, std::move(scores), std::move(options));
}

std::unique_ptr<const TokenModel> modelOf(const Source& source, const std::string& type,
                                          std::vector<std::string>& warnings) {
    if (type == "BPE")
        return bpeOf(source, warnings);
    if (source.byteLevel)
        source.model.refuse("type", fmt::format("the model \"{}\" after the step ByteLevel is not supported", type));
    if (type == "Unigram")
        return unigramOf(source);
    if (type == "WordPiece") {
        constexpr std::int64_t longest = 1'000'000;
        return std::make_unique<WordPiece>(
            source.vocabulary, source.model.text("continuing_subword_prefix").value_or("##"), unknownOf(source),
            static_cast<std::size_t>(source.model.integer("max_input_chars_per_word", 0, longest).value_or(100)));
    }
    if (type == "WordLevel")
        return std::make_unique<WordLevel>(source.vocabulary, unknownOf(source));
    source.model.refuse("type", fmt::format("the model {} is unknown", inQuotes(type)));
}

std::vector<AddedToken> addedTokensOf(const JsonObject& document, const Vocabulary& vocabulary) {
    std::vector<AddedToken> tokens;
    for (const JsonObject& object : document.objects("added_tokens").value_or(std::vector<JsonObject>())) {
        const auto id = object.integer("id", 0, mostIds - 1);
        const auto text = object.text("content");
        if (!id || !text || text->empty())
            object.refuse(id ? "content" : "id", "is missing");
        if (text->size() > longestToken)
            object.refuse("content", fmt::format("has {} bytes; the limit is {}", text->size(), longestToken));
        if (const auto known = vocabulary.find(*text); known && *known != *id)
            object.refuse(
                "id", fmt::format("gives {} the id {}, but the vocabulary gives it {}", inQuotes(*text), *id, *known));
        const auto flag = [&](const char* key) { return object.flag(key).value_or(false); };
        tokens.push_back({static_cast<int>(*id), *text, flag("single_word"), flag("lstrip"), flag("rstrip"),
                          flag("normalized"), flag("special")});
    }
    return tokens;
}

/// Checks that all ids of the post-processor have tokens.
void checkTemplates(const TokenizerParts& parts, const std::string& subject) {
    for (const auto& items : {parts.post.single, parts.post.pair}) {
        for (const TemplateItem& item : items) {
            for (const int id : item.ids) {
                if (!parts.model->vocabulary().holds(id) && !parts.added.find(id))
                    throw Error(fmt::format("adds the id {} to texts, but no token has it", id),
                                subject + ": post_processor");
            }
        }
    }
}

} // namespace

TokenizerParts readTokenizerJson(std::string_view text, const std::string& subject) {
    if (!unicode::isValid(text))
        throw Error("is not UTF-8", subject);
    const TokenizerText cut = cutTokenizerText(text, subject);
    const JsonObject document = JsonObject::parse(cut.rest, subject);
    const auto model = document.object("model");
    if (!model || cut.vocab.empty())
        throw Error("has no vocabulary (model: vocab)", subject);
    TokenizerParts parts;
    Source source{*model, subject + ": model: vocab", {}, nullptr, cut.merges, false};
    parts.preTokenizers = readPreTokenizers(document, source.byteLevel);
    parts.normalizers = readNormalizers(document);
    source.tokens = readTokenList(cut.vocab, source.subject);
    source.vocabulary = makeVocabulary(source.tokens, source.subject);
    const std::string type = modelType(*model, model->has("merges"), cut.vocab.front() == '[');
    if ((type == "Unigram") != (cut.vocab.front() == '['))
        throw Error(fmt::format("must be {} for the model {}",
                                type == "Unigram" ? "a list of tokens with scores" : "an object of tokens and ids",
                                inQuotes(type)),
                    source.subject);
    parts.model = modelOf(source, type, parts.card.warnings);
    parts.added = AddedTokens(addedTokensOf(document, *source.vocabulary), parts.normalizers);
    parts.post = readPostProcessor(document);
    parts.decoders = readDecoders(document);
    parts.card.source = subject;
    if (const auto unknown = model->text("unk_token"))
        parts.card.unknown = source.vocabulary->find(*unknown);
    else if (const auto id = model->integer("unk_id", 0, mostIds))
        parts.card.unknown = static_cast<int>(*id);
    checkTemplates(parts, subject);
    return parts;
}

} // namespace secateur
