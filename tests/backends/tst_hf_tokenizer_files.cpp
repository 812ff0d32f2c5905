// Tokenizers in GGUF become files of Hugging Face, and give the same ids when these are opened.

#ifndef Q_MOC_RUN
#include "analysis/text/tokenizer.h"
#include "backends/export/gguf_tokenizer_metadata.h"
#include "backends/export/hf_tokenizer_files.h"
#include "backends/formats/gguf.h"
#include "backends/tokenizers/gguf_tokenizer.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "tests/support/suite.h"
#include "tests/support/tokenizer_files.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;

namespace {

std::vector<std::string> writeFiles(const QString& gguf, const Scratch& scratch) {
    const GgufPart part = readGguf(MappedFile::open(gguf.toStdString()));
    const HfTokenizerFiles written = hfTokenizerFilesOf(part.metadata);
    for (const auto& file : written.files)
        scratch.write(QString::fromStdString(file.name), QByteArray::fromStdString(file.content));
    return written.warnings;
}

/// The metadata of a small byte-level vocabulary, with changes.
class EditedVocabulary {
public:
    EditedVocabulary() {
        for (const GgufField& field : ggufTokenizerOf((data().filePath("tokenizers/byte-level")).toStdString()).fields)
            m_fields.push_back(field);
    }
    EditedVocabulary& set(const GgufField& field) {
        remove(field.key);
        m_fields.push_back(field);
        return *this;
    }
    EditedVocabulary& remove(const std::string& key) {
        std::erase_if(m_fields, [&](const GgufField& field) { return field.key == key; });
        return *this;
    }
    QString write(const Scratch& scratch) const {
        return QString::fromStdString(scratch.write("vocabulary.gguf", vocabularyFile(m_fields)));
    }

private:
    std::vector<GgufField> m_fields;
};

} // namespace

class TestHfTokenizerFiles : public QObject {
    Q_OBJECT

private slots:
    void realVocabulariesKeepTheirIds_data() {
        QTest::addColumn<QString>("path");
        QTest::newRow("demo") << demoModel();
        const QString folder = realData() + "/";
        for (const char* name : {"bert-bge", "gpt-2", "llama-spm"})
            QTest::newRow(name) << folder + "tokenizers/llama.cpp/ggml-vocab-" + name + ".gguf";
        QTest::newRow("stories") << folder + "models/stories260K/stories260K.gguf";
    }
    void realVocabulariesKeepTheirIds() {
        QFETCH(QString, path);
        if (realData().isEmpty() || path.isEmpty())
            QSKIP("SECATEUR_TEST_DATA names no folder of real vocabularies, or the demo model is not there");
        const Scratch scratch;
        for (const std::string& warning : writeFiles(path, scratch))
            qInfo("warning: %s", warning.c_str());
        const auto source = openTokenizer(path.toStdString());
        const auto written = openTokenizer(scratch.path().toStdString());
        QCOMPARE(written->card().source, scratch.path("tokenizer.json").toStdString());
        int differing = 0;
        std::size_t ids = 0;
        const std::vector<std::string> texts = realTexts();
        for (const std::string& text : texts) {
            const std::vector<int> expected = source->encode(text).ids;
            const std::vector<int> found = written->encode(text).ids;
            ids += expected.size();
            differing += expected != found;
            QCOMPARE(written->decode(expected), source->decode(expected));
        }
        qInfo("%zu texts, %zu tokens, %d texts differ", texts.size(), ids, differing);
        QCOMPARE(differing, 0);
    }

    void everyPreTokenizerIsWritten_data() {
        QTest::addColumn<QString>("name");
        for (const GgufPreTokenizer& row : ggufPreTokenizers())
            QTest::newRow(std::string(row.name).c_str()) << QString::fromStdString(std::string(row.name));
        QTest::newRow("default") << "default";
    }
    void everyPreTokenizerIsWritten() {
        QFETCH(QString, name);
        const Scratch scratch;
        const QString file = EditedVocabulary().set(fieldOf("tokenizer.ggml.pre", name.toStdString())).write(scratch);
        writeFiles(file, scratch);
        const auto source = openTokenizer(file.toStdString());
        const auto written = openTokenizer(scratch.path("tokenizer.json").toStdString());
        std::vector<std::string> texts = caseTexts("byte-level");
        texts.push_back(oddText());
        for (const std::string& text : texts)
            QVERIFY2(source->encode(text).ids == written->encode(text).ids, text.c_str());
    }

