#include "backends/export/gguf_tokenizer_metadata.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"
#include "backends/base/mapped_file.h"
#include "backends/export/gguf_pre_tokenizers.h"
#include "backends/export/merge_scores.h"
#include "backends/tokenizers/gguf_tokenizer.h"
#include "backends/tokenizers/hf_vocabulary.h"
#include "backends/tokenizers/model_builders.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/tokenizers/sentencepiece_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

std::string ggmlKey(const char* name) {
    return std::string("tokenizer.ggml.") + name;
}

/// The whole text of a file.
std::string wholeFile(const fs::path& path) {
    const auto file = MappedFile::open(path.string());
    std::string content(charactersOf(file->bytes()));
    file->checkWhole();
    return content;
}

/// A tokenizer and its file.
struct ConvertedTokenizer {
    TokenizerParts parts;
    fs::path file;
    std::string text;                   ///< content of the file
    TokenizerText cut;                  ///< for a tokenizer.json
    std::optional<JsonObject> document; ///< the same without its long lists

    std::string subject() const { return file.string(); }
    const Vocabulary& vocabulary() const { return parts.model->vocabulary(); }
};

/// The tokens by id, with their types and scores.
struct TokenList {
    std::vector<std::string> texts;
    std::vector<std::int32_t> types;
    std::vector<float> scores; ///< empty for kinds without scores
};

ConvertedTokenizer sourceAt(const std::string& path) {
    ConvertedTokenizer source;
    source.parts = readTokenizerParts(path);
    source.file = source.parts.card.source;
    source.text = wholeFile(source.file);
    if (source.text.starts_with("GGUF"))
        throw Error("is a GGUF file, whose tokenizer needs no conversion", source.subject());
    if (source.file.extension() == ".json" && source.file.filename() != "vocab.json") {
        source.cut = cutTokenizerText(source.text, source.subject());
        source.document = JsonObject::parse(source.cut.rest, source.subject());
    }
    return source;
}

std::string freeName(int id, const ConvertedTokenizer& source) {
    std::string name = fmt::format("[PAD{}]", id);
    while (source.vocabulary().find(name) || source.parts.added.id(name))
        name += '_';
    return name;
}

TokenList tokensOf(const ConvertedTokenizer& source, int rows) {
    const int size = std::max(source.vocabulary().size(), source.parts.added.largestId() + 1);
    if (rows > 0 && size > rows)
        throw Error(fmt::format("has ids up to {}, but the model's embedding has {} rows", size - 1, rows),
                    source.subject());
    TokenList tokens;
    for (int id = 0; id < std::max(size, rows); ++id) {
        const AddedToken* added = source.parts.added.find(id);
        const bool isKnown = source.vocabulary().holds(id);
        tokens.texts.push_back(added     ? added->text
                               : isKnown ? std::string(source.vocabulary().text(id))
                                         : freeName(id, source));
        tokens.types.push_back(added     ? (added->special ? gguf_token::control : gguf_token::userDefined)
                               : isKnown ? gguf_token::normal
                                         : gguf_token::unused);
    }
    return tokens;
}

/// The special tokens that are put in front of a text and at its end.
struct AddedAround {
    std::optional<int> front, end;
};

AddedAround aroundOf(const ConvertedTokenizer& source) {
    AddedAround around;
    bool isAfterText = false;
    for (const TemplateItem& item : source.parts.post.single) {
        isAfterText = isAfterText || item.kind == TemplateItem::Kind::first;
        if (item.kind != TemplateItem::Kind::special)
            continue;
        std::optional<int>& place = isAfterText ? around.end : around.front;
        if (place || item.ids.size() != 1)
            throw Error("puts several special tokens in front of a text or at its end; llama.cpp adds at most one each",
                        source.subject());
        place = item.ids.front();
    }
    return around;
}

/// A JSON file in the folder of the tokenizer; empty if there is none.
std::optional<JsonObject> jsonBeside(const ConvertedTokenizer& source, const char* name) {
    const fs::path path = source.file.parent_path() / name;
    return fs::exists(path) ? std::optional(JsonObject::parse(wholeFile(path), path.string())) : std::nullopt;
}

