#include "backends/engine/open_model.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/safetensors_bytes.h"

namespace secateur::test {

using namespace safetensors;

namespace {

void add(Corruptions& rows, const char* name, const QByteArray& bytes, const char* sentence) {
    rows.append({"safetensors", name, QString("bad.safetensors: ") + sentence, [bytes](const Scratch& scratch) {
                     const std::string path = scratch.write("bad.safetensors", bytes);
                     return scratch.refusal([&] { listTensors(path); });
                 }});
}

void addHeaders(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& bytes, const char* sentence) {
        add(rows, name, bytes, sentence);
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
    row("a header of 2^60 bytes", little<quint64>(quint64{1} << 60) + "{}",
        "states a header of 1152921504606846976 bytes, but 2 bytes follow. It is cut short or not a safetensors file");
    row("JSON cut inside a name", fileOf(R"({"w)", 0), "header: is not valid JSON (byte 4)");
    row("JSON cut inside a shape", fileOf(R"({"w":{"dtype":"F32","shape":[1,)", 0),
        "header: is not valid JSON (byte 32)");
    row("text behind the header", fileOf(oneTensor("F32", "[1]", "[0,4]") + "x", 4),
        "header: is not valid JSON (byte 55)");
    row("objects nested without end", fileOf(QByteArray(R"({"w":)").repeated(1000) + "1" + QByteArray(1000, '}'), 0),
        "header: nests deeper than 32 levels");
    row("no tensors", fileOf("{}", 0), "has no weights");
    rows.append({"safetensors", "a header longer than any",
                 "bad.safetensors: states a header of 100000001 bytes; the limit is 100000000",
                 [](const Scratch& scratch) {
                     const std::string path = scratch.write("bad.safetensors", little<quint64>(100'000'001) + "{}");
                     // A sparse file, which needs no space on the disk.
                     QFile::resize(QString::fromStdString(path), 100'000'100);
                     return scratch.refusal([&] { listTensors(path); });
                 }});
}

void addTensors(Corruptions& rows) {
    const auto row = [&](const char* name, const QByteArray& bytes, const char* sentence) {
        add(rows, name, bytes, sentence);
    };
    row("a tensor that is no object", fileOf(R"({"w":7})", 0), "header: w: expected an object, found 7");
    row("null", fileOf(R"({"w":null})", 0), "w: needs a dtype, a shape and two data_offsets in the header");
    row("no shape", fileOf(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4),
        "w: needs a dtype, a shape and two data_offsets in the header");
    row("one offset", fileOf(oneTensor("F32", "[1]", "[0]"), 4),
        "w: needs a dtype, a shape and two data_offsets in the header");
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
        "w: has 4 bytes, which do not match F32 of shape [4611686018427387904]");
    row("too few bytes for its shape", fileOf(oneTensor("F16", "[3,2]", "[0,10]"), 16),
        "w: has 10 bytes, which do not match F16 of shape [3, 2]");
    row("beyond the end", fileOf(oneTensor("F32", "[2]", "[4,12]"), 8),
        "w: lies at bytes 4 to 12, but the file holds 8 bytes of tensors. The file is cut short or damaged");
    row("ends before it begins", fileOf(oneTensor("F32", "[1]", "[8,4]"), 8),
        "w: lies at bytes 8 to 4, but the file holds 8 bytes of tensors. The file is cut short or damaged");
    row("overlapping",
        fileOf(
            R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12),
        "w: shares bytes with tensor v");
    row("a dtype that is a number", fileOf(oneTensor("F32", "[1]", "[0,4]").replace("\"F32\"", "32"), 4),
        "header: w: dtype: expected text, found 32");
    row("a shape that is text", fileOf(oneTensor("F32", "\"1\"", "[0,4]"), 4),
        "header: w: shape: expected a list of whole numbers, found \"1\"");
    row("negative offsets", fileOf(oneTensor("F32", "[1]", "[-4,0]"), 4),
        "header: w: data_offsets: expected a list of whole numbers from 0, found [-4,0]");
    row("offsets beyond 64 bits", fileOf(oneTensor("F32", "[1]", "[0,18446744073709551616]"), 4),
        "header: w: data_offsets: expected a list of whole numbers from 0, found [0,1.8446744073709552e+19]");
    row("three offsets", fileOf(oneTensor("F32", "[1]", "[0,4,8]"), 8),
        "w: needs a dtype, a shape and two data_offsets in the header");
    row("no numbers in its shape, but bytes", fileOf(oneTensor("F32", "[0,5]", "[0,4]"), 4),
        "w: has 4 bytes, which do not match F32 of shape [0, 5]");
    row("the bytes of another dtype", fileOf(oneTensor("F64", "[3]", "[0,12]"), 12),
        "w: has 12 bytes, which do not match F64 of shape [3]");
}

} // namespace

Corruptions safetensorsCorruptions() {
    Corruptions rows;
    addHeaders(rows);
    addTensors(rows);
    return rows;
}

} // namespace secateur::test
