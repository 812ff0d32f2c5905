#include "backends/tokenizers/pipeline.h"

#include "analysis/base/text.h"
#include "backends/tokenizers/growth.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

namespace secateur {

namespace {

/// Offset of the character that ends at `at`.
std::size_t characterBefore(std::string_view text, std::size_t at) {
    --at;
    while (unicode::isContinuation(text[at]))
        --at;
    return at;
}

bool touchesWord(std::string_view text, std::size_t begin, std::size_t end) {
    const auto isWord = [&](std::size_t at) { return unicode::isWordCharacter(unicode::characterAt(text, at).code); };
    return (begin > 0 && isWord(characterBefore(text, begin))) || (end < text.size() && isWord(end));
}

bool isBlank(std::string_view text, std::size_t at) {
    return unicode::isSpace(unicode::characterAt(text, at).code);
}

void append(Encoding& whole, const Encoding& part, int type) {
    whole.ids.insert(whole.ids.end(), part.ids.begin(), part.ids.end());
    whole.ranges.insert(whole.ranges.end(), part.ranges.begin(), part.ranges.end());
    whole.types.insert(whole.types.end(), part.ids.size(), type);
}

/// A pool of caches, from which each of several concurrent calls of encode() takes one.
class Caches {
public:
    std::unique_ptr<WordCache> take() {
        const std::scoped_lock lock(m_mutex);
        if (m_free.empty())
            return std::make_unique<WordCache>();
        auto cache = std::move(m_free.back());
        m_free.pop_back();
        return cache;
    }
    void giveBack(std::unique_ptr<WordCache> cache) {
        const std::scoped_lock lock(m_mutex);
        m_free.push_back(std::move(cache));
    }

private:
    std::mutex m_mutex;
    std::vector<std::unique_ptr<WordCache>> m_free;
};

class Pipeline : public Tokenizer {
public:
    explicit Pipeline(TokenizerParts parts)
        : m_parts(std::move(parts)) {
        TokenizerCard& card = m_parts.card;
        card.kind = m_parts.model->kind();
        card.size = std::max(m_parts.model->vocabulary().size(), m_parts.added.largestId() + 1);
        card.addsBos = m_parts.post.addsFront();
    }

    const TokenizerCard& card() const override { return m_parts.card; }

    Encoding encode(std::string_view text, const EncodeOptions& options) const override {
        return named([&] { return m_parts.post.join(encodeText(text, options), nullptr, options); });
    }

    Encoding encodePair(std::string_view first, std::string_view second, const EncodeOptions& options) const override {
        return named([&] {
            const Encoding behind = encodeText(second, options);
            return m_parts.post.join(encodeText(first, options), &behind, options);
        });
    }

    std::string decode(std::span<const int> ids, bool skipSpecial) const override {
        std::vector<std::string> tokens;
        for (const int id : ids) {
            auto text = token(id);
            if (text && !(skipSpecial && isSpecial(id)))
                tokens.push_back(*std::move(text));
        }
        const std::size_t given = bytesOf(tokens) + tokens.size();
        named([&] {
            for (const auto& step : m_parts.decoders)
                step->apply(tokens, given);
        });
        return join(tokens, m_parts.decoders.empty() ? " " : "");
    }

    std::optional<std::string> token(int id) const override {
        if (const AddedToken* added = m_parts.added.find(id))
            return added->text;
        const Vocabulary& vocabulary = m_parts.model->vocabulary();
        return vocabulary.holds(id) ? std::optional(std::string(vocabulary.text(id))) : std::nullopt;
    }

    std::optional<int> id(std::string_view token) const override {
        const auto added = m_parts.added.id(token);
        return added ? added : m_parts.model->vocabulary().find(token);
    }

    bool isSpecial(int id) const override {
        const AddedToken* added = m_parts.added.find(id);
        return added && added->special;
    }

private:
    /// Runs work, and names the tokenizer's file if the text grows too much.
    template <typename Work>
    std::invoke_result_t<Work> named(const Work& work) const {
        try {
            return work();
        } catch (const GrowthError& error) {
            throw Error(error.message(), m_parts.card.source);
        }
    }

    Encoding encodeText(std::string_view text, const EncodeOptions& options) const {
        auto cache = m_caches.take();
        Encoding encoding;
        const AlignedText whole(text, options.ranges);
        for (const auto& found : m_parts.added.cut(whole.text(), false, options.special)) {
            if (found.id)
                addFound(encoding, found, whole);
            else
                encodeRaw(whole.slice(found.begin, found.end), options, *cache, encoding);
            if (encoding.ids.size() > growthLimit(text.size()))
                throw GrowthError(text.size(), "tokens");
        }
        m_parts.post.trim(encoding, text);
        m_caches.giveBack(std::move(cache));
        return encoding;
    }

    static void add(Encoding& encoding, int id, const AlignedText& text, std::size_t begin, std::size_t end) {
        encoding.ids.push_back(id);
        if (text.tracked())
            encoding.ranges.push_back(text.origin(begin, end));
    }

    /// Appends an added token. If ranges exclude spaces, its range does not include white space before the token's
    /// text.
    void addFound(Encoding& encoding, const AddedTokens::Found& found, const AlignedText& text) const {
        std::size_t begin = found.begin;
        while (m_parts.post.trimsBlanks && begin < found.end) {
            const unicode::Character character = unicode::characterAt(text.text(), begin);
            if (!unicode::isSpace(character.code))
                break;
            begin += character.bytes;
        }
        add(encoding, *found.id, text, begin, found.end);
    }

