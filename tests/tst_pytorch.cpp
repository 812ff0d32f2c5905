// PyTorch state dicts against safetensors of the same tensors (data/make_format_fixtures.py), and handmade bad ones.

#ifndef Q_MOC_RUN
#include <ATen/ATen.h>

#include "backends/gguf.h"
#include "backends/open_model.h"
#include "backends/pickle.h"
#include "backends/pytorch.h"
#include "backends/safetensors.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/zip.h"
#endif

#include <QtTest>

#include <QCryptographicHash>

using namespace secateur;
using namespace secateur::test;

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

// The beginnings of pickles, by instruction.

QByteArray text(const QByteArray& value) {
    return 'X' + little<quint32>(static_cast<quint32>(value.size())) + value;
}
QByteArray number(quint32 value) {
    return 'J' + little(value);
}
QByteArray global(const QByteArray& module, const QByteArray& name) {
    return 'c' + module + '\n' + name + '\n';
}
QByteArray tupleOf(const QByteArray& items) {
    return '(' + items + 't';
}
QByteArray storage(const QByteArray& kind, const QByteArray& key, quint32 count) {
    return tupleOf(text("storage") + global("torch", kind) + text(key) + text("cpu") + number(count)) + 'Q';
}
QByteArray tensor(const QByteArray& inStorage, quint32 offset, const QByteArray& shape, const QByteArray& strides) {
    return global("torch._utils", "_rebuild_tensor_v2") +
           tupleOf(inStorage + number(offset) + tupleOf(shape) + tupleOf(strides) + "\x89}") + 'R';
}
QByteArray dictionary(const QByteArray& items) {
    return "\x80\x02}(" + items + "u.";
}

