// ONNX exports of encoders: a reader and a runtime of this test, which are independent of the product, open the files
// and give the outputs that the engine computes under the mask. Cut units are not in the files. Decoders are refused.
//
// With SECATEUR_ONNX_JUDGE=DIR the outputs of the engine and the files stay in DIR, where
// tests/python/onnx_export_judge.py compares them with ONNX Runtime.
#ifndef Q_MOC_RUN
#include "analysis/export/onnx_reasons.h"
#include "analysis/running/runner.h"
#include "backends/export/export_targets.h"
#include "backends/export/onnx_graph.h"
#include "backends/export/onnx_model.h"
#include "backends/json/result_json.h"
#include "backends/session/mask_json.h"
#include "tests/support/encoder_masks.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/onnx_file.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-5; ///< of the largest output
constexpr std::array encoders{"bert", "bert-bare", "bert-legacy", "roberta", "xlm-roberta", "albert"};
using Outputs = std::map<std::string, at::Tensor>;

/// Rows of different lengths, padded at the end.
Batch paddedRows(const ModelSpec& spec) {
    const int positions = spec.learnedPositions - spec.firstPosition;
    Batch batch{3, positions, {}, {positions, std::max(1, positions / 2), 1}, {}, {}};
    std::mt19937 random(5);
    for (std::int64_t i = 0; i < batch.tokens(); ++i) {
        const bool isToken = i % positions < batch.length(static_cast<int>(i / positions));
        // The first tokens of the vocabularies are special, and one of them is the padding of RoBERTa.
        batch.ids.push_back(isToken ? 3 + static_cast<int>(random() % static_cast<unsigned>(spec.vocab - 3))
                                    : std::max(0, spec.firstPosition - 1));
        batch.types.push_back(spec.tokenTypes > 1 && isToken ? static_cast<int>(random() % 2) : 0);
    }
    return batch;
}

at::Tensor integersOf(const Batch& batch, const std::vector<int>& values) {
    return at::tensor(at::ArrayRef<int>(values)).to(at::kLong).reshape({batch.rows, batch.positions});
}

std::vector<int> visibleTokens(const Batch& batch) {
    std::vector<int> visible;
    for (int row = 0; row < batch.rows; ++row)
        for (int position = 0; position < batch.positions; ++position)
            visible.push_back(position < batch.length(row) ? 1 : 0);
    return visible;
}

Outputs inputsOf(const Batch& batch) {
    return {{"input_ids", integersOf(batch, batch.ids)},
            {"attention_mask", integersOf(batch, visibleTokens(batch))},
            {"token_type_ids", integersOf(batch, batch.types)}};
}

/// The outputs of the engine by the names that they have in a file.
Outputs engineOutputs(const Model& model, const PruningMask& mask, const Batch& batch) {
    const Runner& runner = model.runner();
    const auto plan = runner.plan(mask, ComputeType::float32);
    at::Tensor x = runner.embed(*plan, batch);
    for (int layer = 0; layer < model.spec().layerCount(); ++layer)
        x = runner.runLayer(*plan, layer, x, batch);
    if (model.has(-1, WeightName::classifier))
        return {{"logits", runner.lmHead(*plan, x, batch)}};
    Outputs outputs{{"last_hidden_state", x}};
    if (model.has(-1, WeightName::pooler))
        outputs["pooler_output"] = runner.lmHead(*plan, x, batch);
    return outputs;
}

/// The largest difference relative to the largest output. Hidden states of padding do not count.
double differenceOf(const Outputs& expected, const Outputs& found, const Batch& batch) {
    double worst = expected.size() == found.size() ? 0 : 1;
    for (const auto& [name, one] : expected) {
        const at::Tensor& other = found.at(name);
        if (one.sizes() != other.sizes())
            return 1;
        const at::Tensor isSeen = name == "last_hidden_state"
                                      ? integersOf(batch, visibleTokens(batch)).to(at::kFloat).unsqueeze(2)
                                      : at::ones({1});
        const double most = ((one - other) * isSeen).abs().max().item<double>();
        worst = std::max(worst, most / (one * isSeen).abs().max().item<double>());
    }
    return worst;
}

