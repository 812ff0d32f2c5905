#include "backends/formats/hf_config.h"
#include "tests/corruptions/corruptions.h"

#include <QDir>

namespace secateur::test {

namespace {

QString said(const Scratch& folder) {
    return folder.refusal([&] { describeHf(folder.path().toStdString(), folder.path("config.json").toStdString()); });
}

} // namespace

Corruptions configCorruptions() {
    Corruptions rows;
    const auto row = [&](const char* name, const QByteArray& bytes, const char* sentence) {
        rows.append({"config.json", name, QString("config.json: ") + sentence, [bytes](const Scratch& folder) {
                         folder.write("config.json", bytes);
                         return said(folder);
                     }});
    };
    /// Adds the row for a Llama configuration with the additional `member`, which is invalid.
    const auto with = [&](const char* name, const QByteArray& member, const char* sentence) {
        row(name, R"({"model_type":"llama",)" + member + "}", sentence);
    };
    rows.append(
        {"config.json", "missing", "config.json: does not exist. Weights need a config.json in the same folder", said});
    rows.append({"config.json", "a folder", "config.json: is not a regular file", [](const Scratch& folder) {
                     QDir(folder.path()).mkdir("config.json");
                     return said(folder);
                 }});
    rows.append({"config.json", "16 MB", "config.json: is 16000001 bytes long; the limit is 16000000",
                 [](const Scratch& folder) {
                     folder.write("config.json", "{");
                     QFile::resize(folder.path("config.json"), 16'000'001);
                     return said(folder);
                 }});
    row("empty", "", "is empty");
    row("cut short", R"({"model_type":"llama","hidden_)", "is not valid JSON (byte 31)");
    row("UTF-16", QByteArray("\xff\xfe{\0}\0", 6), "is not valid JSON (byte 1)");
    row("text behind it", R"({"model_type":"llama"} {})", "is not valid JSON (byte 24)");
    row("a list", "[1]", "is not a JSON object");
    row("a number", "7", "is not a JSON object");
    row("nested without end", R"({"a":)" + QByteArray(100'000, '['), "nests deeper than 32 levels");
    row("a key twice", R"({"model_type":"llama","model_type":"llama"})", "has the key \"model_type\" twice");
    row("no architecture", "{}", "model_type: is missing; it names the architecture");
    row("an architecture that is null", R"({"model_type":null})", "model_type: is missing; it names the architecture");
    row("an architecture that is a number", R"({"model_type":7})", "model_type: expected text, found 7");
    with("NaN as Python writes it", R"("rms_norm_eps":NaN)", "is not valid JSON (byte 38)");
    with("an infinite number", R"("rms_norm_eps":1e400)", "is not valid JSON (a number out of range)");
    with("a width beyond 64 bits", R"("hidden_size":123456789012345678901234567890)",
         "hidden_size: expected a whole number from 1 to 16777216, found 1.2345678901234568e+29");
    with("a negative width", R"("hidden_size":-64)",
         "hidden_size: expected a whole number from 1 to 16777216, found -64");
    with("a width of 0", R"("hidden_size":0)", "hidden_size: expected a whole number from 1 to 16777216, found 0");
    with("half a layer", R"("num_hidden_layers":1.5)",
         "num_hidden_layers: expected a whole number from 1 to 10000, found 1.5");
    with("2^31 layers", R"("num_hidden_layers":2147483648)",
         "num_hidden_layers: expected a whole number from 1 to 10000, found 2147483648");
    with("true for a number", R"("num_attention_heads":true)",
         "num_attention_heads: expected a whole number from 1 to 16777216, found true");
    with("a list for a number", R"("vocab_size":[32000])",
         "vocab_size: expected a whole number from 1 to 16777216, found [32000]");
    with("text for a flag", R"("tie_word_embeddings":"yes")",
         "tie_word_embeddings: expected true or false, found \"yes\"");
    with("a theta of 0", R"("rope_theta":0)", "rope_theta: expected a number above 0, found 0");
    with("text for scaling", R"("rope_scaling":"linear")", "rope_scaling: expected an object, found \"linear\"");
    with("more KV heads than heads", R"("num_attention_heads":4,"num_key_value_heads":8)",
         "layer 0 has 4 heads, not a multiple of its 8 KV heads");
    return rows;
}

} // namespace secateur::test
