// Opened models against the tensors that transformers, safetensors and gguf-py read from the same files.
// data/make_fixtures.py writes the expected tensors.

#ifndef Q_MOC_RUN
#include <ATen/ATen.h>

#include "backends/engine/memory_check.h"
#include "backends/engine/open_model.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <QCryptographicHash>

#include <set>
#include <thread>

using namespace secateur;
using namespace secateur::test;

namespace {

using Path = std::pair<int, WeightName>; ///< layer and weight

/// The names of weights that make_fixtures.py uses, in the order of WeightName.
constexpr std::array<const char*, weightNameCount> names{"embedding",
                                                    "positionEmbedding",
                                                    "typeEmbedding",
                                                    "embeddingNorm",
                                                    "embeddingNormBias",
                                                    "embeddingProjection",
                                                    "embeddingProjectionBias",
                                                    "finalNorm",
                                                    "finalNormBias",
                                                    "readOut",
                                                    "readOutBias",
                                                    "pooler",
                                                    "poolerBias",
                                                    "classifierDense",
                                                    "classifierDenseBias",
                                                    "classifier",
                                                    "classifierBias",
                                                    "attentionNorm",
                                                    "attentionNormBias",
                                                    "query",
                                                    "key",
                                                    "value",
                                                    "output",
                                                    "queryBias",
                                                    "keyBias",
                                                    "valueBias",
                                                    "outputBias",
                                                    "queryNorm",
                                                    "keyNorm",
                                                    "attentionPostNorm",
                                                    "attentionPostNormBias",
                                                    "mlpNorm",
                                                    "mlpNormBias",
                                                    "gate",
                                                    "up",
                                                    "down",
                                                    "gateBias",
                                                    "upBias",
                                                    "downBias",
                                                    "mlpPostNorm",
                                                    "mlpPostNormBias"};

/// All weights that a model stores, by a name such as "0.query". A weight that several layers share is listed once.
std::map<std::string, Path> tensorsOf(const Model& model) {
    std::map<std::string, Path> tensors;
    const ModelSpec& spec = model.spec();
    for (int layer = -1; layer < spec.layerCount(); ++layer) {
        const int stored = layer < 0 ? layer : spec.storedLayer(layer);
        for (std::size_t kind = 0; kind < weightNameCount; ++kind) {
            const auto which = static_cast<WeightName>(kind);
            const bool tied = which == WeightName::lmHead && spec.tiedEmbeddings;
            if (model.has(layer, which) && !tied)
                tensors.emplace(std::to_string(stored) + "." + names[kind], Path(layer, which));
        }
    }
    return tensors;
}

std::vector<std::int64_t> shapeOf(const at::Tensor& tensor) {
    return tensor.sizes().vec();
}

std::string digest(const at::Tensor& tensor) {
    const at::Tensor numbers = tensor.to(at::kFloat).contiguous();
    const QByteArray bytes(static_cast<const char*>(numbers.data_ptr()), static_cast<int>(numbers.nbytes()));
    return QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex().toStdString();
}

bool haveEqualTensors(const Model& a, const Model& b) {
    const auto tensors = tensorsOf(a);
    return tensors == tensorsOf(b) && std::ranges::all_of(tensors, [&](const auto& item) {
               const auto [layer, which] = item.second;
               return at::equal(a.tensor(layer, which).to(at::kFloat), b.tensor(layer, which).to(at::kFloat));
           });
}

} // namespace

class TestOpenModel : public QObject {
    Q_OBJECT

private slots:
    /// Messages name a weight in words, not by the number of its enumerator.
    void aMissingWeightIsNamedInWords() {
        const auto model = fixture("mha-f32");
        std::set<std::string> titles;
        const Scratch scratch;
        for (std::size_t kind = 0; kind < weightNameCount; ++kind) {
            const auto which = static_cast<WeightName>(kind);
            const std::string words(title(which));
            QVERIFY(words.size() > 4 && words.find_first_of("0123456789") == std::string::npos);
            titles.insert(words);
            const int layer = isOfLayer(which) ? 1 : -1;
            const QString sentence = QString::fromStdString(": has no " + words + (layer < 0 ? "" : " in layer 1"));
            if (!model->has(layer, which))
                QVERIFY2(scratch.refusal([&] { model->tensor(layer, which); }).endsWith(sentence), words.c_str());
        }
        QCOMPARE(titles.size(), weightNameCount);
    }

