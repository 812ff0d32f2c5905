// Handmade GGUF files: what is well formed is listed, what is not is refused by one sentence.

#ifndef Q_MOC_RUN
#include "backends/gguf.h"
#include "backends/gguf_metadata.h"
#include "backends/open_model.h"
#include "tests/support/files.h"
#endif

#include <QRegularExpression>
#include <QtTest>

#include <algorithm>

using namespace secateur;
using namespace secateur::test;

namespace {

enum Type : quint32 { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

QByteArray text(const QByteArray& value) {
    return little<quint64>(static_cast<quint64>(value.size())) + value;
}

QByteArray pair(const QByteArray& key, quint32 type, const QByteArray& value) {
    return text(key) + little<quint32>(type) + value;
}

QByteArray arrayOf(quint32 type, quint64 count, const QByteArray& values) {
    return little<quint32>(type) + little<quint64>(count) + values;
}

/// A tensor's description; dimensions fastest first.
QByteArray tensor(const QByteArray& name, const QList<quint64>& dimensions, quint32 type, quint64 offset) {
    QByteArray bytes = text(name) + little<quint32>(static_cast<quint32>(dimensions.size()));
    for (const quint64 size : dimensions)
        bytes += little(size);
    return bytes + little(type) + little(offset);
}

/// A whole file with 32-byte alignment.
QByteArray fileOf(const QByteArrayList& pairs, const QByteArrayList& tensors, int dataBytes, quint32 version = 3) {
    QByteArray bytes = "GGUF" + little(version) + little<quint64>(static_cast<quint64>(tensors.size())) +
                       little<quint64>(static_cast<quint64>(pairs.size()));
    bytes += pairs.join() + tensors.join();
    bytes += QByteArray((32 - bytes.size() % 32) % 32, '\0');
    return bytes + QByteArray(dataBytes, '\x01');
}

/// A part of a split model with one tensor.
QByteArray partOf(int number, int count, const QByteArray& name, int total) {
    return fileOf({pair("split.no", u16, little(static_cast<quint16>(number))),
                   pair("split.count", u16, little(static_cast<quint16>(count))),
                   pair("split.tensors.count", i32, little<qint32>(total))},
                  {tensor(name, {4}, 0, 0)}, 16);
}

const QByteArray oneTensor = tensor("w", {32, 2}, 0, 0);
constexpr int oneTensorBytes = 256;

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

    void aBadFileIsRefusedByOneSentence_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& bytes, const char* sentence) {
            QTest::newRow(name) << bytes << QString("bad.gguf: ") + sentence;
        };
        const auto withPair = [](const QByteArray& value) { return fileOf({value}, {oneTensor}, oneTensorBytes); };
        const auto withTensor = [](const QByteArray& value, int bytes) { return fileOf({}, {value}, bytes); };
        const QByteArray damaged = ". The file is cut short or damaged";

