#include "backends/tokenizers/open_tokenizer.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/gguf_bytes.h"

namespace secateur::test {

using namespace gguf;

namespace {

QByteArray model(const QByteArray& fields) {
    return "{\"added_tokens\":[],\"model\":{" + fields + "}}";
}

QByteArray bpe(const QByteArray& vocab, const QByteArray& merges, const QByteArray& more = {}) {
    return model("\"type\":\"BPE\",\"vocab\":" + vocab + ",\"merges\":" + merges + more);
}

/// A tokenizer.json with a valid model and the additional `fields`.
QByteArray beside(const QByteArray& fields) {
    return "{" + fields + ",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]}}";
}

QByteArray texts(const QByteArrayList& values) {
    QByteArray bytes;
    for (const QByteArray& value : values)
        bytes += text(value);
    return arrayOf(string, static_cast<quint64>(values.size()), bytes);
}

QByteArray vocabularyOf(const QByteArray& kind, const QByteArrayList& tokens, const QByteArrayList& more = {}) {
    return fileOf(QByteArrayList{pair("tokenizer.ggml.model", string, text(kind)),
                                 pair("tokenizer.ggml.tokens", array, texts(tokens))} +
                      more,
                  {}, 0);
}

/// A field of a protocol buffer that contains bytes.
QByteArray field(int number, const QByteArray& bytes) {
    return QByteArray(1, static_cast<char>(number << 3 | 2)) + QByteArray(1, static_cast<char>(bytes.size())) + bytes;
}

QByteArray piece(const QByteArray& spelled, char type) {
    return field(1, field(1, spelled) + QByteArray("\x15", 1) + little(-1.0F) + QByteArray("\x18", 1) +
                        QByteArray(1, type));
}

void add(Corruptions& rows, const char* name, const char* file, const QByteArray& bytes, const char* sentence,
         const std::string& given = "ab?") {
    rows.append({"tokenizer", name, QString(file) + ": " + sentence, [=](const Scratch& scratch) {
                     const std::string path = scratch.write(file, bytes);
                     return scratch.refusal([&] { openTokenizer(path)->encode(given); });
                 }});
}

void addJson(Corruptions& rows) {
    const auto json = [&](const char* name, const QByteArray& bytes, const char* sentence) {
        add(rows, name, "tokenizer.json", bytes, sentence);
    };
    json("not JSON", "{\"model\": nonsense", "is not valid JSON (byte 19)");
    json("cut short", "{\"model\":{\"vocab\":{\"a", "is not valid JSON (byte 22)");
    json("not UTF-8", "{\"model\":{\"vocab\":{\"\xFF\":0}}}", "is not UTF-8");
    json("no model", "{\"added_tokens\":[]}", "has no vocabulary (model: vocab)");
    json("an empty vocabulary", bpe("{}", "[]"), "model: vocab: has no tokens");
    json("an unknown model", model("\"type\":\"LSTM\",\"vocab\":{\"a\":0}"),
         "model: type: the model \"LSTM\" is unknown");
    json("a token twice", bpe("{\"a\":0,\"b\":1,\"a\":2}", "[]"), "model: vocab: has the token \"a\" twice");
    json("an id twice", bpe("{\"a\":0,\"b\":0}", "[]"), "model: vocab: gives the id 0 to both \"a\" and \"b\"");
    json("an id beyond the vocabulary", bpe("{\"a\":0,\"b\":2000000000}", "[]"),
         "model: vocab: gives the token \"b\" the id 2000000000, beyond its 2 tokens");
    json("an id below 0", bpe("{\"a\":-1}", "[]"),
         "model: vocab: gives the token \"a\" the id -1, beyond its 1 tokens");
    json("an id that is no number", bpe("{\"a\":\"x\"}", "[]"),
         "model: vocab: expected a whole number for the token \"a\"");
    json("a merge of an unknown token", bpe("{\"a\":0,\"b\":1,\"ab\":2}", "[\"a b\",\"ab c\"]"),
         "model: merges: merge 1 of \"ab\" and \"c\" needs \"c\", which is not in the vocabulary");
    json("a merge into an unknown token", bpe("{\"a\":0,\"b\":1}", "[[\"a\",\"b\"]]"),
         "model: merges: merge 0 of \"a\" and \"b\" needs \"ab\", which is not in the vocabulary");
    json("a merge of one token", bpe("{\"a\":0}", "[\"a\"]"),
         "model: merges: merge 0 is \"a\", expected two tokens separated by a space");
    json("an unknown token that is not there", bpe("{\"a\":0}", "[]", ",\"unk_token\":\"<unk>\""),
         "model: unk_token: \"<unk>\" is not in the vocabulary");
    json("no unknown token", model("\"type\":\"WordPiece\",\"vocab\":{\"a\":0}"),
         "model: vocab: has no token for \"ab?\", and no unknown token");
    json("scores of words", model("\"type\":\"WordPiece\",\"vocab\":[[\"a\",0.5]]"),
         "model: vocab: must be an object of tokens and ids for the model \"WordPiece\"");
    json("an unknown id beyond the tokens", model("\"type\":\"Unigram\",\"unk_id\":7,\"vocab\":[[\"a\",-1.5]]"),
         "model: unk_id: 7 is beyond the 1 tokens");
    json("an added token that contradicts", beside("\"added_tokens\":[{\"id\":5,\"content\":\"a\"}]"),
         "added_tokens[0]: id: gives \"a\" the id 5, but the vocabulary gives it 0");
    json("a template of an unknown id",
         beside("\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\",0],\"sep\":[\"x\",77]}"),
         "post_processor: adds the id 77 to texts, but no token has it");
    json("a template without the text",
         beside("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],\"pair\":[]}"),
         "post_processor: single: has no place for the text");
    json("an enormous token", bpe("{\"" + QByteArray(5000, 'a') + "\":0}", "[]"),
         "model: vocab: has a token of 5000 bytes, with id 0; the limit is 4096");
    json("an expression of sets",
         beside("\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":"
                "\"[a-z&&[^b]]\"}}"),
         "pre_tokenizer: is a regular expression with && inside a class, which is not supported");
    json("an unknown step", beside("\"normalizer\":{\"type\":\"Rot13\"}"),
         "normalizer: type: the normalizer \"Rot13\" is unknown");
    json("a broken expression",
         beside("\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"(a\"}}"),
         "pre_tokenizer: is not a valid regular expression: missing closing parenthesis");
    json("an enormous expression",
         beside("\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"" +
                QByteArray(70000, 'a') + "\"}}"),
         "pre_tokenizer: is a regular expression of 70000 bytes; the limit is 65536");
    add(rows, "an expression without end", "tokenizer.json",
        beside("\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"(a|aa)+$\"}}"),
        "pre_tokenizer: is a regular expression that takes too many steps on the text", std::string(200, 'a') + "b");
    json("an expression that calls itself for ever",
         beside("\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"(?1)(a|(?1)b)"
                "\"}}"),
         "pre_tokenizer: is a regular expression that takes too many steps on the text");
    const QByteArray tenfold =
        "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"" + QByteArray(10, 'a') + "\"}";
    const QByteArray chain = "[" + QByteArrayList(6, tenfold).join(',') + "]";
    json("replacements that grow", beside("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":" + chain + "}"),
         "makes more than 352 bytes of 3, the limit: its replacements grow without bound");
    json("a mark for every space that is long",
         beside("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" + QByteArray(1000, 'a') + "\"}"),
         "makes more than 352 bytes of 3, the limit: its replacements grow without bound");
    QByteArray everyText = "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}";
    json("a template that repeats the text",
         beside("\"post_processor\":{\"type\":\"TemplateProcessing\",\"special_tokens\":{},\"single\":[" +
                QByteArrayList(200, everyText).join(',') + "],\"pair\":[" + everyText + "]}"),
         "makes more than 320 tokens of 2, the limit: its replacements grow without bound");
    rows.append({"tokenizer", "a decoder that grows",
                 "tokenizer.json: makes more than 320 bytes of 2, the limit: its replacements grow without bound",
                 [=](const Scratch& scratch) {
                     const std::string path = scratch.write(
                         "tokenizer.json", beside("\"decoder\":{\"type\":\"Sequence\",\"decoders\":" + chain + "}"));
                     return scratch.refusal([&] { openTokenizer(path)->decode(std::vector{0}); });
                 }});
    json("a map that is no base64", beside("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"#\"}"),
         "normalizer: precompiled_charsmap: is not base64");
    json("a map that lies about its size",
         beside("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"//8AAAAA\"}"),
         "normalizer: is a character map of 6 bytes that states an index of 65535");
}

void addOtherFiles(Corruptions& rows) {
    const auto row = [&](const char* name, const char* file, const QByteArray& bytes, const char* sentence) {
        add(rows, name, file, bytes, sentence);
    };
    row("a vocab.txt without [UNK]", "vocab.txt", "a\nb\n", "has no line \"[UNK]\" for unknown words");
    row("a vocab.txt with a line twice", "vocab.txt", "[UNK]\na\na\n", "has the token \"a\" twice");
    row("no model at all", "tokenizer.model", "garbage", "is not a SentencePiece model");
    row("a piece longer than the file", "tokenizer.model", "\x0A\x7Fx",
        "ends inside a field, or is not a SentencePiece model");
    row("no unknown piece", "tokenizer.model", piece("a", 1), "has no unknown piece");
    row("a piece of an unknown type", "tokenizer.model", piece("a", 9),
        "has a piece without a text, a score or a known type");
    row("no tokens", "vocab.gguf", fileOf({pair("tokenizer.ggml.model", string, text("llama"))}, {}, 0),
        "tokenizer.ggml.tokens: is missing, so there is no vocabulary");
    row("an unknown kind", "vocab.gguf", vocabularyOf("rwkv", {"a"}),
        "tokenizer.ggml.model: the tokenizer \"rwkv\" is unknown; supported are llama, gpt2, bert, t5");
    row("too few scores", "vocab.gguf",
        vocabularyOf("llama", {"a", "b"}, {pair("tokenizer.ggml.scores", array, arrayOf(f32, 1, little(0.5F)))}),
        "tokenizer.ggml.scores: has 1 elements, but the vocabulary has 2");
    row("no merges", "vocab.gguf", vocabularyOf("gpt2", {"a"}), "tokenizer.ggml.merges: is missing");
    row("an unknown way to cut", "vocab.gguf",
        vocabularyOf("gpt2", {"a"}, {pair("tokenizer.ggml.pre", string, text("novel"))}),
        "tokenizer.ggml.pre: the pre-tokenizer \"novel\" is unknown");
    row("no BOS", "vocab.gguf", vocabularyOf("llama", {"a"}),
        "tokenizer.ggml.bos_token_id: is missing or beyond the vocabulary, but the tokenizer adds it to texts");
}

} // namespace

Corruptions tokenizerCorruptions() {
    Corruptions rows;
    addJson(rows);
    addOtherFiles(rows);
    return rows;
}

} // namespace secateur::test
