#pragma once

#include "backends/tokenizers/aligned_text.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/charsmap.h"
#include "backends/tokenizers/regex.h"

#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// A step that rewrites text before it is cut. Immutable.
class Normalizer {
public:
    virtual ~Normalizer() = default;
    /// @throws Error when a regular expression gives up
    virtual void apply(AlignedText& text) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

enum class NormalForm { nfc, nfd, nfkc, nfkd };

struct BertCleaning {
    bool cleanText = true;
    bool apartChinese = true; ///< blanks around ideographs
    bool stripAccents = true;
    bool lowerCase = true;
};

/// What SentencePiece does to a text before it cuts it.
struct SentencePieceRules {
    std::shared_ptr<const Charsmap> map;  ///< nullptr: characters stay as they are
    std::shared_ptr<const ByteTrie> kept; ///< texts that are left alone; nullptr: none
    bool prefix = true;                   ///< a blank in front
    bool mergeBlanks = true;              ///< of several blanks one stays, and none at the ends
    bool blanksAtEnds = false;            ///< the prefix goes to the end instead
    bool markBlanks = true;               ///< blanks become "▁"
};

NormalizerPtr makeNormalForm(NormalForm form);
NormalizerPtr makeLowercase();
NormalizerPtr makeStrip(bool left, bool right);
NormalizerPtr makeStripAccents();
NormalizerPtr makeBertCleaning(const BertCleaning& options);
/// In front of any text that is not empty.
NormalizerPtr makePrepend(std::string text);
NormalizerPtr makeReplaceText(std::string pattern, std::string replacement);
NormalizerPtr makeReplaceRegex(std::shared_ptr<const Regex> pattern, std::string replacement);
/// The map as Hugging Face's library applies it: to whole graphemes of up to 5 bytes, else to single characters.
NormalizerPtr makeGraphemeMap(std::shared_ptr<const Charsmap> map);
NormalizerPtr makeSentencePiece(SentencePieceRules rules);
/// Control characters out, other blanks to plain ones.
NormalizerPtr makeNmt();
/// Each byte becomes its letter in GPT-2's alphabet.
NormalizerPtr makeByteLetters();

} // namespace secateur
