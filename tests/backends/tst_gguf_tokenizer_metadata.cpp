// Tokenizers of Hugging Face become metadata of GGUF, and give the same ids when they are read back.

#ifndef Q_MOC_RUN
#include "analysis/text/tokenizer.h"
#include "backends/export/gguf_tokenizer_metadata.h"
#include "backends/export/hf_tokenizer_files.h"
#include "backends/formats/gguf.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/tokenizers/pre_tokenizers.h"
#include "tests/support/suite.h"
#include "tests/support/tokenizer_files.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;

namespace {

const QString fixtures = SECATEUR_TEST_SOURCES "/tokenizers/";

/// Counts the texts whose ids differ between a tokenizer and its conversion, and reports the first.
int differingTexts(const Tokenizer& source, const Tokenizer& converted, const std::vector<std::string>& texts,
                   std::size_t& ids) {
    int differing = 0;
    ids = 0;
    for (const std::string& text : texts) {
        const EncodeOptions options{.special = SpecialText::plain};
        const std::vector<int> expected = source.encode(text, options).ids;
        const std::vector<int> found = converted.encode(text, options).ids;
        ids += expected.size();
        if (found == expected)
            continue;
        const auto [at, other] = std::ranges::mismatch(expected, found);
        if (differing++ == 0)
            qInfo("first difference at token %td: \"%s\" and \"%s\"", at - expected.begin(),
                  at == expected.end() ? "" : source.token(*at)->c_str(),
                  other == found.end() ? "" : converted.token(*other)->c_str());
    }
    return differing;
}

/// Converts a tokenizer and reads the conversion.
std::shared_ptr<const Tokenizer> convertedOf(const QString& path, const Scratch& scratch, int rows = 0) {
    const GgufTokenizer tokenizer = ggufTokenizerOf(path.toStdString(), rows);
    for (const std::string& warning : tokenizer.warnings)
        qInfo("warning: %s", warning.c_str());
    return openTokenizer(scratch.write("vocabulary.gguf", vocabularyFile(tokenizer.fields)));
}

GgufMetadata metadataOf(const QString& path, const Scratch& scratch) {
    const GgufTokenizer tokenizer = ggufTokenizerOf(path.toStdString());
    const std::string file = scratch.write("vocabulary.gguf", vocabularyFile(tokenizer.fields));
    static std::vector<GgufPart> kept; // metadata refer to the mapped file
    kept.push_back(readGguf(MappedFile::open(file)));
    return kept.back().metadata;
}

QByteArray readFixture(const QString& name) {
    return bytesAt(fixtures + name + "/tokenizer.json");
}

/// The tokenizer "byte-level" without options of added tokens, because GGUF has none.
QByteArray plainTokens() {
    auto json = nlohmann::ordered_json::parse(readFixture("byte-level").toStdString());
    for (auto& token : json.at("added_tokens")) {
        for (const char* option : {"single_word", "lstrip", "rstrip", "normalized"})
            token[option] = false;
    }
    return QByteArray::fromStdString(json.dump());
}

/// The tokenizer "byte-fallback" with merges as SentencePiece has them: all pairs whose union is a token, by result.
QByteArray markedTokenizer() {
    auto json = nlohmann::ordered_json::parse(readFixture("byte-fallback").toStdString());
    auto& model = json.at("model");
    auto merges = nlohmann::ordered_json::array();
    for (const auto& [token, id] : model.at("vocab").items()) {
        for (std::size_t cut = 1; id >= 3 && !token.starts_with("<0x") && cut < token.size(); ++cut) {
            if (model.at("vocab").contains(token.substr(0, cut)) && model.at("vocab").contains(token.substr(cut)))
                merges.push_back({token.substr(0, cut), token.substr(cut)});
        }
    }
    model["merges"] = merges;
    return QByteArray::fromStdString(json.dump());
}

} // namespace