/// Fills in the special tokens that only config.json states.
void readConfigIds(const ConvertedTokenizer& source, TokenizerCard& card) {
    const auto stated = jsonBeside(source, "config.json");
    if (!stated)
        return;
    const JsonObject& config = *stated;
    const auto fill = [&](const char* key, std::optional<int>& id) {
        // The value may be a list or null. A list has further tokens at which generation ends; the first is EOS.
        const std::string value = config.isSet(key) ? config.shownValue(key) : "";
        const auto listed = value.starts_with('[') ? config.sizes(key) : std::nullopt;
        const auto number = listed          ? (listed->empty() ? std::nullopt : std::optional(listed->front()))
                            : value.empty() ? std::nullopt
                                            : config.integer(key, -1, mostIds);
        const int found = static_cast<int>(number.value_or(-1));
        if (!id && found >= 0 && (source.vocabulary().holds(found) || source.parts.added.find(found)))
            id = found;
    };
    fill("bos_token_id", card.bos);
    fill("eos_token_id", card.eos);
    fill("pad_token_id", card.padding);
}

class MetadataWriter {
public:
    MetadataWriter(const ConvertedTokenizer& source, int rows, GgufTokenizer& target)
        : m_source(source)
        , m_target(target)
        , m_tokens(tokensOf(source, rows))
        , m_around(aroundOf(source))
        , m_card(source.parts.card) {
        readConfigIds(source, m_card);
    }

    void writeByteLevel();
    void writeMarked();
    void writeWordPiece();
    void writeUnigram();

private:
    template <typename Value>
    void put(const char* name, const Value& value) {
        m_target.fields.push_back(fieldOf(ggmlKey(name), value));
    }
    void putId(const char* name, std::optional<int> id) {
        if (id && *id < static_cast<int>(m_tokens.texts.size()))
            put(name, static_cast<std::uint32_t>(*id));
    }
    void warnOfOptions(bool stripsMask);
    void warn(std::string text) { m_target.warnings.push_back(std::move(text)); }

    void putKind(const char* kind, std::string_view pre);
    void putTokens();
    void putSpecials(bool addsBos, bool addsEos);
    void placeAroundIds();
    std::vector<MergeHalves> merges() const;
    bool takePieces(const SentencePieceFile& file);
    void takeMergeScores();
    void markSpecialTypes();
    void spellSpaces();
    std::optional<SentencePieceFile> pieceFile() const;

    const ConvertedTokenizer& m_source;
    GgufTokenizer& m_target;
    TokenList m_tokens;
    AddedAround m_around;
    TokenizerCard m_card;
};

void MetadataWriter::putKind(const char* kind, std::string_view pre) {
    put("model", kind);
    put("pre", pre);
}

void MetadataWriter::putTokens() {
    put("tokens", std::span<const std::string>(m_tokens.texts));
    if (!m_tokens.scores.empty())
        put("scores", std::span<const float>(m_tokens.scores));
    put("token_type", std::span<const std::int32_t>(m_tokens.types));
}

void MetadataWriter::putSpecials(bool addsBos, bool addsEos) {
    putId("bos_token_id", m_card.bos);
    putId("eos_token_id", m_card.eos);
    putId("unknown_token_id", m_card.unknown);
    putId("seperator_token_id", m_card.separator); // the key is misspelled in the format
    putId("padding_token_id", m_card.padding);
    putId("cls_token_id", m_card.classifier);
    putId("mask_token_id", m_card.mask);
    put("add_bos_token", addsBos);
    put("add_eos_token", addsEos);
    if (!m_card.chatTemplate.empty())
        m_target.fields.push_back(fieldOf("tokenizer.chat_template", m_card.chatTemplate));
}

