// Masked exports of masks with a compensation: read back, they give the output of the masked model. They are refused
// where the source's format has no room for the biases.
#ifndef Q_MOC_RUN
#include "analysis/export/bias_room.h"
#include "analysis/running/runner.h"
#include "backends/export/export_targets.h"
#include "backends/formats/formats.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/mask_json.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/rounding_noise.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cstring>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-5; ///< of the largest logit; lower than the product's own limit

/// A mask with random cuts and a random compensation. @param biases whether the compensation adds biases
MaskRecord drawnRecord(const Model& model, unsigned seed, bool biases = true) {
    MaskRecord record;
    record.mask = withDrawnCompensation(DrawnMasks(model.spec(), seed).next(0.7), model.spec(), seed);
    for (int index = 0; !biases && index < record.mask.layerCount(); ++index) {
        LayerMask layer = record.mask.layer(index);
        LayerCompensation scales = compensationOf(layer);
        scales.attentionBias.clear();
        scales.mlpBias.clear();
        layer.compensation = std::make_shared<const LayerCompensation>(scales);
        record.mask.setLayer(index, layer);
    }
    return record;
}

ExportResult exported(const Model& source, const MaskRecord& record, const QString& path, bool mayReplace = false) {
    return exportModel(source, exportTarget("masked"), {record, path.toStdString(), mayReplace});
}

QString targetOf(const Scratch& scratch, const Model& model, const QString& name) {
    return scratch.path(name + (model.card().format == "gguf" ? ".gguf" : ""));
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QStringList namesIn(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot, QDir::Name);
}

/// Whether the masked export has room for the biases that a mask adds. It depends on the source's family and format.
bool hasRoom(const Model& model, const PruningMask& mask) {
    return maskedReasons(mask, model.spec(), model.card().format).empty();
}

std::vector<float> floatsOf(const TensorEntry& entry) {
    std::vector<float> values(entry.data.size() / sizeof(float));
    std::memcpy(values.data(), entry.data.data(), entry.data.size());
    return values;
}

/// A mask of a model of at least two layers that adds biases to layer 1 only.
MaskRecord biasesInOneLayer(const ModelSpec& spec) {
    MaskRecord record;
    record.mask = PruningMask(spec);
    LayerMask layer = record.mask.layer(1);
    LayerCompensation made;
    made.attentionBias.assign(static_cast<std::size_t>(spec.hidden), 0.5F);
    made.mlpBias.assign(static_cast<std::size_t>(spec.hidden), -0.25F);
    layer.compensation = std::make_shared<const LayerCompensation>(made);
    record.mask.setLayer(1, layer);
    return record;
}

} // namespace

class TestExportCompensation : public QObject {
    Q_OBJECT

private slots:
    void everyFixtureReadsBackOrSaysWhyNot_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("file");
        for (const QString& folder : fixtures())
            for (const QString& file : filesOf(folder))
                QTest::addRow("%s/%s", qPrintable(folder), qPrintable(file)) << folder << file;
        const QDir folders(data().filePath("forward"));
        for (const QString& folder : folders.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            for (const QString file : {"model.safetensors", "model.gguf"})
                if (folders.exists(folder + "/" + file))
                    QTest::addRow("forward/%s/%s", qPrintable(folder), qPrintable(file)) << "forward/" + folder << file;
    }
    void everyFixtureReadsBackOrSaysWhyNot() {
        QFETCH(QString, folder);
        QFETCH(QString, file);
        const auto model = fixture(folder, file);
        const Scratch scratch;
        const bool isRounded = model->card().format == "pytorch" && model->card().dtype != "F32";
        for (const bool biases : {false, true}) {
            const MaskRecord record = drawnRecord(*model, 3, biases);
            const QString target = targetOf(scratch, *model, biases ? "biases" : "scales");
            QVERIFY(biases || hasRoom(*model, record.mask));
            if (!hasRoom(*model, record.mask)) {
                const QString told = scratch.refusal([&] { exported(*model, record, target); });
                QVERIFY2(told.contains("the compensation adds a bias to the "), qPrintable(told));
                QVERIFY(!QFileInfo::exists(target));
                qInfo().noquote() << told;
            } else if (isRounded) {
                const QString told = scratch.refusal([&] { exported(*model, record, target); });
                QVERIFY2(told.contains("which rounds the numbers of the compensation"), qPrintable(told));
            } else {
                const ExportResult result = exported(*model, record, target);
                const double limit = test::roundingLimit(*model, record.mask, tolerance);
                qInfo("%s: difference %.1e of the largest logit, at most %.1e is rounding",
                      biases ? "biases" : "scales", result.verified.relative(), limit);
                QVERIFY(result.verified.relative() <= limit);
            }
        }
    }