class TestGgufTokenizerMetadata : public QObject {
    Q_OBJECT

private slots:
    void smallTokenizersKeepTheirIds_data() {
        QTest::addColumn<QString>("texts");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("byte-level") << "byte-level"
                                    << "tokenizer.json" << plainTokens();
        QTest::newRow("byte-fallback") << "byte-fallback"
                                       << "tokenizer.json" << markedTokenizer();
        QTest::newRow("word-piece") << "word-piece"
                                    << "tokenizer.json" << readFixture("word-piece");
        QTest::newRow("unigram") << "sentencepiece-unigram"
                                 << "tokenizer.model" << bytesAt(fixtures + "sentencepiece-unigram/tokenizer.model");
    }
    void smallTokenizersKeepTheirIds() {
        QFETCH(QString, texts);
        QFETCH(QString, file);
        QFETCH(QByteArray, content);
        const Scratch scratch;
        const std::string path = scratch.write(file, content);
        const auto source = openTokenizer(path);
        std::vector<std::string> all = caseTexts(texts);
        all.push_back(oddText());
        std::size_t ids = 0;
        const int differing = differingTexts(*source, *convertedOf(QString::fromStdString(path), scratch), all, ids);
        qInfo("%zu texts, %zu tokens, %d texts differ", all.size(), ids, differing);
        QCOMPARE(differing, 0);
    }

