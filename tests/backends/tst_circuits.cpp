// Circuits of heads, norms of neurons and the comparison of checkpoints, as numpy computes them (data/make_weights.py),
// and the units to which rows and columns belong.

#ifndef Q_MOC_RUN
#include "analysis/base/usage_error.h"
#include "analysis/weights/block_pyramid.h"
#include "analysis/weights/checkpoint_statistics.h"
#include "analysis/weights/head_circuit.h"
#include "analysis/weights/neuron_norms.h"
#include "analysis/weights/tensor_comparison.h"
#include "analysis/weights/unit_marks.h"
#include "backends/base/runtime.h"
#include "backends/engine/open_model.h"
#include "backends/weights/open_tensors.h"
#include "tests/support/expected.h"
#include "tests/support/fixture.h"
#include "tests/support/suite.h"
#include <ATen/ATen.h>
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

using namespace secateur;
using namespace secateur::test;

namespace {

double relativeError(double value, double wanted, double scale = 0) {
    const double error = std::abs(value - wanted) / std::max({std::abs(wanted), scale, 1e-30});
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double worstOf(const std::vector<double>& values, const nlohmann::json& wanted, double scale) {
    if (values.size() != wanted.size())
        return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, relativeError(values[i], wanted[i].get<double>(), scale));
    return worst;
}

/// The values that numpy computed; singular values may be fewer than the rank, and the rest is 0.
double circuitError(const HeadCircuit& circuit, nlohmann::json wanted) {
    nlohmann::json& singular = wanted.at("singular");
    while (singular.size() < circuit.singularValues.size())
        singular.push_back(0.0);
    const double largest = circuit.singularValues.front();
    double worst = worstOf(circuit.singularValues, singular, largest);
    worst = std::max(worst, relativeError(circuit.norm, wanted.at("norm").get<double>()));
    worst = std::max(worst, relativeError(circuit.stableRank, wanted.at("stable_rank").get<double>()));
    if (!wanted.contains("shares"))
        return circuit.rotaryShares.empty() ? worst : std::numeric_limits<double>::infinity();
    worst = std::max(worst, worstOf(circuit.rotaryShares, wanted.at("shares"), 1));
    worst = std::max(worst, relativeError(circuit.unrotatedShare, wanted.at("unrotated").get<double>(), 1));
    return std::max(worst, relativeError(circuit.averagedNorm, wanted.at("averaged").get<double>()));
}

/// Means and largest numbers of the map's blocks.
double mapError(const HeadCircuit& circuit, const nlohmann::json& wanted) {
    const BlockPyramid pyramid(circuitGrid(std::make_shared<HeadCircuit>(circuit)));
    const BlockPicture picture = pyramid.picture({0, 0, circuit.rows, circuit.columns}, 8, 4);
    double worst = 0;
    double scale = 0;
    for (const nlohmann::json& value : wanted.at("largest"))
        scale = std::max(scale, std::abs(value.get<double>()));
    for (std::size_t cell = 0; cell < wanted.at("means").size(); ++cell) {
        worst = std::max(worst, relativeError(static_cast<double>(picture.means.at(cell)),
                                              wanted.at("means")[cell].get<double>(), scale));
        worst = std::max(worst, relativeError(static_cast<double>(picture.largest.at(cell)),
                                              wanted.at("largest")[cell].get<double>(), scale));
    }
    return worst;
}

std::shared_ptr<const StoredTensors> tensorsOf(const QString& folder) {
    return openTensors(data().filePath(folder).toStdString());
}

const StoredTensor& tensorNamed(const StoredTensors& tensors, std::string_view name) {
    return tensors.tensors().at(tensors.find(name).value());
}

/// The names by which make_weights.py knows weights.
std::string judgeName(WeightName weight) {
    static const std::map<WeightName, std::string> names{{WeightName::embedding, "embedding"},
                                                         {WeightName::finalNorm, "finalNorm"},
                                                         {WeightName::lmHead, "readOut"},
                                                         {WeightName::attentionNorm, "attentionNorm"},
                                                         {WeightName::query, "query"},
                                                         {WeightName::key, "key"},
                                                         {WeightName::value, "value"},
                                                         {WeightName::output, "output"},
                                                         {WeightName::mlpNorm, "mlpNorm"},
                                                         {WeightName::gate, "gate"},
                                                         {WeightName::up, "up"},
                                                         {WeightName::down, "down"}};
    return names.at(weight);
}

} // namespace