/// Makes the tokens that are put around texts BOS and EOS, because llama.cpp puts these around texts.
void MetadataWriter::placeAroundIds() {
    const auto place = [&](const char* name, std::optional<int> added, std::optional<int>& id) {
        if (added && id && *id != *added)
            warn(fmt::format("{} becomes the {} token, because it is put around texts; the configuration names {}",
                             inQuotes(m_tokens.texts[static_cast<std::size_t>(*added)]), name,
                             inQuotes(m_tokens.texts[static_cast<std::size_t>(*id)])));
        if (added)
            id = added;
    };
    place("BOS", m_around.front, m_card.bos);
    place("EOS", m_around.end, m_card.eos);
}

/// Warns of options of added tokens that GGUF cannot store. @param stripsMask whether llama.cpp itself takes the space
/// before <mask> into that token
void MetadataWriter::warnOfOptions(bool stripsMask) {
    std::string names;
    for (const AddedToken& token : m_source.parts.added.all()) {
        const bool strips = (token.stripsLeft && !(stripsMask && token.text == "<mask>")) || token.stripsRight;
        if (token.singleWord || strips)
            names.append(names.empty() ? "" : ", ").append(inQuotes(token.text));
    }
    if (!names.empty())
        warn(fmt::format("llama.cpp finds {} wherever it is in a text, and does not take spaces beside it into it",
                         names));
}

std::vector<MergeHalves> MetadataWriter::merges() const {
    if (m_source.document)
        return m_source.cut.merges.empty() ? std::vector<MergeHalves>()
                                           : readMergeList(m_source.cut.merges, m_source.subject() + ": merges");
    std::vector<MergeHalves> merges;
    const std::string text = wholeFile(m_source.file.parent_path() / "merges.txt");
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = std::string_view(text).substr(begin, end - begin);
        line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
        if (!line.empty() && !line.starts_with("#version"))
            merges.push_back(mergeHalves(line));
        begin = end + 1;
    }
    return merges;
}

void MetadataWriter::writeByteLevel() {
    ByteLevelSteps steps{m_source.parts.normalizers.empty() ? GgufPreTokenizer::Cut::gpt2
                                                            : GgufPreTokenizer::Cut::qwen2,
                         !m_source.parts.normalizers.empty()};
    bool wholeWords = false;
    if (m_source.document) {
        const JsonObject model = *m_source.document->object("model");
        for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
            if (!model.text(key).value_or("").empty())
                model.refuse(key, "is set, but llama.cpp has no such option");
        }
        steps = byteLevelSteps(*m_source.document);
        wholeWords = model.flag("ignore_merges").value_or(false);
    }
    if (steps.normalizes)
        warn("llama.cpp does not normalise texts to NFC, which the source does");
    const bool around = m_around.front && m_around.end;
    putKind("gpt2", preTokenizerName(steps.cut, wholeWords, around, m_source.subject()));
    putTokens();
    std::vector<std::string> lines;
    for (const MergeHalves& merge : merges())
        lines.push_back(merge.second.empty() ? merge.first : merge.first + ' ' + merge.second);
    put("merges", std::span<const std::string>(lines));
    placeAroundIds();
    warnOfOptions(around);
    if (around) { // llama.cpp wants a separator for RoBERTa's kind
        m_card.separator = m_card.separator.value_or(*m_around.end);
        m_card.classifier = m_card.classifier.value_or(*m_around.front);
    }
    putSpecials(m_around.front.has_value(), m_around.end.has_value());
    put("add_space_prefix", false);
}

std::optional<SentencePieceFile> MetadataWriter::pieceFile() const {
    const fs::path path = m_source.document ? m_source.file.parent_path() / "tokenizer.model" : m_source.file;
    if (!fs::exists(path))
        return std::nullopt;
    return parseSentencePiece(wholeFile(path), path.string());
}

