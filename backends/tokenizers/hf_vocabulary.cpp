#include "backends/tokenizers/hf_vocabulary.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "backends/tokenizers/decoders.h"
#include "backends/tokenizers/model_builders.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

std::optional<int> idOf(const TokenModel& model, const HfContext& context, const std::string& text) {
    const auto added = std::ranges::find(context.added, text, &AddedToken::text);
    return added != context.added.end() ? std::optional(added->id) : model.vocabulary().find(text);
}

/// Adds the added tokens: the special tokens of the roles, those in `more`, and those that the folder's files list.
void addTokens(const HfContext& context, std::vector<std::pair<std::string, std::string>> roles,
               std::vector<AddedToken> more, TokenizerParts& parts) {
    std::vector<AddedToken> added = std::move(more);
    for (auto& [role, text] : roles)
        text = context.role(role, text);
    for (const auto& [role, text] : roles) {
        if (const auto id = text.empty() ? std::nullopt : idOf(*parts.model, context, text)) {
            AddedToken token;
            token.id = *id;
            token.text = text;
            token.special = true;
            token.normalized = false;
            token.stripsLeft = role == "mask" && text == "<mask>";
            added.push_back(std::move(token));
        }
    }
    added.insert(added.end(), context.added.begin(), context.added.end());
    parts.added = AddedTokens(std::move(added), parts.normalizers);
}

TemplateItem around(const TokenizerParts& parts, const HfContext& context, const std::string& text, int type = 0) {
    const auto id = idOf(*parts.model, context, text);
    if (!id)
        throw Error(fmt::format("has no token {}, which the tokenizer adds to texts", inQuotes(text)),
                    parts.model->vocabulary().subject());
    return {TemplateItem::Kind::special, type, {*id}};
}

const TemplateItem firstText{TemplateItem::Kind::first, 0, {}};
const TemplateItem secondText{TemplateItem::Kind::second, 1, {}};

void templateAsBert(const HfContext& context, TokenizerParts& parts) {
    const TemplateItem front = around(parts, context, context.role("cls", "[CLS]"));
    const std::string separator = context.role("sep", "[SEP]");
    const TemplateItem end = around(parts, context, separator);
    parts.post.single = {front, firstText, end};
    parts.post.pair = {front, firstText, end, secondText, around(parts, context, separator, 1)};
}

void templateAsRoberta(const HfContext& context, TokenizerParts& parts) {
    const TemplateItem front = around(parts, context, context.role("cls", "<s>"));
    const TemplateItem end = around(parts, context, context.role("sep", "</s>"));
    parts.post.single = {front, firstText, end};
    parts.post.pair = {front, firstText, end, end, {TemplateItem::Kind::second, 0, {}}, end};
}

/// Adds a template that puts BOS and EOS around a text, as the configuration's flags state.
void templateByFlags(const HfContext& context, bool bos, TokenizerParts& parts) {
    std::vector<TemplateItem> front;
    std::vector<TemplateItem> end;
    if (context.addsBos.value_or(bos))
        front = {around(parts, context, context.role("bos", "<s>"))};
    if (context.addsEos.value_or(false))
        end = {around(parts, context, context.role("eos", "</s>"))};
    parts.post.single = front;
    parts.post.single.push_back(firstText);
    parts.post.single.insert(parts.post.single.end(), end.begin(), end.end());
    parts.post.pair = parts.post.single;
    for (TemplateItem item : parts.post.single) {
        item.type = 1;
        parts.post.pair.push_back(item.kind == TemplateItem::Kind::first ? secondText : item);
    }
}

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string_view withoutEnd(std::string_view line) {
    while (!line.empty() && (line.back() == ' ' || (line.back() >= '\t' && line.back() <= '\r')))
        line.remove_suffix(1);
    return line;
}

