// GGUF files built byte by byte. The tensors and metadata of a valid file are listed; an invalid file is refused with
// an Error.

#ifndef Q_MOC_RUN
#include "backends/formats/gguf.h"
#include "backends/formats/gguf_metadata.h"
#include "backends/engine/open_model.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>

using namespace secateur;
using namespace secateur::test;
using namespace secateur::test::gguf;

namespace {

const QByteArrayList everyType{
    pair("u8", u8, little<quint8>(200)),
    pair("i8", i8, little<qint8>(-3)),
    pair("u16", u16, little<quint16>(60000)),
    pair("i16", i16, little<qint16>(-300)),
    pair("u32", u32, little<quint32>(4000000000U)),
    pair("i32", i32, little<qint32>(70000)),
    pair("f32", f32, little(0.5F)),
    pair("bool", boolean, little<quint8>(1)),
    pair("text", string, text("grün")),
    pair("numbers", array, arrayOf(i32, 3, little<qint32>(5) + little<qint32>(6) + little<qint32>(7))),
    pair("words", array, arrayOf(string, 2, text("a") + text("bc"))),
    pair("nested", array, arrayOf(array, 2, arrayOf(u8, 1, "x") + arrayOf(string, 1, text("y")))),
    pair("none", array, arrayOf(f64, 0, "")),
    pair("u64", u64, little<quint64>(1)),
    pair("i64", i64, little<qint64>(-5)),
    pair("f64", f64, little(0.25)),
};

} // namespace

class TestGguf : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;

