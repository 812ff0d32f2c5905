// Fuzz target: a tokenizer. The first byte of the input selects the format: tokenizer.json, SentencePiece model,
// metadata of a GGUF file, or vocab.txt. A tokenizer that can be opened must encode and decode any text. The last 64
// bytes of the input are one of the texts.

#include "backends/formats/gguf.h"
#include "backends/tokenizers/gguf_tokenizer.h"
#include "backends/tokenizers/hf_vocabulary.h"
#include "backends/tokenizers/sentencepiece_model.h"
#include "backends/tokenizers/unicode.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

namespace {

TokenizerParts partsOf(char kind, std::string_view bytes) {
    const std::string name = "fuzzed";
    switch (kind) {
    case 'j':
        return readTokenizerJson(bytes, name);
    case 's':
        return readHfSentencePiece(parseSentencePiece(bytes, name), name, {});
    case 'a': {
        HfContext context;
        context.modelType = "xlm-roberta";
        return readHfSentencePiece(parseSentencePiece(bytes, name), name, context);
    }
    case 'g': {
        const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
        return readGgufTokenizer(readGguf(fuzz::fileOf("fuzzed", data, bytes.size())).metadata);
    }
    default:
        return readVocabText(bytes, name, {});
    }
}

void check(const Tokenizer& tokenizer, std::string_view text) {
    for (const SpecialText special : {SpecialText::parsed, SpecialText::plain}) {
        const Encoding encoding = tokenizer.encode(text, {.special = special, .ranges = true});
        if (encoding.types.size() != encoding.ids.size() || encoding.ranges.size() != encoding.ids.size())
            std::abort();
        for (const TextRange& range : encoding.ranges) {
            if (range.begin > range.end || range.end > text.size())
                std::abort();
        }
        if (!unicode::isValid(tokenizer.decode(encoding.ids)))
            std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t mostText = 64;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.empty())
        return 0;
    return fuzz::answers([&] {
        const auto tokenizer = assemble(partsOf(bytes.front(), bytes.substr(1)));
        check(*tokenizer, bytes.substr(size - std::min(size, mostText)));
        check(*tokenizer, "a  b\n\xC3\xA9\xFF <s> 123'S");
    });
}
