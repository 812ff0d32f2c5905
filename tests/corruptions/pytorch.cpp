#include "backends/formats/pytorch.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/pickle_bytes.h"

namespace secateur::test {

using namespace pickle;

namespace {

void add(Corruptions& rows, const char* name, const QString& file, const QByteArray& bytes, const QString& sentence) {
    rows.append({"PyTorch", name, file + ": " + sentence, [=](const Scratch& scratch) {
                     const std::string path = scratch.write(file, bytes);
                     return scratch.refusal([&] { pytorchEntries(MappedFile::open(path)); });
                 }});
}

/// Adds pickles that import or call something. Each is tested inside a zip archive and as a plain pickle file.
void addPrograms(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& pickle, const QString& sentence) {
        add(rows, name, "evil.pt", fileOf(pickle), "archive/data.pkl: " + sentence);
        add(rows, qPrintable(QString(name) + ", before 1.6"), "evil.bin", pickle, sentence);
    };
    const QString foreign = "would import %1, which weights do not need. No code in it was executed; if you "
                            "trust the file, load it in PyTorch and save only its state_dict()";
    const QString unknown =
        "has the pickle instruction 0x%1 at byte %2, which weights do not need. No code in it was executed";
    const QByteArray start = "\x80\x02";
    row("os.system", start + global("os", "system") + tupleOf(text("true")) + "R.", foreign.arg("os.system"));
    row("by names on the stack", start + text("builtins") + text("eval") + "\x93.", foreign.arg("builtins.eval"));
    row("a name with a line break", start + text("torch\nos") + text("FloatStorage") + "\x93.",
        foreign.arg("torch\\nos.FloatStorage"));
    row("beside a tensor", dictionary(text("w") + global("posix", "system")), foreign.arg("posix.system"));
    row("a class of numpy", start + global("numpy.core.multiarray", "_reconstruct") + ".",
        foreign.arg("numpy.core.multiarray._reconstruct"));
    row("a whole model", start + global("__main__", "Net") + ")\x81.", foreign.arg("__main__.Net"));
    row("an instance", start + "(ios\nsystem\n.", unknown.arg("69").arg(3));
    row("an object", start + "(o.", unknown.arg("6f").arg(3));
    row("an extension", start + "\x82\x01.", unknown.arg("82").arg(2));
    row("a new object", start + global("torch", "Size") + ")\x81.", unknown.arg("81").arg(15));
    row("a persistent line", start + "Pkey\n.", unknown.arg("50").arg(2));
}

void addPickles(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& pickle, const QString& sentence) {
        add(rows, name, "bad.pt", fileOf(pickle), sentence);
    };
    const QString inside = "archive/data.pkl: ";
    const QString damaged = ". It is damaged";
    const QString cut = ". The file is cut short or damaged";
    row("nothing", "", inside + "ends inside a pickle: 1 bytes are needed, 0 are left" + cut);
    row("no end", "\x80\x02}", inside + "ends inside a pickle: 1 bytes are needed, 0 are left" + cut);
    row("protocol 6", "\x80\x06}.", inside + "is a pickle of protocol 6; protocols up to 5 are supported");
    row("an empty stack", ".", inside + "takes a value from an empty stack, at byte 1" + damaged);
    row("a value below a mark", "N(\x85.", inside + "takes a value from an empty stack, at byte 3" + damaged);
    row("no mark", "t.", inside + "closes a group that was not opened, at byte 1" + damaged);
    row("a key alone", "}(Nu.", inside + "has a key without a value, at byte 4" + damaged);
    row("a list as a dictionary", "](NNu.",
        inside + "adds items to a value that is not a dictionary, at byte 5" + damaged);
    row("a memo that was not kept", "h\x07.", inside + "refers to memo entry 7, which it did not store" + damaged);
    row("a number as a function", "K\x01)R.", inside + "calls a value that is not a function, at byte 4" + damaged);
    row("a text beyond the end", "X\xff\xff\xff\xff.",
        inside + "ends inside a pickle: 4294967295 bytes are needed, 1 are left" + cut);
    row("a number of 2^64 bytes", "\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
        inside + "ends inside a pickle: 18446744073709551615 bytes are needed, 1 are left" + cut);
    row("more values than are kept", QByteArray(6'000'000, 'N'), inside + "is a pickle of more than 5000000 values");
    // A list of 1000 pairs is converted to a dictionary 10,000 times. The pickle is small but stands for millions of
    // values.
    row("a large value in few bytes",
        global("collections", "OrderedDict") + "q\x01]q\x02(" + QByteArray("NN\x86").repeated(1000) +
            "eh\x02\x85q\x03" + QByteArray("h\x01h\x03R").repeated(10000) + ".",
        inside + "is a pickle of more than 5000000 values");
    row("no dictionary", "\x80\x02].", "is not a dictionary of tensors. Save only the state_dict() of the model");
    row("a list that holds itself",
        "]q\x01h\x01"
        "a.",
        "is not a dictionary of tensors. Save only the state_dict() of the model");
    row("no tensors", dictionary(text("a") + number(1)),
        "has no weights. There are no tensors at its top level or under \"state_dict\"");
}

void addTensors(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& tensorBytes, const QString& sentence) {
        add(rows, name, "bad.pt", fileOf(dictionary(text("w") + tensorBytes)), sentence);
    };
    const QByteArray two = storage("FloatStorage", "0", 2);
    const QString damaged = ". The file is damaged";
    row("beyond its storage", tensor(two, 1, number(2), number(1)),
        "w: has 2 numbers from offset 1, but its storage has 2" + damaged);
    row("far beyond its storage", tensor(two, 0x7fffffff, number(2), number(1)),
        "w: has 2 numbers from offset 2147483647, but its storage has 2" + damaged);
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
        "w: is a view of shape [2] with strides [1, 1], which is not contiguous. Save it after .contiguous()");
    row("a storage of another size", tensor(storage("FloatStorage", "0", 3), 0, number(2), number(1)),
        "w: has a storage of 8 bytes, but 3 numbers of 4 bytes are described" + damaged);
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

void addArchives(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& bytes, const QString& sentence) {
        add(rows, name, "bad.pt", bytes, sentence);
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
        "is a zip archive that torch.save did not write. It has no data.pkl");
    row("big-endian", zipOf({pickle, numbers, {"archive/byteorder", "big"}}),
        "is written in big-endian byte order, which is not supported");
    row("an entry twice", zipOf({pickle, pickle}), "archive/data.pkl: appears twice in the archive");
    row("compressed", with([](ZipFile& file) { file.method = 8; }),
        "archive/data/0: is compressed, which is not supported. torch.save writes uncompressed archives");
    row("encrypted", with([](ZipFile& file) { file.flags = 1; }),
        "archive/data/0: is encrypted, which is not supported");
    row("another name inside", with([](ZipFile& file) { file.localName = "archive/data/1"; }),
        "archive/data/0: has another name in its local header" + cut);
    row("beyond the end", with([](ZipFile& file) { file.offset = 0x7fffffff; }),
        "archive/data/0: begins at byte 2147483647, but the file has 365 bytes" + cut);
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

} // namespace

Corruptions pytorchCorruptions() {
    Corruptions rows;
    addPrograms(rows);
    addPickles(rows);
    addTensors(rows);
    addArchives(rows);
    return rows;
}

} // namespace secateur::test