        row("empty", "", "is empty");
        row("two bytes", "GG", "ends inside the magic number: 4 bytes are needed, 2 are left" + damaged);
        row("another magic", "GGML" + QByteArray(40, '\0'), "does not begin with \"GGUF\". It is not a GGUF file");
        row("version 1", fileOf({}, {oneTensor}, 256, 1), "is GGUF version 1; versions 2 and 3 are read");
        row("version 4", fileOf({}, {oneTensor}, 256, 4), "is GGUF version 4; versions 2 and 3 are read");
        row("big-endian", fileOf({}, {oneTensor}, 256, 0x03000000),
            "is written for big-endian machines, which is not read");
        row("no tensors", fileOf({}, {}, 0), "has no weights");
        row("no counts", "GGUF" + little<quint32>(3),
            "ends inside the number of tensors: 8 bytes are needed, 0 are left" + damaged);
        row("more pairs than bytes", "GGUF" + little<quint32>(3) + little<quint64>(1) + little(~quint64{0}),
            "ends inside metadata key 0: 8 bytes are needed, 0 are left" + damaged);
        row("more tensors than bytes",
            "GGUF" + little<quint32>(3) + little(~quint64{0}) + little<quint64>(0) + oneTensor,
            "ends inside the description of tensor 1: 8 bytes are needed, 0 are left" + damaged);
        row("a key longer than the file",
            "GGUF" + little<quint32>(3) + little<quint64>(1) + little<quint64>(1) + little(~quint64{0}) + "abc",
            "ends inside metadata key 0: 18446744073709551615 bytes are needed, 3 are left" + damaged);
        row("an empty key", withPair(pair("", u8, "x")), "has a metadata key of 0 bytes");
        row("a key twice", fileOf({pair("k", u8, "x"), pair("k", u8, "x")}, {oneTensor}, 256), "k: appears twice");
        row("an unknown value type", withPair(pair("k", 13, "x")), "k: has a value of the unknown type 13");
        row("an array of an unknown type", withPair(pair("k", array, arrayOf(99, 1, "x"))),
            "k: has a value of the unknown type 99");
        row("arrays without end",
            withPair(
                pair("k", array,
                     arrayOf(array, 1, arrayOf(array, 1, arrayOf(array, 1, arrayOf(array, 1, arrayOf(u8, 1, "x"))))))),
            "k: nests arrays deeper than 4 levels");
        row("an array whose size overflows", withPair(pair("k", array, arrayOf(u64, quint64{1} << 61, ""))),
            "ends inside k: 18446744073709551615 bytes are needed, 303 are left" + damaged);
        row("alignment 24", withPair(pair("general.alignment", u32, little<quint32>(24))),
            "general.alignment: expected a power of two, found 24");
        row("alignment 0", withPair(pair("general.alignment", u32, little<quint32>(0))),
            "general.alignment: expected a whole number from 1 to 1073741824, found 0");
        row("a tensor without a name", withTensor(tensor("", {32}, 0, 0), 128), "has a tensor name of 0 bytes");
        row("no dimensions", withTensor(tensor("w", {}, 0, 0), 128), "w: has 0 dimensions; 1 to 4 are possible");
        row("five dimensions", withTensor(tensor("w", {1, 1, 1, 1, 1}, 0, 0), 128),
            "w: has 5 dimensions; 1 to 4 are possible");
        row("a dimension beyond 63 bits", withTensor(tensor("w", {~quint64{0}}, 0, 0), 128),
            "w: has a dimension of 18446744073709551615");
        row("a shape that overflows", withTensor(tensor("w", {quint64{1} << 40, quint64{1} << 40}, 0, 0), 128),
            "w: has a shape whose size overflows: [1099511627776, 1099511627776]");
        row("bytes that overflow", withTensor(tensor("w", {quint64{1} << 62}, 0, 0), 128),
            "w: has a shape whose size overflows: [4611686018427387904]");
        row("an undefined type", withTensor(tensor("w", {32}, 77, 0), 128),
            "w: is of type 77, which GGUF does not define");
        row("rows of part blocks", withTensor(tensor("w", {48, 2}, 8, 0), 128),
            "w: has rows of 48 numbers, which Q8_0's blocks of 32 do not divide");
        row("a crooked offset", withTensor(tensor("w", {4}, 0, 4), 128),
            "w: begins at offset 4, not a multiple of the alignment 32");
        row("beyond the end", withTensor(tensor("w", {32}, 0, 32), 128),
            "w: takes 128 bytes from offset 32, but the file holds 128 bytes of tensors" + damaged);
        row("far beyond the end", withTensor(tensor("w", {32}, 0, ~quint64{31}), 128),
            "w: takes 128 bytes from offset 18446744073709551584, but the file holds 128 bytes of tensors" + damaged);
        row("overlapping", fileOf({}, {tensor("v", {32}, 0, 0), tensor("w", {32}, 0, 64)}, 192),
            "w: shares bytes with tensor v");
        row("a tensor twice", fileOf({}, {tensor("w", {8}, 0, 0), tensor("w", {8}, 0, 32)}, 64), "w: appears twice");
    }
    void aBadFileIsRefusedByOneSentence() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, sentence);
        const std::string path = m_scratch.write("bad.gguf", bytes);
        QCOMPARE(m_scratch.refusal([&] { listTensors(path); }), sentence);
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

    void aBadSplitIsRefusedByOneSentence_data() {
        QTest::addColumn<QByteArray>("second");
        QTest::addColumn<QString>("sentence");
        const QString name = "m-00002-of-00002.gguf: ";
        QTest::newRow("missing") << QByteArray() << name + "is missing, part 2 of 2 of a split model";
        QTest::newRow("another's number")
            << partOf(0, 2, "w", 2) << name + "is part 2 by its name, but part 1 by its split.no";
        QTest::newRow("another's count") << partOf(1, 3, "w", 2)
                                         << name + "is one of 2 parts by its name, but one of 3 by its split.count";
        QTest::newRow("no part at all") << fileOf({}, {oneTensor}, oneTensorBytes)
                                        << name + "is one of 2 parts by its name, but one of 0 by its split.count";
        QTest::newRow("a tensor too many")
            << fileOf({pair("split.no", u16, little<quint16>(1)), pair("split.count", u16, little<quint16>(2))},
                      {tensor("w", {4}, 0, 0), tensor("x", {4}, 0, 32)}, 48)
            << "m-00001-of-00002.gguf: split.tensors.count: expected 2 tensors in 2 "
               "parts, found 3";
        QTest::newRow("a tensor of the first") << partOf(1, 2, "v", 2) << "FILE: v: appears twice";
        QTest::newRow("damaged") << QByteArray("GGUF")
                                 << name + "ends inside the version: 4 bytes are needed, 0 are left. The file is cut "
                                           "short or damaged";
    }
    void aBadSplitIsRefusedByOneSentence() {
        QFETCH(QByteArray, second);
        QFETCH(QString, sentence);
        const Scratch folder;
        const std::string first = folder.write("m-00001-of-00002.gguf", partOf(0, 2, "v", 2));
        if (!second.isEmpty())
            folder.write("m-00002-of-00002.gguf", second);
        QString found = folder.refusal([&] { listTensors(first); });
        // Which of two equal names is met first is not promised.
        if (sentence.startsWith("FILE"))
            found.replace(QRegularExpression("^m-0000[12]-of-00002.gguf"), "FILE");
        QCOMPARE(found, sentence);
    }

    void aPartUnderAnotherNameIsRefused() {
        const QByteArray part = partOf(0, 2, "v", 2);
        QCOMPARE(m_scratch.refusal([&] { listTensors(m_scratch.write("part.gguf", part)); }),
                 "part.gguf: is one of 2 parts of a model, but is not named as a part. Parts are found by names like "
                 "model-00001-of-00002.gguf");
        QCOMPARE(m_scratch.refusal([&] { listTensors(m_scratch.write("m-00001-of-00009.gguf", part)); }),
                 "m-00001-of-00009.gguf: is one of 9 parts by its name, but one of 2 by its split.count");
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

QTEST_APPLESS_MAIN(TestGguf)
#include "tst_gguf.moc"
