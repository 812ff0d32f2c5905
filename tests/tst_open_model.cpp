// Opened models against what transformers, safetensors and gguf-py read from the same files (data/make_fixtures.py).

#ifndef Q_MOC_RUN
#include <ATen/ATen.h>

#include "backends/architectures.h"
#include "backends/formats.h"
#include "backends/open_model.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#endif

#include <QtTest>

#include <QCryptographicHash>
#include <QJsonDocument>
#include <QJsonObject>

#include <thread>

using namespace secateur;
using namespace secateur::test;

namespace {

using Path = std::pair<int, Which>; ///< layer, tensor

/// Hugging Face's names of the weights that this program asks for.
const std::map<Which, QString> hfNames{
    {Which::embedding, "model.embed_tokens.weight"},
    {Which::finalNorm, "model.norm.weight"},
    {Which::readOut, "lm_head.weight"},
    {Which::attentionNorm, "input_layernorm.weight"},
    {Which::query, "self_attn.q_proj.weight"},
    {Which::key, "self_attn.k_proj.weight"},
    {Which::value, "self_attn.v_proj.weight"},
    {Which::output, "self_attn.o_proj.weight"},
    {Which::queryBias, "self_attn.q_proj.bias"},
    {Which::keyBias, "self_attn.k_proj.bias"},
    {Which::valueBias, "self_attn.v_proj.bias"},
    {Which::outputBias, "self_attn.o_proj.bias"},
    {Which::mlpNorm, "post_attention_layernorm.weight"},
    {Which::gate, "mlp.gate_proj.weight"},
    {Which::up, "mlp.up_proj.weight"},
    {Which::down, "mlp.down_proj.weight"},
};

/// Every tensor that the model has, by Hugging Face name.
std::map<std::string, Path> tensorsOf(const Model& model) {
    std::map<std::string, Path> tensors;
    for (int layer = -1; layer < model.spec().layerCount(); ++layer) {
        for (const auto& [which, name] : hfNames) {
            const QString prefix = layer < 0 ? QString() : QString("model.layers.%1.").arg(layer);
            const bool tied = which == Which::readOut && model.spec().tiedEmbeddings;
            if (model.has(layer, which) && !tied)
                tensors.emplace((prefix + name).toStdString(), Path(layer, which));
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

std::shared_ptr<const Model> fixture(const QString& folder) {
    const auto file = readJson(data().filePath(folder + "/expected.json")).at("file").get<std::string>();
    return openModel(QDir::cleanPath(data().filePath(folder + "/" + QString::fromStdString(file))).toStdString());
}

bool haveEqualTensors(const Model& a, const Model& b) {
    const auto tensors = tensorsOf(a);
    return tensors == tensorsOf(b) && std::ranges::all_of(tensors, [&](const auto& item) {
               const auto [layer, which] = item.second;
               return at::equal(a.tensor(layer, which).to(at::kFloat), b.tensor(layer, which).to(at::kFloat));
           });
}

// QJsonObject drops an undefined value itself.
const QJsonValue absent = "(absent)";

/// A copy of a fixture with other values in its config.json; `absent` takes a key out.
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

class TestOpenModel : public QObject {
    Q_OBJECT

private slots:
    void everyTensorIsWhatTheReferenceReads_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder : data().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            QTest::newRow(qPrintable(folder)) << folder;
    }
    void everyTensorIsWhatTheReferenceReads() {
        QFETCH(QString, folder);
        const auto model = fixture(folder);
        const nlohmann::json expected = readJson(data().filePath(folder + "/expected.json"));
        const auto tensors = tensorsOf(*model);
        QCOMPARE(tensors.size(), expected.at("tensors").size());
        std::int64_t parameters = 0;
        for (const auto& [name, path] : tensors) {
            const nlohmann::json& wanted = expected.at("tensors").at(name);
            const at::Tensor tensor = model->tensor(path.first, path.second);
            QCOMPARE(shapeOf(tensor), wanted.at("shape").get<std::vector<std::int64_t>>());
            QCOMPARE(digest(tensor), wanted.at("sha256").get<std::string>());
            const double sum = tensor.to(at::kDouble).sum().item<double>();
            QVERIFY(std::abs(sum - wanted.at("sum").get<double>()) < 1e-9);
            parameters += tensor.numel();
        }
        QCOMPARE(model->card().parameters, parameters);
        QCOMPARE(model->fingerprint(), expected.at("fingerprint").get<std::string>());
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
        QVERIFY(std::abs(a->spec().normEpsilon / b->spec().normEpsilon - 1) < 1e-6); // float32 in GGUF
        QVERIFY(tensorsOf(*a) == tensorsOf(*b));
        if (gguf.contains("f32"))
            QVERIFY(haveEqualTensors(*a, *b));
        else
            QVERIFY(at::equal(a->tensor(0, Which::queryBias), b->tensor(0, Which::queryBias)));
    }

    void llama3ScalingIsReadFromBothFormats() {
        const RotarySpec expected{12, 10000, RopeScaling::llama3, 8, 1, 8, 3200};
        QVERIFY(fixture("gqa-f32")->spec().layers[1].rotary == expected);
        QVERIFY(fixture("gqa-q4_1-gguf")->spec().layers[1].rotary == expected);
    }

    void configurationsOfAllAgesAreRead_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QJsonObject>("changes");
        QTest::addColumn<QString>("rotary"); ///< theta, scaling, factor, context
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
        QCOMPARE(fixture("gqa-f16-mistral")->spec().layers[0].window, 0); // null
        const Scratch multiHead;
        copyWithConfig(multiHead, "mha-f32", {{"num_key_value_heads", absent}, {"head_dim", absent}});
        QCOMPARE(openModel(multiHead.path().toStdString())->spec().structure(), "2x3/3x16+40");
    }

    void aConfigurationThatDoesNotFitIsRefused_data() {
        QTest::addColumn<QJsonObject>("changes");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QJsonObject& changes, const char* sentence) {
            QTest::newRow(name) << changes << QString(sentence);
        };
        row("unknown architecture", {{"model_type", "qwen9"}},
            "config.json: is of the unknown architecture \"qwen9\". Known are: llama, mistral");
        row("no architecture", {{"model_type", absent}},
            "config.json: model_type: is missing, so the architecture is not known");
        row("text for a number", {{"hidden_size", "many"}},
            "config.json: hidden_size: expected a whole number from 1 to 16777216, found \"many\"");
        row("no layers", {{"num_hidden_layers", 0}},
            "config.json: num_hidden_layers: expected a whole number from 1 to 10000, found 0");
        row("too many layers", {{"num_hidden_layers", 1e9}},
            "config.json: num_hidden_layers: expected a whole number from 1 to 10000, found 1000000000");
        row("one layer too many", {{"num_hidden_layers", 3}},
            "FOLDER: has no tensor model.layers.2.input_layernorm.weight. "
            "The checkpoint is incomplete or its configuration is another model's");
        row("other width", {{"intermediate_size", 41}},
            "model.safetensors: model.layers.0.mlp.gate_proj.weight: has shape [40, 48], but the configuration asks "
            "for [41, 48]");
        row("other vocabulary", {{"vocab_size", 30}},
            "model.safetensors: model.embed_tokens.weight: has shape [29, 48], but the configuration asks for [30, "
            "48]");
        row("uneven groups", {{"num_key_value_heads", 2}},
            "config.json: layer 0 has 3 heads, which 2 KV heads do not divide");
        row("no head size", {{"num_attention_heads", 5}, {"head_dim", absent}},
            "config.json: states no head size, and 5 heads do not divide the width 48");
        row("biases that are not there", {{"attention_bias", true}},
            "FOLDER: has no tensor model.layers.0.self_attn.q_proj.bias. "
            "The checkpoint is incomplete or its configuration is another model's");
        row("unknown scaling", {{"rope_scaling", QJsonObject{{"type", "yarn"}, {"factor", 2}}}},
            "config.json: rope_scaling: type: the rotary scaling \"yarn\" is not known; known are default, linear, "
            "llama3");
        row("scaling without its factor", {{"rope_scaling", QJsonObject{{"type", "linear"}}}},
            "config.json: rope_scaling: factor: is missing");
        row("unknown activation", {{"hidden_act", "snake"}},
            "config.json: hidden_act: the activation \"snake\" is not known");
        row("quantised", {{"quantization_config", QJsonObject{{"quant_method", "gptq"}}}},
            "config.json: says that the weights are quantised by gptq, which cannot be read. "
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
            "is of the unknown architecture \"lhama\". Known are: llama");
        row("no architecture", "general.architecture", "general.architektur_",
            "general.architecture: is missing, so the architecture is not known");
        row("no width", "llama.embedding_length", "llama.embedding_breadt", "llama.embedding_length: is missing");
        row("no layers", u32("llama.block_count", 2), u32("llama.block_count", 0),
            "llama.block_count: expected a whole number from 1 to 10000, found 0");
        row("uneven groups", u32("head_count_kv", 2), u32("head_count_kv", 3),
            "layer 0 has 8 heads, which 3 KV heads do not divide");
        row("another head size", u32("attention.key_length", 12), u32("attention.key_length", 16),
            "llama.attention.value_length: values of 12 numbers beside keys of 16 are not read");
        row("part of a head turns", u32("rope.dimension_count", 12), u32("rope.dimension_count", 6),
            "llama.rope.dimension_count: expected the size of a head, 12, found 6");
        row("more layers", u32("llama.block_count", 2), u32("llama.block_count", 3),
            "has no tensor blk.2.attn_norm.weight. The checkpoint is incomplete or its configuration is another "
            "model's");
        row("a norm that is a matrix", "output_norm.weight" + little<quint32>(1) + little<quint64>(64),
            "output_norm.weight" + little<quint32>(1) + little<quint64>(63),
            "output_norm.weight: has shape [63], but the configuration asks for [64]");
        row("divisors of no scaling", little(7.290994167327881F), little(1.125F),
            "rope_freqs.weight: holds rotary divisors that follow no known scaling");
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
        // Two other names, one shorter and one longer: what follows stays where it is.
        QByteArray bytes = file.readAll();
        bytes.replace(key("llama.context_length"), key("llama.expert_count"));
        bytes.replace(key("llama.vocab_size"), key("llama.vocabulary_n"));
        const Scratch scratch;
        const std::string path = scratch.write("model.gguf", bytes);
        QCOMPARE(scratch.refusal([&] { openModel(path); }),
                 "model.gguf: llama.expert_count: mixtures of experts are not read");
    }

    void whatIsNoCheckpointIsRefused() {
        const Scratch scratch;
        const auto refused = [&](const QString& name) {
            return scratch.refusal([&] { openModel(scratch.path(name).toStdString()); });
        };
        const QString hint =
            ". Open a Hugging Face directory, a .safetensors file beside its config.json, or a .gguf file";
        QCOMPARE(refused("nothing.gguf"), "nothing.gguf: does not exist");
        QCOMPARE(refused(""), "FOLDER: has no config.json" + hint);
        scratch.write("notes.txt", "notes");
        QCOMPARE(refused("notes.txt"), "notes.txt: is not a checkpoint that can be read" + hint);
        scratch.write("config.json", "{}");
        QCOMPARE(refused(""), "FOLDER: has neither model.safetensors nor model.safetensors.index.json");
        scratch.write("pytorch_model.bin", "pickle");
        QVERIFY(refused("").endsWith(". Its pytorch_model.bin can be converted with save_pretrained of transformers"));
        QVERIFY(QFile::copy(data().filePath("mha-f32/model.safetensors"), scratch.path("model.safetensors")));
        QVERIFY(QFile::remove(scratch.path("config.json")));
        QCOMPARE(refused("model.safetensors"),
                 "config.json: does not exist. Weights are read with the config.json that lies beside them");
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

    void tiedEmbeddingsReadOutThroughTheEmbedding() {
        const auto model = fixture("mqa-f32-sharded");
        QVERIFY(model->has(-1, Which::readOut));
        QVERIFY(at::equal(model->tensor(-1, Which::readOut), model->tensor(-1, Which::embedding)));
    }

    void whatTheModelLacksIsSaidAndRefused() {
        const auto model = fixture("mha-f32");
        QVERIFY(!model->has(0, Which::queryBias));
        QVERIFY(!model->has(2, Which::query));
        QVERIFY(!model->has(-2, Which::query));
        QVERIFY(!model->has(-1, Which::query));
        QVERIFY(!model->has(0, Which::embedding));
        QVERIFY_EXCEPTION_THROWN(model->tensor(0, Which::queryBias), Error);
    }

    void aFloatTensorIsAViewThatOutlivesItsModel() {
        auto model = fixture("gqa-f32");
        const at::Tensor tensor = model->tensor(0, Which::query);
        QCOMPARE(tensor.data_ptr(), model->tensor(0, Which::query).data_ptr());
        const double sum = tensor.sum().item<double>();
        model.reset();
        QCOMPARE(tensor.sum().item<double>(), sum);
    }

    void aCrookedTensorIsCopied() {
        // A header one byte longer moves every tensor off its alignment.
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
        const at::Tensor expected = model->tensor(1, Which::query);
        std::array<bool, 4> equal{};
        std::vector<std::jthread> threads;
        for (bool& result : equal)
            threads.emplace_back([&] {
                result = model->fingerprint().size() == 71 && at::equal(model->tensor(1, Which::query), expected);
            });
        threads.clear();
        QVERIFY(std::ranges::all_of(equal, std::identity()));
    }

    void ignoredTensorsAreMentioned() {
        const Scratch scratch;
        copyWithConfig(scratch, "mha-f32", {{"num_hidden_layers", 1}});
        const ModelCard card = openModel(scratch.path().toStdString())->card();
        QCOMPARE(card.warnings.size(), std::size_t{1});
        QCOMPARE(card.warnings[0], "9 tensors are ignored: model.layers.1.input_layernorm.weight, "
                                   "model.layers.1.mlp.down_proj.weight, model.layers.1.mlp.gate_proj.weight, ...");
    }

    void openingCanBeCancelled() {
        std::stop_source stop;
        stop.request_stop();
        const Progress progress({}, stop.get_token());
        const auto open = [&] { openModel(data().filePath("mha-f32").toStdString(), progress); };
        QVERIFY_EXCEPTION_THROWN(open(), Cancelled);
    }

    void theTokenizerIsNamed() {
        QCOMPARE(fixture("gqa-f32-gguf")->card().tokenizer, "llama (37 tokens)");
        const Scratch scratch;
        copyWithConfig(scratch, "mha-f32", {});
        QVERIFY(openModel(scratch.path().toStdString())->card().tokenizer.empty());
        scratch.write("tokenizer.model", "");
        QCOMPARE(openModel(scratch.path().toStdString())->card().tokenizer, "tokenizer.model");
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

    void anUnreadableTypeIsRefusedOnlyWhenNeeded() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const QDir folder(realData() + "/models/stories260K/quantised");
        const auto model = openModel(folder.filePath("stories260K-Q4_K_M.gguf").toStdString());
        QCOMPARE(model->tensor(0, Which::down).dim(), 2);
        try {
            model->tensor(0, Which::query);
            QFAIL("Q5_0 was read");
        } catch (const Error& error) {
            QCOMPARE(error.message(), "is stored as Q5_0, which cannot be read");
            QVERIFY(QString::fromStdString(error.subject()).endsWith("stories260K-Q4_K_M.gguf: blk.0.attn_q.weight"));
        }
    }

    void aVocabularyWithoutWeightsIsRefused() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const QString file = realData() + "/tokenizers/llama.cpp/ggml-vocab-gpt-2.gguf";
        QCOMPARE(Scratch().refusal([&] { openModel(file.toStdString()); }), file + ": holds no tensors");
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

    void everyRowOfTheTablesIsComplete() {
        for (const FormatInfo& format : allFormats())
            QVERIFY(!format.id.empty() && !format.summary.empty() && format.extension.starts_with('.') && format.open);
        for (const ArchitectureInfo& row : allArchitectures()) {
            QVERIFY(!row.id.empty() && !row.summary.empty() && !row.prefixes.empty());
            QVERIFY(row.modelTypes.empty() == row.hfTensors.empty());
            QVERIFY(row.ggufNames.empty() == row.ggufTensors.empty());
        }
    }
};

QTEST_APPLESS_MAIN(TestOpenModel)
#include "tst_open_model.moc"