/// Changes the ids of pieces to those of XLM-RoBERTa: four special tokens replace the first three pieces of the file.
void shiftPieces(SentencePieceFile& file, const std::string& subject) {
    using Type = SentencePieceFile::Type;
    constexpr std::size_t ownSpecials = 3;
    if (file.pieces.size() < ownSpecials)
        throw Error("has fewer pieces than special tokens", subject);
    std::vector<SentencePieceFile::Piece> pieces{{"<s>", 0, Type::control},
                                                 {"<pad>", 0, Type::control},
                                                 {"</s>", 0, Type::control},
                                                 {"<unk>", 0, Type::unknown}};
    pieces.insert(pieces.end(), file.pieces.begin() + ownSpecials, file.pieces.end());
    pieces.push_back({"<mask>", 0, Type::control});
    file.pieces = std::move(pieces);
    file.bos = 0;
    file.padding = 1;
    file.eos = 2;
}

/// Adds the normalizers of ALBERT in front of those of SentencePiece.
void addAlbertSteps(const HfContext& context, TokenizerParts& parts) {
    std::vector<NormalizerPtr> steps;
    steps.push_back(makeReplaceText("``", "\""));
    steps.push_back(makeReplaceText("''", "\""));
    steps.push_back(makeNormalForm(NormalForm::nfkd));
    steps.push_back(makeStripAccents());
    if (context.lowerCase.value_or(true))
        steps.push_back(makeLowercase());
    for (auto& step : parts.normalizers)
        steps.push_back(std::move(step));
    parts.normalizers = std::move(steps);
}

} // namespace

void readAddedTokens(const std::optional<JsonObject>& config, const std::optional<JsonObject>& added,
                     HfContext& context) {
    const auto listed = config ? config->object("added_tokens_decoder") : std::nullopt;
    for (const std::string& key : listed ? listed->keys() : std::vector<std::string>()) {
        AddedToken token;
        const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), token.id);
        const auto object = listed->object(key);
        const auto text = object ? object->text("content") : std::nullopt;
        if (failure != std::errc() || end != key.data() + key.size() || token.id < 0 || !text || text->empty())
            listed->refuse(key, "must be the id of a token that has a content");
        const auto flag = [&](const char* name) { return object->flag(name).value_or(false); };
        token.text = *text;
        token.singleWord = flag("single_word");
        token.stripsLeft = flag("lstrip");
        token.stripsRight = flag("rstrip");
        token.normalized = flag("normalized");
        token.special = flag("special");
        context.added.push_back(std::move(token));
    }
    for (const std::string& text : added ? added->keys() : std::vector<std::string>()) {
        if (text.empty() || std::ranges::find(context.added, text, &AddedToken::text) != context.added.end())
            continue;
        AddedToken token;
        token.id = static_cast<int>(added->integer(text, 0, mostIds - 1).value_or(0));
        token.text = text;
        context.added.push_back(std::move(token));
    }
}

TokenizerParts readVocabText(std::string_view text, const std::string& subject, const HfContext& context) {
    std::vector<ListedToken> tokens;
    for (const std::string_view line : linesOf(text))
        tokens.push_back({std::string(withoutEnd(line)), static_cast<std::int64_t>(tokens.size()), 0});
    TokenizerParts parts;
    const auto vocabulary = makeVocabulary(tokens, subject);
    const auto unknown = vocabulary->find(context.role("unk", "[UNK]"));
    if (!unknown)
        throw Error(fmt::format("has no line {} for unknown words", inQuotes(context.role("unk", "[UNK]"))), subject);
    constexpr std::size_t longestWord = 100;
    parts.model = std::make_unique<WordPiece>(vocabulary, "##", *unknown, longestWord);
    const bool lower = context.lowerCase.value_or(true);
    parts.normalizers.push_back(makeBertCleaning({.apartChinese = context.apartChinese.value_or(true),
                                                  .stripAccents = context.stripAccents.value_or(lower),
                                                  .lowerCase = lower}));
    parts.preTokenizers.push_back(makeSplit(unicode::isSpace, Delimiters::removed));
    parts.preTokenizers.push_back(makeSplit(unicode::isBertPunctuation, Delimiters::isolated));
    parts.decoders.push_back(makeWordPieceDecoder("##", true));
    addTokens(context, {{"unk", "[UNK]"}, {"cls", "[CLS]"}, {"sep", "[SEP]"}, {"pad", "[PAD]"}, {"mask", "[MASK]"}}, {},
              parts);
    templateAsBert(context, parts);
    parts.card.source = subject;
    parts.card.unknown = unknown;
    return parts;
}