    void transformersReadsTheBiasesOfLlama() {
        const Scratch scratch;
        const auto model = fixture("gqa-f32");
        const MaskRecord record = biasesInOneLayer(model->spec());
        exported(*model, record, scratch.path("out"));
        const nlohmann::json config = readJson(scratch.path("out/config.json"));
        QVERIFY(config.at("attention_bias") == true && config.at("mlp_bias") == true);
        nlohmann::json expected = readJson(data().filePath("gqa-f32/config.json"));
        expected["attention_bias"] = expected["mlp_bias"] = true;
        QVERIFY(config == expected);
        const std::string path = scratch.path("out").toStdString();
        const auto checkpoint = formatOf(path).open(path, {});
        const LayerSpec& shape = model->spec().layers[0];
        const auto bias = [&](int layer, const char* projection) {
            const TensorEntry* entry =
                checkpoint->find("model.layers." + std::to_string(layer) + "." + projection + ".bias");
            return entry ? floatsOf(*entry) : std::vector<float>();
        };
        const auto zeros = [](int size) { return std::vector<float>(static_cast<std::size_t>(size), 0.F); };
        for (int layer = 0; layer < model->spec().layerCount(); ++layer) {
            QCOMPARE(bias(layer, "self_attn.q_proj"), zeros(shape.heads * shape.headDim));
            QCOMPARE(bias(layer, "self_attn.k_proj"), zeros(shape.kvHeads * shape.headDim));
            QCOMPARE(bias(layer, "self_attn.v_proj"), zeros(shape.kvHeads * shape.headDim));
            QCOMPARE(bias(layer, "mlp.gate_proj"), zeros(shape.ffn));
            QCOMPARE(bias(layer, "mlp.up_proj"), zeros(shape.ffn));
            const std::vector<float>& added = compensationOf(record.mask.layer(layer)).attentionBias;
            QCOMPARE(bias(layer, "self_attn.o_proj"), layer == 1 ? added : zeros(model->spec().hidden));
        }
        QCOMPARE(bias(1, "mlp.down_proj"), compensationOf(record.mask.layer(1)).mlpBias);
    }

    void theIndexOfShardsListsTheBiases() {
        const Scratch scratch;
        const auto model = fixture("mqa-f32-sharded");
        exported(*model, biasesInOneLayer(model->spec()), scratch.path("out"));
        const nlohmann::json index = readJson(scratch.path("out/model.safetensors.index.json"));
        const nlohmann::json source = readJson(data().filePath("mqa-f32-sharded/model.safetensors.index.json"));
        const std::string last = "model.layers.1.mlp.down_proj.";
        QCOMPARE(index.at("weight_map").at(last + "bias"), source.at("weight_map").at(last + "weight"));
        QVERIFY(index.at("weight_map").size() > source.at("weight_map").size());
        const std::string path = scratch.path("out").toStdString();
        const auto checkpoint = formatOf(path).open(path, {});
        std::size_t bytes = 0;
        for (const TensorEntry& entry : checkpoint->tensors())
            bytes += entry.data.size();
        QCOMPARE(index.at("weight_map").size(), checkpoint->tensors().size());
        QCOMPARE(index.at("metadata").at("total_size").get<std::size_t>(), bytes);
    }

    void ggufGetsTheBiasesOfTheCompensatedLayersOnly() {
        const Scratch scratch;
        for (const char* folder : {"gqa-f32-gguf", "gqa-f16-gguf", "gqa-q8_0-gguf", "gqa-q4_1-gguf"}) {
            const auto model = fixture(folder);
            const MaskRecord record = biasesInOneLayer(model->spec());
            const QString target = scratch.path(QString(folder) + ".gguf");
            const ExportResult result = exported(*model, record, target);
            QVERIFY(result.warnings.empty());
            const auto before = formatOf(model->card().path).open(model->card().path, {});
            const auto after = formatOf(target.toStdString()).open(target.toStdString(), {});
            QCOMPARE(after->tensors().size(), before->tensors().size() + 2);
            for (const TensorEntry& entry : before->tensors()) {
                const TensorEntry* found = after->find(entry.name);
                QVERIFY(found && found->type == entry.type && found->shape == entry.shape &&
                        std::ranges::equal(found->data, entry.data));
            }
            const TensorEntry* added = after->find("blk.1.attn_output.bias");
            QVERIFY(added && floatsOf(*added) == compensationOf(record.mask.layer(1)).attentionBias);
            added = after->find("blk.1.ffn_down.bias");
            QVERIFY(added && floatsOf(*added) == compensationOf(record.mask.layer(1)).mlpBias);
        }
    }