void keepForJudge(const std::string& model, const QString& name, const Batch& batch, const Outputs& outputs) {
    const QString folder = qEnvironmentVariable("SECATEUR_ONNX_JUDGE");
    if (folder.isEmpty())
        return;
    nlohmann::json document{{"model", (name + ".onnx").toStdString()}};
    const auto rowsOf = [&](const std::vector<int>& values) {
        nlohmann::json rows = nlohmann::json::array();
        for (int row = 0; row < batch.rows; ++row) {
            const auto begin = values.begin() + std::ptrdiff_t{row} * batch.positions;
            rows.push_back(std::vector<int>(begin, begin + batch.positions));
        }
        return rows;
    };
    document["input_ids"] = rowsOf(batch.ids);
    document["attention_mask"] = rowsOf(visibleTokens(batch));
    document["token_type_ids"] = rowsOf(batch.types);
    for (const auto& [output, values] : outputs) {
        nlohmann::json rows = nlohmann::json::array();
        for (std::int64_t row = 0; row < values.size(0); ++row) {
            const at::Tensor numbers = values[row].reshape({-1, values.size(-1)}).contiguous();
            nlohmann::json inner = nlohmann::json::array();
            for (std::int64_t i = 0; i < numbers.size(0); ++i)
                inner.push_back(
                    std::vector<float>(numbers[i].data_ptr<float>(), numbers[i].data_ptr<float>() + numbers.size(1)));
            rows.push_back(values.dim() == 2 ? inner[0] : inner);
        }
        document["outputs"][output] = rows;
    }
    QFile::remove(folder + "/" + name + ".onnx");
    QFile::copy(QString::fromStdString(model), folder + "/" + name + ".onnx");
    QFile file(folder + "/" + name + ".engine.json");
    if (file.open(QIODevice::WriteOnly))
        file.write(QByteArray::fromStdString(document.dump()));
}

std::string written(const Scratch& scratch, const Model& model, const PruningMask& mask) {
    const std::string path = scratch.path("model.onnx").toStdString();
    writeOnnxGraph(onnxModel(model, mask), path, "model.onnx_data");
    return path;
}

PruningMask headAndNeuronCut(const ModelSpec& spec) {
    PruningMask mask(spec);
    LayerMask layer = mask.layer(0);
    layer.heads[1] = false;
    layer.neurons[0] = layer.neurons[5] = false;
    mask.setLayer(0, layer);
    return mask;
}

int count(const onnx::File& file, const std::string& operation) {
    return static_cast<int>(std::ranges::count(file.nodes, operation, &onnx::Node::operation));
}

QStringList namesIn(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot, QDir::Name);
}

ExportRequest requestOf(const PruningMask& mask, const QString& path) {
    ExportRequest request;
    request.record.mask = mask;
    request.path = path.toStdString();
    return request;
}

} // namespace

