#include "backends/engine/open_model.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/safetensors_bytes.h"

#include <QDir>
#include <QRegularExpression>

namespace secateur::test {

using namespace safetensors;

namespace {

constexpr const char* indexName = "model.safetensors.index.json";

QString said(const Scratch& folder, const QByteArray& index) {
    folder.write("config.json", "{}");
    folder.write("part.safetensors", fileOf(oneTensor("F32", "[1]", "[0,4]"), 4));
    folder.write(indexName, index);
    return folder.refusal([&] { listTensors(folder.path().toStdString()); });
}

} // namespace

Corruptions indexCorruptions() {
    Corruptions rows;
    const auto row = [&](const char* name, const QByteArray& index, const QString& sentence) {
        rows.append({"index", name, QString(indexName) + ": " + sentence,
                     [index](const Scratch& folder) { return said(folder, index); }});
    };
    const QString plain = "weight_map: w: expected a plain file name, found ";

    row("no map", "{}", "has no weight_map");
    row("an empty map", R"({"weight_map":{}})", "lists no tensors");
    row("a path upwards", R"({"weight_map":{"w":"../part.safetensors"}})", plain + "\"../part.safetensors\"");
    row("an absolute path", R"({"weight_map":{"w":"/part.safetensors"}})", plain + "\"/part.safetensors\"");
    row("the folder above", R"({"weight_map":{"w":".."}})", plain + "\"..\"");
    row("a number", R"({"weight_map":{"w":1}})", "weight_map: w: expected text, found 1");
    row("a tensor that is not there", R"({"weight_map":{"v":"part.safetensors"}})",
        "lists tensor v in part.safetensors, which does not contain it");
    row("empty", "", "is empty");
    row("cut short", R"({"weight_map":{"w":"part)", "is not valid JSON (byte 25)");
    row("a list", "[]", "is not a JSON object");
    row("a list for a map", R"({"weight_map":["w"]})", "weight_map: expected an object, found [\"w\"]");
    row("a backslash", R"({"weight_map":{"w":"..\\part.safetensors"}})", plain + "\"..\\part.safetensors\"");
    row("a zero byte", R"({"weight_map":{"w":"part\u0000.safetensors"}})", plain + "\"part\\u0000.safetensors\"");
    row("no name", R"({"weight_map":{"w":""}})", plain + "\"\"");
    row("a tensor twice", R"({"weight_map":{"w":"part.safetensors","w":"part.safetensors"}})",
        "has the key \"w\" twice");
    rows.append({"index", "a missing shard", "gone.safetensors: cannot be opened: No such file or directory",
                 [](const Scratch& folder) { return said(folder, R"({"weight_map":{"w":"gone.safetensors"}})"); }});
    rows.append({"index", "a shard that is a folder", "sub: is not a regular file", [](const Scratch& folder) {
                     QDir(folder.path()).mkdir("sub");
                     return said(folder, R"({"weight_map":{"w":"sub"}})");
                 }});
    rows.append({"index", "a shard that is the index",
                 QString(indexName) + ": states a header of 8388068008349082235 bytes, but 43 bytes follow. It is cut "
                                      "short or not a safetensors file",
                 [](const Scratch& folder) {
                     return said(folder, QByteArray(R"({"weight_map":{"w":")") + indexName + "\"}}");
                 }});
    rows.append({"index", "a tensor in two shards", "FILE: w: appears twice", [](const Scratch& folder) {
                     folder.write("b.safetensors", fileOf(R"({"v":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},
                                                 "w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                                          4));
                     const QByteArray index = R"({"weight_map":{"w":"part.safetensors","v":"b.safetensors"}})";
                     // Both shards could be named in the message. The test accepts either.
                     return said(folder, index).replace(QRegularExpression("^(b|part).safetensors"), "FILE");
                 }});
    return rows;
}

} // namespace secateur::test
