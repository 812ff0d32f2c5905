// Keys of configurations: what transformers writes is known, what changes the computation is read or refused, and
// other keys are named in a warning.

#ifndef Q_MOC_RUN
#include "backends/config/architectures.h"
#include "backends/formats/config_check.h"
#include "backends/formats/hf_config.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <map>

using namespace secateur;
using namespace secateur::test;
using nlohmann::json;

namespace {

CheckpointDescription described(const json& config) {
    const Scratch scratch;
    return describeHf("model", scratch.write("config.json", QByteArray::fromStdString(config.dump())));
}

QString refusalOf(const json& config) {
    const Scratch scratch;
    const std::string path = scratch.write("config.json", QByteArray::fromStdString(config.dump()));
    return scratch.refusal([&] { describeHf("model", path); });
}

/// The only warning; empty if there is none.
QString warningOf(const json& config) {
    const std::vector<std::string> warnings = described(config).warnings;
    return warnings.empty() ? QString() : QString::fromStdString(warnings.front());
}

const QString prefix = "config.json has a key that is not known and may change what the model computes: ";

/// Every model_type with the architecture that it names.
void addModelTypes() {
    QTest::addColumn<QString>("type");
    for (const ArchitectureInfo& info : allArchitectures())
        for (const std::string_view type : info.modelTypes)
            QTest::newRow(std::string(type).c_str()) << QString::fromUtf8(type.data(), std::ssize(type));
}

/// An element of DeciLM's block_configs.
const json smallBlock{{"attention", {{"n_heads_in_group", 2}}}, {"ffn", {{"no_op", true}}}};

/// Values for keys that are read; at least one of them must change the model.
const std::map<std::string, std::vector<json>> otherValues{
    {"attention_bias", {true}},
    {"attention_output_bias", {true, false}},
    {"attn_logit_softcapping", {7.5}},
    {"block_configs", {json::array({smallBlock, smallBlock, smallBlock, smallBlock})}},
    {"embedding_size", {96}},
    {"final_logit_softcapping", {7.5}},
    {"id2label", {{{"0", "a"}, {"1", "b"}, {"2", "c"}}}},
    {"layer_types", {json::array({"full_attention", "sliding_attention", "full_attention", "full_attention"})}},
    {"max_window_layers", {1}},
    {"mlp_bias", {true}},
    {"mlp_output_bias", {true, false}},
    {"num_labels", {5}},
    {"pad_token_id", {9}},
    {"per_layer_config", {{{"1", {{"intermediate_size", 8}}}}}},
    {"pruned_heads", {{{"0", {1}}}}},
    {"rope_parameters", {{{"rope_theta", 77.0}}, {{"full_attention", {{"rope_theta", 77.0}}}}}},
    {"rope_scaling", {{{"rope_type", "linear"}, {"factor", 3.0}}}},
    {"scale_attn_by_inverse_layer_idx", {true}},
    {"scale_attn_weights", {false}},
    {"tie_word_embeddings", {true, false}},
    {"use_sliding_window", {false}},
};
const std::vector<json> otherNames{"relu", "gelu"};     ///< of activations
const std::vector<json> otherNumbers{144, 36, 2, 0.25}; ///< sizes, counts, bases and shares

const std::vector<json>& valuesFor(const std::string& key) {
    if (key == "hidden_act" || key == "hidden_activation" || key == "activation_function")
        return otherNames;
    const auto found = otherValues.find(key);
    return found == otherValues.end() ? otherNumbers : found->second;
}

/// Whether one of the values gives another model, or is refused by the reader.
bool counts(const json& base, const std::string& key) {
    const ModelSpec dense = described(base).spec;
    for (const json& value : valuesFor(key)) {
        json config = base;
        config[key] = value;
        const QString refusal = refusalOf(config);
        if (refusal == "accepted" && !(described(config).spec == dense))
            return true;
    }
    return false;
}

/// A small configuration in which every key of the type has an effect.
json smallConfig(const std::string& type) {
    json config{{"model_type", type}};
    const ArchitectureInfo& info = architectureOfModelType(type);
    config[std::string(info.keys.layers)] = 4;
    config[std::string(info.keys.heads)] = 4;
    config[std::string(info.keys.hidden)] = 288;
    if (info.windows == Windows::fromMaxWindowLayers) {
        config["use_sliding_window"] = true;
        config["max_window_layers"] = 2;
    }
    if (info.windows == Windows::fiveOfSix)
        config["sliding_window_pattern"] = 2;
    if (info.positions == Positions::rotary)
        config["num_key_value_heads"] = 4;
    if (info.defaults.embeddingWidth > 0)
        config["num_hidden_groups"] = 1;
    return config;
}

std::vector<std::string> warningsOf(const QByteArrayList& pairs, const std::string& architecture) {
    const QByteArray bytes = pairs.join();
    ByteReader reader(std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))), "f");
    const GgufMetadata metadata(reader, static_cast<std::uint64_t>(pairs.size()), "f");
    return checkedMetadata(metadata, architectureOfGguf(architecture), architecture);
}

} // namespace