TokenizerParts readVocabJson(std::string_view vocab, std::string_view merges, const HfContext& context) {
    const std::string subject = context.folder + "/vocab.json";
    const std::string mergesSubject = context.folder + "/merges.txt";
    if (!unicode::isValid(vocab))
        throw Error("is not UTF-8", subject);
    TokenizerParts parts;
    const auto vocabulary = makeVocabulary(readTokenList(vocab, subject), subject);
    std::vector<MergeHalves> halves;
    for (std::string_view line : linesOf(merges)) {
        line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
        if (!line.empty() && !line.starts_with("#version"))
            halves.push_back(mergeHalves(line));
    }
    BpeOptions options;
    options.byteLevel = true;
    parts.model = std::make_unique<Bpe>(vocabulary, resolveMerges(*vocabulary, halves, "", mergesSubject), options);
    const bool roberta = context.is("Roberta", "roberta");
    const bool qwen =
        context.tokenizerClass.find("Qwen2") != std::string::npos || context.modelType.starts_with("qwen");
    if (qwen)
        parts.normalizers.push_back(makeNormalForm(NormalForm::nfc));
    parts.preTokenizers.push_back(makeScan(qwen ? qwen2Rule : gpt2Rule));
    parts.decoders.push_back(makeByteLevelDecoder());
    if (roberta)
        addTokens(context, {{"bos", "<s>"}, {"eos", "</s>"}, {"unk", "<unk>"}, {"pad", "<pad>"}, {"mask", "<mask>"}},
                  {}, parts);
    else
        addTokens(context, {{"bos", "<|endoftext|>"}, {"eos", "<|endoftext|>"}, {"unk", ""}, {"pad", ""}}, {}, parts);
    if (roberta)
        templateAsRoberta(context, parts);
    else
        templateByFlags(context, false, parts);
    parts.post.trimsBlanks = roberta;
    parts.card.source = subject;
    return parts;
}

TokenizerParts readHfSentencePiece(SentencePieceFile file, const std::string& subject, const HfContext& context) {
    const bool xlmRoberta = context.is("XLMRoberta", "xlm-roberta");
    const bool albert = context.is("Albert", "albert");
    if (xlmRoberta)
        shiftPieces(file, subject);
    TokenizerParts parts = makeSentencePieceParts(file, subject);
    if (context.modelType.empty() && context.tokenizerClass.empty())
        return parts;
    if (albert)
        addAlbertSteps(context, parts);
    const auto extra = parts.added.all();
    if (albert || xlmRoberta)
        addTokens(context, {{"mask", albert ? "[MASK]" : "<mask>"}}, extra, parts);
    else
        addTokens(context, {{"unk", "<unk>"}, {"bos", "<s>"}, {"eos", "</s>"}}, extra, parts);
    if (albert)
        templateAsBert(context, parts);
    else if (xlmRoberta)
        templateAsRoberta(context, parts);
    else
        templateByFlags(context, true, parts);
    return parts;
}

namespace {

/// The texts from which a token model is built.
struct Source {
    const JsonObject& model;
    std::string subject; ///< name of the vocabulary, for error messages
    std::vector<ListedToken> tokens;
    std::shared_ptr<const Vocabulary> vocabulary;
    std::string_view merges; ///< the merges as JSON
    bool byteLevel = false;
};

/// The type of the token model. Older files do not state it, so that it follows from the other fields.
std::string modelType(const JsonObject& model, bool hasMerges, bool scored) {
    if (const auto type = model.text("type"))
        return *type;
    if (hasMerges)
        return "BPE";
    if (scored)
        return "Unigram";
    return model.has("continuing_subword_prefix") || model.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

/// The id of "unk_token"; -1 if the key is absent. @throws Error if the token is not in the vocabulary
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

/// Checks that every id in the post-processor's templates has a token.
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