class TestOnnx : public QObject {
    Q_OBJECT

private slots:
    void filesGiveTheOutputsOfTheEngine_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : encoders)
            QTest::newRow(name) << name;
    }

    void filesGiveTheOutputsOfTheEngine() {
        QFETCH(QString, name);
        const auto model = fixture(name);
        const Batch batch = paddedRows(model->spec());
        const Outputs dense = engineOutputs(*model, PruningMask(model->spec()), batch);
        double worst = 0;
        int changed = 0;
        for (unsigned turn = 0; turn < 2 * static_cast<unsigned>(EncoderCut::count); ++turn) {
            const Scratch scratch;
            PruningMask mask = drawnEncoderMask(model->spec(), static_cast<EncoderCut>(turn / 2), turn);
            if (turn % 2 == 1)
                mask = withDrawnCompensation(mask, model->spec(), turn);
            const std::string path = written(scratch, *model, mask);
            const Outputs expected = engineOutputs(*model, mask, batch);
            const double difference = differenceOf(expected, onnx::run(onnx::read(path), inputsOf(batch)), batch);
            QVERIFY2(difference <= tolerance, qPrintable(QString("mask %1: %2").arg(turn).arg(difference)));
            worst = std::max(worst, difference);
            changed += differenceOf(dense, expected, batch) > 100 * tolerance ? 1 : 0;
            keepForJudge(path, QString("%1-%2").arg(name).arg(turn), batch, expected);
        }
        qInfo("%s: largest relative difference %.1e; %d masks change the outputs", qPrintable(name), worst, changed);
        QVERIFY(changed > static_cast<int>(EncoderCut::count));
    }

    void paddingOnTheLeftChangesNoHiddenStateInRoberta() {
        const auto model = fixture("roberta");
        const Scratch scratch;
        const onnx::File file = onnx::read(written(scratch, *model, headAndNeuronCut(model->spec())));
        const Batch batch = paddedRows(model->spec());
        const Outputs right = inputsOf(batch);
        Outputs left = inputsOf(batch);
        for (auto& [name, values] : left)
            for (int row = 0; row < batch.rows; ++row)
                values[row].copy_(values[row].roll(batch.positions - batch.length(row)).clone());
        const char* const last = "layer.1.mlp_norm";
        const at::Tensor expected = onnx::resultsOf(file, right).at(last);
        const at::Tensor found = onnx::resultsOf(file, left).at(last);
        for (int row = 0; row < batch.rows; ++row) {
            const int length = batch.length(row);
            const at::Tensor difference =
                expected[row].narrow(0, 0, length) - found[row].narrow(0, batch.positions - length, length);
            QVERIFY(difference.abs().max().item<double>() <= tolerance);
        }
    }

    void filesStateTheirVersionsInputsAndOutputs() {
        const std::vector<std::string> tokens{"batch", "sequence"};
        const std::vector<onnx::Value> inputs{
            {"input_ids", 7, tokens}, {"attention_mask", 7, tokens}, {"token_type_ids", 7, tokens}};
        for (const auto& [name, outputs] :
             {std::pair{"bert", std::vector<onnx::Value>{{"logits", 1, {"batch", "3"}}}},
              std::pair{"xlm-roberta", std::vector<onnx::Value>{{"logits", 1, {"batch", "2"}}}},
              std::pair{"bert-bare", std::vector<onnx::Value>{{"last_hidden_state", 1, {"batch", "sequence", "24"}},
                                                              {"pooler_output", 1, {"batch", "24"}}}}}) {
            const Scratch scratch;
            const auto model = fixture(name);
            const onnx::File file = onnx::read(written(scratch, *model, PruningMask(model->spec())));
            QCOMPARE(file.irVersion, 8);
            QCOMPARE(file.opset, 17);
            QVERIFY(file.inputs == inputs);
            QVERIFY2(file.outputs == outputs, name);
        }
    }

    void nodesReadEarlierResultsAndAllWeightsAreRead() {
        const auto model = fixture("albert");
        const Scratch scratch;
        const onnx::File file = onnx::read(written(scratch, *model, headAndNeuronCut(model->spec())));
        std::set<std::string> known, read;
        for (const onnx::Value& input : file.inputs)
            known.insert(input.name);
        for (const auto& [name, tensor] : file.tensors)
            QVERIFY(known.insert(name).second);
        for (const onnx::Node& node : file.nodes) {
            for (const std::string& input : node.inputs)
                QVERIFY2(known.contains(input), (node.output + " reads " + input).c_str());
            read.insert(node.inputs.begin(), node.inputs.end());
            QVERIFY2(known.insert(node.output).second, node.output.c_str());
        }
        for (const auto& [name, tensor] : file.tensors)
            QVERIFY2(read.contains(name), name.c_str());
    }

    void cutUnitsAreNotInTheFile() {
        const auto model = fixture("bert"); // 2 layers, 3 heads of size 8, 28 neurons
        const Scratch whole, less;
        const std::string dense = written(whole, *model, PruningMask(model->spec()));
        const std::string cut = written(less, *model, headAndNeuronCut(model->spec()));
        const onnx::File file = onnx::read(cut);
        const auto shape = [&](const char* name) { return file.tensors.at(name).sizes().vec(); };
        using Sizes = std::vector<std::int64_t>;
        QCOMPARE(shape("layers.0.query.weight"), (Sizes{24, 16}));
        QCOMPARE(shape("layers.0.key.bias"), (Sizes{16}));
        QCOMPARE(shape("layers.0.attention_output.weight"), (Sizes{16, 24}));
        QCOMPARE(shape("layers.0.mlp_up.weight"), (Sizes{24, 26}));
        QCOMPARE(shape("layers.0.mlp_down.weight"), (Sizes{26, 24}));
        QCOMPARE(shape("layers.1.query.weight"), (Sizes{24, 24}));
        const auto numbers = static_cast<std::int64_t>(4 * 8 * 24 + 3 * 8 + 2 * (2 * 24 + 1));
        const auto sizeOf = [](const std::string& path) {
            return static_cast<std::int64_t>(std::filesystem::file_size(path));
        };
        // The cut layer has two constants of its own: the shapes of its heads and of its context.
        QVERIFY2(std::abs(sizeOf(dense) - sizeOf(cut) - 4 * numbers + 100) < 40,
                 qPrintable(QString("%1 - %2").arg(sizeOf(dense)).arg(sizeOf(cut))));
    }

    void droppedSublayersHaveNoOperationsButTheirNorms() {
        const auto model = fixture("bert");
        PruningMask mask(model->spec());
        const auto nodes = [&] {
            const Scratch scratch;
            const onnx::File file = onnx::read(written(scratch, *model, mask));
            return std::array{count(file, "MatMul"), count(file, "Softmax"), count(file, "LayerNormalization")};
        };
        // In each layer 6 projections and 2 products of attention; then the pooler and the classifier.
        QCOMPARE(nodes(), (std::array{18, 2, 5}));
        LayerMask layer = mask.layer(0);
        layer.attention = AttentionCut::drop;
        mask.setLayer(0, layer);
        QCOMPARE(nodes(), (std::array{12, 1, 5}));
        layer.mlp = false;
        mask.setLayer(0, layer);
        QCOMPARE(nodes(), (std::array{10, 1, 5}));
        layer = mask.layer(1);
        layer.block = false;
        mask.setLayer(1, layer);
        QCOMPARE(nodes(), (std::array{2, 0, 3}));
        layer.block = true;
        layer.attention = AttentionCut::bypassQk;
        layer.alpha = 0.5;
        mask.setLayer(1, layer);
        QCOMPARE(nodes(), (std::array{6, 0, 5}));
    }

    void layersThatShareWeightsShareThemInTheFile() {
        const auto model = fixture("albert"); // 3 layers, stored once
        const Scratch scratch;
        const onnx::File file = onnx::read(written(scratch, *model, headAndNeuronCut(model->spec())));
        QCOMPARE(count(file, "Softmax"), 3);
        QVERIFY(file.tensors.contains("layers.0.query.weight"));
        QVERIFY(!file.tensors.contains("layers.1.query.weight"));
        QCOMPARE(file.tensors.at("layers.0.query.weight").size(1), std::int64_t{16});
    }

    void largeModelsHaveTheirWeightsInASecondFile() {
        const auto model = fixture("bert");
        const PruningMask mask = headAndNeuronCut(model->spec());
        const OnnxGraph graph = onnxModel(*model, mask);
        const OnnxSizes whole = sizesOf(graph, "model.onnx_data");
        QCOMPARE(whole.data, 0);
        const Scratch scratch;
        const std::string path = scratch.path("model.onnx").toStdString();
        writeOnnxGraph(graph, path, "model.onnx_data", {}, whole.model - 1);
        const OnnxSizes split = sizesOf(graph, "model.onnx_data", whole.model - 1);
        QCOMPARE(QFileInfo(scratch.path("model.onnx")).size(), split.model);
        QCOMPARE(QFileInfo(scratch.path("model.onnx_data")).size(), split.data);
        QVERIFY(split.model < whole.model / 2);
        const onnx::File file = onnx::read(path);
        QVERIFY(file.offsets.size() > 10);
        for (const auto& [name, offset] : file.offsets)
            QCOMPARE(offset % 4096, 0);
        const Batch batch = paddedRows(model->spec());
        QVERIFY(differenceOf(engineOutputs(*model, mask, batch), onnx::run(file, inputsOf(batch)), batch) <= tolerance);
        writeOnnxGraph(graph, path, "other", {}, whole.model);
        QCOMPARE(QFileInfo(scratch.path("model.onnx")).size(), whole.model);
        QVERIFY(!QFile::exists(scratch.path("other")));
    }

    void exportsAreFoldersThatSayThatTheyWereNotVerified() {
        const auto model = fixture("bert");
        const Scratch scratch;
        const ExportTarget& target = exportTarget("onnx");
        PruningMask mask = withDrawnCompensation(headAndNeuronCut(model->spec()), model->spec());
        ExportRequest request = requestOf(mask, scratch.path("out"));
        const ExportResult result = exportModel(*model, target, request);
        QCOMPARE(namesIn(scratch.path("out")),
                 (QStringList{"README.md", "config.json", "expected.json", "model.mask.compensation", "model.mask.json",
                              "model.onnx"}));
        QCOMPARE(result.files.size(), 6U);
        QVERIFY(!target.writer->isReadBack);
        QCOMPARE(result.verified.tokens, 0);
        QVERIFY(nlohmann::json::parse(exportJson(result)).at("verified").is_null());
        QFile card(scratch.path("out/README.md"));
        QVERIFY(card.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(card.readAll());
        QVERIFY2(text.contains("Not verified: Secateur writes this format, but does not read it\n"), qPrintable(text));
        QVERIFY(!text.contains("Cut weights are 0"));
        QVERIFY(readMask(scratch.path("out/model.mask.json").toStdString(), model->spec(), {}).record.mask == mask);
        const auto refusal = [&] { return scratch.refusal([&] { exportModel(*model, target, request); }); };
        QVERIFY2(refusal().startsWith("out: exists"), qPrintable(refusal()));
        request.mayReplace = true;
        QCOMPARE(refusal(), "accepted");
        QCOMPARE(namesIn(scratch.path()), QStringList{"out"});
    }

    void fromAGgufThereIsNoConfiguration() {
        const auto model = fixture("bert-legacy", "model.gguf");
        const Scratch scratch;
        const PruningMask mask = headAndNeuronCut(model->spec());
        const ExportResult result = exportModel(*model, exportTarget("onnx"), requestOf(mask, scratch.path("out")));
        QCOMPARE(namesIn(scratch.path("out")), (QStringList{"README.md", "model.mask.json", "model.onnx"}));
        QCOMPARE(result.warnings.size(), 1U);
        QCOMPARE(result.warnings.front(),
                 std::string("the source is a GGUF, so the export has no config.json and no tokenizer"));
        const onnx::File file = onnx::read(scratch.path("out/model.onnx").toStdString());
        const Batch batch = paddedRows(model->spec());
        QVERIFY(differenceOf(engineOutputs(*model, mask, batch), onnx::run(file, inputsOf(batch)), batch) <= tolerance);
    }

    void cancelledAndRefusedExportsLeaveNothing() {
        const auto model = fixture("bert");
        const Scratch scratch;
        const ExportTarget& target = exportTarget("onnx");
        std::stop_source stop;
        const Progress progress(
            [&](double fraction, std::string_view) {
                if (fraction > 0.4)
                    stop.request_stop();
            },
            stop.get_token());
        const ExportRequest request = requestOf(PruningMask(model->spec()), scratch.path("out"));
        QVERIFY_EXCEPTION_THROWN(exportModel(*model, target, request, progress), Cancelled);
        QCOMPARE(namesIn(scratch.path()), QStringList());
        ExportRequest own =
            requestOf(PruningMask(model->spec()), QFileInfo(data().filePath("bert")).absoluteFilePath());
        own.mayReplace = true;
        const QString told = scratch.refusal([&] { exportModel(*model, target, own); });
        QVERIFY2(told.contains("is the model itself, which an export never changes"), qPrintable(told));
    }

    void decodersAreRefused() {
        const auto model = fixture("gqa-f32");
        const Scratch scratch;
        const ExportRequest request = requestOf(PruningMask(model->spec()), scratch.path("out"));
        const QString told = scratch.refusal([&] { exportModel(*model, exportTarget("onnx"), request); });
        QVERIFY2(told.startsWith("cannot be exported as ONNX: only encoders such as BERT are written as ONNX; llama is "
                                 "a decoder"),
                 qPrintable(told));
        ModelSpec other = fixture("bert")->spec();
        QVERIFY(onnxReasons(PruningMask(other), other, "safetensors").empty());
        other.gatedMlp = true;
        QCOMPARE(onnxReasons(PruningMask(other), other, "safetensors").size(), 1U);
    }
};

SECATEUR_SUITE(TestOnnx)
#include "tst_onnx.moc"
