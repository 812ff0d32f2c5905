#include "backends/engine/open_model.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/gguf_bytes.h"

namespace secateur::test {

using namespace gguf;

namespace {

const QByteArray damaged = ". The file is cut short or damaged";

void add(Corruptions& rows, const char* name, const QByteArray& bytes, const char* sentence) {
    rows.append({"GGUF", name, QString("bad.gguf: ") + sentence, [bytes](const Scratch& scratch) {
                     const std::string path = scratch.write("bad.gguf", bytes);
                     return scratch.refusal([&] { listTensors(path); });
                 }});
}

void addMetadata(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& bytes, const char* sentence) {
        add(rows, name, bytes, sentence);
    };
    const auto withPair = [](const QByteArray& value) { return fileOf({value}, {oneTensor}, oneTensorBytes); };
    row("empty", "", "is empty");
    row("two bytes", "GG", "ends inside the magic number: 4 bytes are needed, 2 are left" + damaged);
    row("another magic", "GGML" + QByteArray(40, '\0'), "does not begin with \"GGUF\". It is not a GGUF file");
    row("version 1", fileOf({}, {oneTensor}, 256, 1), "is GGUF version 1; versions 2 and 3 are supported");
    row("version 4", fileOf({}, {oneTensor}, 256, 4), "is GGUF version 4; versions 2 and 3 are supported");
    row("big-endian", fileOf({}, {oneTensor}, 256, 0x03000000),
        "is written in big-endian byte order, which is not supported");
    row("no tensors", fileOf({}, {}, 0), "has no weights");
    row("no counts", "GGUF" + little<quint32>(3),
        "ends inside the number of tensors: 8 bytes are needed, 0 are left" + damaged);
    row("more pairs than bytes", "GGUF" + little<quint32>(3) + little<quint64>(1) + little(~quint64{0}),
        "ends inside metadata key 0: 8 bytes are needed, 0 are left" + damaged);
    row("more tensors than bytes", "GGUF" + little<quint32>(3) + little(~quint64{0}) + little<quint64>(0) + oneTensor,
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
        withPair(pair("k", array,
                      arrayOf(array, 1, arrayOf(array, 1, arrayOf(array, 1, arrayOf(array, 1, arrayOf(u8, 1, "x"))))))),
        "k: nests arrays deeper than 4 levels");
    row("an array whose size overflows", withPair(pair("k", array, arrayOf(u64, quint64{1} << 61, ""))),
        "ends inside k: 18446744073709551615 bytes are needed, 303 are left" + damaged);
    row("alignment 24", withPair(pair("general.alignment", u32, little<quint32>(24))),
        "general.alignment: expected a power of two, found 24");
    row("alignment 0", withPair(pair("general.alignment", u32, little<quint32>(0))),
        "general.alignment: expected a whole number from 1 to 1073741824, found 0");
    row("an array of 2^60 texts", withPair(pair("k", array, arrayOf(string, quint64{1} << 60, text("a")))),
        "ends inside k: 137438953474 bytes are needed, 309 are left" + damaged);
    row("an array of 2^60 arrays", withPair(pair("k", array, arrayOf(array, quint64{1} << 60, ""))),
        "ends inside k: 2710124363776 bytes are needed, 291 are left" + damaged);
    row("a text of 2^63 bytes", withPair(pair("k", string, little(quint64{1} << 63) + "a")),
        "ends inside k: 9223372036854775808 bytes are needed, 307 are left" + damaged);
    row("a text of 2^60 bytes in an array", withPair(pair("k", array, arrayOf(string, 1, little(quint64{1} << 60)))),
        "ends inside k: 1152921504606846976 bytes are needed, 327 are left" + damaged);
    row("a key of 70000 bytes", withPair(pair(QByteArray(70'000, 'k'), u8, "x")), "has a metadata key of 70000 bytes");
    row("an alignment that is text", withPair(pair("general.alignment", string, text("32"))),
        "general.alignment: expected a whole number from 1 to 1073741824, found a value of another type");
    row("an alignment beyond the file", withPair(pair("general.alignment", u32, little<quint32>(1 << 30))),
        "w: takes 256 bytes from offset 0, but the file holds 0 bytes of tensors" + damaged);
}

void addTensors(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& bytes, const char* sentence) {
        add(rows, name, bytes, sentence);
    };
    const auto withTensor = [](const QByteArray& value, int bytes) { return fileOf({}, {value}, bytes); };
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
    row("an undefined type", withTensor(tensor("w", {32}, 77, 0), 128), "w: is of type 77, which GGUF does not define");
    row("rows of part blocks", withTensor(tensor("w", {48, 2}, 8, 0), 128),
        "w: has rows of 48 numbers, not a multiple of Q8_0's block size 32");
    row("a crooked offset", withTensor(tensor("w", {4}, 0, 4), 128),
        "w: begins at offset 4, not a multiple of the alignment 32");
    row("beyond the end", withTensor(tensor("w", {32}, 0, 32), 128),
        "w: takes 128 bytes from offset 32, but the file holds 128 bytes of tensors" + damaged);
    row("far beyond the end", withTensor(tensor("w", {32}, 0, ~quint64{31}), 128),
        "w: takes 128 bytes from offset 18446744073709551584, but the file holds 128 bytes of tensors" + damaged);
    row("overlapping", fileOf({}, {tensor("v", {32}, 0, 0), tensor("w", {32}, 0, 64)}, 192),
        "w: shares bytes with tensor v");
    row("a tensor twice", fileOf({}, {tensor("w", {8}, 0, 0), tensor("w", {8}, 0, 32)}, 64), "w: appears twice");
    row("a name of 70000 bytes", withTensor(tensor(QByteArray(70'000, 'w'), {1}, 0, 0), 128),
        "has a tensor name of 70000 bytes");
    row("2^31 dimensions", withTensor(text("w") + little<quint32>(1U << 31), 128),
        "w: has 2147483648 dimensions; 1 to 4 are possible");
}

} // namespace

Corruptions ggufCorruptions() {
    Corruptions rows;
    addMetadata(rows);
    addTensors(rows);
    return rows;
}

} // namespace secateur::test