class TestConfigKeys : public QObject {
    Q_OBJECT

private slots:
    void whatTransformersWritesIsKnown_data() {
        QTest::addColumn<QString>("text");
        const json versions = readJson(data().filePath("config_keys.json"));
        for (const auto& version : versions.items())
            for (const auto& model : version.value().items())
                for (const auto& form : model.value().items())
                    QTest::addRow("%s %s %s", version.key().c_str(), model.key().c_str(), form.key().c_str())
                        << QString::fromStdString(form.value().dump());
        QVERIFY(versions.size() == 3);
    }
    void whatTransformersWritesIsKnown() {
        QFETCH(QString, text);
        QCOMPARE(warningOf(json::parse(text.toStdString())), QString());
    }

    void ourOwnFixturesHaveNoUnknownKey() {
        int files = 0;
        for (const QString& folder : fixtures())
            for (const QString& file : filesOf(folder)) {
                for (const std::string& warning : fixture(folder, file)->card().warnings)
                    QVERIFY2(warning.find("not known") == std::string::npos, warning.c_str());
                ++files;
            }
        QVERIFY(files > 20);
    }

    void otherKeysAreNamed_data() {
        QTest::addColumn<QString>("config");
        QTest::addColumn<QString>("keys");
        const auto row = [](const char* name, const char* config, const char* keys) {
            QTest::newRow(name) << config << keys;
        };
        row("at the top", R"({"model_type":"llama","logit_scale":0.5})", "logit_scale");
        row("null", R"({"model_type":"llama","logit_scale":null})", "logit_scale");
        row("of another architecture", R"({"model_type":"qwen3","mlp_bias":true})", "mlp_bias");
        row("a softcap that Llama's class ignores", R"({"model_type":"llama","attn_logit_softcapping":5.0})",
            "attn_logit_softcapping");
        row("in text_config", R"({"model_type":"gemma3","text_config":{"altup_size":2}})", "text_config.altup_size");
        row("beside text_config", R"({"model_type":"gemma3","audio_config":{},"text_config":{}})", "audio_config");
        row("in a layer", R"({"model_type":"llama","per_layer_config":{"3":{"rope_gain":2}}})",
            "per_layer_config.3.rope_gain");
        row("in rope_scaling", R"({"model_type":"llama","rope_scaling":{"type":"default","mrope_section":[2]}})",
            "rope_scaling.mrope_section");
        row("in rope_parameters", R"({"model_type":"llama","rope_parameters":{"rope_theta":1e4,"beta_fast":32}})",
            "rope_parameters.beta_fast");
        row("in a layer type of text_config",
            R"({"model_type":"gemma3","text_config":{"rope_parameters":{"sliding_attention":{"short_factor":[1]}}}})",
            "text_config.rope_parameters.sliding_attention.short_factor");
    }
    void otherKeysAreNamed() {
        QFETCH(QString, config);
        QFETCH(QString, keys);
        QCOMPARE(warningOf(json::parse(config.toStdString())), prefix + keys);
    }

    void manyUnknownKeysAreOneSentence() {
        json config{{"model_type", "bert"}};
        for (const char letter : std::string("abcdefghijk"))
            config[std::string("key_") + letter] = 1;
        QCOMPARE(warningOf(config), "config.json has keys that are not known and may change what the model computes: "
                                    "key_a, key_b, key_c, key_d, key_e, key_f, key_g, key_h and 3 more");
    }