/// Takes scores and types from the pieces of a SentencePiece model. Returns false if they are those of another
/// vocabulary.
bool MetadataWriter::takePieces(const SentencePieceFile& file) {
    constexpr float scoreOfAdded = -1000; // as llama.cpp's converter gives tokens that are not pieces
    std::vector<float> scores(m_tokens.texts.size(), scoreOfAdded);
    std::vector<std::int32_t> types = m_tokens.types;
    if (file.pieces.size() > scores.size())
        return false;
    for (std::size_t id = 0; id < file.pieces.size(); ++id) {
        const bool isAdded = m_source.parts.added.find(static_cast<int>(id)) != nullptr;
        if (file.pieces[id].text != m_tokens.texts[id] && !isAdded)
            return false;
        scores[id] = file.pieces[id].score;
        if (!isAdded || file.pieces[id].type == SentencePieceFile::Type::unknown)
            types[id] = static_cast<std::int32_t>(file.pieces[id].type);
    }
    m_tokens.scores = std::move(scores);
    m_tokens.types = std::move(types);
    return true;
}

/// Marks the unknown token and the tokens of bytes in a vocabulary that does not state types.
void MetadataWriter::markSpecialTypes() {
    for (std::size_t id = 0; id < m_tokens.texts.size(); ++id) {
        if (m_card.unknown == static_cast<int>(id))
            m_tokens.types[id] = gguf_token::unknown;
        else if (m_tokens.types[id] == gguf_token::normal && namedByte(m_tokens.texts[id]))
            m_tokens.types[id] = gguf_token::byte;
    }
}

void MetadataWriter::takeMergeScores() {
    const std::string subject = m_source.subject() + ": merges";
    const std::vector<BpeMerge> listed = resolveMerges(m_source.vocabulary(), merges(), "", subject);
    std::vector<bool> usable;
    for (const std::int32_t type : m_tokens.types)
        usable.push_back(type == gguf_token::normal);
    MergeScores found = scoresOfMerges(m_source.vocabulary(), listed, usable, subject);
    if (found.equal > 0)
        warn(fmt::format("the merges into {} tokens alternate with others, which scores cannot express; llama.cpp "
                         "merges the leftmost first, so that tokens may differ in rare texts",
                         found.equal));
    m_tokens.scores = std::move(found.scores);
    m_tokens.scores.resize(m_tokens.texts.size());
}

/// Spells user-defined tokens with spaces, because llama.cpp finds them in texts before spaces become marks.
void MetadataWriter::spellSpaces() {
    for (std::size_t id = 0; id < m_tokens.texts.size(); ++id) {
        std::string text = m_tokens.texts[id];
        for (std::size_t at = text.find(spaceMark); at != std::string::npos; at = text.find(spaceMark, at + 1))
            text.replace(at, spaceMark.size(), " ");
        const bool isTaken = m_source.vocabulary().find(text) || m_source.parts.added.id(text);
        if (m_tokens.types[id] == gguf_token::userDefined && !isTaken)
            m_tokens.texts[id] = std::move(text);
    }
}

void MetadataWriter::writeMarked() {
    const auto pieces = pieceFile();
    SpaceMarkSteps steps;
    if (m_source.document) {
        const JsonObject model = *m_source.document->object("model");
        if (!model.flag("byte_fallback").value_or(false))
            model.refuse("byte_fallback", "is false, but llama.cpp always falls back to bytes");
        steps = spaceMarkSteps(*m_source.document);
    } else {
        steps.prefix = pieces->prefix;
        if (!pieces->charsmap.empty() || pieces->mergeBlanks || pieces->blanksAtEnds || !pieces->markBlanks)
            throw Error("normalises texts (a character map, or rules for spaces), which llama.cpp does not do for "
                        "SentencePiece models of the kind BPE",
                        m_source.subject());
    }
    if (steps.firstOnly)
        warn("llama.cpp also puts a space in front of the text behind a special token, which the source does not do");
    markSpecialTypes();
    if (!pieces || !takePieces(*pieces))
        takeMergeScores();
    spellSpaces();
    warnOfOptions(false);
    putKind("llama", "default");
    putTokens();
    placeAroundIds();
    putSpecials(m_around.front.has_value(), m_around.end.has_value());
    put("add_space_prefix", steps.prefix);
}

