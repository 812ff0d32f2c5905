// The metrics of weights (gate-norm and Mag-SP) against numpy in float64 (tests/data/make_fixtures.py). For gate-norms,
// numpy computes the product matrices W_q^T W_k explicitly.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/suite.h"
#include "tests/support/tiny_model.h"
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#include <ATen/Parallel.h>
#endif

#include "analysis/metrics/measure.h"
#include "backends/engine/open_model.h"
#include "tests/support/fixture.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-5;

/// The largest relative error over all metrics in expected.json.
double worstError(const Model& model, const nlohmann::json& expected) {
    std::string ids;
    for (const auto& [id, _] : expected.items())
        ids += (ids.empty() ? "" : ",") + id;
    const std::vector<MetricRequest> requests = parseMetricRequests(ids);
    double worst = 0;
    for (const MetricResult& result : measure(model, requests, {})) {
        const auto wanted = rows(expected.at(result.request.resultId()));
        if (wanted.size() != result.values.rows())
            return std::numeric_limits<double>::infinity();
        for (std::size_t layer = 0; layer < wanted.size(); ++layer) {
            for (std::size_t cell = 0; cell < wanted[layer].size(); ++cell) {
                const double error = std::abs(result.values(layer, cell) / wanted[layer][cell] - 1);
                worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
            }
        }
    }
    return worst;
}

void checkAgainst(const QString& modelPath, const QString& expectedPath) {
    const auto model = openModel(modelPath.toStdString(), {}, onDevice());
    const nlohmann::json expected = readJson(expectedPath).at("metrics");
    const double error = worstError(*model, expected);
    qInfo("%zu results, worst relative error %.2g", expected.size(), error);
    QVERIFY2(error < tolerance, qPrintable(QString("worst relative error %1").arg(error)));
}

/// A one-layer model with random weights and four heads in two KV groups.
TinyModel drawnModel() {
    LayerSpec layer;
    layer.heads = 4;
    layer.kvHeads = 2;
    layer.headDim = 6;
    layer.rotary.dims = 4;
    TinyModel model(layer, 16);
    model.set(WeightName::query, at::randn({24, 16}));
    model.set(WeightName::key, at::randn({12, 16}));
    model.set(WeightName::attentionNorm, at::randn({16}));
    return model;
}

MetricResult only(const Model& model, const char* request) {
    return measure(model, parseMetricRequests(request), {}).front();
}

} // namespace

