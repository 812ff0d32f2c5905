// Handmade safetensors files: what is well formed is listed, what is not is refused by one sentence.

#ifndef Q_MOC_RUN
#include "backends/open_model.h"
#include "tests/support/files.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;

namespace {

/// The length, the header and the tensors' bytes.
QByteArray fileOf(const QByteArray& header, int dataBytes) {
    return little<quint64>(static_cast<quint64>(header.size())) + header + QByteArray(dataBytes, '\x01');
}

/// A header of one tensor "w".
QByteArray oneTensor(const QByteArray& dtype, const QByteArray& shape, const QByteArray& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

QByteArray nested(int depth) {
    return R"({"w":)" + QByteArray(depth, '[') + QByteArray(depth, ']') + "}";
}

} // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;

private slots:
    void aWellFormedFileIsListedByName() {
        const QByteArray header = R"({"__metadata__":{"format":"pt"},
            "b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
            "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
            "none":{"dtype":"F16","shape":[0,7],"data_offsets":[16,16]},
            "mask":{"dtype":"BOOL","shape":[5],"data_offsets":[16,21]}})";
        const auto list = listTensors(m_scratch.write("good.safetensors", fileOf(header, 21)));
        QCOMPARE(list.size(), std::size_t{4});
        QCOMPARE(list[0].name, "a");
        QVERIFY(list[0].shape.empty());
        QCOMPARE(list[1].name, "b");
        QCOMPARE(list[1].dtype, "BF16");
        QCOMPARE(list[1].bytes, 12);
        QCOMPARE(list[1].shape, (std::vector<std::int64_t>{2, 3}));
        QCOMPARE(list[2].dtype, "BOOL");
        QCOMPARE(list[3].bytes, 0);
        QCOMPARE(list[3].file, "good.safetensors");
    }

    void aBadFileIsRefusedByOneSentence_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& bytes, const char* sentence) {
            QTest::newRow(name) << bytes << QString("bad.safetensors: ") + sentence;
        };
        row("empty", "", "is empty");
        row("shorter than a length", "abc", "is 3 bytes long, too short for a safetensors header");
        row("header longer than the file", little<quint64>(1000) + "{}",
            "states a header of 1000 bytes, but 2 bytes follow. It is cut short or not a safetensors file");
        row("length with all bits set", little<quint64>(~quint64{0}) + "{}",
            "states a header of 18446744073709551615 bytes, but 2 bytes follow. It is cut short or not a safetensors "
            "file");
        row("not JSON", fileOf("{\"w\":", 0), "header: is not valid JSON (byte 6)");
        row("not UTF-8", fileOf("{\"\xff\":1}", 0), "header: is not valid JSON (byte 3)");
        row("a list", fileOf("[]", 0), "header: is not a JSON object");
        row("nested without end", fileOf(nested(1000), 0), "header: nests deeper than 32 levels");
        row("a number out of range", fileOf("{\"w\":1e999}", 0), "header: is not valid JSON (a number out of range)");
        row("a tensor twice",
            fileOf(
                R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                4),
            "header: has the key \"w\" twice");
        row("a key twice inside", fileOf(R"({"w":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})", 4),
            "header: has the key \"dtype\" twice");
        row("a tensor that is no object", fileOf(R"({"w":7})", 0), "header: w: expected an object, found 7");
        row("null", fileOf(R"({"w":null})", 0), "w: has no dtype, shape and two data_offsets in the header");
        row("no shape", fileOf(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4),
            "w: has no dtype, shape and two data_offsets in the header");
        row("one offset", fileOf(oneTensor("F32", "[1]", "[0]"), 4),
            "w: has no dtype, shape and two data_offsets in the header");
        row("unknown dtype", fileOf(oneTensor("F31", "[1]", "[0,4]"), 4), "w: has the unknown dtype \"F31\"");
        row("negative dimension", fileOf(oneTensor("F32", "[-1]", "[0,4]"), 4),
            "header: w: shape: expected a list of whole numbers from 0, found [-1]");
        row("fractional dimension", fileOf(oneTensor("F32", "[1.5]", "[0,4]"), 4),
            "header: w: shape: expected a list of whole numbers from 0, found [1.5]");
        row("dimension beyond 63 bits", fileOf(oneTensor("F32", "[9223372036854775808]", "[0,4]"), 4),
            "header: w: shape: expected a list of whole numbers from 0, found [9223372036854775808]");
        row("shape overflows", fileOf(oneTensor("F32", "[4294967296,4294967296]", "[0,4]"), 4),
            "w: has a shape whose size overflows: [4294967296, 4294967296]");
        row("bytes overflow", fileOf(oneTensor("F32", "[4611686018427387904]", "[0,4]"), 4),
            "w: takes 4 bytes, which does not fit F32 of shape [4611686018427387904]");
        row("too few bytes for its shape", fileOf(oneTensor("F16", "[3,2]", "[0,10]"), 16),
            "w: takes 10 bytes, which does not fit F16 of shape [3, 2]");
        row("beyond the end", fileOf(oneTensor("F32", "[2]", "[4,12]"), 8),
            "w: lies at bytes 4 to 12, but the file holds 8 bytes of tensors. The file is cut short or damaged");
        row("ends before it begins", fileOf(oneTensor("F32", "[1]", "[8,4]"), 8),
            "w: lies at bytes 8 to 4, but the file holds 8 bytes of tensors. The file is cut short or damaged");
        row("overlapping",
            fileOf(
                R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                12),
            "w: shares bytes with tensor v");
    }
    void aBadFileIsRefusedByOneSentence() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, sentence);
        const std::string path = m_scratch.write("bad.safetensors", bytes);
        QCOMPARE(m_scratch.refusal([&] { listTensors(path); }), sentence);
    }

    void aFileCutShortAnywhereIsRefused() {
        const QByteArray whole = fileOf(oneTensor("F32", "[2]", "[0,8]"), 8);
        for (int size = 0; size < whole.size(); ++size) {
            const std::string path = m_scratch.write("cut.safetensors", whole.left(size));
            QVERIFY(m_scratch.refusal([&] { listTensors(path); }) != "accepted");
        }
    }

    void aBadIndexIsRefusedByOneSentence_data() {
        QTest::addColumn<QByteArray>("index");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& index, const QString& sentence) {
            QTest::newRow(name) << index << "model.safetensors.index.json: " + sentence;
        };
        const QString plain = "weight_map: w: expected a plain file name, found ";
        row("no map", "{}", "has no weight_map");
        row("an empty map", R"({"weight_map":{}})", "lists no tensors");
        row("a path upwards", R"({"weight_map":{"w":"../part.safetensors"}})", plain + "\"../part.safetensors\"");
        row("an absolute path", R"({"weight_map":{"w":"/part.safetensors"}})", plain + "\"/part.safetensors\"");
        row("the folder above", R"({"weight_map":{"w":".."}})", plain + "\"..\"");
        row("a number", R"({"weight_map":{"w":1}})", "weight_map: w: expected text, found 1");
        row("a tensor that is not there", R"({"weight_map":{"v":"part.safetensors"}})",
            "puts v in part.safetensors, which does not hold it");
    }
    void aBadIndexIsRefusedByOneSentence() {
        QFETCH(QByteArray, index);
        QFETCH(QString, sentence);
        const Scratch folder;
        folder.write("config.json", "{}");
        folder.write("part.safetensors", fileOf(oneTensor("F32", "[1]", "[0,4]"), 4));
        folder.write("model.safetensors.index.json", index);
        QCOMPARE(folder.refusal([&] { listTensors(folder.path().toStdString()); }), sentence);
    }

    void aMissingShardIsNamed() {
        const Scratch folder;
        folder.write("config.json", "{}");
        folder.write("model.safetensors.index.json", R"({"weight_map":{"w":"part.safetensors"}})");
        QCOMPARE(folder.refusal([&] { listTensors(folder.path().toStdString()); }),
                 "part.safetensors: cannot be opened: No such file or directory");
    }

    void aTensorInTwoShardsIsRefused() {
        const Scratch folder;
        folder.write("config.json", "{}");
        folder.write("a.safetensors", fileOf(oneTensor("F32", "[1]", "[0,4]"), 4));
        folder.write("b.safetensors", fileOf(R"({"v":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},
                                                 "w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                             4));
        folder.write("model.safetensors.index.json", R"({"weight_map":{"w":"a.safetensors","v":"b.safetensors"}})");
        QVERIFY(folder.refusal([&] { listTensors(folder.path().toStdString()); }).contains("w: appears twice"));
    }
};

QTEST_APPLESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
