#include "backends/tokenizers/sentencepiece_model.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/decoders.h"
#include "backends/tokenizers/model_builders.h"
#include "backends/tokenizers/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace secateur {

namespace {

/// Reads the fields of a protocol buffer message. Every length is checked against the remaining bytes.
class Message {
public:
    Message(std::string_view bytes, const std::string& subject)
        : m_bytes(bytes)
        , m_subject(subject) {}

    /// Reads the next field. Returns false at the end.
    bool next() {
        if (m_bytes.empty())
            return false;
        const std::uint64_t tag = varint();
        m_field = tag >> 3U;
        m_wire = tag & 7U;
        if (m_wire == 0)
            m_number = varint();
        else if (m_wire == 1)
            m_text = take(8);
        else if (m_wire == 2)
            m_text = take(varint());
        else if (m_wire == 5)
            m_text = take(4);
        else
            throw Error("is not a SentencePiece model", m_subject);
        return true;
    }
    std::uint64_t field() const { return m_field; }
    std::string_view text() const { return want(2), m_text; }
    std::int64_t number() const { return want(0), static_cast<std::int64_t>(m_number); }
    /// The value of the field as a 32-bit integer.
    std::int64_t small() const { return static_cast<std::int32_t>(number()); }
    bool flag() const { return number() != 0; }
    float real() const {
        want(5);
        float value = 0;
        std::memcpy(&value, m_text.data(), sizeof value);
        return value;
    }

private:
    void want(std::uint64_t wire) const {
        if (m_wire != wire)
            throw Error(fmt::format("has field {} with another type than in SentencePiece models", m_field), m_subject);
    }
    std::string_view take(std::uint64_t count) {
        if (count > m_bytes.size())
            throw Error("ends inside a field, or is not a SentencePiece model", m_subject);
        const std::string_view taken = m_bytes.substr(0, count);
        m_bytes.remove_prefix(count);
        return taken;
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1).front());
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80)
                return value;
        }
        throw Error("has a number longer than 64 bits", m_subject);
    }

    std::string_view m_bytes;
    const std::string& m_subject;
    std::uint64_t m_field = 0;
    std::uint64_t m_wire = 0;
    std::uint64_t m_number = 0;
    std::string_view m_text;
};

SentencePieceFile::Piece readPiece(std::string_view bytes, const std::string& subject) {
    SentencePieceFile::Piece piece;
    Message message(bytes, subject);
    while (message.next()) {
        if (message.field() == 1)
            piece.text = message.text();
        else if (message.field() == 2)
            piece.score = message.real();
        else if (message.field() == 3)
            piece.type = static_cast<SentencePieceFile::Type>(message.number());
    }
    if (piece.text.empty() || !std::isfinite(piece.score) || piece.type < SentencePieceFile::Type::normal ||
        piece.type > SentencePieceFile::Type::byte)
        throw Error("has a piece without a text, a score or a known type", subject);
    return piece;
}

void readTrainer(std::string_view bytes, const std::string& subject, SentencePieceFile& file) {
    Message message(bytes, subject);
    while (message.next()) {
        switch (message.field()) {
        case 3:
            file.kind = static_cast<SentencePieceFile::Kind>(message.number());
            break;
        case 24:
            file.blanksAtEnds = message.flag();
            break;
        case 35:
            file.byteFallback = message.flag();
            break;
        case 40:
            file.unknown = message.small();
            break;
        case 41:
            file.bos = message.small();
            break;
        case 42:
            file.eos = message.small();
            break;
        case 43:
            file.padding = message.small();
            break;
        default:
            break;
        }
    }
}

void readNormalizer(std::string_view bytes, const std::string& subject, SentencePieceFile& file) {
    Message message(bytes, subject);
    while (message.next()) {
        if (message.field() == 2)
            file.charsmap = message.text();
        else if (message.field() == 3)
            file.prefix = message.flag();
        else if (message.field() == 4)
            file.mergeBlanks = message.flag();
        else if (message.field() == 5)
            file.markBlanks = message.flag();
    }
}

std::vector<bool> ofTypes(const SentencePieceFile& file, std::initializer_list<SentencePieceFile::Type> wanted) {
    std::vector<bool> bits;
    for (const auto& piece : file.pieces)
        bits.push_back(std::ranges::find(wanted, piece.type) != wanted.end());
    return bits;
}

using Type = SentencePieceFile::Type;