/// A file of one tensor "w": two float32 in a row, unless its pickle says otherwise.
QByteArray fileOf(const QByteArray& pickle, const QByteArray& numbers = QByteArray(8, '\1')) {
    return zipOf({{"archive/data.pkl", pickle}, {"archive/data/0", numbers}});
}
const QByteArray twoNumbers = dictionary(text("w") + tensor(storage("FloatStorage", "0", 2), 0, number(2), number(1)));

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
        QCOMPARE(refused("turned.bin"), "turned.bin: turned: is a view of shape [3, 2] with strides [1, 3], not rows "
                                        "behind each other. Save it after .contiguous()");
        QCOMPARE(refused("script.pt"), "script.pt: is a TorchScript archive, which is not read. Load it in PyTorch and "
                                       "save its state_dict()");
        const auto entries = entriesOf(plain("unreadable.bin"));
        QCOMPARE(entries.size(), std::size_t{2});
        for (const TensorEntry& entry : entries) {
            const QString sentence = Scratch().refusal([&] { readTensor(entry); }).section('/', -1);
            QCOMPARE(sentence, QString("unreadable.bin: %1: is stored as %2, which cannot be read. Types that can be "
                                       "read are F32, F16, BF16, F64, I64, I32, I16, I8, U8, BOOL")
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
                 "bad.pt: puts its zip64 end record at byte 1152921504606846976, behind its locator. The file is cut "
                 "short or damaged");
    }

    void whatWouldRunIsRefusedByName_data() {
        QTest::addColumn<QByteArray>("pickle");
        QTest::addColumn<QString>("sentence");
        const QString foreign = "would import %1, which weights have no need of. Nothing in it was run; if it is to be "
                                "trusted, load it in PyTorch and save its state_dict() alone";
        const QString unknown =
            "has the pickle instruction 0x%1 at byte %2, which weights have no need of. Nothing in it was run";
        const QByteArray start = "\x80\x02";
        QTest::newRow("os.system") << start + global("os", "system") + tupleOf(text("true")) + "R."
                                   << foreign.arg("os.system");
        QTest::newRow("by names on the stack")
            << start + text("builtins") + text("eval") + "\x93." << foreign.arg("builtins.eval");
        QTest::newRow("a name with a line break")
            << start + text("torch\nos") + text("FloatStorage") + "\x93." << foreign.arg("torch\nos.FloatStorage");
        QTest::newRow("beside a tensor") << dictionary(text("w") + global("posix", "system"))
                                         << foreign.arg("posix.system");
        QTest::newRow("a class of numpy") << start + global("numpy.core.multiarray", "_reconstruct") + "."
                                          << foreign.arg("numpy.core.multiarray._reconstruct");
        QTest::newRow("a whole model") << start + global("__main__", "Net") + ")\x81." << foreign.arg("__main__.Net");
        QTest::newRow("an instance") << start + "(ios\nsystem\n." << unknown.arg("69").arg(3);
        QTest::newRow("an object") << start + "(o." << unknown.arg("6f").arg(3);
        QTest::newRow("an extension") << start + "\x82\x01." << unknown.arg("82").arg(2);
        QTest::newRow("a new object") << start + global("torch", "Size") + ")\x81." << unknown.arg("81").arg(15);
        QTest::newRow("a persistent line") << start + "Pkey\n." << unknown.arg("50").arg(2);
    }
    void whatWouldRunIsRefusedByName() {
        QFETCH(QByteArray, pickle);
        QFETCH(QString, sentence);
        const std::string path = m_scratch.write("evil.pt", fileOf(pickle));
        QCOMPARE(m_scratch.refusal([&] { entriesOf(path); }), "evil.pt: archive/data.pkl: " + sentence);
        const std::string legacy = m_scratch.write("evil.bin", pickle);
        QCOMPARE(m_scratch.refusal([&] { entriesOf(legacy); }), "evil.bin: " + sentence);
    }

    void aBadPickleIsRefusedByOneSentence_data() {
        QTest::addColumn<QByteArray>("pickle");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& pickle, const QString& sentence) {
            QTest::newRow(name) << pickle << "bad.pt: " + sentence;
        };
        const QString inside = "archive/data.pkl: ";
        const QString damaged = ". It is damaged";
        const QString cut = ". The file is cut short or damaged";
        row("nothing", "", inside + "ends inside a pickle: 1 bytes are needed, 0 are left" + cut);
        row("no end", "\x80\x02}", inside + "ends inside a pickle: 1 bytes are needed, 0 are left" + cut);
        row("protocol 6", "\x80\x06}.", inside + "is a pickle of protocol 6; up to 5 is read");
        row("an empty stack", ".", inside + "takes a value where there is none, at byte 1" + damaged);
        row("a value below a mark", "N(\x85.", inside + "takes a value where there is none, at byte 3" + damaged);
        row("no mark", "t.", inside + "closes a group that it did not open, at byte 1" + damaged);
        row("a key alone", "}(Nu.", inside + "has a key without a value, at byte 4" + damaged);
        row("a list as a dictionary", "](NNu.", inside + "fills something that is no dictionary, at byte 5" + damaged);
        row("a memo that was not kept", "h\x07.", inside + "refers to value 7, which it did not keep" + damaged);
        row("a number as a function", "K\x01)R.", inside + "calls something that is no function, at byte 4" + damaged);
        row("a text beyond the end", "X\xff\xff\xff\xff.",
            inside + "ends inside a pickle: 4294967295 bytes are needed, 1 are left" + cut);
        row("a number of 2^64 bytes", "\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
            inside + "ends inside a pickle: 18446744073709551615 bytes are needed, 1 are left" + cut);
        row("more values than are kept", QByteArray(6'000'000, 'N'),
            inside + "is a pickle of more than 5000000 values");
        // A list of a thousand pairs, made into a dictionary again and again.
        row("a large value in few bytes",
            global("collections", "OrderedDict") + "q\x01]q\x02(" + QByteArray("NN\x86").repeated(1000) +
                "eh\x02\x85q\x03" + QByteArray("h\x01h\x03R").repeated(10000) + ".",
            inside + "is a pickle of more than 5000000 values");
        row("no dictionary", "\x80\x02].",
            "holds something else than a dictionary of tensors. Save the state_dict() of "
            "a model alone");
        row("a list that holds itself",
            "]q\x01h\x01"
            "a.",
            "holds something else than a dictionary of tensors. Save the "
            "state_dict() of a model alone");
        row("no tensors", dictionary(text("a") + number(1)),
            "has no weights. No tensors were found in it, nor under \"state_dict\"");
    }
    void aBadPickleIsRefusedByOneSentence() {
        QFETCH(QByteArray, pickle);
        QFETCH(QString, sentence);
        const std::string path = m_scratch.write("bad.pt", fileOf(pickle));
        QCOMPARE(m_scratch.refusal([&] { entriesOf(path); }), sentence);
    }

    void aBadTensorIsRefusedByOneSentence_data() {
        QTest::addColumn<QByteArray>("pickle");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& tensorBytes, const QString& sentence) {
            QTest::newRow(name) << dictionary(text("w") + tensorBytes) << "bad.pt: " + sentence;
        };
        const QByteArray two = storage("FloatStorage", "0", 2);
        const QString damaged = ". The file is damaged";
        row("beyond its storage", tensor(two, 1, number(2), number(1)),
            "w: takes 2 numbers from 1 on, but its storage holds 2" + damaged);
        row("far beyond its storage", tensor(two, 0x7fffffff, number(2), number(1)),
            "w: takes 2 numbers from 2147483647 on, but its storage holds 2" + damaged);
        row("a negative offset", tensor(two, 0xffffffff, number(2), number(1)),
            "w: is not described by a storage, an offset, sizes and strides" + damaged);
        row("a negative size", tensor(two, 0, number(0xffffffff), number(1)),
            "w: is not described by a storage, an offset, sizes and strides" + damaged);
        const QByteArray huge = number(0x7fffffff);
        row("a shape that overflows", tensor(two, 0, huge + huge + huge, number(1) + number(1) + number(1)),
            "w: has a shape whose size overflows: [2147483647, 2147483647, 2147483647]");
        row("65 dimensions", tensor(two, 0, number(1).repeated(65), number(1).repeated(65)),
            "w: is not described by a storage, an offset, sizes and strides" + damaged);
        row("a tensor twice", tensor(two, 0, number(2), number(1)) + text("w") + tensor(two, 0, number(2), number(1)),
            "w: appears twice");
        row("a key of 256 bytes", tensor(storage("FloatStorage", QByteArray(256, '0'), 2), 0, number(2), number(1)),
            "w: does not name a storage" + damaged);
        row("another number of strides", tensor(two, 0, number(2), number(1) + number(1)),
            "w: is a view of shape [2] with strides [1, 1], not rows behind each other. Save it after .contiguous()");
        row("a storage of another size", tensor(storage("FloatStorage", "0", 3), 0, number(2), number(1)),
            "w: has a storage of 8 bytes, which 3 numbers of 4 bytes do not fill" + damaged);
        row("a storage that is not there", tensor(storage("FloatStorage", "7", 2), 0, number(2), number(1)),
            "archive/data/7: is not in the archive. The file is cut short or damaged");
        row("a storage outside", tensor(storage("FloatStorage", "../../etc/passwd", 2), 0, number(2), number(1)),
            "archive/data/../../etc/passwd: is not in the archive. The file is cut short or damaged");
        row("no storage", tensor("N", 0, number(2), number(1)), "w: does not name a storage" + damaged);
        row("a storage that is a tensor's type",
            tensor(tupleOf(text("storage") + global("torch", "float32") + text("0") + text("cpu") + number(2)) + 'Q', 0,
                   number(2), number(1)),
            "w: does not name a storage" + damaged);
        row("bytes without a type", tensor(storage("UntypedStorage", "0", 8), 0, number(2), number(1)),
            "w: is not described by a storage, an offset, sizes and strides" + damaged);
        row("too few arguments", global("torch._utils", "_rebuild_tensor_v2") + ")R",
            "w: is not described by a storage, an offset, sizes and strides" + damaged);
        row("a parameter of nothing", global("torch._utils", "_rebuild_parameter") + "N\x85R",
            "w: is not described by a storage, an offset, sizes and strides" + damaged);
    }
    void aBadTensorIsRefusedByOneSentence() {
        QFETCH(QByteArray, pickle);
        QFETCH(QString, sentence);
        const std::string path = m_scratch.write("bad.pt", fileOf(pickle));
        QCOMPARE(m_scratch.refusal([&] { entriesOf(path); }), sentence);
    }

    void aBadArchiveIsRefusedByOneSentence_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& bytes, const QString& sentence) {
            QTest::newRow(name) << bytes << "bad.pt: " + sentence;
        };
        const QString cut = ". The file is cut short or damaged";
        const ZipFile pickle{"archive/data.pkl", twoNumbers};
        const ZipFile numbers{"archive/data/0", QByteArray(8, '\1')};
        const auto with = [&](auto change) {
            ZipFile other = numbers;
            change(other);
            return zipOf({pickle, other});
        };
        row("no archive", "state", "is neither a zip archive nor a pickle. It is not a PyTorch checkpoint");
        row("no directory", zipOf({pickle}).left(60), "has no end record of a zip archive" + cut);
        row("an archive of something else", zipOf({{"notes.txt", "notes"}}),
            "is a zip archive, but none that torch.save wrote. It holds no data.pkl");
        row("big-endian", zipOf({pickle, numbers, {"archive/byteorder", "big"}}),
            "is written for big-endian machines, which is not read");
        row("an entry twice", zipOf({pickle, pickle}), "archive/data.pkl: appears twice in the archive");
        row("compressed", with([](ZipFile& file) { file.method = 8; }),
            "archive/data/0: is compressed, which is not read. torch.save writes archives that are not");
        row("encrypted", with([](ZipFile& file) { file.flags = 1; }),
            "archive/data/0: is encrypted, which is not read");
        row("another name inside", with([](ZipFile& file) { file.localName = "archive/data/1"; }),
            "archive/data/0: has another name in its local header" + cut);
        row("beyond the end", with([](ZipFile& file) { file.offset = 0x7fffffff; }),
            "archive/data/0: lies at byte 2147483647, but the file holds 365" + cut);
        row("in the middle of nowhere", with([](ZipFile& file) { file.offset = 3; }),
            "archive/data/0: has no local header at byte 3" + cut);
        row("longer than the file", with([](ZipFile& file) { file.size = 0x10000; }),
            "archive/data/0: ends inside the entry: 65536 bytes are needed, 152 are left" + cut);
        QByteArray bytes = fileOf(twoNumbers);
        row("more entries than bytes", bytes.left(bytes.size() - 12) + little<quint16>(60000) + bytes.right(10),
            "states 60000 zip entries in a directory of 122 bytes" + cut);
        row("a directory beyond the end", bytes.left(bytes.size() - 6) + little<quint32>(0xfffffff0) + bytes.right(2),
            "has a zip directory of 122 bytes at byte 4294967280, beyond its end record at byte 343" + cut);
    }
    void aBadArchiveIsRefusedByOneSentence() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, sentence);
        const std::string path = m_scratch.write("bad.pt", bytes);
        QCOMPARE(m_scratch.refusal([&] { entriesOf(path); }), sentence);
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
            // Copying reads every byte that an accepted file says is a tensor's.
            m_scratch.refusal([&] {
                for (const TensorEntry& entry : entriesOf(path))
                    QCOMPARE(bytesOf(entry).size(), static_cast<int>(entry.data.size()));
            });
        }
    }
};

QTEST_APPLESS_MAIN(TestPytorch)
#include "tst_pytorch.moc"