    void bidirectionalGemmaIsRefused() {
        const QString reason = "use_bidirectional_attention: attention to later tokens is not supported";
        for (const char* type : {"gemma2", "gemma3_text"})
            QCOMPARE(refusalOf({{"model_type", type}, {"use_bidirectional_attention", true}}),
                     "config.json: " + reason);
        QCOMPARE(refusalOf({{"model_type", "gemma3"}, {"text_config", {{"use_bidirectional_attention", true}}}}),
                 "config.json: text_config: " + reason);
        QCOMPARE(warningOf({{"model_type", "gemma3_text"}, {"use_bidirectional_attention", false}}), QString());
    }

    void everyUnsupportedKeyIsRefused_data() { addModelTypes(); }
    void everyUnsupportedKeyIsRefused() {
        QFETCH(QString, type);
        const ArchitectureInfo& info = architectureOfModelType(type.toStdString());
        for (const KnownKeys& list : info.configKeys)
            for (const UnsupportedKey& item : list.unsupported) {
                const std::string key(item.key);
                const bool isRead = std::ranges::any_of(info.configKeys, [&](const KnownKeys& other) {
                    return std::ranges::find(other.read, item.key) != other.read.end();
                });
                if (isRead)
                    continue;
                const auto refusal = [&](const json& value) {
                    return refusalOf({{"model_type", type.toStdString()}, {key, value}});
                };
                QVERIFY2(refusal("other").startsWith(QString::fromStdString("config.json: " + key + ": ")),
                         key.c_str());
                QCOMPARE(refusal(json::parse(item.neutral)), "accepted");
                QCOMPARE(refusal(nullptr), "accepted");
            }
    }

    /// The table lists no key as read that the reader does not ask for.
    void everyKeyThatIsReadCounts_data() { addModelTypes(); }
    void everyKeyThatIsReadCounts() {
        QFETCH(QString, type);
        const json base = smallConfig(type.toStdString());
        for (const KnownKeys& list : architectureOfModelType(type.toStdString()).configKeys)
            for (const std::string_view key : list.read)
                if (key != "model_type")
                    QVERIFY2(counts(base, std::string(key)), std::string(key).c_str());
    }

    /// transformers 5 stores Gemma 3's softcap of the scores and does not apply it.
    void gemma3DoesNotCapItsScores() {
        const json config{
            {"model_type", "gemma3_text"}, {"attn_logit_softcapping", 5.0}, {"final_logit_softcapping", 2.0}};
        QCOMPARE(described(config).spec.scoreSoftcap, 0.0);
        QCOMPARE(described(config).spec.logitSoftcap, 2.0);
        QCOMPARE(warningOf(config), QString());
    }

    void metadataIsCheckedAsWell() {
        using namespace gguf;
        const QByteArray one = little<quint32>(1);
        QVERIFY(warningsOf({pair("general.sampling.top_k", i32, one), pair("tokenizer.ggml.pre", i32, one),
                            pair("llama.block_count", u32, one), pair("llama.attention.causal", boolean, "\1")},
                           "llama")
                    .empty());
        QCOMPARE(warningsOf({pair("llama.block_count", u32, one), pair("llama.swin_norm", u32, one)}, "llama"),
                 std::vector<std::string>{"the metadata has a key that is not known and may change what the model "
                                          "computes: llama.swin_norm"});
        const Scratch scratch;
        const QByteArray bidirectional = pair("gemma3.attention.causal", boolean, QByteArray(1, '\0'));
        QCOMPARE(scratch.refusal([&] { warningsOf({bidirectional}, "gemma3"); }),
                 "f: gemma3.attention.causal: attention to later tokens is not supported in this architecture");
        QCOMPARE(scratch.refusal([&] { warningsOf({pair("llama.rope.scale_linear", f32, little(2.0F))}, "llama"); }),
                 "f: llama.rope.scale_linear: this old form of rotary scaling is not supported");
        QVERIFY(warningsOf({pair("llama.rope.scale_linear", f32, little(1.0F))}, "llama").empty());
    }
};

SECATEUR_SUITE(TestConfigKeys)
#include "tst_config_keys.moc"
