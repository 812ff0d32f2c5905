#include "backends/formats/hf_config.h"
#include "tests/corruptions/corruptions.h"

#include <QDir>

#include <functional>
#include <string>

namespace secateur::test {

namespace {

QString said(const Scratch& folder) {
    return folder.refusal([&] { describeHf(folder.path().toStdString(), folder.path("config.json").toStdString()); });
}

using AddRow = std::function<void(const char*, const QByteArray&, const char*)>;

/// Rows for settings of single layers. @param with adds a row for a Llama configuration with an additional member
void addLayerRows(const AddRow& with) {
    const auto layer = [&](const char* name, const QByteArray& settings, const std::string& sentence) {
        with(name, R"("num_hidden_layers":2,"head_dim":8,"per_layer_config":{"1":)" + settings + "}",
             ("per_layer_config: 1: " + sentence).c_str());
    };
    with("layers as a list", R"("per_layer_config":[{"skip":[]}])",
         "per_layer_config: expected an object, found [{\"skip\":[]}]");
    with("a layer beyond the last", R"("num_hidden_layers":2,"per_layer_config":{"2":{}})",
         "per_layer_config: 2: is not the index of a layer");
    with("layer -1", R"("per_layer_config":{"-1":{}})", "per_layer_config: -1: is not the index of a layer");
    with("a layer by name", R"("per_layer_config":{"one":{}})", "per_layer_config: one: is not the index of a layer");
    with("a layer without index", R"("per_layer_config":{"":{}})", "per_layer_config: : is not the index of a layer");
    with("layer 2^64", R"("per_layer_config":{"18446744073709551617":{}})",
         "per_layer_config: 18446744073709551617: is not the index of a layer");
    with("a layer twice", R"("per_layer_config":{"01":{},"1":{}})",
         "per_layer_config: 1: names the same layer as an earlier key");
    with("a layer that is null", R"("per_layer_config":{"1":null})",
         "per_layer_config: 1: expected an object, found null");
    with("a layer that is a list", R"("per_layer_config":{"1":[]})",
         "per_layer_config: 1: expected an object, found []");
    layer("no heads", R"({"num_attention_heads":0})",
          "num_attention_heads: expected a whole number from 1 to 16777216, found 0");
    layer("half a head", R"({"num_attention_heads":1.5})",
          "num_attention_heads: expected a whole number from 1 to 16777216, found 1.5");
    layer("a negative width of a layer", R"({"intermediate_size":-1})",
          "intermediate_size: expected a whole number from 1 to 16777216, found -1");
    layer("text for a head size", R"({"head_dim":"8"})",
          "head_dim: expected a whole number from 1 to 16777216, found \"8\"");
    layer("a skip that is text", R"({"skip":"mlp"})", "skip: expected a list of texts, found \"mlp\"");
    layer("an unknown sublayer", R"({"skip":["attention","norm"]})",
          "skip: the sublayer \"norm\" is unknown; known are attention, mlp");
    layer("a bypass of no attention", R"({"skip":["attention"],"bypass_qk":1})",
          "bypass_qk: the layer has no attention (skip)");
    layer("a bypass that is true", R"({"bypass_qk":true})", "bypass_qk: expected a number, found true");
    layer("a bypass by 0", R"({"bypass_qk":0})", "bypass_qk: expected a number above 0, found 0");
    layer("a bypass below 0", R"({"bypass_qk":-0.5})", "bypass_qk: expected a number above 0, found -0.5");
    layer("a number for a flag", R"({"attention_output_bias":1})",
          "attention_output_bias: expected true or false, found 1");
    layer("a width that holds for all layers", R"({"hidden_size":64})",
          "hidden_size: is not supported for a single layer");
    with("uneven groups of a layer",
         R"("num_attention_heads":4,"head_dim":8,"per_layer_config":{"1":{"num_attention_heads":3}})",
         "layer 1 has 3 heads, not a multiple of its 4 KV heads");
    with("heads without a head size", R"("per_layer_config":{"1":{"num_attention_heads":16}})",
         "per_layer_config: 1: num_attention_heads: needs head_dim, which the configuration does not state");
    with("an odd head size", R"("per_layer_config":{"1":{"head_dim":7}})",
         "layer 1 has 7 rotary dimensions, an odd number");
}

/// Rows for DeciLM's list of blocks.
void addBlockRows(const AddRow& row) {
    const auto blocks = [&](const char* name, const QByteArray& list, const char* sentence) {
        row(name,
            R"({"model_type":"nemotron-nas","num_hidden_layers":1,"num_attention_heads":4,"hidden_size":64,)"
            R"("block_configs":)" +
                list + "}",
            sentence);
    };
    const auto attention = [&](const char* name, const QByteArray& member, const std::string& sentence) {
        blocks(name, R"([{"attention":{)" + member + R"(},"ffn":{"no_op":true}}])",
               ("block_configs[0]: attention: " + sentence).c_str());
    };
    const auto mlp = [&](const char* name, const QByteArray& member, const std::string& sentence) {
        blocks(name, R"([{"attention":{"no_op":true},"ffn":{)" + member + "}}]",
               ("block_configs[0]: ffn: " + sentence).c_str());
    };
    blocks("blocks as an object", "{}", "block_configs: expected a list of objects, found {}");
    blocks("a block that is null", "[null]", "block_configs: expected a list of objects, found [null]");
    blocks("too few blocks", "[]", "block_configs: expected 1 objects, one per layer, found 0");
    blocks("a block without attention", R"([{"ffn":{"no_op":true}}])", "block_configs[0]: attention: is missing");
    blocks("a block without an MLP", R"([{"attention":{"no_op":true}}])", "block_configs[0]: ffn: is missing");
    blocks("attention that is a list", R"([{"attention":[],"ffn":{}}])",
           "block_configs[0]: attention: expected an object, found []");
    attention("no group size", R"("no_op":false)", "n_heads_in_group: is missing");
    attention("a group of 0", R"("n_heads_in_group":0)",
              "n_heads_in_group: expected a whole number from 1 to 16777216, found 0");
    attention("groups that do not divide the heads", R"("n_heads_in_group":3)",
              "n_heads_in_group: 4 heads cannot form groups of 3");
    attention("text for no_op", R"("no_op":"yes")", "no_op: expected true or false, found \"yes\"");
    attention("a matrix for no attention", R"("no_op":true,"replace_with_linear":true)",
              "replace_with_linear: the layer has no attention (no_op)");
    attention("a window of one layer", R"("n_heads_in_group":1,"window_length":8)",
              "window_length: windows of single layers are not supported");
    mlp("no multiple", R"("no_op":false)", "ffn_mult: is missing");
    mlp("a multiple of 0", R"("ffn_mult":0)",
        "ffn_mult: 0 times 2/3 of the hidden size 64 is not a width from 1 to 16777216");
    mlp("a negative multiple", R"("ffn_mult":-3)",
        "ffn_mult: -3 times 2/3 of the hidden size 64 is not a width from 1 to 16777216");
    mlp("a huge multiple", R"("ffn_mult":1e300)",
        "ffn_mult: 1e+300 times 2/3 of the hidden size 64 is not a width from 1 to 16777216");
    mlp("an MLP that is a matrix", R"("replace_with_linear":true)",
        "replace_with_linear: MLPs that are replaced by one matrix are not supported");
    mlp("experts", R"("ffn_mult":1,"moe":{"num_experts":2})", "moe: mixtures of experts are not supported");
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
    addLayerRows(with);
    row("a skipped MLP that shares its norm", R"({"model_type":"phi","per_layer_config":{"0":{"skip":["mlp"]}}})",
        "per_layer_config: 0: skip: is not supported in this architecture, whose attention and MLP share a norm");
    row("settings of layers that no reader knows", R"({"model_type":"gpt2","per_layer_config":{"0":{}}})",
        "per_layer_config: settings for single layers are not supported");
    addBlockRows(row);
    return rows;
}

} // namespace secateur::test