void MetadataWriter::writeUnigram() {
    const auto pieces = m_source.document ? std::nullopt : pieceFile();
    if (!pieces || !takePieces(*pieces))
        throw Error("is a tokenizer of the kind Unigram that is not a SentencePiece model alone; only such a model can "
                    "be converted for llama.cpp",
                    m_source.subject());
    if (pieces->blanksAtEnds || !pieces->markBlanks || pieces->byteFallback)
        throw Error("puts spaces behind words, keeps them as they are or falls back to bytes, which is not supported "
                    "for llama.cpp",
                    m_source.subject());
    putKind("t5", "default");
    putTokens();
    placeAroundIds();
    putSpecials(m_around.front.has_value(), m_around.end.has_value());
    put("add_space_prefix", pieces->prefix);
    put("remove_extra_whitespaces", pieces->mergeBlanks);
    if (!pieces->charsmap.empty())
        put("precompiled_charsmap", std::as_bytes(std::span(pieces->charsmap)));
}

/// Marks the beginnings of words, as llama.cpp has them, instead of the other tokens of a word.
void markWordBeginnings(TokenList& tokens) {
    for (std::size_t id = 0; id < tokens.texts.size(); ++id) {
        std::string& text = tokens.texts[id];
        if (tokens.types[id] != gguf_token::normal)
            continue;
        if (text.starts_with("##"))
            text.erase(0, 2);
        else
            text.insert(0, spaceMark);
    }
}

void MetadataWriter::writeWordPiece() {
    BertCleaning cleaning{.stripAccents = true, .lowerCase = true};
    if (m_source.document) {
        const JsonObject model = *m_source.document->object("model");
        if (model.text("continuing_subword_prefix").value_or("##") != "##")
            model.refuse("continuing_subword_prefix", "is not \"##\", the only one of llama.cpp");
        cleaning = bertSteps(*m_source.document);
    } else if (const auto config = jsonBeside(m_source, "tokenizer_config.json")) {
        if (!config->flag("tokenize_chinese_chars").value_or(true))
            config->refuse("tokenize_chinese_chars", "is false, but llama.cpp has no such option");
        cleaning.lowerCase = config->flag("do_lower_case").value_or(true);
        cleaning.stripAccents = config->flag("strip_accents").value_or(cleaning.lowerCase);
    }
    if (!m_around.front || !m_around.end)
        throw Error("does not put a special token in front of a text and one at its end, as llama.cpp does for "
                    "WordPiece",
                    m_source.subject());
    warnOfOptions(false);
    markWordBeginnings(m_tokens);
    putKind("bert", "default");
    putTokens();
    m_card.classifier = m_around.front;
    m_card.separator = m_around.end;
    m_card.bos = m_around.front; // llama.cpp puts BOS in front
    putSpecials(true, false);    // it adds the separator by itself
    put("normalizer.lowercase", cleaning.lowerCase);
    put("normalizer.strip_accents", cleaning.stripAccents);
    const auto config = jsonBeside(m_source, "config.json");
    if (const auto types = config ? config->integer("type_vocab_size", 0, mostIds) : std::nullopt)
        put("token_type_count", static_cast<std::uint32_t>(*types)); // llama.cpp wants it among the tokenizer's keys
}

/// Whether a BPE vocabulary consists of bytes in GPT-2's alphabet.
bool isByteLevel(const ConvertedTokenizer& source) {
    if (!source.document)
        return source.file.filename() == "vocab.json";
    const auto steps = stepsOf(*source.document, "pre_tokenizer", "pretokenizers");
    return !steps.empty() && typeOf(steps.back()) == "ByteLevel";
}

} // namespace

GgufTokenizer ggufTokenizerOf(const std::string& path, int rows) {
    const ConvertedTokenizer source = sourceAt(path);
    GgufTokenizer result;
    MetadataWriter writer(source, rows, result);
    const std::string_view kind = source.parts.model->kind();
    if (kind == "WordPiece")
        writer.writeWordPiece();
    else if (kind == "Unigram")
        writer.writeUnigram();
    else if (kind != "BPE")
        throw Error(fmt::format("is a tokenizer of the kind {}, which llama.cpp does not have", kind),
                    source.subject());
    else if (isByteLevel(source))
        writer.writeByteLevel();
    else
        writer.writeMarked();
    return result;
}

} // namespace secateur