class TestWeightMetrics : public QObject {
    Q_OBJECT

private slots:
    void smallModelsEqualNumpy_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("file");
        for (const QString& folder : fixtures())
            for (const QString& file : filesOf(folder))
                QTest::newRow(qPrintable(folder + "/" + file)) << folder << file;
    }
    void smallModelsEqualNumpy() {
        QFETCH(QString, folder);
        QFETCH(QString, file);
        const QDir model(data().filePath(folder));
        checkAgainst(QDir::cleanPath(model.filePath(file)), model.filePath("expected.json"));
    }

    void theDemoModelEqualsNumpy() {
        if (demoModel().isEmpty())
            QSKIP("the demo model was not fetched");
        checkAgainst(demoModel(), data().filePath("expected_demo.json"));
    }
    void stories260KEqualsNumpy_data() {
        QTest::addColumn<QString>("path");
        QTest::newRow("safetensors") << "models/stories260K-hf";
        QTest::newRow("GGUF") << "models/stories260K/stories260K.gguf";
    }
    void stories260KEqualsNumpy() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        QFETCH(QString, path);
        checkAgainst(QDir(realData()).filePath(path), data().filePath("expected_stories260K.json"));
    }

    void scalingTheQueriesScalesEveryGateNorm() {
        TinyModel model = drawnModel();
        const std::vector<MetricRequest> requests = parseMetricRequests(
            "gate_norm,gate_norm_headwise,gate_norm_head,gate_norm_group,gate_norm:rope_averaged=true");
        const auto before = measure(model, requests, {});
        model.set(WeightName::query, model.tensor(0, WeightName::query) * 3);
        const auto after = measure(model, requests, {});
        for (std::size_t i = 0; i < requests.size(); ++i)
            QVERIFY(std::abs(after[i].values(0, 0) / before[i].values(0, 0) - 3) < 1e-6);
    }
    void headwiseIsTheRootOfTheSummedSquaresOfHeads() {
        const TinyModel model = drawnModel();
        double squares = 0;
        const MetricResult heads = only(model, "gate_norm_head");
        for (const double value : heads.values.values())
            squares += value * value;
        QVERIFY(std::abs(only(model, "gate_norm_headwise").values(0, 0) / std::sqrt(squares) - 1) < 1e-12);
    }
    void groupedHeadsEqualTheSameHeadsWithTheirKeysRepeated() {
        const TinyModel grouped = drawnModel();
        LayerSpec layer = grouped.spec().layers.front();
        layer.kvHeads = layer.heads;
        TinyModel repeated(layer, 16);
        repeated.set(WeightName::query, grouped.tensor(0, WeightName::query));
        repeated.set(WeightName::key,
                     grouped.tensor(0, WeightName::key).reshape({2, 6, 16}).repeat_interleave(2, 0).reshape({24, 16}));
        for (const char* request : {"gate_norm", "gate_norm_head", "gate_norm:rope_averaged=true"}) {
            const double ratio = only(grouped, request).values(0, 0) / only(repeated, request).values(0, 0);
            QVERIFY2(std::abs(ratio - 1) < 1e-6, request);
        }
    }
    void withoutRotaryPositionsTheKeyBiasDropsOut() {
        TinyModel model = drawnModel();
        model.layer().rotary.dims = 0;
        model.layer().queryBias = model.layer().keyBias = true;
        model.set(WeightName::queryBias, at::zeros({24}));
        model.set(WeightName::keyBias, at::full({12}, 100.0));
        QCOMPARE(only(model, "gate_norm:augmented=true").values(0, 0), only(model, "gate_norm").values(0, 0));
    }
    void normsThatMultiplyByOnePlusTheirWeightAreFoldedSo() {
        TinyModel model = drawnModel();
        model.set(WeightName::attentionNorm, at::zeros({16}));
        QCOMPARE(only(model, "gate_norm:fold_norm=true").values(0, 0), 0.0);
        // With normWeightOffset 1, as in Gemma, the norm multiplies by 1 + weight. The weight is 0, so folding the norm
        // leaves the projections as they are.
        class GemmaLike : public TinyModel {
        public:
            explicit GemmaLike(const TinyModel& plain)
                : TinyModel(plain)
                , m_offset(plain.card()) {
                m_offset.spec.normWeightOffset = 1;
            }
            const ModelCard& card() const override { return m_offset; }

        private:
            ModelCard m_offset;
        };
        QCOMPARE(only(GemmaLike(model), "gate_norm:fold_norm=true").values(0, 0),
                 only(model, "gate_norm").values(0, 0));
    }
    void optionsThatChangeNothingAreSaid() {
        TinyModel model = drawnModel();
        QCOMPARE(only(model, "gate_norm:augmented=true").warnings.size(), std::size_t(1));
        QVERIFY(only(model, "gate_norm:rope_averaged=true").warnings.empty());
        model.layer().rotary.dims = 0;
        QCOMPARE(only(model, "gate_norm:rope_averaged=true").warnings.size(), std::size_t(1));
    }
    void takingTheScaleOutPredictsTheSpreadOfNormedScores() {
        TinyModel model = drawnModel();
        model.layer().normsHeads = true;
        model.set(WeightName::queryNorm, at::randn({6}));
        model.set(WeightName::keyNorm, at::randn({6}));
        const double plain = only(model, "gate_norm_head:qk_norm=true").values(0, 0);
        model.set(WeightName::query, model.tensor(0, WeightName::query) * 8); // multiplying by 8 is exact in float32
        QVERIFY(std::abs(only(model, "gate_norm_head:qk_norm=true").values(0, 0) / plain - 1) < 1e-12);
        QCOMPARE(only(model, "gate_norm").warnings.size(), std::size_t(1));
        QVERIFY(only(model, "gate_norm:qk_norm=true").warnings.empty());

        at::manual_seed(5);
        const auto normed = [](const at::Tensor& rows, const at::Tensor& gain) {
            return rows / rows.square().mean(1, true).sqrt() * gain;
        };
        const auto project = [&](WeightName which, std::int64_t begin) {
            return at::randn({20000, 16}).mm(model.tensor(0, which).narrow(0, begin, 6).t());
        };
        const at::Tensor scores = (normed(project(WeightName::query, 0), model.tensor(0, WeightName::queryNorm)) *
                                   normed(project(WeightName::key, 0), model.tensor(0, WeightName::keyNorm)))
                                      .sum(1);
        const double spread = scores.std().item<double>();
        qInfo("predicted %.3f, drawn %.3f", plain, spread);
        // A wide limit, because in six dimensions the norm of a random row varies much.
        QVERIFY(std::abs(spread / plain - 1) < 0.15);
    }
    void layersWithoutAttentionHaveNoValue() {
        TinyModel model = drawnModel();
        model.layer().attention = AttentionKind::none;
        QVERIFY(std::isnan(only(model, "gate_norm").values(0, 0)));
    }
    void weightsThatAreNotFiniteAreSaidAndLeaveAGap() {
        TinyModel model = drawnModel();
        model.set(WeightName::query, at::full({24, 16}, std::numeric_limits<float>::quiet_NaN()));
        const MetricResult result = only(model, "gate_norm_head");
        QVERIFY(std::isnan(result.values(0, 0)));
        QCOMPARE(QString::fromStdString(result.warnings.front()),
                 QString("weight %1 holds 384 NaN and 0 infinite numbers").arg(static_cast<int>(WeightName::query)));
    }
    void everyLayerArrivesOnceAndACancelStopsWithinALayer() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const auto model = openModel(QDir(realData()).filePath("models/stories260K-hf").toStdString());
        const auto requests = parseMetricRequests("weights");
        std::vector<int> layers;
        const auto collect = [&](const LayerCells& cells) {
            QVERIFY(!std::isnan(cells.values.front()));
            if (cells.request == 0)
                layers.push_back(cells.layer);
        };
        measure(*model, requests, {}, collect);
        std::sort(layers.begin(), layers.end());
        QCOMPARE(layers, (std::vector{0, 1, 2, 3, 4}));

        layers.clear();
        std::stop_source stop;
        const auto stopAtOnce = [&](const LayerCells& cells) {
            collect(cells);
            stop.request_stop();
        };
        QVERIFY_EXCEPTION_THROWN(measure(*model, requests, Progress({}, stop.get_token()), stopAtOnce), Cancelled);
        QVERIFY2(static_cast<int>(layers.size()) <= at::get_num_threads(), "went on after the cancel");
    }
};

SECATEUR_SUITE(TestWeightMetrics)
#include "tst_weight_metrics.moc"
