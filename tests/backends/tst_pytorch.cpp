// Reading PyTorch state dicts. The tensors are compared with those of safetensors files (data/make_format_fixtures.py);
// malformed files are refused.

#ifndef Q_MOC_RUN
#include <ATen/ATen.h>

#include "backends/formats/gguf.h"
#include "backends/engine/open_model.h"
#include "backends/formats/pickle.h"
#include "backends/formats/pytorch.h"
#include "backends/formats/hf_weights.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/pickle_bytes.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <QCryptographicHash>

using namespace secateur;
using namespace secateur::test;
using namespace secateur::test::pickle;

namespace {

std::string plain(const char* file) {
    return data().filePath(QString("formats/plain/") + file).toStdString();
}

std::vector<TensorEntry> byName(std::vector<TensorEntry> entries) {
    std::ranges::sort(entries, {}, &TensorEntry::name);
    return entries;
}

std::vector<TensorEntry> entriesOf(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (path.ends_with(".gguf"))
        return byName(readGguf(file).tensors);
    return byName(path.ends_with(".safetensors") ? safetensorsEntries(file) : pytorchEntries(file));
}

QByteArray bytesOf(const TensorEntry& entry) {
    return QByteArray(reinterpret_cast<const char*>(entry.data.data()), static_cast<int>(entry.data.size()));
}

void compareToReference(const TensorEntry& entry, const nlohmann::json& expected) {
    const nlohmann::json& wanted = expected.at(entry.name);
    QCOMPARE(std::string(entry.type->name), wanted.at("type").get<std::string>());
    QCOMPARE(entry.shape, wanted.at("shape").get<std::vector<std::int64_t>>());
    QCOMPARE(QCryptographicHash::hash(bytesOf(entry), QCryptographicHash::Sha256).toHex().toStdString(),
             wanted.at("sha256").get<std::string>());
}

} // namespace

class TestPytorch : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;

