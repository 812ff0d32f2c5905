// Checkpoints whose layers differ, written by tests/data/make_ragged_fixtures.py: per_layer_config, DeciLM's
// block_configs, and GGUF of OpenELM. Logits of the engine against transformers and a reference in PyTorch.

#ifndef Q_MOC_RUN
#include "analysis/running/runner_results.h"
#include "backends/formats/hf_config.h"
#include "tests/support/engine_case.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;
using nlohmann::json;

namespace {

constexpr double tolerance = 1e-5; ///< of logits, relative to the largest expected logit

QDir folders() {
    return QDir(data().filePath("ragged"));
}

std::string modelIn(const QString& folder) {
    const QString gguf = folder + "/model.gguf";
    return folders().filePath(folders().exists(gguf) ? gguf : folder).toStdString();
}

json configOf(const QString& folder) {
    return readJson(folders().filePath(folder + "/config.json"));
}

CheckpointDescription described(const json& config) {
    const Scratch scratch;
    return describeHf("model", scratch.write("config.json", QByteArray::fromStdString(config.dump())));
}

QString refusalOf(const json& config) {
    const Scratch scratch;
    const std::string path = scratch.write("config.json", QByteArray::fromStdString(config.dump()));
    return scratch.refusal([&] { describeHf("model", path); });
}

} // namespace

class TestRagged : public QObject {
    Q_OBJECT

private slots:
    void logitsAreTheJudges_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<bool>("plain");
        for (const QString& folder : folders().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            for (const bool plain : {false, true})
                QTest::addRow("%s%s", qPrintable(folder), plain ? " plain" : "") << folder << plain;
    }
    void logitsAreTheJudges() {
        QFETCH(QString, folder);
        QFETCH(bool, plain);
        const auto model = openModel(modelIn(folder), {}, {.plain = plain});
        const JudgedRun judged(folders().filePath(folder));
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        const at::Tensor last = streamsOf(model->runner(), *plan, judged.batch()).back();
        const double error = judged.error("logits", model->runner().lmHead(*plan, last, judged.batch()));
        qInfo("logits %.1e", error);
        QVERIFY(error < tolerance);
    }

