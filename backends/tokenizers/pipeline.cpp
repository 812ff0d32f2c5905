#include "backends/tokenizers/pipeline.h"

#include "analysis/base/text.h"
#include "backends/tokenizers/unicode.h"

#include <algorithm>
#include <mutex>

namespace secateur {

namespace {

/// Caches that are lent to whoever encodes.
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
        return m_parts.post.join(encodeText(text, options), nullptr, options);
    }

    Encoding encodePair(std::string_view first, std::string_view second, const EncodeOptions& options) const override {
        const Encoding behind = encodeText(second, options);
        return m_parts.post.join(encodeText(first, options), &behind, options);
    }

    std::string decode(std::span<const int> ids, bool skipSpecial) const override {
        std::vector<std::string> tokens;
        for (const int id : ids) {
            auto text = token(id);
            if (text && !(skipSpecial && isSpecial(id)))
                tokens.push_back(*std::move(text));
        }
        for (const auto& step : m_parts.decoders)
            step->apply(tokens);
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
    Encoding encodeText(std::string_view text, const EncodeOptions& options) const {
        auto cache = m_caches.take();
        Encoding encoding;
        const AlignedText whole(text, options.ranges);
        for (const auto& found : m_parts.added.cut(whole.text(), false, options.special)) {
            if (found.id)
                addFound(encoding, found, whole);
            else
                encodeRaw(whole.slice(found.begin, found.end), options, *cache, encoding);
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

    /// An added token that takes blanks along counts without them where ranges leave blanks out.
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
        for (const Cut& word : section.words) {
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

std::shared_ptr<const Tokenizer> assemble(TokenizerParts parts) {
    return std::make_shared<Pipeline>(std::move(parts));
}

} // namespace secateur