private slots:
    void aWellFormedFileIsListedByName() {
        const QByteArrayList tensors{tensor("b", {32, 2}, 8, 128), tensor("a", {3, 5, 2}, 0, 0)};
        for (const quint32 version : {2U, 3U}) {
            const auto list = listTensors(m_scratch.write("good.gguf", fileOf(everyType, tensors, 196, version)));
            QCOMPARE(list.size(), std::size_t{2});
            QCOMPARE(list[0].name, "a");
            QCOMPARE(list[0].shape, (std::vector<std::int64_t>{2, 5, 3}));
            QCOMPARE(list[0].bytes, 120);
            QCOMPARE(list[1].dtype, "Q8_0");
            QCOMPARE(list[1].shape, (std::vector<std::int64_t>{2, 32}));
            QCOMPARE(list[1].bytes, 68);
        }
    }

    void theMagicNumberDecidesWhateverTheName() {
        QCOMPARE(listTensors(m_scratch.write("model.bin", fileOf({}, {oneTensor}, oneTensorBytes))).size(),
                 std::size_t{1});
    }

    void metadataOfEveryTypeIsRead() {
        const QByteArray bytes = everyType.join();
        ByteReader reader(std::as_bytes(std::span(bytes.data(), static_cast<std::size_t>(bytes.size()))), "f");
        const GgufMetadata metadata(reader, static_cast<std::uint64_t>(everyType.size()), "f");
        QCOMPARE(reader.left(), std::size_t{0});
        QCOMPARE(*metadata.integer("u8", 0, 255), 200);
        QCOMPARE(*metadata.integer("i8", -9, 0), -3);
        QCOMPARE(*metadata.integer("u16", 0, 65535), 60000);
        QCOMPARE(*metadata.integer("i16", -999, 0), -300);
        QCOMPARE(*metadata.integer("u32", 0, 4000000000), 4000000000);
        QCOMPARE(*metadata.integer("i32", 0, 70000), 70000);
        QCOMPARE(*metadata.integer("u64", 0, 9), 1);
        QCOMPARE(*metadata.integer("i64", -9, 9), -5);
        QCOMPARE(*metadata.number("f32"), 0.5);
        QCOMPARE(*metadata.number("f64"), 0.25);
        QCOMPARE(*metadata.text("text"), "grün");
        QCOMPARE(*metadata.integers("numbers", 3, 0, 9), (std::vector<std::int64_t>{5, 6, 7}));
        QCOMPARE(*metadata.integers("u8", 2, 0, 255), (std::vector<std::int64_t>{200, 200}));
        QCOMPARE(*metadata.arrayLength("words"), 2U);
        QVERIFY(!metadata.integer("absent", 0, 1));
    }

    void metadataOfAnotherTypeIsRefused() {
        const QByteArray bytes = everyType.join();
        ByteReader reader(std::as_bytes(std::span(bytes.data(), static_cast<std::size_t>(bytes.size()))), "f");
        const GgufMetadata metadata(reader, static_cast<std::uint64_t>(everyType.size()), "f");
        const Scratch scratch;
        QCOMPARE(scratch.refusal([&] { metadata.integer("text", 0, 9); }),
                 "f: text: expected a whole number from 0 to 9, found a value of another type");
        QCOMPARE(scratch.refusal([&] { metadata.integer("i8", 0, 9); }),
                 "f: i8: expected a whole number from 0 to 9, found -3");
        QCOMPARE(scratch.refusal([&] { metadata.text("u8"); }), "f: u8: expected text");
        QCOMPARE(scratch.refusal([&] { metadata.number("u8"); }), "f: u8: expected a floating point number");
        QCOMPARE(scratch.refusal([&] { metadata.arrayLength("u8"); }), "f: u8: expected an array");
        QCOMPARE(scratch.refusal([&] { metadata.integers("numbers", 4, 0, 9); }),
                 "f: numbers: expected 4 values, one per layer, found 3");
        QCOMPARE(scratch.refusal([&] { metadata.integers("words", 2, 0, 9); }),
                 "f: words: expected a whole number from 0 to 9, found a value of another type");
    }

    void aFileCutShortAnywhereIsRefused() {
        const QByteArray whole = fileOf(everyType, {oneTensor}, oneTensorBytes);
        for (int size = 0; size < whole.size(); ++size) {
            const std::string path = m_scratch.write("cut.gguf", whole.left(size));
            QVERIFY(m_scratch.refusal([&] { listTensors(path); }) != "accepted");
        }
    }

    void anyPartOpensASplitModel() {
        const Scratch folder;
        // The first part of a split model may hold metadata only.
        folder.write("m-00001-of-00003.gguf",
                     fileOf({pair("split.no", u16, little<quint16>(0)), pair("split.count", u16, little<quint16>(3)),
                             pair("split.tensors.count", i32, little<qint32>(2))},
                            {}, 0));
        folder.write("m-00002-of-00003.gguf", partOf(1, 3, "v", 2));
        folder.write("m-00003-of-00003.gguf", partOf(2, 3, "w", 2));
        for (const char* opened : {"m-00001-of-00003.gguf", "m-00003-of-00003.gguf", ""}) {
            const auto list = listTensors(folder.path(opened).toStdString());
            QCOMPARE(list.size(), std::size_t{2});
            QCOMPARE(list[0].name, "v");
            QCOMPARE(list[0].file, "m-00002-of-00003.gguf");
            QCOMPARE(list[1].file, "m-00003-of-00003.gguf");
        }
    }

    void aSplitModelOfGgufPyEqualsItsWhole() {
        const QDir folder(QString(SECATEUR_TEST_SOURCES) + "/formats");
        const auto whole = openGguf(folder.filePath("plain/model.gguf").toStdString(), {});
        const auto parts = openGguf(folder.filePath("split/model-00003-of-00004.gguf").toStdString(), {});
        QCOMPARE(parts->tensors().size(), whole->tensors().size());
        for (const TensorEntry& entry : whole->tensors()) {
            const TensorEntry* found = parts->find(entry.name);
            QVERIFY2(found, entry.name.c_str());
            QCOMPARE(found->type, entry.type);
            QCOMPARE(found->shape, entry.shape);
            QVERIFY(std::ranges::equal(found->data, entry.data));
        }
    }

    void aFolderOpensItsOnlyModel() {
        const Scratch folder;
        const auto list = [&] { return listTensors(folder.path().toStdString()); };
        folder.write("a.gguf", fileOf({}, {oneTensor}, oneTensorBytes));
        QCOMPARE(list().size(), std::size_t{1});
        folder.write("b-00001-of-00002.gguf", partOf(0, 2, "v", 2));
        folder.write("b-00002-of-00002.gguf", partOf(1, 2, "w", 2));
        QCOMPARE(folder.refusal(list),
                 "FOLDER: holds 2 models: a.gguf, b-00001-of-00002.gguf. Open one of these files");
    }

    void aVocabularyIsSaidToHaveNoWeights() {
        const QByteArray file = fileOf({pair("tokenizer.ggml.tokens", array, arrayOf(string, 1, text("a")))}, {}, 0);
        QCOMPARE(m_scratch.refusal([&] { listTensors(m_scratch.write("vocab.gguf", file)); }),
                 "vocab.gguf: has no weights. It holds a vocabulary only");
    }
};

SECATEUR_SUITE(TestGguf)
#include "tst_gguf.moc"