    void scaledTensorsOfFewBitsBecomeFloat32() {
        const Scratch scratch;
        for (const char* folder : {"gqa-bf16", "gqa-q8_0-gguf"}) {
            const auto model = fixture(folder);
            const MaskRecord record = drawnRecord(*model, 3, false);
            const QString target = targetOf(scratch, *model, folder);
            const ExportResult result = exported(*model, record, target);
            QVERIFY(std::ranges::any_of(result.warnings, [](const std::string& warning) {
                return warning.find("is stored as F32, because its type would round the numbers of the compensation") !=
                       std::string::npos;
            }));
            const auto before = formatOf(model->card().path).open(model->card().path, {});
            const auto after = formatOf(target.toStdString()).open(target.toStdString(), {});
            int widened = 0;
            for (const TensorEntry& entry : before->tensors()) {
                const TensorEntry* found = after->find(entry.name);
                QVERIFY(found && found->shape == entry.shape);
                widened += found->type != entry.type ? 1 : 0;
                QVERIFY(found->type == entry.type || found->type->name == "F32");
            }
            QVERIFY(widened > 0);
        }
    }

    void theMaskBesideTheExportHasTheCompensation() {
        const Scratch scratch;
        const auto llama = fixture("gqa-f32");
        const MaskRecord record = biasesInOneLayer(llama->spec());
        const ExportResult folder = exported(*llama, record, scratch.path("out"));
        QCOMPARE(namesIn(scratch.path("out")),
                 (QStringList{"README.md", "config.json", "expected.json", "model.mask.compensation", "model.mask.json",
                              "model.safetensors"}));
        QCOMPARE(folder.files.size(), std::size_t(6));
        const auto maskOf = [&](const QString& path) {
            return readMask(scratch.path(path).toStdString(), llama->spec(), "").record.mask;
        };
        QVERIFY(maskOf("out/model.mask.json") == record.mask);
        QVERIFY(contentOf(scratch.path("out/README.md")).contains("| 1 | compensated |"));
        QVERIFY(contentOf(scratch.path("out/README.md")).contains("the compensation of the mask is in the output"));

        const auto gguf = fixture("gqa-f32-gguf");
        exported(*gguf, record, scratch.path("m.gguf"));
        const QString compensation = QString("m.%1.compensation.safetensors")
                                         .arg(QString::fromStdString(compensationSum(record.mask).substr(0, 16)));
        QVERIFY(namesIn(scratch.path()).contains(compensation));
        QVERIFY(maskOf("m.mask.json") == record.mask);
        MaskRecord plain;
        plain.mask = PruningMask(gguf->spec());
        LayerMask cut = plain.mask.layer(0);
        cut.heads[0] = false;
        plain.mask.setLayer(0, cut);
        exported(*gguf, plain, scratch.path("m.gguf"), true);
        QCOMPARE(namesIn(scratch.path()), (QStringList{"m.gguf", "m.mask.json", "m.md", "out"}));
    }

    void anExportThatIsExportedAgainHasOnlyItsOwnCompensation() {
        const Scratch scratch;
        const auto model = fixture("gqa-f32");
        exported(*model, biasesInOneLayer(model->spec()), scratch.path("first"));
        const auto again = openModel(scratch.path("first").toStdString());
        MaskRecord plain;
        plain.mask = PruningMask(again->spec());
        LayerMask cut = plain.mask.layer(0);
        cut.mlp = false;
        plain.mask.setLayer(0, cut);
        exported(*again, plain, scratch.path("second"));
        QVERIFY(!namesIn(scratch.path("second")).contains("model.mask.compensation"));
        // The first export has biases now, which take those of another compensation.
        const ExportResult result = exported(*again, biasesInOneLayer(again->spec()), scratch.path("third"));
        QVERIFY(result.verified.relative() <= tolerance);
    }

    void roomIsSaidByFamilyAndFormat() {
        const auto room = [](const char* architecture, bool attention, const char* format) {
            ModelSpec spec;
            spec.architecture = architecture;
            return biasRoom(spec, LayerSpec(), attention, format);
        };
        for (const bool attention : {true, false}) {
            QVERIFY(room("llama", attention, "safetensors") == BiasRoom::addedToAll);
            QVERIFY(room("llama", attention, "gguf") == BiasRoom::addedOnce);
            QVERIFY(room("llama", attention, "pytorch") == BiasRoom::none);
            QVERIFY(room("mistral", attention, "safetensors") == BiasRoom::none);
            QVERIFY(room("qwen3", attention, "gguf") == BiasRoom::none);
        }
        QVERIFY(room("gemma2", true, "safetensors") == BiasRoom::addedToAll);
        QVERIFY(room("gemma2", false, "safetensors") == BiasRoom::none);
        LayerSpec biased;
        biased.outputBias = true;
        ModelSpec spec;
        spec.architecture = "phi";
        QVERIFY(biasRoom(spec, biased, true, "pytorch") == BiasRoom::own);
    }
};

SECATEUR_SUITE(TestExportCompensation)
#include "tst_export_compensation.moc"