class TestCircuits : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(2); }

    void circuitsAreThoseOfNumpy_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("file");
        const nlohmann::json all = readJson(data().filePath("weights/circuits.json"));
        for (const auto& item : all.items()) {
            const QString folder = QString::fromStdString(item.key());
            for (const QString& file : filesOf(folder))
                QTest::addRow("%s %s", qPrintable(folder), qPrintable(file)) << folder << file;
        }
    }
    void circuitsAreThoseOfNumpy() {
        QFETCH(QString, folder);
        QFETCH(QString, file);
        const auto model = fixture(folder, file);
        const nlohmann::json layers = readJson(data().filePath("weights/circuits.json")).at(folder.toStdString());
        double worst = 0;
        double worstMap = 0;
        for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            const nlohmann::json& heads = layers[layer].at("heads");
            for (std::size_t head = 0; head < heads.size(); ++head) {
                for (const CircuitKind kind : {CircuitKind::queryKey, CircuitKind::outputValue}) {
                    const nlohmann::json& wanted = heads[head].at(std::string(name(kind)));
                    const HeadCircuit circuit =
                        headCircuit(*model, {static_cast<int>(layer), static_cast<int>(head)}, kind);
                    worst = std::max(worst, circuitError(circuit, wanted));
                    worstMap = std::max(worstMap, mapError(circuit, wanted.at("picture")));
                }
            }
            const NeuronNorms norms = neuronNorms(*model, static_cast<int>(layer));
            worst = std::max(worst, worstOf(norms.up, layers[layer].at("up"), 0));
            worst = std::max(worst, worstOf(norms.down, layers[layer].at("down"), 0));
            QCOMPARE(norms.gate.empty(), !layers[layer].contains("gate"));
            if (!norms.gate.empty())
                worst = std::max(worst, worstOf(norms.gate, layers[layer].at("gate"), 0));
        }
        qInfo("worst error %.2g, of pictures %.2g", worst, worstMap);
        QVERIFY2(worst < 1e-9, qPrintable(QString::number(worst)));
        QVERIFY2(worstMap < 1e-5, qPrintable(QString::number(worstMap)));
    }

    /// The norm is the metric gate_norm_head with the same options, in every fixture that has the metric.
    void normsAreTheMetric_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder : fixtures())
            QTest::newRow(qPrintable(folder)) << folder;
    }
    void normsAreTheMetric() {
        QFETCH(QString, folder);
        const auto model = fixture(folder);
        const nlohmann::json metrics = readJson(data().filePath(folder + "/expected.json")).at("metrics");
        double worst = 0;
        int compared = 0;
        for (const auto& [id, values] : metrics.items()) {
            const QStringList parts = QString::fromStdString(id).split(':');
            if (parts.front() != "gate_norm_head")
                continue;
            const CircuitOptions options{parts.contains("fold_norm=true"), parts.contains("augmented=true"),
                                         parts.contains("qk_norm=true")};
            const std::vector<std::vector<double>> wanted = rows(values);
            for (std::size_t layer = 0; layer < wanted.size(); ++layer) {
                for (std::size_t head = 0; head < wanted[layer].size(); ++head) {
                    const HeadCircuit circuit = headCircuit(*model, {static_cast<int>(layer), static_cast<int>(head)},
                                                            CircuitKind::queryKey, options);
                    const bool isAveraged = parts.contains("rope_averaged=true") && !std::isnan(circuit.averagedNorm);
                    worst = std::max(
                        worst, relativeError(isAveraged ? circuit.averagedNorm : circuit.norm, wanted[layer][head]));
                    ++compared;
                }
            }
        }
        qInfo("%d norms, worst relative error %.2g", compared, worst);
        QVERIFY2(worst < 1e-5, qPrintable(QString::number(worst)));
    }

    /// Some rows of a quantised GGUF matrix are those of the whole matrix, with rotary rows in halves.
    void rowsOfQuantisedWeightsAreInHalves() {
        const auto model = fixture("gqa-q4_0-gguf");
        for (const WeightName weight : {WeightName::query, WeightName::key, WeightName::value}) {
            const at::Tensor whole = model->tensor(1, weight);
            const std::array<std::int64_t, 4> indices{5, 0, 17, 11};
            const at::Tensor rows = model->rows(1, weight, indices);
            for (std::size_t i = 0; i < indices.size(); ++i)
                QVERIFY(rows[static_cast<std::int64_t>(i)].equal(whole[indices[i]]));
        }
    }

    void headsAndLayersThatAreNotThereAreRefused() {
        const auto model = fixture("gqa-f32");
        QVERIFY_THROWS_EXCEPTION(UsageError, headCircuit(*model, {2, 0}, CircuitKind::queryKey));
        QVERIFY_THROWS_EXCEPTION(UsageError, headCircuit(*model, {0, 8}, CircuitKind::outputValue));
        QVERIFY_THROWS_EXCEPTION(UsageError, neuronNorms(*model, -1));
    }

    void rowsAndColumnsHaveUnits() {
        const auto tensors = tensorsOf("gqa-f32"); // 8 heads of 12 in 2 KV groups, 32 neurons
        const ModelSpec& spec = tensors->spec().value();
        const auto marks = [&](const char* name) {
            return unitMarks(tensorNamed(*tensors, std::string("model.layers.1.") + name), spec);
        };
        const auto query = marks("self_attn.q_proj.weight");
        QCOMPARE(unitAt(query, GridAxis::rows, 0), (MarkedUnit{CutUnit::head, 1, 0}));
        QCOMPARE(unitAt(query, GridAxis::rows, 95), (MarkedUnit{CutUnit::head, 1, 7}));
        QVERIFY(!unitAt(query, GridAxis::rows, 96) && !unitAt(query, GridAxis::columns, 0));
        QCOMPARE(unitAt(marks("self_attn.v_proj.weight"), GridAxis::rows, 12), (MarkedUnit{CutUnit::kvGroup, 1, 1}));
        QCOMPARE(unitAt(marks("self_attn.o_proj.weight"), GridAxis::columns, 13), (MarkedUnit{CutUnit::head, 1, 1}));
        QCOMPARE(unitAt(marks("mlp.up_proj.weight"), GridAxis::rows, 31), (MarkedUnit{CutUnit::neuron, 1, 31}));
        QCOMPARE(unitAt(marks("mlp.down_proj.weight"), GridAxis::columns, 3), (MarkedUnit{CutUnit::neuron, 1, 3}));
        QVERIFY(marks("input_layernorm.weight").empty());
        QCOMPARE(unitName({CutUnit::kvGroup, 1, 0}), std::string("L1.G0"));
    }

    /// GPT-2 has one matrix [in, out] for queries, keys and values.
    void partsOfFusedTensorsHaveUnits() {
        const auto tensors = tensorsOf("gpt2"); // 5 heads of 4
        const StoredTensor& fused = tensorNamed(*tensors, "transformer.h.1.attn.c_attn.weight");
        QCOMPARE(fused.parts.size(), std::size_t{3});
        const auto marks = unitMarks(fused, tensors->spec().value());
        QCOMPARE(unitAt(marks, GridAxis::columns, 19), (MarkedUnit{CutUnit::head, 1, 4}));
        QCOMPARE(unitAt(marks, GridAxis::columns, 20), (MarkedUnit{CutUnit::kvGroup, 1, 0}));
        QCOMPARE(unitAt(marks, GridAxis::columns, 59), (MarkedUnit{CutUnit::kvGroup, 1, 4}));
        QVERIFY(!unitAt(marks, GridAxis::rows, 0));
    }

    /// A weight's grid is Model::tensor(), whatever the format.
    void gridsOfWeightsAreInTheModelsLayout_data() { circuitsAreThoseOfNumpy_data(); }
    void gridsOfWeightsAreInTheModelsLayout() {
        QFETCH(QString, folder);
        QFETCH(QString, file);
        const auto model = fixture(folder, file);
        const auto tensors = tensorsOf(folder + "/" + file);
        int compared = 0;
        for (std::size_t index = 0; index < tensors->tensors().size(); ++index) {
            const StoredTensor& tensor = tensors->tensors()[index];
            for (std::size_t part = 0; part < tensor.parts.size(); ++part, ++compared) {
                const auto grid = tensors->weightGrid(index, part);
                const at::Tensor wanted =
                    model->tensor(tensor.parts[part].layer, tensor.parts[part].weight).to(at::kFloat).contiguous();
                QCOMPARE(grid->count(), wanted.numel());
                std::vector<float> numbers(static_cast<std::size_t>(grid->count()));
                const std::int64_t half = grid->count() / 2; // in two pieces
                grid->read(0, std::span(numbers).first(static_cast<std::size_t>(half)));
                grid->read(half, std::span(numbers).subspan(static_cast<std::size_t>(half)));
                QVERIFY2(std::equal(numbers.begin(), numbers.end(), wanted.data_ptr<float>()), tensor.name.c_str());
            }
        }
        QVERIFY(compared > 10);
    }

    void differencesAreThoseOfNumpy_data() {
        QTest::addColumn<QString>("folder");
        const nlohmann::json all = readJson(data().filePath("weights/comparisons.json"));
        for (const auto& item : all.items())
            QTest::newRow(item.key().c_str()) << QString::fromStdString(item.key());
    }
    void differencesAreThoseOfNumpy() {
        QFETCH(QString, folder);
        const nlohmann::json wanted = readJson(data().filePath("weights/comparisons.json")).at(folder.toStdString());
        const auto dense = tensorsOf("gqa-f32");
        const auto other = tensorsOf(folder);
        const TensorPairs pairs = pairTensors(*dense, *other);
        QCOMPARE(pairs.pairs.size(), wanted.size());
        QVERIFY(pairs.onlyFirst.empty() && pairs.warnings.empty());
        double worst = 0;
        for (const PairReport& report : checkpointDifferences(*dense, *other, pairs)) {
            const TensorPart& part = dense->tensors()[report.pair.first].parts.at(*report.pair.firstPart);
            const nlohmann::json& one = wanted.at(std::to_string(part.layer) + "." + judgeName(part.weight));
            QVERIFY2(report.difference, report.pair.obstacle.c_str());
            const TensorDifference& difference = *report.difference;
            worst = std::max(worst, relativeError(difference.relativeError(), one.at("relative_error").get<double>()));
            worst = std::max(worst, relativeError(difference.largest, one.at("largest").get<double>()));
            QCOMPARE(std::isinf(difference.signalToNoise()), one.at("snr_db").is_null());
            if (!one.at("snr_db").is_null())
                worst = std::max(worst, relativeError(difference.signalToNoise(), one.at("snr_db").get<double>()));
            const auto map = differenceGrid(firstGrid(*dense, report.pair), secondGrid(*other, report.pair));
            const double there = std::abs(static_cast<double>(numberAt(*map, difference.row, difference.column)));
            QVERIFY(relativeError(there, difference.largest) < 1e-6);
        }
        qInfo("worst relative error %.2g", worst);
        QVERIFY2(worst < 1e-9, qPrintable(QString::number(worst)));
    }

    void otherShapesAreNamed() {
        const auto wide = tensorsOf("gqa-f32");
        const auto narrow = tensorsOf("mha-f32");
        const TensorPairs pairs = pairTensors(*wide, *narrow);
        QVERIFY(std::ranges::any_of(pairs.pairs, [](const TensorPair& pair) { return !pair.obstacle.empty(); }));
        for (const PairReport& report : checkpointDifferences(*wide, *narrow, pairs))
            QCOMPARE(report.difference.has_value(), report.pair.obstacle.empty());
    }
};

SECATEUR_SUITE(TestCircuits)
#include "tst_circuits.moc"