    /// Masks of models with layers that lack sublayers or bypass their queries and keys.
    void aMaskIsTheModelWithZeroedUnits_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"mistral", "llama", "qwen2", "qwen3", "gemma2", "gemma3", "shapes"})
            QTest::newRow(folder) << folder;
    }
    void aMaskIsTheModelWithZeroedUnits() {
        QFETCH(QString, folder);
        const auto model = openModel(modelIn(folder));
        const Batch batch = JudgedRun(folders().filePath(folder)).batch();
        const auto streams = [&](const Runner& runner, const PruningMask& mask) {
            return streamsOf(runner, *runner.plan(mask, ComputeType::float32), batch);
        };
        for (const auto& [name, mask] : MaskMaker(model->spec()).several()) {
            const ZeroedModel zeroed(*model, mask);
            const auto runner = makeRunner(zeroed, {});
            const double error =
                apart(streams(model->runner(), mask), streams(*runner, PruningMask(model->spec())), batch);
            const double effect =
                apart(streams(model->runner(), mask), streams(model->runner(), PruningMask(model->spec())), batch);
            qInfo("%s %.1e, effect of the mask %.1e", name, error, effect);
            QVERIFY2(error < tolerance, name);
            QVERIFY2(effect > 0.01, name);
        }
    }

    void noKeyOrTensorIsUnknown() {
        for (const QString& folder : folders().entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            const auto warnings = openModel(modelIn(folder))->card().warnings;
            QVERIFY2(warnings.empty(), warnings.empty() ? "" : warnings.front().c_str());
        }
    }

    void layersHaveTheShapesOfTheFile_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("structure");
        QTest::newRow("mistral") << "mistral" << "1x0/0x6+11,1x2/1x6+17,1x2/2x6+0,1x2/2x6+5";
        QTest::newRow("decilm") << "decilm" << "1x3/1x4+256,1x0/0x4+256,1x3/0x4+0,1x3/3x4+0";
        QTest::newRow("shapes") << "shapes" << "1x4/2x6+17,1x2/1x10+9,1x3/3x4+17";
        QTest::newRow("openelm") << "openelm" << "1x4/2x6+17,1x2/1x6+9,1x3/3x6+21";
    }
    void layersHaveTheShapesOfTheFile() {
        QFETCH(QString, folder);
        QFETCH(QString, structure);
        QCOMPARE(QString::fromStdString(openModel(modelIn(folder))->spec().structure()), structure);
    }

    void settingsOfALayerAreRead() {
        const ModelSpec spec = described(configOf("mistral")).spec;
        QCOMPARE(spec.architecture, "mistral");
        QVERIFY(spec.layers[0].attention == AttentionKind::none);
        QVERIFY(spec.layers[1].attention == AttentionKind::valueOnly);
        QCOMPARE(spec.layers[1].alpha, 0.75);
        QVERIFY(!spec.layers[1].outputBias && spec.layers[1].downBias);
        QVERIFY(spec.layers[2].outputBias && !spec.layers[2].downBias);
        const ModelSpec shapes = described(configOf("shapes")).spec;
        QCOMPARE(shapes.layers[0].window, 4);
        QCOMPARE(shapes.layers[1].window, 0);
        QCOMPARE(shapes.layers[2].window, 6);
        QCOMPARE(shapes.layers[1].rotary.dims, 10);
        QCOMPARE(shapes.layers[1].scoreScale, 1 / std::sqrt(10.0));
        QVERIFY(described(configOf("decilm")).spec.layers[2].attention == AttentionKind::linear);
    }

    void secateurTypesAreTheirArchitectures_data() {
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("architecture");
        for (const char* name : {"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi"})
            QTest::newRow(name) << QString("secateur_") + name << name;
        QTest::newRow("text") << "secateur_gemma3_text" << "gemma3";
    }
    void secateurTypesAreTheirArchitectures() {
        QFETCH(QString, type);
        QFETCH(QString, architecture);
        QCOMPARE(QString::fromStdString(described({{"model_type", type.toStdString()}}).spec.architecture),
                 architecture);
    }

    void ownSettingsMayHoldForAllLayers() {
        json config{{"model_type", "secateur_mistral"},
                    {"num_hidden_layers", 2},
                    {"attention_output_bias", true},
                    {"per_layer_config", {{"1", {{"attention_output_bias", false}, {"mlp_output_bias", true}}}}}};
        const ModelSpec spec = described(config).spec;
        QVERIFY(spec.layers[0].outputBias && !spec.layers[0].downBias);
        QVERIFY(!spec.layers[1].outputBias && spec.layers[1].downBias);
    }

    void onlyWindowedLayersHaveTheWindowOfTheirEntry() {
        const ModelSpec spec =
            described({{"model_type", "gemma2"},
                       {"num_hidden_layers", 2},
                       {"per_layer_config", {{"0", {{"sliding_window", 7}}}, {"1", {{"sliding_window", 9}}}}}})
                .spec;
        QCOMPARE(spec.layers[0].window, 7);
        QCOMPARE(spec.layers[1].window, 0);
    }

    /// int(2 * multiple * hidden / 3), rounded up to a multiple of 256.
    void widthsOfDeciLmAreRoundedUp_data() {
        QTest::addColumn<double>("multiple");
        QTest::addColumn<int>("hidden");
        QTest::addColumn<int>("width");
        QTest::newRow("Llama 3.1 70B") << 5.25 << 8192 << 28672;
        QTest::newRow("a quarter") << 1.3125 << 8192 << 7168;
        QTest::newRow("rounded") << 0.5 << 4096 << 1536;
        QTest::newRow("the fraction does not count") << 1.0002 << 384 << 256;
        QTest::newRow("one more") << 1.01 << 384 << 512;
        QTest::newRow("small") << 0.001 << 1500 << 256;
    }
    void widthsOfDeciLmAreRoundedUp() {
        QFETCH(double, multiple);
        QFETCH(int, hidden);
        QFETCH(int, width);
        json config = configOf("decilm");
        config["hidden_size"] = hidden;
        config["num_attention_heads"] = 4;
        for (json& block : config["block_configs"]) {
            block["attention"]["no_op"] = true;
            block["attention"]["replace_with_linear"] = false;
        }
        config["block_configs"][0]["ffn"]["ffn_mult"] = multiple;
        QCOMPARE(described(config).spec.layers[0].ffn, width);
    }

    void unknownSettingsAreNamed() {
        const QString prefix = "config.json has a key that is not known and may change what the model computes: ";
        const auto warning = [](const json& config) {
            const auto warnings = described(config).warnings;
            return warnings.empty() ? QString() : QString::fromStdString(warnings.front());
        };
        QCOMPARE(warning({{"model_type", "llama"}, {"per_layer_config", {{"1", {{"logit_scale", 2}}}}}}),
                 prefix + "per_layer_config.1.logit_scale");
        QCOMPARE(warning({{"model_type", "llama"}, {"per_layer_config", {{"1", {{"sliding_window", 2}}}}}}),
                 prefix + "per_layer_config.1.sliding_window");
        json config = configOf("decilm");
        for (json& block : config["block_configs"])
            block["ffn"]["gated"] = true;
        QCOMPARE(warning(config), prefix + "block_configs.ffn.gated");
    }

    void aHeadSizeThatIsNotStatedIsRefused() {
        const auto config = [](const char* type) {
            return json{{"model_type", type}, {"per_layer_config", {{"1", {{"num_attention_heads", 16}}}}}};
        };
        for (const char* type : {"llama", "mistral", "qwen2"})
            QCOMPARE(refusalOf(config(type)), "config.json: per_layer_config: 1: num_attention_heads: needs head_dim, "
                                              "which the configuration does not state");
        QCOMPARE(refusalOf(config("qwen3")), "config.json: layer 1 has 16 heads, not a multiple of its 32 KV heads");
    }

    void aFusedTensorOfOpenElmHasTheRowsOfItsLayer() {
        QFile file(folders().filePath("openelm/model.gguf"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QByteArray bytes = file.readAll();
        const auto counts = [](std::initializer_list<qint32> values) {
            QByteArray text;
            for (const qint32 value : values)
                text += little(value);
            return text;
        };
        QCOMPARE(bytes.count(counts({2, 1, 3})), 1);
        const Scratch scratch;
        const std::string path = scratch.write("model.gguf", bytes.replace(counts({2, 1, 3}), counts({2, 2, 3})));
        QCOMPARE(scratch.refusal([&] { openModel(path); }),
                 "model.gguf: blk.1.attn_qkv.weight: has shape [24, 14], but the configuration requires [36, 14]");
    }

    void aTensorThatTheConfigurationDoesNotExpectIsNamed() {
        const Scratch scratch;
        json config = configOf("mistral");
        config["per_layer_config"]["3"]["intermediate_size"] = 6;
        scratch.write("config.json", QByteArray::fromStdString(config.dump()));
        QFile::copy(folders().filePath("mistral/model.safetensors"), scratch.path("model.safetensors"));
        QCOMPARE(scratch.refusal([&] { openModel(scratch.path().toStdString()); }),
                 "model.safetensors: model.layers.3.mlp.gate_proj.weight: has shape [5, 14], but the configuration "
                 "requires [6, 14]");
    }
};

SECATEUR_SUITE(TestRagged)
#include "tst_ragged.moc"