    void realTokenizersKeepTheirIds_data() {
        QTest::addColumn<QString>("path");
        for (const char* path : {"gpt2", "roberta-base", "llama3", "llama2/tokenizer.json", "llama2/tokenizer.model",
                                 "bert-base-uncased", "bert-base-uncased/vocab.txt", "all-MiniLM-L6-v2",
                                 "sentencepiece-test/test_model.model", "sentencepiece-test/test_ja_model.model"})
            QTest::newRow(path) << path;
    }
    void realTokenizersKeepTheirIds() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA names no folder of real vocabularies");
        QFETCH(QString, path);
        const Scratch scratch;
        const QString file = realData() + "/tokenizers/" + path;
        const auto source = openTokenizer(file.toStdString());
        const std::vector<std::string> texts = realTexts();
        std::size_t ids = 0;
        const int differing = differingTexts(*source, *convertedOf(file, scratch), texts, ids);
        qInfo("%zu texts, %zu tokens, %d texts differ", texts.size(), ids, differing);
        QCOMPARE(differing, 0);
    }

    void keysAreThoseOfTheFormat() {
        const Scratch scratch;
        const GgufMetadata bytes = metadataOf(fixtures + "byte-level", scratch);
        QCOMPARE(*bytes.text("tokenizer.ggml.model"), "gpt2");
        QCOMPARE(*bytes.text("tokenizer.ggml.pre"), "llama-bpe");
        QCOMPARE(*bytes.flag("tokenizer.ggml.add_bos_token"), true);
        QCOMPARE(*bytes.flag("tokenizer.ggml.add_eos_token"), false);
        QCOMPARE(*bytes.integer("tokenizer.ggml.bos_token_id", 0, 1000), std::int64_t{0});
        const auto types = *bytes.integers("tokenizer.ggml.token_type", 0, 6);
        QCOMPARE(types.size(), std::size_t{423});
        QCOMPARE(types[0], std::int64_t{3});
        QCOMPARE(types[300], std::int64_t{1});
        QCOMPARE(types[420], std::int64_t{4});

        const std::string marked = scratch.write("tokenizer.json", markedTokenizer());
        const GgufMetadata pieces = metadataOf(QString::fromStdString(marked), scratch);
        QCOMPARE(*pieces.text("tokenizer.ggml.model"), "llama");
        QCOMPARE(*pieces.text("tokenizer.ggml.pre"), "default");
        QCOMPARE(*pieces.flag("tokenizer.ggml.add_space_prefix"), true);
        QCOMPARE(*pieces.integer("tokenizer.ggml.unknown_token_id", 0, 1000), std::int64_t{0});
        const auto kinds = *pieces.integers("tokenizer.ggml.token_type", 0, 6);
        QCOMPARE(kinds[0], std::int64_t{2});
        QCOMPARE(kinds[1], std::int64_t{3});
        QCOMPARE(std::ranges::count(kinds, std::int64_t{6}), std::ptrdiff_t{256});

        const GgufMetadata words = metadataOf(fixtures + "word-piece", scratch);
        QCOMPARE(*words.text("tokenizer.ggml.model"), "bert");
        QCOMPARE(*words.flag("tokenizer.ggml.normalizer.lowercase"), true);
        QCOMPARE(*words.integer("tokenizer.ggml.cls_token_id", 0, 1000), std::int64_t{2});
        QCOMPARE(*words.integer("tokenizer.ggml.bos_token_id", 0, 1000), std::int64_t{2});
    }

    void stepsHaveTheNameOfTheirExpressions_data() {
        QTest::addColumn<QByteArray>("steps");
        QTest::addColumn<bool>("wholeWords");
        QTest::addColumn<QString>("name");
        const auto split = [](std::string_view pattern) {
            return QByteArray::fromStdString(
                nlohmann::json{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}}.dump());
        };
        const auto bytes = [](const char* splits) {
            return QByteArray(R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":)") + splits + "}";
        };
        const QByteArray digits = R"({"type":"Digits","individual_digits":true})";
        QTest::newRow("ByteLevel") << bytes("true") << false << "gpt-2";
        QTest::newRow("GPT-2") << split(gpt2Pattern) + "," + bytes("false") << false << "gpt-2";
        QTest::newRow("digits") << digits + "," + bytes("true") << false << "smollm";
        QTest::newRow("numbers") << split("\\p{N}") + "," + bytes("true") << false << "smollm";
        QTest::newRow("digits, GPT-2") << digits + "," + split(gpt2Pattern) + "," + bytes("false") << false << "smollm";
        QTest::newRow("Llama 3") << split(llama3Pattern) + "," + bytes("false") << true << "llama-bpe";
        QTest::newRow("Llama 3, merging") << split(llama3Pattern) + "," + bytes("false") << false << "dbrx";
        QTest::newRow("Qwen 2") << split(qwen2Pattern) + "," + bytes("false") << false << "qwen2";
        QTest::newRow("tekken") << split(tekkenPattern) + "," + bytes("false") << true << "tekken";
    }
    void stepsHaveTheNameOfTheirExpressions() {
        QFETCH(QByteArray, steps);
        QFETCH(bool, wholeWords);
        QFETCH(QString, name);
        const Scratch scratch;
        auto json = nlohmann::ordered_json::parse(plainTokens().toStdString());
        json["pre_tokenizer"]["pretokenizers"] = nlohmann::ordered_json::parse("[" + steps.toStdString() + "]");
        json["model"]["ignore_merges"] = wholeWords;
        if (name == "qwen2")
            json["normalizer"] = {{"type", "NFC"}};
        const std::string path = scratch.write("tokenizer.json", QByteArray::fromStdString(json.dump()));
        QCOMPARE(QString::fromStdString(*metadataOf(QString::fromStdString(path), scratch).text("tokenizer.ggml.pre")),
                 name);
        std::vector<std::string> texts = caseTexts("byte-level");
        texts.push_back(oddText());
        std::size_t ids = 0;
        QCOMPARE(differingTexts(*openTokenizer(path), *convertedOf(QString::fromStdString(path), scratch), texts, ids),
                 0);
    }

    void theVocabularyIsFilledUpToTheEmbedding() {
        const Scratch scratch;
        const auto converted = convertedOf(fixtures + "byte-level", scratch, 512);
        QCOMPARE(converted->card().size, 512);
        QCOMPARE(*converted->token(511), "[PAD511]");
        QCOMPARE(scratch.refusal([&] { ggufTokenizerOf((fixtures + "byte-level").toStdString(), 422); })
                     .section("tokenizer.json: ", 1),
                 "has ids up to 422, but the model's embedding has 422 rows");
    }

    void configurationFilesNameTheSpecialTokens() {
        const Scratch scratch;
        scratch.write("tokenizer.json", readFixture("byte-level"));
        scratch.write("tokenizer_config.json", R"({"eos_token": "<|end|>", "chat_template": "{{ messages }}"})");
        scratch.write("config.json", R"({"eos_token_id": [5, 6], "pad_token_id": 7, "bos_token_id": null})");
        const GgufMetadata metadata = metadataOf(scratch.path(), scratch);
        QCOMPARE(*metadata.integer("tokenizer.ggml.eos_token_id", 0, 1000), std::int64_t{1});
        QCOMPARE(*metadata.integer("tokenizer.ggml.padding_token_id", 0, 1000), std::int64_t{7});
        QCOMPARE(*metadata.text("tokenizer.chat_template"), "{{ messages }}");
    }

    void aSentencePieceModelBesideItGivesTheScores() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA names no folder of real vocabularies");
        const Scratch scratch;
        const QString model = realData() + "/tokenizers/llama2/tokenizer.model";
        const GgufPart part =
            readGguf(MappedFile::open((realData() + "/tokenizers/llama.cpp/ggml-vocab-llama-spm.gguf").toStdString()));
        for (const auto& file : hfTokenizerFilesOf(part.metadata).files)
            scratch.write(QString::fromStdString(file.name), QByteArray::fromStdString(file.content));
        scratch.write("tokenizer.model", bytesAt(model));
        const GgufMetadata metadata = metadataOf(scratch.path(), scratch);
        QVERIFY(*metadata.numbers("tokenizer.ggml.scores") == *part.metadata.numbers("tokenizer.ggml.scores"));
        QVERIFY(*metadata.texts("tokenizer.ggml.tokens") == *part.metadata.texts("tokenizer.ggml.tokens"));
        QVERIFY(*metadata.integers("tokenizer.ggml.token_type", 0, 6) ==
                *part.metadata.integers("tokenizer.ggml.token_type", 0, 6));
        for (const char* key : {"bos_token_id", "eos_token_id", "unknown_token_id"})
            QCOMPARE(*metadata.integer(std::string("tokenizer.ggml.") + key, 0, 10),
                     *part.metadata.integer(std::string("tokenizer.ggml.") + key, 0, 10));
    }

    void theSourceOfAWarningIsNamed() {
        const Scratch scratch;
        QByteArray json = markedTokenizer();
        json.replace("\"normalizer\":{", "\"unused\":{");
        json.replace("\"pre_tokenizer\":null", R"("pre_tokenizer":{"type":"Metaspace","replacement":"\u2581",)"
                                               R"("prepend_scheme":"first","split":false})");
        const auto tokenizer = ggufTokenizerOf(scratch.write("tokenizer.json", json));
        QCOMPARE(tokenizer.warnings.size(), std::size_t{1});
        QCOMPARE(tokenizer.warnings.front(), "llama.cpp also puts a space in front of the text behind a special token, "
                                             "which the source does not do");
    }

    void capitalsOfAVocabularyAreKept() {
        const Scratch scratch;
        QByteArray json = readFixture("word-piece");
        json.replace("\"lowercase\":true", "\"lowercase\":false");
        const std::string path = scratch.write("tokenizer.json", json);
        scratch.write("config.json", R"({"type_vocab_size": 2})");
        const GgufMetadata metadata = metadataOf(QString::fromStdString(path), scratch);
        QCOMPARE(*metadata.flag("tokenizer.ggml.normalizer.lowercase"), false);
        QCOMPARE(*metadata.flag("tokenizer.ggml.normalizer.strip_accents"), false);
        QCOMPARE(*metadata.integer("tokenizer.ggml.token_type_count", 0, 10), std::int64_t{2});
        std::size_t ids = 0;
        QCOMPARE(differingTexts(*openTokenizer(path), *convertedOf(QString::fromStdString(path), scratch),
                                caseTexts("word-piece"), ids),
                 0);
    }

    void aTokenizerWithoutCounterpartIsRefused_data() {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QString>("message");
        const QByteArray bytes = readFixture("byte-level");
        const QByteArray marked = readFixture("byte-fallback");
        const QByteArray words = readFixture("word-piece");
        const auto changed = [](QByteArray json, const QByteArray& before, const QByteArray& after) {
            if (!json.contains(before))
                qFatal("the fixture does not contain %s", before.constData());
            return json.replace(before, after);
        };
        QTest::newRow("expression") << changed(bytes, "\\\\p{N}{1,3}", "\\\\p{N}{1,4}")
                                    << "tokenizer.json: pre_tokenizer: splits texts in a way for which llama.cpp has "
                                       "no name that is known here";
        QTest::newRow("prefix") << readFixture("digits")
                                << "tokenizer.json: pre_tokenizer: pretokenizers[1]: add_prefix_space: puts a space in "
                                   "front of texts, which "
                                   "llama.cpp does not do for byte-level tokenizers";
        QTest::newRow("unigram") << readFixture("unigram")
                                 << "tokenizer.json: is a tokenizer of the kind Unigram that is not a SentencePiece "
                                    "model alone; only such a model can be converted for llama.cpp";
        QTest::newRow("normalizer")
            << changed(marked, "\"type\":\"Prepend\",\"prepend\"", "\"type\":\"Lowercase\",\"x\"")
            << "tokenizer.json: normalizer: normalizers[0]: type: the normalizer \"Lowercase\" has no counterpart in "
               "llama.cpp with these options";
        QTest::newRow("no fallback")
            << changed(marked, "\"byte_fallback\":true", "\"byte_fallback\":false")
            << "tokenizer.json: model: byte_fallback: is false, but llama.cpp always falls back to bytes";
        QTest::newRow("missing merges") << marked
                                        << "tokenizer.json: merges: lack \"h\" and \"e'\", which llama.cpp would merge "
                                           "because their union is a token";
        QTest::newRow("whole words") << changed(bytes, "\\\\p{N}{1,3}", "\\\\p{N}")
                                     << "tokenizer.json: encodes whole words without merging (ignore_merges), which no "
                                        "pre-tokenizer of llama.cpp "
                                        "with the same expression does";
        QTest::newRow("two special tokens") << changed(bytes, "\"ids\":[0]", "\"ids\":[0,1]")
                                            << "tokenizer.json: puts several special tokens in front of a text or at "
                                               "its end; llama.cpp adds at most one "
                                               "each";
        QTest::newRow("word ends")
            << changed(bytes, "\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\"")
            << "tokenizer.json: model: end_of_word_suffix: is set, but llama.cpp has no such option";
        QTest::newRow("cleaning")
            << changed(words, "\"clean_text\":true", "\"clean_text\":false")
            << "tokenizer.json: normalizer: clean_text: is false, but llama.cpp has no such option";
        QTest::newRow("word prefix")
            << changed(words, "\"continuing_subword_prefix\":\"##\"", "\"continuing_subword_prefix\":\"@@\"")
            << "tokenizer.json: model: continuing_subword_prefix: is not \"##\", the only one of llama.cpp";
        QTest::newRow("word list")
            << changed(words, "\"type\":\"WordPiece\",\"unk", "\"type\":\"WordLevel\",\"unk")
            << "tokenizer.json: is a tokenizer of the kind word list, which llama.cpp does not have";
        QTest::newRow("damaged") << bytes.left(1000) << "tokenizer.json: is not valid JSON (byte 1001)";
    }
    void aTokenizerWithoutCounterpartIsRefused() {
        QFETCH(QByteArray, json);
        const Scratch scratch;
        const std::string file = scratch.write("tokenizer.json", json);
        const QString message = scratch.refusal([&] { ggufTokenizerOf(file); });
        QTEST(message, "message");
    }
};

SECATEUR_SUITE(TestGgufTokenizerMetadata)
#include "tst_gguf_tokenizer_metadata.moc"