std::unique_ptr<const TokenModel> modelOf(const SentencePieceFile& file, std::shared_ptr<const Vocabulary> vocabulary,
                                          int unknown) {
    std::vector<float> scores;
    for (const auto& piece : file.pieces)
        scores.push_back(piece.score);
    if (file.kind == SentencePieceFile::Kind::unigram) {
        UnigramOptions options;
        options.unknown = unknown;
        options.byteFallback = file.byteFallback;
        options.singlePrecision = true;
        options.usable = ofTypes(file, {Type::normal, Type::userDefined});
        options.userDefined = ofTypes(file, {Type::userDefined});
        return std::make_unique<Unigram>(std::move(vocabulary), std::vector<double>(scores.begin(), scores.end()),
                                         std::move(options));
    }
    BpeOptions options;
    options.byteFallback = file.byteFallback;
    options.fuseUnknown = true;
    options.lateUnknown = true;
    options.unknown = unknown;
    const auto merges = mergesByScore(*vocabulary, scores, ofTypes(file, {Type::normal, Type::unused}));
    return std::make_unique<Bpe>(std::move(vocabulary), merges, options);
}

/// Adds added tokens for pieces. User-defined pieces of BPE models are found in the normalised text. Control pieces,
/// which SentencePiece itself never finds in a text, are found in the original text.
void addTokens(const SentencePieceFile& file, TokenizerParts& parts) {
    std::vector<AddedToken> added;
    for (std::size_t i = 0; i < file.pieces.size(); ++i) {
        const auto& piece = file.pieces[i];
        const bool isMatched = piece.type == Type::userDefined && file.kind == SentencePieceFile::Kind::bpe;
        if (piece.type != Type::control && !isMatched)
            continue;
        AddedToken token;
        token.id = static_cast<int>(i);
        token.text = piece.text;
        token.special = piece.type == Type::control;
        token.normalized = !token.special;
        added.push_back(std::move(token));
    }
    // User-defined pieces are stored in normalised form. No normalizer is applied to them.
    parts.added = AddedTokens(std::move(added), {});
}

SentencePieceRules rulesOf(const SentencePieceFile& file, const std::string& subject) {
    SentencePieceRules rules;
    if (!file.charsmap.empty())
        rules.map = std::make_shared<const Charsmap>(file.charsmap, subject);
    auto kept = std::make_shared<ByteTrie>();
    for (const auto& piece : file.pieces) {
        if (piece.type == Type::userDefined)
            kept->add(piece.text, 0);
    }
    if (!kept->empty())
        rules.kept = kept;
    rules.prefix = file.prefix;
    rules.mergeBlanks = file.mergeBlanks;
    rules.blanksAtEnds = file.blanksAtEnds;
    rules.markBlanks = file.markBlanks;
    return rules;
}

} // namespace

SentencePieceFile parseSentencePiece(std::string_view bytes, const std::string& subject) {
    SentencePieceFile file;
    Message message(bytes, subject);
    while (message.next()) {
        if (message.field() == 1)
            file.pieces.push_back(readPiece(message.text(), subject));
        else if (message.field() == 2)
            readTrainer(message.text(), subject, file);
        else if (message.field() == 3)
            readNormalizer(message.text(), subject, file);
    }
    return file;
}

TokenizerParts makeSentencePieceParts(const SentencePieceFile& file, const std::string& subject) {
    if (file.kind != SentencePieceFile::Kind::unigram && file.kind != SentencePieceFile::Kind::bpe)
        throw Error(fmt::format("is a SentencePiece model of type {}; only unigram (1) and BPE (2) are supported",
                                static_cast<std::int64_t>(file.kind)),
                    subject);
    std::vector<ListedToken> tokens;
    for (const auto& piece : file.pieces)
        tokens.push_back({piece.text, static_cast<std::int64_t>(tokens.size()), piece.score});
    const auto vocabulary = makeVocabulary(tokens, subject);
    const auto idOf = [&](std::int64_t id) {
        return id >= 0 && id < vocabulary->size() ? std::optional(static_cast<int>(id)) : std::nullopt;
    };
    // The unknown token is the piece of type "unknown". The id in the trainer's options is not used.
    const auto unknown = std::ranges::find(file.pieces, Type::unknown, &SentencePieceFile::Piece::type);
    if (unknown == file.pieces.end())
        throw Error("has no unknown piece", subject);
    TokenizerParts parts;
    parts.card.source = subject;
    parts.card.unknown = static_cast<int>(unknown - file.pieces.begin());
    parts.card.bos = idOf(file.bos);
    parts.card.eos = idOf(file.eos);
    parts.card.padding = idOf(file.padding);
    parts.model = modelOf(file, vocabulary, *parts.card.unknown);
    addTokens(file, parts);
    parts.normalizers.push_back(makeSentencePiece(rulesOf(file, subject)));
    parts.decoders.push_back(makeReplaceTextDecoder(std::string(spaceMark), " "));
    parts.decoders.push_back(makeByteFallbackDecoder());
    parts.decoders.push_back(makeFuse());
    if (file.prefix)
        parts.decoders.push_back(makeStripDecoder(" ", 1, 0));
    return parts;
}

} // namespace secateur
