// Adapters: those that PEFT saved give the output of transformers with PEFT, what is written is read back, damaged
// folders are refused, and merged exports give the output of the adapted model under its mask.
#ifndef Q_MOC_RUN
#include "analysis/export/model_comparison.h"
#include "analysis/masks/projection_weight.h"
#include "backends/base/sha256.h"
#include "backends/engine/adapted_model.h"
#include "backends/export/export_targets.h"
#include "backends/session/mask_json.h"
#include "backends/training/peft_files.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/files.h"
#include "tests/support/judged_run.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <algorithm>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-4; ///< of outputs, relative to the largest expected number

QString adapterFolder(const QString& name) {
    return data().filePath("adapters/" + name);
}

std::shared_ptr<const Model> baseModel(const QString& name, const QString& file = "model.safetensors") {
    const QString forward = "forward/" + name;
    return openModel(data().filePath((data().exists(forward) ? forward : name) + "/" + file).toStdString());
}

void addAdapters() {
    QTest::addColumn<QString>("name");
    for (const QString& name : QDir(data().filePath("adapters")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        QTest::newRow(qPrintable(name)) << name;
}

/// The residual stream before the output head.
at::Tensor streamOf(const Model& model, const Plan& plan, const Batch& batch) {
    at::Tensor x = model.runner().embed(plan, batch);
    for (int layer = 0; layer < model.spec().layerCount(); ++layer)
        x = model.runner().runLayer(plan, layer, x, batch);
    return x;
}

/// The largest difference of a model's output from the expected one. @param name "logits" or "plain"
double errorOf(const Model& model, const JudgedRun& judged, const std::string& name) {
    const auto plan = model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
    return judged.error(name, model.runner().lmHead(*plan, streamOf(model, *plan, judged.batch()), judged.batch()));
}

std::vector<float> drawn(std::int64_t count, std::mt19937& random, double deviation) {
    std::normal_distribution<double> normal(0, deviation);
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& number : numbers)
        number = static_cast<float>(normal(random));
    return numbers;
}

/// An adapter of every projection, and of the norms and the classifier. @param some whether it has only some of the
/// projections, of different ranks
Adapter drawnAdapter(const Model& model, unsigned seed, bool some = false) {
    std::mt19937 random(seed);
    Adapter adapter{{3, 6, 0.05}, "drawn", model.fingerprint(), {}, {}};
    const ModelSpec& spec = model.spec();
    for (int layer = -1; layer < spec.layerCount(); ++layer)
        for (std::size_t i = 0; i < weightNameCount; ++i) {
            const auto name = static_cast<WeightName>(i);
            if (!model.has(layer, name) || (layer >= 0 && spec.firstSharing(layer) != layer))
                continue;
            const std::vector<std::int64_t> shape = expectedShape(spec, layer, name);
            if (canHaveUpdate(name) && (!some || (static_cast<int>(i) + layer) % 2 == 0)) {
                const int rank = some ? 1 + static_cast<int>(i) % 4 : 3;
                adapter.updates[{layer, name}] = {rank, some ? 0.5 * rank : 2.0,
                                                  drawn(rank * shape[1], random, 1 / std::sqrt(shape[1])),
                                                  drawn(rank * shape[0], random, 0.1)};
            } else if (isNorm(name) || name == WeightName::classifier || name == WeightName::classifierBias) {
                const at::Tensor own = model.tensor(layer, name).to(at::kFloat).contiguous();
                std::vector<float> numbers = drawn(own.numel(), random, 0.1);
                for (std::size_t at = 0; at < numbers.size(); ++at)
                    numbers[at] += own.data_ptr<float>()[at];
                adapter.weights[{layer, name}] = std::move(numbers);
            }
        }
    return adapter;
}

std::shared_ptr<const Model> adapted(const std::shared_ptr<const Model>& base, Adapter adapter) {
    return withAdapter(base, std::make_shared<const Adapter>(std::move(adapter)), {});
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// A copy of an adapter of PEFT, to be damaged.
void copyAdapter(const QString& name, const Scratch& scratch) {
    for (const char* file : {"adapter_config.json", "adapter_model.safetensors"})
        scratch.write(file, contentOf(adapterFolder(name) + "/" + file));
}

bool canExport(const Model& model, const ExportTarget& target, const PruningMask& mask) {
    try {
        ExportRequest request;
        request.record.mask = mask;
        exportSize(model, target, request);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// The targets that can hold a model under a mask.
std::vector<const ExportTarget*> targetsFor(const Model& model, const PruningMask& mask) {
    std::vector<const ExportTarget*> found;
    for (const ExportTarget& target : exportTargets())
        if (target.writer && canExport(model, target, mask))
            found.push_back(&target);
    return found;
}

ExportResult exported(const Model& model, const ExportTarget& target, const PruningMask& mask, const Scratch& scratch,
                      const std::string& type = {}) {
    const bool isGguf = (target.format.empty() ? model.card().format : std::string(target.format)) == "gguf";
    ExportRequest request;
    request.record.mask = mask;
    request.type = type;
    request.path = scratch.path(QString::fromUtf8(target.id.data()) + (isGguf ? ".gguf" : "")).toStdString();
    return exportModel(model, target, request);
}

/// The largest difference between the weights of two models, relative to the largest number of each.
double weightDifference(const Model& found, const Model& expected) {
    double worst = 0;
    for (int layer = -1; layer < expected.spec().layerCount(); ++layer)
        for (std::size_t i = 0; i < weightNameCount; ++i) {
            const auto name = static_cast<WeightName>(i);
            if (found.has(layer, name) != expected.has(layer, name))
                return std::numeric_limits<double>::infinity();
            if (!found.has(layer, name))
                continue;
            const at::Tensor own = expected.tensor(layer, name).to(at::kFloat);
            const double difference = (found.tensor(layer, name).to(at::kFloat) - own).abs().max().item<double>();
            worst = std::max(worst, difference / std::max(own.abs().max().item<double>(), 1e-9));
        }
    return worst;
}

/// A damage of an adapter: a text in a file that is replaced by another one.
struct Damage {
    const char* file;
    const char* from;
    const char* to;
    const char* told;
};

constexpr const char* configFile = "adapter_config.json";
constexpr const char* weightsFile = "adapter_model.safetensors";

constexpr std::array damages{
    Damage{configFile, "\"LORA\"", "\"IA3\"", "adapter_config.json: peft_type: only LORA is read, found \"IA3\""},
    Damage{configFile, "\"use_dora\": false", "\"use_dora\": true", "adapter_config.json: use_dora: DoRA is not read"},
    Damage{configFile, "\"bias\": \"none\"", "\"bias\": \"all\"",
           "adapter_config.json: bias: trained biases are not read: expected \"none\", found \"all\""},
    Damage{configFile, "\"r\": 3", "\"r\": 0", "adapter_config.json: r"},
    Damage{configFile, "\"r\": 3", "\"r\": 4", "has shape [3, "},
    Damage{configFile, "\"lora_alpha\": 7", "\"lora_alpha\": -7",
           "adapter_config.json: lora_alpha: expected a positive number, found -7"},
    Damage{configFile, "\"alpha_pattern\": {}", "\"alpha_pattern\": {\"q_.*\": 2}",
           "alpha_pattern: q_.*: is a regular expression; only names of modules are read"},
    Damage{configFile, "\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"",
           "init_lora_weights: \"pissa\" changes the weights of the model too"},
    Damage{configFile, "\"trainable_token_indices\": null", "\"trainable_token_indices\": [1]",
           "trainable_token_indices: trained tokens is not read"},
    Damage{configFile, "{", "", "adapter_config.json"},
    Damage{weightsFile, "layers.0.self_attn.q_proj.lora_A", "layers.7.self_attn.q_proj.lora_A",
           "layers.0.self_attn.q_proj.lora_B.weight: has no lora_A, which belongs to it"},
    Damage{weightsFile, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
           "base_model_model.model.layers.0.self_attn.q_proj.lora_A.weight",
           "has another name than tensors of PEFT, which begin with base_model.model."},
    Damage{weightsFile, "q_proj.lora_A.weight", "q_proj.lora_magn.vec", "is not a weight that an adapter changes"},
    Damage{weightsFile, "model.model.norm.weight", "model.model.form.weight",
           "is not a weight that an adapter changes"},
    Damage{weightsFile, "\"F32\"", "\"I32\"", "is stored as I32; expected F32, F16, BF16"},
};

} // namespace

class TestAdapters : public QObject {
    Q_OBJECT

private slots:
    void adaptersOfPeftGiveItsOutput_data() { addAdapters(); }
    void adaptersOfPeftGiveItsOutput() {
        QFETCH(QString, name);
        const JudgedRun judged(adapterFolder(name));
        const auto base = baseModel(name);
        const Adapter adapter = readAdapter(adapterFolder(name).toStdString(), *base);
        const auto model = adapted(base, adapter);
        const std::string kind = judged.has("logits") ? "logits" : "pooled";
        const double error = errorOf(*model, judged, kind);
        const double without = errorOf(*base, judged, "plain");
        qInfo("%zu updates, %zu weights: error %.1e with the adapter, %.1e without", adapter.updates.size(),
              adapter.weights.size(), error, without);
        QVERIFY(error < tolerance && without < tolerance);
        QVERIFY(errorOf(*base, judged, kind) > 100 * tolerance);
    }

    void whatIsWrittenIsReadBack_data() { addAdapters(); }
    void whatIsWrittenIsReadBack() {
        QFETCH(QString, name);
        const auto base = baseModel(name);
        for (const bool some : {false, true}) {
            const Scratch scratch;
            const Adapter adapter = drawnAdapter(*base, 5, some);
            writeAdapter(scratch.path("out").toStdString(), adapter, *base);
            const Adapter read = readAdapter(scratch.path("out").toStdString(), *base);
            QCOMPARE(read.settings, adapter.settings);
            QCOMPARE(read.fingerprint, adapter.fingerprint);
            QVERIFY(read.weights == adapter.weights);
            QCOMPARE(read.updates.size(), adapter.updates.size());
            for (const auto& [place, update] : adapter.updates) {
                const LowRankUpdate& own = read.updates.at(place);
                QVERIFY(own.rank == update.rank && own.a == update.a);
                // The updates of a fused matrix have one scale.
                for (std::size_t i = 0; i < update.b.size(); ++i)
                    QVERIFY(std::abs(own.scale * own.b[i] - update.scale * update.b[i]) < 1e-6);
            }
        }
    }

    void aGgufModelHasTheNamesOfItsClass() {
        for (const QString name : {"llama-gqa", "gemma3-gguf", "gpt2", "phi", "bert-bare", "mistral-full"}) {
            const Scratch scratch;
            const auto model = baseModel(name);
            const auto gguf = baseModel(name, "model.gguf");
            const Adapter adapter = drawnAdapter(*model, 6);
            writeAdapter(scratch.path("hf").toStdString(), adapter, *model);
            writeAdapter(scratch.path("gguf").toStdString(), adapter, *gguf);
            QCOMPARE(contentOf(scratch.path("hf/adapter_model.safetensors")),
                     contentOf(scratch.path("gguf/adapter_model.safetensors")));
            const Batch batch = probeTokens(model->spec());
            const auto one = adapted(model, adapter);
            const auto other = adapted(gguf, adapter);
            const auto plan = [](const Model& of) {
                return of.runner().plan(PruningMask(of.spec()), ComputeType::float32);
            };
            const at::Tensor expected = streamOf(*one, *plan(*one), batch);
            const at::Tensor found = streamOf(*other, *plan(*other), batch);
            QVERIFY((found - expected).abs().max().item<double>() < tolerance * expected.abs().max().item<double>());
        }
    }

    /// A classifier that only the adapter has is written for a model without one, and for one with other classes.
    void aNewClassifierIsWritten_data() {
        QTest::addColumn<QString>("folder");
        QTest::newRow("none") << "bert-bare";
        QTest::newRow("other classes") << "bert";
    }
    void aNewClassifierIsWritten() {
        QFETCH(QString, folder);
        const auto model = baseModel(folder);
        Adapter adapter = newClassifier(model->spec(), 5);
        std::mt19937 random(3);
        for (auto& [place, numbers] : adapter.weights)
            numbers = drawn(std::ssize(numbers), random, 1);
        const Scratch scratch;
        writeAdapter(scratch.path("adapter").toStdString(), adapter, *model);
        QVERIFY(readAdapter(scratch.path("adapter").toStdString(), *model).weights == adapter.weights);
    }

    void theMaskLiesBesideItsAdapter() {
        const Scratch scratch;
        const auto base = baseModel("llama-gqa");
        const std::string folder = scratch.path("out").toStdString();
        MaskRecord record;
        record.mask = DrawnMasks(base->spec(), 3).next(0.6);
        record.fingerprint = base->fingerprint();
        writeAdapter(folder, drawnAdapter(*base, 7), *base, &record);
        const AdapterOrigin origin = adapterOrigin(folder);
        QCOMPARE(origin.fingerprint, base->fingerprint());
        QCOMPARE(origin.maskDigest, maskDigest(record.mask));
        QVERIFY(readMask(origin.maskPath, base->spec(), base->fingerprint()).record.mask == record.mask);
        writeAdapter(folder, drawnAdapter(*base, 8), *base); // replaces the adapter; the mask is no longer its own
        QVERIFY(adapterOrigin(folder).maskPath.empty());
        QCOMPARE(adapterOrigin(adapterFolder("gpt2").toStdString()).maskDigest, std::string());
    }

    void damagedFoldersAreRefused() {
        const auto base = baseModel("llama-gqa");
        for (const Damage& damage : damages) {
            const Scratch scratch;
            copyAdapter("llama-gqa", scratch);
            QByteArray content = contentOf(scratch.path(damage.file));
            QVERIFY2(content.contains(damage.from), damage.from);
            const int begin = content.indexOf(damage.from);
            content.replace(begin, QByteArray(damage.from).size(), damage.to);
            scratch.write(damage.file, content);
            const QString told = scratch.refusal([&] { readAdapter(scratch.path().toStdString(), *base); });
            QVERIFY2(told.contains(damage.told), qPrintable(QString(damage.to) + " -> " + told));
        }
    }

    void otherFoldersAreRefused() {
        const Scratch scratch;
        const auto base = baseModel("llama-gqa");
        const auto told = [&](const QString& folder, const Model& model) {
            return scratch.refusal([&] { readAdapter(folder.toStdString(), model); });
        };
        QVERIFY(told(scratch.path("none"), *base).contains("adapter_config.json"));
        copyAdapter("llama-gqa", scratch);
        QFile::remove(scratch.path(weightsFile));
        QVERIFY(told(scratch.path(), *base).contains("has no adapter_model.safetensors"));
        scratch.write("adapter_model.bin", "PK");
        QVERIFY(told(scratch.path(), *base).contains("has adapter_model.bin, a pickle"));
        QVERIFY2(told(adapterFolder("qwen3"), *base).contains("is not a weight that an adapter changes"),
                 qPrintable(told(adapterFolder("qwen3"), *base)));
        QVERIFY2(told(adapterFolder("mistral"), *base)
                     .contains("has shape [4, 18], but the model and "
                               "adapter_config.json need [4, 20]"),
                 qPrintable(told(adapterFolder("mistral"), *base)));
        QVERIFY(told(adapterFolder("bert-bare"), *base).contains("updates a module that the model does not have"));
        Adapter adapter = drawnAdapter(*base, 9);
        adapter.updates.begin()->second.b.front() = std::numeric_limits<float>::infinity();
        QVERIFY(scratch.refusal([&] { writeAdapter(scratch.path("x").toStdString(), adapter, *base); })
                    .contains("numbers that are not finite"));
        QVERIFY(!QFileInfo::exists(scratch.path("x")));
    }

    void anAdapterChangesTheFingerprint() {
        const auto base = baseModel("llama-gqa");
        Adapter adapter = drawnAdapter(*base, 10);
        const auto model = adapted(base, adapter);
        QVERIFY(model->fingerprint().starts_with("sha256:") && model->fingerprint() != base->fingerprint());
        QCOMPARE(adapted(base, adapter)->fingerprint(), model->fingerprint());
        adapter.updates.begin()->second.scale *= 2;
        QVERIFY(adapted(base, adapter)->fingerprint() != model->fingerprint());
        QVERIFY(&baseOf(*model) == base.get() && adapterOf(*model) && !adapterOf(*base));
        QCOMPARE(QString::fromStdString(model->card().name), QString::fromStdString(base->card().name + " + adapter"));
    }

    void anUpdateIsAddedToTheWeightOfACompensation() {
        const auto base = baseModel("llama-gqa");
        const auto model = adapted(base, drawnAdapter(*base, 11));
        LayerCompensation own;
        const std::vector<std::int64_t> shape = expectedShape(base->spec(), 0, WeightName::output);
        std::mt19937 random(1);
        own.outputWeight = std::make_shared<const std::vector<float>>(drawn(shape[0] * shape[1], random, 1));
        const at::Tensor found = projectionWeight(*model, 0, WeightName::output, own);
        const at::Tensor expected = tensorOf(own.outputWeight, shape[0]) + model->update(0, WeightName::output);
        QVERIFY(at::equal(found, expected));
        const at::Tensor plain = model->tensor(0, WeightName::output) - base->tensor(0, WeightName::output);
        QVERIFY(at::allclose(plain, model->update(0, WeightName::output), 1e-4, 1e-5));
    }

    void mergedExportsGiveTheMaskedAdaptedModel_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("file");
        for (const QString& folder : QDir(data().filePath("forward")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            for (const QString file : {"model.safetensors", "model.gguf"})
                if (data().exists("forward/" + folder + "/" + file))
                    QTest::addRow("%s/%s", qPrintable(folder), qPrintable(file)) << folder << file;
        for (const char* folder : {"gqa-bf16", "gemma3-multimodal", "gpt2-hub"})
            QTest::addRow("%s", folder) << folder << "model.safetensors";
        QTest::addRow("sharded") << "mqa-f32-sharded" << ".";
        for (const char* folder : {"gqa-f16-gguf", "gqa-q8_0-gguf", "bias-f16-gguf", "deci-gguf"})
            QTest::addRow("%s", folder) << folder << "model.gguf";
    }
    void mergedExportsGiveTheMaskedAdaptedModel() {
        QFETCH(QString, folder);
        QFETCH(QString, file);
        const auto base = baseModel(folder, file);
        const auto model = adapted(base, drawnAdapter(*base, 12));
        QStringList told;
        for (unsigned seed = 0; seed < 3; ++seed) {
            PruningMask mask(model->spec());
            if (seed > 0)
                mask = DrawnMasks(model->spec(), seed).next(seed == 1 ? 0.9 : 0.6);
            if (seed == 2)
                mask = withDrawnCompensation(mask, model->spec(), seed);
            for (const ExportTarget* target : targetsFor(*base, mask)) {
                const Scratch scratch;
                const ExportResult result = exported(*model, *target, mask, scratch);
                told << QString("%1 %2").arg(QString::fromUtf8(target->id.data())).arg(result.verified.relative());
                if (seed > 0 || !target->writer->isReadBack || result.tolerance > 1e-3)
                    continue;
                const auto read = openModel(result.path);
                if (read->spec().structure() == model->spec().structure()) // DeciLM pads MLPs
                    QVERIFY(weightDifference(*read, *model) < 1e-6);
            }
        }
        QVERIFY(!told.isEmpty());
        qInfo().noquote() << told.join(", ");
    }

    /// An adapter that is not merged has the shapes of the export: with it, the export gives the output of the adapted
    /// model under its mask (the export checks that), also after its files were written and read.
    void separateAdaptersHaveTheShapesOfTheExport_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder : QDir(data().filePath("forward")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            if (data().exists("forward/" + folder + "/model.safetensors"))
                QTest::addRow("%s", qPrintable(folder)) << folder;
        for (const char* folder : {"gqa-bf16", "gemma3-multimodal", "gpt2-hub"})
            QTest::addRow("%s", folder) << folder;
    }
    void separateAdaptersHaveTheShapesOfTheExport() {
        QFETCH(QString, folder);
        const auto base = baseModel(folder);
        const auto adapter = std::make_shared<const Adapter>(drawnAdapter(*base, 15, folder.size() % 2 == 0));
        QStringList told;
        for (unsigned seed = 0; seed < 6; ++seed) {
            PruningMask mask = seed > 0 ? DrawnMasks(base->spec(), seed).next(seed % 2 == 1 ? 0.9 : 0.6)
                                        : PruningMask(base->spec());
            if (seed == 2)
                mask = withDrawnCompensation(mask, base->spec(), seed);
            if (seed > 3)
                mask = legalised(mask, base->spec()).mask;
            for (const ExportTarget* target : targetsFor(*base, mask)) {
                const bool isGguf = target->format == "gguf" || target->format == "onnx";
                if (isGguf)
                    continue;
                const Scratch scratch;
                ExportRequest request;
                request.record.mask = mask;
                request.path = scratch.path("out").toStdString();
                request.adapter = adapter;
                const ExportResult result = exportModel(*base, *target, request);
                QVERIFY(result.adapter);
                told << QString("%1 %2").arg(QString::fromUtf8(target->id.data())).arg(result.verified.relative());
                const auto read = openModel(result.path);
                const std::string place = scratch.path("adapter").toStdString();
                writeAdapter(place, *result.adapter, *read);
                const double difference =
                    weightDifference(*adapted(read, readAdapter(place, *read)), *adapted(read, *result.adapter));
                QVERIFY2(difference < 1e-6, qPrintable(QString::number(difference)));
                if (target->id == "masked" && mask.keepsAll())
                    QVERIFY(result.adapter->updates == adapter->updates);
            }
        }
        QVERIFY(!told.isEmpty());
        qInfo().noquote() << told.join(", ");
    }

    void quantisedWeightsAreQuantisedAgain() {
        const auto base = openModel(data().filePath("gqa-q8_0-gguf/model.gguf").toStdString());
        const auto model = adapted(base, drawnAdapter(*base, 13));
        for (const char* id : {"masked", "gguf_native"}) {
            const Scratch scratch;
            const ExportResult result = exported(*model, exportTarget(id), PruningMask(model->spec()), scratch);
            const auto read = openModel(result.path);
            QCOMPARE(read->card().dtype, std::string("Q8_0"));
            const double difference = weightDifference(*read, *model);
            qInfo("%s: weights differ by %.1e, logits by %.1e", id, difference, result.verified.relative());
            QVERIFY(difference > 0 && difference < 0.01);
        }
    }

    void typesThatWouldRoundAnAdapterAreFloat32() {
        const auto base = baseModel("gqa-bf16", "model.safetensors");
        const auto model = adapted(base, drawnAdapter(*base, 14));
        const Scratch scratch;
        const ExportResult result = exported(*model, exportTarget("masked"), PruningMask(model->spec()), scratch);
        QVERIFY(std::ranges::any_of(result.warnings, [](const std::string& warning) {
            return warning.find("its type would round the numbers of the adapter") != std::string::npos;
        }));
        QCOMPARE(openModel(result.path)->card().dtype, std::string("F32"));
        const ExportResult small =
            exported(*model, exportTarget("native"), PruningMask(model->spec()), scratch, "BF16");
        QCOMPARE(openModel(small.path)->card().dtype, std::string("BF16"));
        const QByteArray card = contentOf(QString::fromStdString(result.path) + "/README.md");
        QVERIFY(card.contains(" + adapter, pruned"));
    }
};

SECATEUR_SUITE(TestAdapters)
#include "tst_adapters.moc"
