#pragma once

#include "backends/tokenizers/vocabulary.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace secateur {

/// The merges of a BPE model. Finds the rank and the result of a merge by its pair of symbols.
class PairTable {
public:
    static constexpr std::uint32_t never = 0xFFFFFFFFU;

    struct Merge {
        std::uint32_t rank = never; ///< the lowest rank merges first
        int result = 0;
    };

    explicit PairTable(std::size_t pairs)
        : m_slots(std::bit_ceil(2 * pairs + 2)) {}

    /// Sets the merge of a pair, and replaces an earlier one. The number of pairs must not exceed that of the
    /// constructor.
    void set(int left, int right, Merge merge) { m_slots[slotOf(keyOf(left, right))] = {keyOf(left, right), merge}; }
    Merge find(int left, int right) const {
        // A symbol without an id never merges.
        return left < 0 || right < 0 ? Merge() : m_slots[slotOf(keyOf(left, right))].merge;
    }

private:
    struct Slot {
        std::uint64_t key = free;
        Merge merge;
    };
    static constexpr std::uint64_t free = ~std::uint64_t{0};

    static std::uint64_t keyOf(int left, int right) {
        return (static_cast<std::uint64_t>(left) << 32U) | static_cast<std::uint32_t>(right);
    }
    std::size_t slotOf(std::uint64_t key) const {
        const std::size_t mask = m_slots.size() - 1;
        std::size_t slot = ((key * 0x9E3779B97F4A7C15U) >> 24U) & mask;
        while (m_slots[slot].key != key && m_slots[slot].key != free)
            slot = (slot + 1) & mask;
        return slot;
    }

    std::vector<Slot> m_slots;
};

/// Two tokens that merge into a third token.
struct BpeMerge {
    int left = 0;
    int right = 0;
    int result = 0;
    std::uint32_t rank = 0;
};

struct BpeOptions {
    bool byteLevel = false;    ///< whether symbols are bytes, spelled in GPT-2's alphabet (byteLetters())
    bool byteFallback = false; ///< whether characters without a token become <0x..> tokens, if the vocabulary has them
    bool fuseUnknown = false;  ///< whether neighbouring unknown characters become one token
    bool wholeWords = false;   ///< whether a word that is a token becomes that token without merging
    /// Whether a character without a token can still merge. As in SentencePiece, it becomes unknown only if it does
    /// not.
    bool lateUnknown = false;
    int unknown = -1;               ///< id of the unknown token; -1 = unknown characters are left out
    std::string continuationPrefix; ///< prefix of every character except the first of a word
    std::string wordEnd;            ///< suffix of the last character of a word
};

/// Byte-pair encoding: the pair with the lowest rank merges first; of equal ranks the leftmost.
class Bpe : public TokenModel {
public:
    /// @throws Error if a merge names an id that is not in the vocabulary
    Bpe(std::shared_ptr<const Vocabulary> vocabulary, const std::vector<BpeMerge>& merges, BpeOptions options);

    void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const override;
    const Vocabulary& vocabulary() const override { return *m_vocabulary; }
    std::string_view kind() const override { return "BPE"; }

private:
    struct Symbol {
        int id;              ///< id of the symbol's token; negative for a character without a token
        std::uint32_t bytes; ///< length in the word; 0 after it was merged into its left neighbour
    };
    void readBytes();
    void readCharacters();
    void findWordStarts(const std::vector<BpeMerge>& merges);
    bool beginsWord(std::string_view text, std::size_t at) const;

    void encodeWord(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const;
    void split(std::string_view word, std::vector<Symbol>& symbols) const;
    void splitBytes(std::string_view word, std::vector<Symbol>& symbols) const;
    int characterId(std::string_view word, std::size_t at, std::size_t bytes) const;
    bool addBytes(std::string_view character, std::vector<Symbol>& symbols) const;
    void mergeShort(std::vector<Symbol>& symbols) const;
    void mergeLong(std::vector<Symbol>& symbols) const;
    void emit(std::string_view word, const std::vector<Symbol>& symbols, std::vector<TokenPiece>& pieces) const;
    void emitUnknown(std::string_view text, std::vector<TokenPiece>& pieces, bool& lastUnknown) const;

    std::shared_ptr<const Vocabulary> m_vocabulary;
    BpeOptions m_options;
    PairTable m_merges;
    std::array<int, 256> m_byteIds{};    ///< ids of the letters of bytes, or of <0x..> tokens; -1 = none
    std::vector<int> m_characterIds;     ///< ids of the first 65536 code points, unless there are affixes; -1 = none
    std::unique_ptr<Vocabulary> m_words; ///< for wholeWords: byte-level tokens by the bytes that they spell
    bool m_wordsStart = false; ///< whether "▁" never merges with text before it; words are then encoded separately
};

/// The merges of SentencePiece's BPE for a vocabulary: all ways to split a token into two tokens. The merges into the
/// tokens with the highest scores come first.
/// @param usable whether the token of an id may take part in merges
std::vector<BpeMerge> mergesByScore(const Vocabulary& vocabulary, const std::vector<float>& scores,
                                    const std::vector<bool>& usable);

} // namespace secateur