    void aRoundTripKeepsTheMetadata_data() {
        QTest::addColumn<QString>("path");
        QTest::newRow("demo") << demoModel();
        QTest::newRow("gpt-2") << realData() + "/tokenizers/llama.cpp/ggml-vocab-gpt-2.gguf";
    }
    void aRoundTripKeepsTheMetadata() {
        QFETCH(QString, path);
        if (realData().isEmpty() || path.isEmpty())
            QSKIP("SECATEUR_TEST_DATA names no folder of real vocabularies, or the demo model is not there");
        const Scratch scratch;
        writeFiles(path, scratch);
        const GgufPart before = readGguf(MappedFile::open(path.toStdString()));
        const GgufTokenizer again = ggufTokenizerOf(scratch.path().toStdString());
        QVERIFY(again.warnings.empty());
        const GgufPart after = readGguf(MappedFile::open(scratch.write("again.gguf", vocabularyFile(again.fields))));
        const auto key = [](const char* name) { return std::string("tokenizer.ggml.") + name; };
        for (const char* name : {"model", "pre"})
            QCOMPARE(*after.metadata.text(key(name)), *before.metadata.text(key(name)));
        for (const char* name : {"tokens", "merges"})
            QVERIFY2(*after.metadata.texts(key(name)) == *before.metadata.texts(key(name)), name);
        QVERIFY(*after.metadata.integers(key("token_type"), 0, 6) ==
                *before.metadata.integers(key("token_type"), 0, 6));
        for (const char* name : {"bos_token_id", "eos_token_id", "padding_token_id"})
            QVERIFY2(after.metadata.integer(key(name), 0, 1 << 20) == before.metadata.integer(key(name), 0, 1 << 20),
                     name);
        QVERIFY(after.metadata.text("tokenizer.chat_template") == before.metadata.text("tokenizer.chat_template"));
    }

    void rolesAndTemplatesAreKept() {
        const Scratch scratch;
        const QString file = EditedVocabulary()
                                 .set(fieldOf("general.architecture", "llama"))
                                 .set(fieldOf("llama.context_length", 2048U))
                                 .set(fieldOf("tokenizer.ggml.eos_token_id", 1U))
                                 .set(fieldOf("tokenizer.ggml.eot_token_id", 5U))
                                 .set(fieldOf("tokenizer.chat_template", "{{ bos_token }}"))
                                 .write(scratch);
        QVERIFY(writeFiles(file, scratch).empty());
        const nlohmann::json config = readJson(scratch.path("tokenizer_config.json"));
        QCOMPARE(config.at("bos_token").get<std::string>(), "<|begin|>");
        QCOMPARE(config.at("eos_token").get<std::string>(), "<|end|>");
        QCOMPARE(config.at("chat_template").get<std::string>(), "{{ bos_token }}");
        QCOMPARE(config.at("tokenizer_class").get<std::string>(), "PreTrainedTokenizerFast");
        QCOMPARE(config.at("model_max_length").get<int>(), 2048);
        QCOMPARE(config.at("added_tokens_decoder").at("420").at("content").get<std::string>(), "<tool>");
        const nlohmann::json generation = readJson(scratch.path("generation_config.json"));
        QCOMPARE(generation.at("bos_token_id").get<int>(), 0);
        QVERIFY((generation.at("eos_token_id") == nlohmann::json{1, 5}));
        const nlohmann::json specials = readJson(scratch.path("special_tokens_map.json"));
        QCOMPARE(specials.size(), std::size_t{2});
        const auto written = openTokenizer(scratch.path("tokenizer.json").toStdString());
        QVERIFY(written->card().addsBos);
        QCOMPARE(*written->card().eos, 1);
        QCOMPARE(written->card().chatTemplate, "{{ bos_token }}");
    }

    void metadataThatCannotBeWrittenAreRefused_data() {
        QTest::addColumn<QString>("message");
        QTest::newRow("no tokenizer") << "vocabulary.gguf: has no tokenizer";
        QTest::newRow("kind") << "vocabulary.gguf: tokenizer.ggml.model: the tokenizer \"t5\" cannot be written for "
                                 "Hugging Face; supported are gpt2, llama, bert";
        QTest::newRow("scores") << "vocabulary.gguf: tokenizer.ggml.scores: is missing; the merges of tokenizer.json "
                                   "follow from it";
        QTest::newRow("prefix") << "vocabulary.gguf: tokenizer.ggml.add_space_prefix: is true, which tokenizer.json "
                                   "cannot express for this pre-tokenizer";
        QTest::newRow("template") << "vocabulary.gguf: tokenizer.chat_template: is not UTF-8";
    }
    void metadataThatCannotBeWrittenAreRefused() {
        const Scratch scratch;
        EditedVocabulary vocabulary;
        const QByteArray row = QTest::currentDataTag();
        if (row == "no tokenizer")
            vocabulary.remove("tokenizer.ggml.model");
        else if (row == "kind")
            vocabulary.set(fieldOf("tokenizer.ggml.model", "t5"));
        else if (row == "scores")
            vocabulary.set(fieldOf("tokenizer.ggml.model", "llama"));
        else if (row == "prefix")
            vocabulary.set(fieldOf("tokenizer.ggml.add_space_prefix", true));
        else
            vocabulary.set(fieldOf("tokenizer.chat_template", "\xFF"));
        const QString file = vocabulary.write(scratch);
        QTEST(scratch.refusal([&] { writeFiles(file, scratch); }), "message");
    }
};

SECATEUR_SUITE(TestHfTokenizerFiles)
#include "tst_hf_tokenizer_files.moc"