private slots:
    void everyFileHoldsTheTensorsOfTheReference_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("count");
        for (const char* file :
             {"model.safetensors", "zip.pt", "protocol_5.pth", "legacy.bin", "nested.pt", "parameters.pt", "views.pt"})
            QTest::newRow(file) << file << 12;
        QTest::newRow("model.gguf") << "model.gguf" << 7;
    }
    void everyFileHoldsTheTensorsOfTheReference() {
        QFETCH(QString, file);
        QFETCH(int, count);
        const nlohmann::json expected = readJson(data().filePath("formats/plain/expected.json"));
        const auto entries = entriesOf(plain(qPrintable(file)));
        QCOMPARE(entries.size(), static_cast<std::size_t>(count));
        for (const TensorEntry& entry : entries)
            compareToReference(entry, expected);
    }

    void numbersArePresentedInTheTypeOfTheFile_data() {
        QTest::addColumn<QString>("file");
        for (const char* file : {"model.safetensors", "zip.pt", "legacy.bin", "model.gguf"})
            QTest::newRow(file) << file;
    }
    void numbersArePresentedInTheTypeOfTheFile() {
        QFETCH(QString, file);
        const std::map<std::string, at::ScalarType> types{
            {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf},  {"BF16", at::kBFloat16},
            {"I64", at::kLong},   {"I32", at::kInt},   {"I16", at::kShort}, {"I8", at::kChar},
            {"U8", at::kByte},    {"BOOL", at::kBool}};
        for (const TensorEntry& entry : entriesOf(plain(qPrintable(file)))) {
            const at::Tensor tensor = readTensor(entry);
            QCOMPARE(tensor.scalar_type(), types.at(std::string(entry.type->name)));
            QCOMPARE(tensor.sizes().vec(), entry.shape);
            const QByteArray bytes(static_cast<const char*>(tensor.data_ptr()), static_cast<int>(tensor.nbytes()));
            QCOMPARE(bytes, bytesOf(entry));
        }
    }

    void shardsAreReadThroughTheirIndex() {
        const nlohmann::json expected = readJson(data().filePath("formats/plain/expected.json"));
        for (const char* opened : {"", "/pytorch_model-00002-of-00002.bin"}) {
            const std::string path = data().filePath("formats/plain_sharded").toStdString() + opened;
            const auto checkpoint = openPytorch(path, {});
            QCOMPARE(checkpoint->tensors().size(), std::size_t{12});
            for (const TensorEntry& entry : checkpoint->tensors())
                compareToReference(entry, expected);
            QCOMPARE(listTensors(path).size(), std::size_t{12});
        }
    }

    void aShardThatIsMissingIsNamed() {
        const Scratch folder;
        for (const char* name : {"config.json", "pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin"})
            QVERIFY(QFile::copy(data().filePath(QString("formats/plain_sharded/") + name), folder.path(name)));
        QCOMPARE(folder.refusal([&] { listTensors(folder.path().toStdString()); }),
                 "pytorch_model-00002-of-00002.bin: cannot be opened: No such file or directory");
    }

    void tiedWeightsShareTheirBytes() {
        const auto entries = entriesOf(plain("tied.bin"));
        QCOMPARE(entries.size(), std::size_t{3});
        QCOMPARE(entries[0].data.data(), entries[1].data.data());
        QCOMPARE(entries[2].name, "row");
        QCOMPARE(entries[2].data.data(), entries[0].data.data() + 12);
        const at::Tensor row = readTensor(entries[2]);
        QCOMPARE(row[2].item<float>(), 5.0F);
    }

    void whatTorchWroteButIsNotReadIsRefused() {
        const auto refused = [](const char* file) {
            return Scratch().refusal([&] { entriesOf(plain(file)); }).section('/', -1);
        };
        QCOMPARE(refused("turned.bin"), "turned.bin: turned: is a view of shape [3, 2] with strides [1, 3], which is "
                                        "not contiguous. Save it after .contiguous()");
        QCOMPARE(refused("script.pt"),
                 "script.pt: is a TorchScript archive, which is not supported. Load it in PyTorch and "
                 "save its state_dict()");
        const auto entries = entriesOf(plain("unreadable.bin"));
        QCOMPARE(entries.size(), std::size_t{2});
        for (const TensorEntry& entry : entries) {
            const QString sentence = Scratch().refusal([&] { readTensor(entry); }).section('/', -1);
            QCOMPARE(sentence, QString("unreadable.bin: %1: is stored as %2, which is not supported. Supported types "
                                       "are F32, F16, BF16, F64, I64, I32, I16, I8, U8, BOOL")
                                   .arg(entry.name.c_str(), entry.type->name.data()));
        }
    }

    void aHandmadeFileIsRead() {
        const auto entries = entriesOf(m_scratch.write("good.pt", fileOf(twoNumbers)));
        QCOMPARE(entries.size(), std::size_t{1});
        QCOMPARE(entries[0].name, "w");
        QCOMPARE(entries[0].shape, (std::vector<std::int64_t>{2}));
    }

    void anArchiveOf64BitsIsRead() {
        const QList<ZipFile> files{{"archive/data.pkl", twoNumbers}, {"archive/data/0", "12345678"}};
        const auto entries = entriesOf(m_scratch.write("large.pt", zipOf(files, true)));
        QCOMPARE(entries.size(), std::size_t{1});
        QCOMPARE(bytesOf(entries[0]), "12345678");
        QByteArray bytes = zipOf(files, true);
        const auto at = static_cast<int>(bytes.indexOf("PK\6\7") + 8);
        bytes.replace(at, 8, little<quint64>(quint64{1} << 60));
        QCOMPARE(m_scratch.refusal([&] { entriesOf(m_scratch.write("bad.pt", bytes)); }),
                 "bad.pt: states its zip64 end record at byte 1152921504606846976, after its locator. The file is cut "
                 "short or damaged");
    }

    void aFileCutShortAnywhereIsRefused_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("zip") << "zip.pt";
        QTest::newRow("legacy") << "legacy.bin";
    }
    void aFileCutShortAnywhereIsRefused() {
        QFETCH(QString, file);
        QFile whole(data().filePath("formats/plain/" + file));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        const QByteArray bytes = whole.readAll();
        for (int size = 0; size < bytes.size(); size += 5) {
            const std::string path = m_scratch.write("cut", bytes.left(size));
            QVERIFY(m_scratch.refusal([&] { entriesOf(path); }) != "accepted");
        }
    }

    void aByteChangedAnywhereIsRefusedOrHarmless_data() { aFileCutShortAnywhereIsRefused_data(); }
    void aByteChangedAnywhereIsRefusedOrHarmless() {
        QFETCH(QString, file);
        QFile whole(data().filePath("formats/plain/" + file));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        const QByteArray bytes = whole.readAll();
        for (int place = 0; place < bytes.size(); place += 7) {
            QByteArray changed = bytes;
            changed[place] = static_cast<char>(~changed[place]);
            const std::string path = m_scratch.write("changed", changed);
            // If the damaged file is accepted, copying its tensors must not read beyond the end of the file.
            m_scratch.refusal([&] {
                for (const TensorEntry& entry : entriesOf(path))
                    QCOMPARE(bytesOf(entry).size(), static_cast<int>(entry.data.size()));
            });
        }
    }
};

SECATEUR_SUITE(TestPytorch)
#include "tst_pytorch.moc"