    void everyTensorIsWhatTheReferenceReads_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("file");
        for (const QString& folder : fixtures())
            for (const QString& file : filesOf(folder))
                QTest::newRow(qPrintable(folder + "/" + file)) << folder << file;
    }
    void everyTensorIsWhatTheReferenceReads() {
        QFETCH(QString, folder);
        QFETCH(QString, file);
        const auto model = fixture(folder, file);
        const nlohmann::json expected = readJson(data().filePath(folder + "/expected.json"));
        const auto tensors = tensorsOf(*model);
        // GGUF files have no tensors for poolers and classifiers.
        const bool isGguf = file.endsWith(".gguf");
        std::int64_t parameters = 0;
        std::size_t found = 0;
        for (const auto& [name, wanted] : expected.at("tensors").items()) {
            if (isGguf && !tensors.contains(name) && name.starts_with("-1.pooler"))
                continue;
            QVERIFY2(tensors.contains(name), name.c_str());
            const auto [layer, which] = tensors.at(name);
            const at::Tensor tensor = model->tensor(layer, which);
            QCOMPARE(shapeOf(tensor), wanted.at("shape").get<std::vector<std::int64_t>>());
            const double sum = tensor.to(at::kDouble).sum().item<double>();
            QVERIFY2(std::abs(sum - wanted.at("sum").get<double>()) < 1e-9, name.c_str());
            QVERIFY2(digest(tensor) == wanted.at("sha256").get<std::string>(), name.c_str());
            parameters += tensor.numel();
            ++found;
        }
        QCOMPARE(found, tensors.size());
        QCOMPARE(model->card().parameters, parameters);
        QCOMPARE(model->fingerprint(), expected.at("files").at(file.toStdString()).get<std::string>());
        QVERIFY2(model->card().warnings.empty(),
                 model->card().warnings.empty() ? "" : model->card().warnings[0].c_str());
    }

    void everyFixtureHasItsStructure_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("structure");
        QTest::addColumn<QString>("format");
        QTest::addColumn<QString>("dtype");
        QTest::newRow("mha") << "mha-f32"
                             << "2x3/3x16+40"
                             << "safetensors"
                             << "F32";
        QTest::newRow("gqa") << "gqa-bf16"
                             << "2x8/2x12+32"
                             << "safetensors"
                             << "BF16";
        QTest::newRow("mistral") << "gqa-f16-mistral"
                                 << "2x8/2x12+32"
                                 << "safetensors"
                                 << "F16";
        QTest::newRow("mqa") << "mqa-f32-sharded"
                             << "2x5/1x12+56"
                             << "safetensors"
                             << "F32";
        QTest::newRow("gguf") << "gqa-q4_0-gguf"
                              << "2x8/2x12+32"
                              << "gguf"
                              << "Q4_0";
        QTest::newRow("k-quants") << "wide-q6_k-gguf"
                                  << "1x4/2x16+32"
                                  << "gguf"
                                  << "Q6_K";
    }
    void everyFixtureHasItsStructure() {
        QFETCH(QString, folder);
        QFETCH(QString, structure);
        QFETCH(QString, format);
        QFETCH(QString, dtype);
        const ModelCard card = fixture(folder)->card();
        QCOMPARE(QString::fromStdString(card.spec.structure()), structure);
        QCOMPARE(QString::fromStdString(card.format), format);
        QCOMPARE(QString::fromStdString(card.dtype), dtype);
        QCOMPARE(card.spec.architecture, folder.contains("mistral") ? "mistral" : "llama");
        QCOMPARE(card.spec.tiedEmbeddings, folder.startsWith("mqa") || folder.startsWith("wide"));
    }

    void safetensorsAndGgufAreTheSameModel_data() {
        QTest::addColumn<QString>("safetensors");
        QTest::addColumn<QString>("gguf");
        QTest::newRow("llama3 scaling") << "gqa-f32"
                                        << "gqa-f32-gguf";
        QTest::newRow("bias") << "gqa-f32-bias"
                              << "bias-f16-gguf";
    }
    void safetensorsAndGgufAreTheSameModel() {
        QFETCH(QString, safetensors);
        QFETCH(QString, gguf);
        const auto a = fixture(safetensors);
        const auto b = fixture(gguf);
        QVERIFY(a->spec().layers == b->spec().layers);
        QCOMPARE(a->spec().hidden, b->spec().hidden);
        QCOMPARE(a->spec().vocab, b->spec().vocab);
        QCOMPARE(a->spec().context, b->spec().context);
        QVERIFY(std::abs(a->spec().normEpsilon / b->spec().normEpsilon - 1) < 1e-6); // GGUF stores epsilon as float32
        QVERIFY(tensorsOf(*a) == tensorsOf(*b));
        if (gguf.contains("f32"))
            QVERIFY(haveEqualTensors(*a, *b));
        else
            QVERIFY(at::equal(a->tensor(0, WeightName::queryBias), b->tensor(0, WeightName::queryBias)));
    }

    void whatIsNoCheckpointIsRefused() {
        const Scratch scratch;
        const auto refused = [&](const QString& name) {
            return scratch.refusal([&] { openModel(scratch.path(name).toStdString()); });
        };
        const QString hint = ". Open a Hugging Face directory, a .safetensors, .bin, .pt or .pth file beside its "
                             "config.json, or a .gguf "
                             "file";
        QCOMPARE(refused("nothing.gguf"), "nothing.gguf: does not exist");
        QCOMPARE(refused(""), "FOLDER: has no config.json and no .gguf file" + hint);
        scratch.write("notes.txt", "notes");
        QCOMPARE(refused("notes.txt"), "notes.txt: is not a checkpoint in a supported format" + hint);
        scratch.write("config.json", "{}");
        QCOMPARE(refused(""), "FOLDER: has a config.json, but no weights" + hint);
        QVERIFY(QFile::copy(data().filePath("mha-f32/model.safetensors"), scratch.path("model.safetensors")));
        QVERIFY(QFile::remove(scratch.path("config.json")));
        QCOMPARE(refused("model.safetensors"),
                 "config.json: does not exist. Weights need a config.json in the same folder");
    }

    void symbolicLinksOfTheHubCacheAreFollowed() {
        const Scratch scratch;
        const QString snapshot = scratch.path("models--someone--tiny-llama/snapshots/0123abcd");
        QVERIFY(QDir().mkpath(snapshot));
        for (const char* name : {"config.json", "model.safetensors"})
            QVERIFY(QFile::link(data().filePath(QString("gqa-f32/") + name), snapshot + "/" + name));
        const auto model = openModel((snapshot + "/").toStdString());
        QCOMPARE(model->card().name, "tiny-llama");
        QVERIFY(haveEqualTensors(*model, *fixture("gqa-f32")));
    }

    void aFileOfAShardedModelOpensAllOfIt() {
        const auto folder = fixture("mqa-f32-sharded");
        const auto file = openModel(data().filePath("mqa-f32-sharded/model-00002-of-00003.safetensors").toStdString());
        QCOMPARE(file->fingerprint(), folder->fingerprint());
        QCOMPARE(file->card().name, "mqa-f32-sharded");
        QVERIFY(haveEqualTensors(*file, *folder));
    }

    void tiedEmbeddingsLmHeadThroughTheEmbedding() {
        const auto model = fixture("mqa-f32-sharded");
        QVERIFY(model->has(-1, WeightName::lmHead));
        QVERIFY(at::equal(model->tensor(-1, WeightName::lmHead), model->tensor(-1, WeightName::embedding)));
    }

    void whatTheModelLacksIsSaidAndRefused() {
        const auto model = fixture("mha-f32");
        QVERIFY(!model->has(0, WeightName::queryBias));
        QVERIFY(!model->has(2, WeightName::query));
        QVERIFY(!model->has(-2, WeightName::query));
        QVERIFY(!model->has(-1, WeightName::query));
        QVERIFY(!model->has(0, WeightName::embedding));
        QVERIFY_EXCEPTION_THROWN(model->tensor(0, WeightName::queryBias), Error);
    }

    void aFloatTensorIsAViewThatOutlivesItsModel() {
        auto model = fixture("gqa-f32");
        const at::Tensor tensor = model->tensor(0, WeightName::query);
        QCOMPARE(tensor.data_ptr(), model->tensor(0, WeightName::query).data_ptr());
        const double sum = tensor.sum().item<double>();
        model.reset();
        QCOMPARE(tensor.sum().item<double>(), sum);
    }

    void aCrookedTensorIsCopied() {
        // One more byte in the header moves every tensor to an unaligned address, so reading a tensor must copy it.
        QFile file(data().filePath("gqa-f32/model.safetensors"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QByteArray bytes = file.readAll();
        const auto length = *reinterpret_cast<const quint64*>(bytes.constData());
        bytes.insert(8 + static_cast<int>(length), ' ').replace(0, 8, little<quint64>(length + 1));
        const Scratch scratch;
        scratch.write("model.safetensors", bytes);
        QVERIFY(QFile::copy(data().filePath("gqa-f32/config.json"), scratch.path("config.json")));
        const auto model = openModel(scratch.path("model.safetensors").toStdString());
        QVERIFY(haveEqualTensors(*model, *fixture("gqa-f32")));
    }

    void tensorsAreReadFromAnyThread() {
        const auto model = fixture("gqa-q4_1-gguf");
        const at::Tensor expected = model->tensor(1, WeightName::query);
        std::array<bool, 4> equal{};
        std::vector<std::jthread> threads;
        for (bool& result : equal)
            threads.emplace_back([&] {
                result = model->fingerprint().size() == 71 && at::equal(model->tensor(1, WeightName::query), expected);
            });
        threads.clear();
        QVERIFY(std::ranges::all_of(equal, std::identity()));
    }

    void openingCanBeCancelled() {
        std::stop_source stop;
        stop.request_stop();
        const Progress progress({}, stop.get_token());
        const auto open = [&] { openModel(data().filePath("mha-f32").toStdString(), progress); };
        QVERIFY_EXCEPTION_THROWN(open(), Cancelled);
    }

    void stories260KIsTheSameInBothFormats() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const QDir models(realData() + "/models");
        const auto hf = openModel(models.filePath("stories260K-hf").toStdString());
        const auto gguf = openModel(models.filePath("stories260K/stories260K.gguf").toStdString());
        QCOMPARE(hf->spec().structure(), "5x8/4x8+172");
        QCOMPARE(gguf->card().tokenizer, "llama (512 tokens)");
        for (const auto& [name, path] : tensorsOf(*hf)) {
            const auto [layer, which] = path;
            QVERIFY2(at::equal(hf->tensor(layer, which), gguf->tensor(layer, which)), name.c_str());
        }
    }

    void quantisedStories260KIsNearTheOriginal_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<double>("tolerance");
        QTest::newRow("F16") << "stories260K-F16.gguf" << 3e-4;
        QTest::newRow("Q8_0, named Q6_K") << "stories260K-Q6_K.gguf" << 8e-3;
        QTest::newRow("Q5_0 and Q8_0, named Q4_K_M") << "stories260K-Q4_K_M.gguf" << 5e-2;
    }
    void quantisedStories260KIsNearTheOriginal() {
        QFETCH(QString, file);
        QFETCH(double, tolerance);
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const QDir folder(realData() + "/models/stories260K");
        const auto original = openModel(folder.filePath("stories260K.gguf").toStdString());
        const auto quantised = openModel(folder.filePath("quantised/" + file).toStdString());
        for (const auto& [name, path] : tensorsOf(*original)) {
            const at::Tensor wanted = original->tensor(path.first, path.second);
            const at::Tensor found = quantised->tensor(path.first, path.second).to(at::kFloat);
            const double error = ((found - wanted).norm() / wanted.norm()).item<double>();
            QVERIFY2(error < tolerance, qPrintable(QString("%1: %2").arg(name.c_str()).arg(error)));
        }
    }

    void weightsAreKeptUnlessARunNeedsTheMemory() {
        const auto model = fixture("gqa-f32");
        const auto least = [&](std::int64_t budget) {
            return leastRunBytes(*model, ComputeType::float32, {budget, true});
        };
        const std::int64_t comfortable = least(std::int64_t{1} << 40);
        QVERIFY(least(0) < comfortable);
        const auto budget = [&](std::int64_t available) {
            return defaultBudget(*model, ComputeType::float32, true, available);
        };
        QCOMPARE(budget(comfortable), comfortable / 2);
        QCOMPARE(budget(comfortable - 1), 0);
        const auto beside = [&](std::int64_t kept, std::int64_t available) {
            return bytesBesideWeights(*model, ComputeType::float32, {kept, true}, available);
        };
        constexpr std::int64_t large = std::int64_t{1} << 30;
        QCOMPARE(beside(0, 1000), 0);
        QCOMPARE(beside(0, large + 1000), beside(0, large) + 1000);
        QVERIFY(beside(large, large) < beside(0, large));
    }

    void aVocabularyWithoutWeightsIsRefused() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const QString file = realData() + "/tokenizers/llama.cpp/ggml-vocab-gpt-2.gguf";
        QCOMPARE(Scratch().refusal([&] { openModel(file.toStdString()); }),
                 file + ": has no weights. It holds a vocabulary only");
    }

    void theDemoModelIsDescribed() {
        if (demoModel().isEmpty())
            QSKIP("the demo model was not fetched");
        const auto model = openModel(demoModel().toStdString());
        QCOMPARE(model->card().parameters, 134515008);
        QCOMPARE(model->card().tokenizer, "gpt2 (49,152 tokens)");
        QCOMPARE(model->card().dtype, "Q4_1");
        QCOMPARE(model->spec().structure(), "30x9/3x64+1536");
        QCOMPARE(model->spec().layers[0].rotary.theta, 100000.0);
    }
};

SECATEUR_SUITE(TestOpenModel)
#include "tst_open_model.moc"
