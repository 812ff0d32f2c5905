// Reading config.json and the metadata of GGUF files: keys of old and new versions of transformers, default values, and
// contradictions.

#ifndef Q_MOC_RUN
#include "backends/config/architectures.h"
#include "backends/formats/formats.h"
#include "backends/formats/hf_config.h"
#include "backends/engine/open_model.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

using namespace secateur;
using namespace secateur::test;

namespace {

// Marks a key that copyWithConfig() removes. An undefined QJsonValue cannot be used, because QJsonObject does not store
// it.
const QJsonValue absent = "(absent)";

/// The ModelSpec read from a config.json alone.
ModelSpec configuredSpec(const QJsonObject& config) {
    const Scratch scratch;
    const std::string path = scratch.write("config.json", QJsonDocument(config).toJson());
    return describeHf("model", path).spec;
}

QString summary(const ModelSpec& spec) {
    const LayerSpec& last = spec.layers.back();
    return QString("%1 %2 %3 %4 %5 %6 %7 %8")
        .arg(QString::fromStdString(spec.structure()))
        .arg(spec.hidden)
        .arg(spec.vocab)
        .arg(spec.context)
        .arg(spec.normEpsilon)
        .arg(last.rotary.dims > 0 ? last.rotary.theta : 0)
        .arg(last.window)
        .arg(spec.tiedEmbeddings ? "tied" : "separate");
}

/// One letter for each layer: W if it has a sliding window, otherwise a dot. An example is "WW.WW.".
QString windows(const ModelSpec& spec) {
    QString text;
    for (const LayerSpec& layer : spec.layers)
        text += layer.window > 0 ? 'W' : '.';
    return text;
}

/// Copies a fixture and changes values in its config.json. A key whose new value is `absent` is removed.
void copyWithConfig(const Scratch& scratch, const QString& folder, const QJsonObject& changes) {
    QFile file(data().filePath(folder + "/config.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no fixture %s", qPrintable(folder));
    QJsonObject config = QJsonDocument::fromJson(file.readAll()).object();
    for (auto change = changes.begin(); change != changes.end(); ++change) {
        if (*change == absent)
            config.remove(change.key());
        else
            config[change.key()] = *change;
    }
    scratch.write("config.json", QJsonDocument(config).toJson());
    QFile::copy(data().filePath(folder + "/model.safetensors"), scratch.path("model.safetensors"));
}

} // namespace

class TestModelConfig : public QObject {
    Q_OBJECT

private slots:
    void llama3ScalingIsReadFromBothFormats() {
        const RotarySpec expected{12, 10000, RopeScaling::llama3, 8, 1, 8, 3200, {}};
        QVERIFY(fixture("gqa-f32")->spec().layers[1].rotary == expected);
        QVERIFY(fixture("gqa-q4_1-gguf")->spec().layers[1].rotary == expected);
    }

    void configurationsOfAllAgesAreRead_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QJsonObject>("changes");
        /// Rope theta, number of the scaling type, scaling factor, original context.
        QTest::addColumn<QString>("rotary");
        const QJsonObject llama3{{"rope_type", "llama3"},
                                 {"factor", 32},
                                 {"low_freq_factor", 1},
                                 {"high_freq_factor", 4},
                                 {"original_max_position_embeddings", 8192}};
        QJsonObject newLlama3 = llama3;
        newLlama3["rope_theta"] = 500000;
        const auto row = [](const char* name, const QJsonObject& changes, const char* rotary) {
            QTest::newRow(name) << "mha-f32" << changes << rotary;
        };
        row("no rotary keys", {{"rope_theta", absent}, {"rope_scaling", absent}}, "10000 0 1 0");
        row("old theta", {{"rope_theta", 500000.0}}, "500000 0 1 0");
        row("very old linear", {{"rope_scaling", QJsonObject{{"type", "linear"}, {"factor", 2.5}}}}, "10000 1 2.5 0");
        row("old linear", {{"rope_scaling", QJsonObject{{"rope_type", "linear"}, {"factor", 4}}}}, "10000 1 4 0");
        row("old llama3", {{"rope_theta", 500000}, {"rope_scaling", llama3}}, "500000 2 32 8192");
        row("new llama3", {{"rope_theta", absent}, {"rope_scaling", absent}, {"rope_parameters", newLlama3}},
            "500000 2 32 8192");
        row("new default",
            {{"rope_theta", absent}, {"rope_parameters", QJsonObject{{"rope_type", "default"}, {"rope_theta", 7.5}}}},
            "7.5 0 1 0");
    }
    void configurationsOfAllAgesAreRead() {
        QFETCH(QString, folder);
        QFETCH(QJsonObject, changes);
        QFETCH(QString, rotary);
        const Scratch scratch;
        copyWithConfig(scratch, folder, changes);
        const RotarySpec read = openModel(scratch.path().toStdString())->spec().layers[0].rotary;
        QCOMPARE(QString("%1 %2 %3 %4")
                     .arg(read.theta)
                     .arg(static_cast<int>(read.scaling))
                     .arg(read.factor)
                     .arg(read.originalContext),
                 rotary);
    }

