// Detection of the format of a file or folder, and the names of known formats that are not supported.

#ifndef Q_MOC_RUN
#include "backends/formats/formats.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;

namespace {

const QByteArray safetensors =
    little<quint64>(54) + R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})" + "1234";

/// A file in the first format of llama2.c: a header of seven int32 numbers, then `numbers` float32 values.
QByteArray llama2c(qint32 vocab, int numbers) {
    QByteArray bytes;
    for (const qint32 number :
         {8, 16, 2, 2, 1, vocab, 4}) // hidden size, MLP size, layers, heads, KV heads, vocabulary, context
        bytes += little(number);
    return bytes + QByteArray(4 * numbers, '\1');
}
// The float32 values of a file of this header with a vocabulary of 10: embedding; for two layers the two norms, W_q,
// W_k, W_v, W_o and three MLP matrices; the final norm; and the cosines and sines of rotary positions.
constexpr int llama2cNumbers = 10 * 8 + 2 * (2 * 8 + 64 + 32 + 32 + 64 + 3 * 8 * 16) + 8 + 4 * 4;

} // namespace

class TestFormats : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;

    QString formatIn(const Scratch& folder) const {
        QString id;
        const QString sentence = folder.refusal([&] { id = formatOf(folder.path().toStdString()).id.data(); });
        return id.isEmpty() ? sentence : id;
    }

private slots:
    void bytesDecideBeforeNames_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("format");
        const QByteArray pickle = QByteArray::fromHex("80028a0a6cfc9c46f9206aa850192e80024de9032e");
        QTest::newRow("GGUF as .bin") << "a.bin" << QByteArray("GGUF") << "gguf";
        QTest::newRow("zip as .safetensors") << "a.safetensors" << QByteArray("PK\3\4 and more") << "pytorch";
        QTest::newRow("an old pickle") << "a.ckpt" << pickle << "pytorch";
        QTest::newRow("safetensors as .bin") << "pytorch_model.bin" << safetensors << "safetensors";
        QTest::newRow("a damaged .gguf") << "a.gguf" << QByteArray("GGU") << "gguf";
        QTest::newRow("a damaged .safetensors") << "a.safetensors" << safetensors.left(9) << "safetensors";
        QTest::newRow("a damaged .pth") << "a.pth" << QByteArray("?") << "pytorch";
    }
    void bytesDecideBeforeNames() {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        QFETCH(QString, format);
        QCOMPARE(QString(formatOf(m_scratch.write(name, bytes)).id.data()), format);
    }

    void aFolderPrefersItsBestFormat() {
        const Scratch folder;
        const QString hint = ". Open a Hugging Face directory, a .safetensors, .bin, .pt or .pth file beside its "
                             "config.json, or a .gguf file";
        QCOMPARE(formatIn(folder), "FOLDER: has no config.json and no .gguf file" + hint);
        folder.write("config.json", "{}");
        QCOMPARE(formatIn(folder), "FOLDER: has a config.json, but no weights" + hint);
        folder.write("model.gguf", "GGUF");
        QCOMPARE(formatIn(folder), "gguf");
        folder.write("pytorch_model.bin", "PK");
        QCOMPARE(formatIn(folder), "pytorch");
        folder.write("model.safetensors.index.json", "{}");
        QCOMPARE(formatIn(folder), "safetensors");
        QCOMPARE(folder.refusal([&] { formatOf(folder.path("config.json").toStdString()); }),
                 "config.json: is not a checkpoint in a supported format. Open its folder");
    }

    void foreignFilesAreCalledByTheirName_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& bytes, const char* sentence) {
            QTest::newRow(sentence) << name << bytes << sentence;
        };
        row("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n",
            "is a Git LFS pointer, not the file itself. Fetch the file with git lfs pull");
        row("model.gguf", "\n <!DOCTYPE HTML><html></html>",
            "is a web page, not a checkpoint. The download failed; fetch the file again");
        row("model.bin", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
            "is a web page, not a checkpoint. The download failed; fetch the file again");
        row("ggml-model.bin", "tjgg" + little<quint32>(3),
            "is a GGML file from before GGUF. llama.cpp's convert_llama_ggml_to_gguf.py converts it");
        row("tf_model.h5", "\x89HDF\r\n\x1a\n",
            "is an HDF5 file, not a checkpoint. Weights of Keras or TensorFlow are not supported; transformers loads "
            "some "
            "with from_tf=True, and save_pretrained converts them");
        row("model.bin.gz", "\x1f\x8b\x08", "is compressed. Unpack it first");
        row("weights.npy", "\x93NUMPY\x01", "is a NumPy array, not a checkpoint");
        row("model.onnx", "\x08\x07\x12\x07pytorch",
            "is an ONNX graph, which is not supported. Open the model that it was exported from");
        const char* const llama = "is a checkpoint of llama2.c, which is not supported. Its export.py writes a "
                                  "Hugging Face directory with --version -1";
        row("model.bin", "24ka" + little<quint32>(1), llama);
        QTest::newRow("llama2.c, version 0") << "model.bin" << llama2c(10, llama2cNumbers) << llama;
        QTest::newRow("llama2.c, version 0, untied") << "model.bin" << llama2c(-10, llama2cNumbers + 80) << llama;
        row("model.bin", llama2c(10, llama2cNumbers + 1),
            "is neither a zip archive nor a pickle. It is not a PyTorch checkpoint");
    }
    void foreignFilesAreCalledByTheirName() {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        QFETCH(QString, sentence);
        const Scratch folder;
        const std::string path = folder.write(name, bytes);
        QCOMPARE(folder.refusal([&] { formatOf(path).open(path, {}); }), name + ": " + sentence);
    }

    void aPointerInAFolderIsCalledByItsName() {
        const Scratch folder;
        folder.write("config.json", "{}");
        folder.write("pytorch_model.bin", "version https://git-lfs.github.com/spec/v1\n");
        const std::string path = folder.path().toStdString();
        QCOMPARE(folder.refusal([&] { formatOf(path).open(path, {}); }),
                 "pytorch_model.bin: is a Git LFS pointer, not the file itself. Fetch the file with git "
                 "lfs pull");
    }

    void realForeignFilesAreCalledByTheirName() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const auto refused = [](const QString& path) {
            return Scratch()
                .refusal(
                    [&] { formatOf((realData() + path).toStdString()).open((realData() + path).toStdString(), {}); })
                .section('/', -1);
        };
        for (const char* name : {"stories260K.bin", "stories260K_v1.bin"})
            QCOMPARE(refused(QString("/models/stories260K/") + name),
                     QString(name) + ": is a checkpoint of llama2.c, which is not supported. Its export.py writes a "
                                     "Hugging Face directory with --version -1");
        QCOMPARE(refused("/models/stories260K/tok512.bin"),
                 "tok512.bin: is neither a zip archive nor a pickle. It is not a PyTorch checkpoint");
        const QDir vocabularies(realData() + "/tokenizers/llama.cpp");
        const QStringList files = vocabularies.entryList({"*.gguf"});
        QVERIFY(!files.isEmpty());
        for (const QString& file : files)
            QCOMPARE(refused("/tokenizers/llama.cpp/" + file), file + ": has no weights. It holds a vocabulary only");
    }
};

SECATEUR_SUITE(TestFormats)
#include "tst_formats.moc"