    void encodeRaw(AlignedText text, const EncodeOptions& options, WordCache& cache, Encoding& encoding) const {
        for (const auto& step : m_parts.normalizers)
            step->apply(text);
        const auto pieces = m_parts.added.cut(text.text(), true, options.special);
        if (pieces.size() == 1 && !pieces.front().id)
            return encodeSection(std::move(text), cache, encoding);
        for (const auto& found : pieces) {
            if (found.id)
                addFound(encoding, found, text);
            else
                encodeSection(text.slice(found.begin, found.end), cache, encoding);
        }
    }

    void encodeSection(AlignedText text, WordCache& cache, Encoding& encoding) const {
        Section section{std::move(text), {}};
        section.words.push_back({0, static_cast<std::uint32_t>(section.text.size())});
        for (const auto& step : m_parts.preTokenizers)
            step->apply(section);
        const std::string_view whole = section.text.text();
        std::vector<TokenPiece> pieces;
        for (const WordRange& word : section.words) {
            if (word.begin >= word.end)
                continue;
            pieces.clear();
            m_parts.model->encode(whole.substr(word.begin, word.end - word.begin), cache, pieces);
            std::size_t at = word.begin;
            for (const TokenPiece& piece : pieces) {
                add(encoding, piece.id, section.text, at, at + piece.bytes);
                at += piece.bytes;
            }
        }
    }

    TokenizerParts m_parts;
    mutable Caches m_caches;
};

} // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::span<const NormalizerPtr> normalizers) {
    for (AddedToken& token : tokens)
        m_tokens.insert_or_assign(token.id, std::move(token));
    for (const auto& [id, token] : m_tokens) {
        if (!token.normalized) {
            m_plain.add(token.text, id);
            continue;
        }
        AlignedText text(token.text, false);
        for (const auto& step : normalizers)
            step->apply(text);
        m_normalized.add(text.text(), id);
    }
}

const AddedToken* AddedTokens::find(int id) const {
    const auto found = m_tokens.find(id);
    return found == m_tokens.end() ? nullptr : &found->second;
}

std::vector<AddedToken> AddedTokens::all() const {
    std::vector<AddedToken> tokens;
    for (const auto& [id, token] : m_tokens)
        tokens.push_back(token);
    return tokens;
}

std::optional<int> AddedTokens::id(std::string_view text) const {
    const auto found = std::ranges::find_if(m_tokens, [&](const auto& item) { return item.second.text == text; });
    return found == m_tokens.end() ? std::nullopt : std::optional(found->first);
}

std::vector<AddedTokens::Found> AddedTokens::cut(std::string_view text, bool normalized, SpecialText special) const {
    std::vector<Found> found;
    const ByteTrie& trie = normalized ? m_normalized : m_plain;
    std::size_t done = 0; // end of the text that is covered by `found`
    for (std::size_t at = 0; at < text.size() && !trie.empty();) {
        int id = ByteTrie::none;
        std::size_t length = 0; // length of the longest token that begins here
        if (trie.mayBegin(text[at])) {
            trie.match(text, at, [&](std::size_t bytes, int value) {
                length = bytes;
                id = value;
            });
        }
        if (length == 0) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + length;
        at = end;
        const AddedToken& token = m_tokens.at(id);
        if ((token.special && special == SpecialText::plain) || (token.singleWord && touchesWord(text, begin, end)))
            continue;
        while (token.stripsLeft && begin > done && isBlank(text, characterBefore(text, begin)))
            begin = characterBefore(text, begin);
        begin = std::max(begin, done);
        while (token.stripsRight && end < text.size() && isBlank(text, end))
            end += unicode::characterAt(text, end).bytes;
        end = std::max(end, begin);
        if (done < begin)
            found.push_back({done, begin, std::nullopt});
        found.push_back({begin, end, id});
        done = end;
    }
    if (done < text.size())
        found.push_back({done, text.size(), std::nullopt});
    return found;
}

void PostProcessor::trim(Encoding& encoding, std::string_view text) const {
    if (!trimsBlanks)
        return;
    for (std::size_t i = 0; i < encoding.ranges.size(); ++i) {
        TextRange& range = encoding.ranges[i];
        const auto isBlank = [&](std::size_t at) { return at < text.size() && text[at] == ' '; };
        std::size_t leading = 0;
        while (range.begin + leading < range.end && isBlank(range.begin + leading))
            ++leading;
        if (!((i == 0 || range.begin == 0) && keepsPrefix && leading == 1))
            range.begin += leading;
        while (range.end > range.begin && isBlank(range.end - 1))
            --range.end;
    }
}

Encoding PostProcessor::join(Encoding first, const Encoding* second, const EncodeOptions& options) const {
    const std::vector<TemplateItem>& items = second ? pair : single;
    if (!second && items.size() == 1 && items.front().kind == TemplateItem::Kind::first) {
        first.types.assign(first.ids.size(), items.front().type);
        return first;
    }
    const std::size_t given = first.ids.size() + (second ? second->ids.size() : 0);
    Encoding whole;
    for (const TemplateItem& item : items) {
        if (whole.ids.size() > growthLimit(given))
            throw GrowthError(given, "tokens");
        if (item.kind == TemplateItem::Kind::first) {
            append(whole, first, item.type);
        } else if (item.kind == TemplateItem::Kind::second && second) {
            append(whole, *second, item.type);
        } else if (item.kind == TemplateItem::Kind::special && options.addSpecial) {
            Encoding special{item.ids, {}, {}};
            if (options.ranges)
                special.ranges.resize(item.ids.size());
            append(whole, special, item.type);
        }
    }
    return whole;
}

std::shared_ptr<const Tokenizer> assemble(TokenizerParts parts) {
    return std::make_shared<Pipeline>(std::move(parts));
}

} // namespace secateur