    void missingKeysTakeTheClassDefault() {
        const Scratch scratch;
        copyWithConfig(scratch, "gqa-f16-mistral",
                       {{"sliding_window", absent},
                        {"rms_norm_eps", absent},
                        {"max_position_embeddings", absent},
                        {"num_key_value_heads", 2},
                        {"hidden_act", absent},
                        {"tie_word_embeddings", absent}});
        const ModelSpec spec = openModel(scratch.path().toStdString())->spec();
        QCOMPARE(spec.layers[0].window, 4096);
        QCOMPARE(spec.normEpsilon, 1e-6);
        QCOMPARE(spec.context, 131072);
        QVERIFY(spec.activation == Activation::silu);
        QVERIFY(!spec.tiedEmbeddings);
        QCOMPARE(fixture("gqa-f16-mistral")->spec().layers[0].window, 0); // its config.json has "sliding_window": null
        const Scratch multiHead;
        copyWithConfig(multiHead, "mha-f32", {{"num_key_value_heads", absent}, {"head_dim", absent}});
        QCOMPARE(openModel(multiHead.path().toStdString())->spec().structure(), "2x3/3x16+40");
    }

    void aConfigurationThatSaysNothingMeansItsClass_data() {
        QTest::addColumn<QString>("type");
        // Heads, KV heads, head size and MLP size; hidden size, vocabulary, context, epsilon, theta, window and LM
        // head.
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* type, const char* expected) { QTest::newRow(type) << type << expected; };
        row("llama", "32x32/32x128+11008 4096 32000 2048 1e-06 10000 0 separate");
        row("mistral", "32x32/8x128+14336 4096 32000 131072 1e-06 10000 4096 separate");
        row("qwen2", "32x32/32x128+22016 4096 151936 32768 1e-06 10000 0 separate");
        row("qwen3", "32x32/32x128+22016 4096 151936 32768 1e-06 10000 0 separate");
        row("gemma2", "26x8/4x256+9216 2304 256000 8192 1e-06 10000 0 tied");
        row("gemma3_text", "26x8/4x256+9216 2304 262208 131072 1e-06 10000 4096 tied");
        row("phi", "24x32/32x64+8192 2048 51200 2048 1e-05 10000 0 separate");
        row("gpt2", "12x12/12x64+3072 768 50257 1024 1e-05 0 0 tied");
        row("bert", "12x12/12x64+3072 768 30522 512 1e-12 0 0 separate");
        row("roberta", "12x12/12x64+3072 768 50265 510 1e-12 0 0 separate");
        row("xlm-roberta", "12x12/12x64+3072 768 30522 510 1e-12 0 0 separate");
        row("albert", "12x64/64x64+16384 4096 30000 512 1e-12 0 0 separate");
    }
    void aConfigurationThatSaysNothingMeansItsClass() {
        QFETCH(QString, type);
        QFETCH(QString, expected);
        QCOMPARE(summary(configuredSpec({{"model_type", type}})), expected);
    }

    void gemma3IsReadInBothSpellings() {
        const QJsonObject linear{{"rope_type", "linear"}, {"factor", 8.0}};
        const QJsonObject full{{"rope_theta", 1e6}, {"rope_type", "linear"}, {"factor", 8.0}};
        const QJsonObject old{{"num_hidden_layers", 7},      {"rope_theta", 1e6},      {"rope_local_base_freq", 2e4},
                              {"sliding_window_pattern", 6}, {"rope_scaling", linear}, {"sliding_window", 512}};
        const QJsonArray kinds{"sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
                               "sliding_attention", "full_attention",    "sliding_attention"};
        const QJsonObject both{{"full_attention", full},
                               {"sliding_attention", QJsonObject{{"rope_theta", 2e4}, {"rope_type", "default"}}}};
        const QJsonObject today{{"model_type", "gemma3_text"},
                                {"num_hidden_layers", 7},
                                {"layer_types", kinds},
                                {"rope_parameters", both},
                                {"sliding_window", 512}};
        const ModelSpec spec = configuredSpec(today);
        QVERIFY(configuredSpec({{"model_type", "gemma3"}, {"text_config", old}}) == spec);
        QCOMPARE(windows(spec), "WWWWW.W");
        QVERIFY(spec.layers[0].rotary == (RotarySpec{.dims = 256, .theta = 2e4, .divisors = {}}));
        QVERIFY(spec.layers[5].rotary ==
                (RotarySpec{.dims = 256, .theta = 1e6, .scaling = RopeScaling::linear, .factor = 8, .divisors = {}}));
        QCOMPARE(spec.layers[0].window, 512);
        QVERIFY(spec.layers[0].normsHeads && spec.normPlace == NormPlace::sandwich);
        QCOMPARE(spec.scoreSoftcap, 0.0);
    }
    void gemma2CapsAndScalesItsScores() {
        const ModelSpec spec = configuredSpec({{"model_type", "gemma2"},
                                       {"num_hidden_layers", 3},
                                       {"query_pre_attn_scalar", 144},
                                       {"final_logit_softcapping", QJsonValue::Null}});
        QCOMPARE(windows(spec), "W.W");
        QCOMPARE(spec.layers[0].scoreScale, 1.0 / 12);
        QCOMPARE(spec.scoreSoftcap, 50.0);
        QCOMPARE(spec.logitSoftcap, 0.0);
        QCOMPARE(spec.embeddingScale, 48.0);
        QCOMPARE(spec.normWeightOffset, 1.0);
    }
    void qwenSeesWindowsOnlyWhenAskedTo() {
        QJsonObject config{
            {"model_type", "qwen2"}, {"num_hidden_layers", 4}, {"max_window_layers", 2}, {"sliding_window", 64}};
        QCOMPARE(windows(configuredSpec(config)), "....");
        config["use_sliding_window"] = true;
        QCOMPARE(windows(configuredSpec(config)), "..WW");
        QVERIFY(configuredSpec(config).layers[0].queryBias && !configuredSpec(config).layers[0].outputBias);
    }
    void phiTurnsPartOfItsHeads() {
        QJsonObject config{{"model_type", "phi"}, {"hidden_size", 2560}, {"partial_rotary_factor", 0.4}};
        QCOMPARE(configuredSpec(config).layers[0].rotary.dims, 32);
        config.remove("partial_rotary_factor");
        config["rope_parameters"] = QJsonObject{{"partial_rotary_factor", 0.4}, {"rope_theta", 1e4}};
        QCOMPARE(configuredSpec(config).layers[0].rotary.dims, 32);
        QVERIFY(configuredSpec(config).lmHeadBias && configuredSpec(config).normPlace == NormPlace::parallel);
    }
    void gpt2ScalesScoresAsItsConfigurationSays() {
        QJsonObject config{{"model_type", "gpt2"}, {"scale_attn_by_inverse_layer_idx", true}};
        QCOMPARE(configuredSpec(config).layers[1].scoreScale, 1.0 / 16);
        config["scale_attn_weights"] = false;
        QCOMPARE(configuredSpec(config).layers[3].scoreScale, 0.25);
        QCOMPARE(configuredSpec({{"model_type", "gpt2"}, {"n_embd", 24}, {"n_inner", QJsonValue::Null}}).layers[0].ffn, 96);
    }
    void headsThatTransformersPrunedAreGone() {
        const QJsonObject pruned{{"0", QJsonArray{1, 5, 1}}, {"3", QJsonArray{}}};
        const ModelSpec spec = configuredSpec({{"model_type", "bert"},
                                       {"num_hidden_layers", 2},
                                       {"pruned_heads", QJsonObject{{"0", QJsonArray{1, 5, 1}}}}});
        QCOMPARE(spec.structure(), "1x10/10x64+3072,1x12/12x64+3072");
        const Scratch scratch;
        const std::string path = scratch.write(
            "config.json",
            QJsonDocument(QJsonObject{{"model_type", "bert"}, {"num_hidden_layers", 2}, {"pruned_heads", pruned}})
                .toJson());
        QCOMPARE(scratch.refusal([&] { describeHf("model", path); }),
                 "config.json: pruned_heads: 3: is not the index of a layer");
    }
    void albertsLayersAreAppliedManyTimes() {
        const ModelSpec one = configuredSpec({{"model_type", "albert"}, {"num_hidden_layers", 3}});
        QCOMPARE(one.tiedGroups(), (std::vector<std::vector<int>>{{0, 1, 2}}));
        const ModelSpec several = configuredSpec({{"model_type", "albert"},
                                          {"num_hidden_layers", 4},
                                          {"num_hidden_groups", 2},
                                          {"inner_group_num", 2},
                                          {"pruned_heads", QJsonObject{{"2", QJsonArray{0}}}}});
        QCOMPARE(several.tiedGroups(), (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
        QCOMPARE(several.layers[6].heads, 63);
        QCOMPARE(several.embeddingWidth, 128);
    }
    void encodersTellTheirPositionsAndClasses() {
        const ModelSpec spec = configuredSpec({{"model_type", "roberta"},
                                       {"max_position_embeddings", 514},
                                       {"type_vocab_size", 1},
                                       {"id2label", QJsonObject{{"0", "a"}, {"1", "b"}, {"2", "c"}}}});
        QCOMPARE(spec.firstPosition, 2);
        QCOMPARE(spec.learnedPositions, 514);
        QCOMPARE(spec.context, 512);
        QCOMPARE(spec.tokenTypes, 1);
        QCOMPARE(spec.classes, 3);
    }

    void bothFormatsTellTheSame_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-mlp-bias", "qwen2", "qwen3", "gemma2", "gemma3", "phi", "gpt2"})
            QTest::newRow(folder) << folder;
    }
    void bothFormatsTellTheSame() {
        QFETCH(QString, folder);
        const ModelSpec hf = fixture(folder, ".")->spec();
        ModelSpec gguf = fixture(folder, "model.gguf")->spec();
        QVERIFY(std::abs(gguf.normEpsilon / hf.normEpsilon - 1) < 1e-6); // GGUF stores epsilon as float32
        gguf.normEpsilon = hf.normEpsilon;
        QVERIFY(gguf.layers == hf.layers);
        QVERIFY(gguf == hf);
    }
    void layersOfADeciModelAreUnlike() {
        const ModelSpec spec = fixture("deci-gguf")->spec();
        QCOMPARE(spec.structure(), "1x4/2x6+20,1x0/0x6+12,1x4/0x6+28,1x4/4x6+0");
        QVERIFY(spec.layers[1].attention == AttentionKind::none);
        QVERIFY(spec.layers[2].attention == AttentionKind::linear);
    }

    void whatIsNotDoneIsRefusedByItsKey_data() {
        QTest::addColumn<QJsonObject>("config");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* type, const char* key, const QJsonValue& value, const char* sentence) {
            QTest::newRow(key) << QJsonObject{{"model_type", type}, {key, value}}
                               << QString("config.json: ") + sentence;
        };
        row("bert", "position_embedding_type", "relative_key",
            "position_embedding_type: \"relative_key\" is not supported, only \"absolute\"");
        row("bert", "is_decoder", true, "is_decoder: encoders used as decoders are not supported");
        row("gpt2", "add_cross_attention", true, "add_cross_attention: cross-attention is not supported");
        row("phi", "qk_layernorm", true,
            "qk_layernorm: norms of queries and keys are not supported in this architecture");
        row("phi", "partial_rotary_factor", 1.5, "partial_rotary_factor: expected a share from 0 to 1, found 1.5");
        row("gemma2", "layer_types", QJsonArray{"full_attention"},
            "layer_types: expected 26 types, one per layer, found 1");
        row("albert", "num_hidden_groups", 13, "num_hidden_groups: 13 groups of 1 layers cannot form 12 layers");
    }
    void whatIsNotDoneIsRefusedByItsKey() {
        QFETCH(QJsonObject, config);
        QFETCH(QString, sentence);
        const Scratch scratch;
        const std::string path = scratch.write("config.json", QJsonDocument(config).toJson());
        QCOMPARE(scratch.refusal([&] { describeHf("model", path); }), sentence);
    }

    void aConfigurationThatDoesNotFitIsRefused_data() {
        QTest::addColumn<QJsonObject>("changes");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QJsonObject& changes, const char* sentence) {
            QTest::newRow(name) << changes << QString(sentence);
        };
        row("unknown architecture", {{"model_type", "qwen9"}},
            "config.json: has the unknown architecture \"qwen9\". Supported architectures: llama, mistral, qwen2, "
            "qwen3, gemma2, "
            "gemma3_text, gemma3, phi, gpt2, nemotron-nas, bert, roberta, xlm-roberta, albert");
        row("no architecture", {{"model_type", absent}},
            "config.json: model_type: is missing; it names the architecture");
        row("text for a number", {{"hidden_size", "many"}},
            "config.json: hidden_size: expected a whole number from 1 to 16777216, found \"many\"");
        row("no layers", {{"num_hidden_layers", 0}},
            "config.json: num_hidden_layers: expected a whole number from 1 to 10000, found 0");
        row("too many layers", {{"num_hidden_layers", 1e9}},
            "config.json: num_hidden_layers: expected a whole number from 1 to 10000, found 1000000000");
        row("one layer too many", {{"num_hidden_layers", 3}},
            "FOLDER: has no tensor model.layers.2.input_layernorm.weight. "
            "The checkpoint is incomplete, or its configuration belongs to another model");
        row("other width", {{"intermediate_size", 41}},
            "model.safetensors: model.layers.0.mlp.gate_proj.weight: has shape [40, 48], but the configuration requires "
            "[41, 48]");
        row("other vocabulary", {{"vocab_size", 30}},
            "model.safetensors: model.embed_tokens.weight: has shape [29, 48], but the configuration requires [30, "
            "48]");
        row("uneven groups", {{"num_key_value_heads", 2}},
            "config.json: layer 0 has 3 heads, not a multiple of its 2 KV heads");
        row("no head size", {{"num_attention_heads", 5}, {"head_dim", absent}},
            "config.json: gives no head size, and the hidden size 48 is not divisible by 5 heads");
        row("biases that are not there", {{"attention_bias", true}},
            "FOLDER: has no tensor model.layers.0.self_attn.q_proj.bias. "
            "The checkpoint is incomplete, or its configuration belongs to another model");
        row("unknown scaling", {{"rope_scaling", QJsonObject{{"type", "yarn"}, {"factor", 2}}}},
            "config.json: rope_scaling: type: the rotary scaling \"yarn\" is unknown; supported are default, linear, "
            "llama3");
        row("scaling without its factor", {{"rope_scaling", QJsonObject{{"type", "linear"}}}},
            "config.json: rope_scaling: factor: is missing");
        row("unknown activation", {{"hidden_act", "snake"}},
            "config.json: hidden_act: the activation \"snake\" is unknown");
        row("quantised", {{"quantization_config", QJsonObject{{"quant_method", "gptq"}}}},
            "config.json: describes weights quantised by gptq, which is not supported. "
            "Open the unquantised checkpoint or a GGUF file");
    }
    void aConfigurationThatDoesNotFitIsRefused() {
        QFETCH(QJsonObject, changes);
        QFETCH(QString, sentence);
        const Scratch scratch;
        copyWithConfig(scratch, "mha-f32", changes);
        QCOMPARE(scratch.refusal([&] { openModel(scratch.path().toStdString()); }), sentence);
    }

    void aGgufThatDoesNotFitIsRefused_data() {
        QTest::addColumn<QByteArray>("from");
        QTest::addColumn<QByteArray>("to");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& from, const QByteArray& to, const char* sentence) {
            QTest::newRow(name) << from << to << QString("model.gguf: ") + sentence;
        };
        const auto u32 = [](const QByteArray& key, quint32 value) { return key + little<quint32>(4) + little(value); };
        const QByteArray text = little<quint32>(8) + little<quint64>(5);
        row("unknown architecture", "general.architecture" + text + "llama", "general.architecture" + text + "lhama",
            "has the unknown architecture \"lhama\". Supported architectures: llama, qwen2, qwen3, gemma2, gemma3, "
            "phi2, gpt2, "
            "deci, openelm, "
            "bert");
        row("no architecture", "general.architecture", "general.architektur_",
            "general.architecture: is missing; it names the architecture");
        row("no width", "llama.embedding_length", "llama.embedding_breadt", "llama.embedding_length: is missing");
        row("no layers", u32("llama.block_count", 2), u32("llama.block_count", 0),
            "llama.block_count: expected a whole number from 1 to 10000, found 0");
        row("uneven groups", u32("head_count_kv", 2), u32("head_count_kv", 3),
            "layer 0 has 8 heads, not a multiple of its 3 KV heads");
        row("another head size", u32("attention.key_length", 12), u32("attention.key_length", 16),
            "llama.attention.value_length: expected the size of keys, 16, found 12");
        row("part of a head turns", u32("rope.dimension_count", 12), u32("rope.dimension_count", 6),
            "llama.rope.dimension_count: expected the head size, 12, found 6");
        row("more layers", u32("llama.block_count", 2), u32("llama.block_count", 3),
            "has no tensor blk.2.attn_norm.weight. The checkpoint is incomplete, or its configuration belongs to "
            "another model");
        row("a norm that is a matrix", "output_norm.weight" + little<quint32>(1) + little<quint64>(64),
            "output_norm.weight" + little<quint32>(1) + little<quint64>(63),
            "output_norm.weight: has shape [63], but the configuration requires [64]");
        row("a divisor below zero", little(7.290994167327881F), little(-1.125F),
            "rope_freqs.weight: holds rotary divisors that are not positive numbers");
    }
    void aGgufThatDoesNotFitIsRefused() {
        QFETCH(QByteArray, from);
        QFETCH(QByteArray, to);
        QFETCH(QString, sentence);
        QFile file(data().filePath("gqa-f32-gguf/model.gguf"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QByteArray bytes = file.readAll();
        QVERIFY(from.size() == to.size() && bytes.contains(from));
        const Scratch scratch;
        const std::string path = scratch.write("model.gguf", bytes.replace(from, to));
        QCOMPARE(scratch.refusal([&] { openModel(path); }), sentence);
    }

    void aMixtureOfExpertsIsRefused() {
        QFile file(data().filePath("gqa-f32-gguf/model.gguf"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto key = [](const QByteArray& name) {
            return little<quint64>(static_cast<quint64>(name.size())) + name;
        };
        // Gives one key a name that is 2 characters shorter and another key a name that is 2 characters longer. The
        // length of the header stays the same.
        QByteArray bytes = file.readAll();
        bytes.replace(key("llama.context_length"), key("llama.expert_count"));
        bytes.replace(key("llama.vocab_size"), key("llama.vocabulary_n"));
        const Scratch scratch;
        const std::string path = scratch.write("model.gguf", bytes);
        QCOMPARE(scratch.refusal([&] { openModel(path); }),
                 "model.gguf: llama.expert_count: mixtures of experts are not supported");
    }

    void ignoredTensorsAreMentioned() {
        const Scratch scratch;
        copyWithConfig(scratch, "mha-f32", {{"num_hidden_layers", 1}});
        const ModelCard card = openModel(scratch.path().toStdString())->card();
        QCOMPARE(card.warnings.size(), std::size_t{1});
        QCOMPARE(card.warnings[0], "9 tensors are ignored: model.layers.1.input_layernorm.weight, "
                                   "model.layers.1.mlp.down_proj.weight, model.layers.1.mlp.gate_proj.weight, ...");
    }

    void theTokenizerIsNamed() {
        QCOMPARE(fixture("gqa-f32-gguf")->card().tokenizer, "llama (37 tokens)");
        const Scratch scratch;
        copyWithConfig(scratch, "mha-f32", {});
        QVERIFY(openModel(scratch.path().toStdString())->card().tokenizer.empty());
        scratch.write("tokenizer.model", "");
        QCOMPARE(openModel(scratch.path().toStdString())->card().tokenizer, "tokenizer.model");
    }

    void everyRowOfTheTablesIsComplete() {
        for (const FormatInfo& format : allFormats())
            QVERIFY(!format.id.empty() && !format.summary.empty() && format.extensions.front().starts_with('.') &&
                    format.open);
        for (const ArchitectureInfo& row : allArchitectures()) {
            QVERIFY(!row.id.empty() && !row.summary.empty() && !row.prefixes.empty());
            QVERIFY(!row.modelTypes.empty() || !row.ggufNames.empty());
            QVERIFY(row.modelTypes.empty() == row.hfTensors[0].empty());
        }
    }
};

SECATEUR_SUITE(TestModelConfig)
#include "tst_model_config.moc"
