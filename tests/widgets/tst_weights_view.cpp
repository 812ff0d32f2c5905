// The tab Weights: circuits of the active head, thumbnails of others, and norms of neurons.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include <ATen/ATen.h>

#include "backends/engine/open_model.h"
#include "backends/session/mask_json.h"
#include "tests/support/expected.h"
#endif

#include "analysis/metrics/measure.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/weights/circuit_box.h"
#include "widgets/weights/circuit_sheet.h"
#include "widgets/weights/circuits_page.h"
#include "widgets/weights/matrix_map.h"
#include "widgets/weights/neuron_norms_page.h"
#include "widgets/weights/neuron_norms_plot.h"
#include "widgets/weights/weights_view.h"

#include <QCheckBox>
#include <QSignalSpy>
#include <QTest>

#include <cmath>

using namespace secateur;

namespace {

struct Bench {
    explicit Bench(const QString& folder = "gqa-f32")
        : document(services(), &jobs)
        , view(&document, &jobs, &selection) {
        view.resize(1000, 700);
        document.files()->open(test::data().filePath(folder));
        QTRY_VERIFY(document.model() && jobs.isIdle());
    }
    static Services services() {
        Services services;
        services.isSession = [](const std::string&) { return false; };
        services.openModel = [](const std::string& path, const Progress& progress) {
            return openModel(path, progress);
        };
        services.maskDigest = maskDigest;
        return services;
    }
    CircuitsPage& page() { return *view.circuits(); }
    bool shows(HeadId head) {
        return page().run()->head() == head && page().run()->isDone() && page().queryKey()->map()->tile() &&
               page().outputValue()->map()->tile();
    }
    void select(HeadId head) { selection.select({head}, Selection::Mode::replace, head); }

    JobRunner jobs;
    Document document;
    Selection selection;
    WeightsView view;
};

/// gate_norm_head of a head. @param options of the metric: ":fold_norm=true", or none
double gateNorm(const Model& model, HeadId head, const std::string& options = {}) {
    const auto requests = parseMetricRequests("gate_norm_head" + options);
    const MetricResult result = measure(model, requests, Progress(), {}).front();
    return result.values(static_cast<std::size_t>(head.layer), static_cast<std::size_t>(head.head));
}

} // namespace

class TestWeightsView : public QObject {
    Q_OBJECT

private slots:
    void nothingIsComputedBeforeItIsSeen();
    void viewShowsTheActiveHead();
    void normIsTheMetric();
    void optionsChangeTheCircuits();
    void thumbnailsAreThoseOfTheLayerAndTheSelection();
    void cutHeadsAreHatched();
    void cellsOfTheMapAreProducts();
    void curvesAddUp();
    void neuronsAreDrawnAndChosen();
    void figureHasBothCircuits();
};

void TestWeightsView::nothingIsComputedBeforeItIsSeen() {
    Bench bench;
    QVERIFY(!bench.page().run()->head());
}

void TestWeightsView::viewShowsTheActiveHead() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    bench.select({1, 2});
    QTRY_VERIFY(bench.shows({1, 2}));
    const int hidden = bench.document.spec().hidden;
    QCOMPARE(bench.page().queryKey()->map()->rows(), hidden);
    QCOMPARE(bench.page().queryKey()->map()->columns(), hidden);
    QSignalSpy told(&bench.view, &WeightsView::hoverText);
    QTest::mouseMove(bench.page().queryKey()->map(), bench.page().queryKey()->map()->cellRect({3, 1}).center());
    QTRY_VERIFY(!told.isEmpty());
    QVERIFY2(told.last().at(0).toString().startsWith("Query-key of L1.H2: query direction 3, key direction 1 = "),
             qPrintable(told.last().at(0).toString()));
}

void TestWeightsView::normIsTheMetric() {
    Bench bench;
    bench.view.show();
    for (const HeadId head : {HeadId{0, 1}, HeadId{1, 3}}) {
        bench.select(head);
        QTRY_VERIFY(bench.shows(head));
        const double expected = gateNorm(*bench.document.model(), head);
        const double norm = bench.page().run()->circuits().queryKey->norm;
        QVERIFY2(std::abs(norm - expected) <= 1e-5 * expected, qPrintable(QString("%1 %2").arg(norm).arg(expected)));
    }
}

void TestWeightsView::optionsChangeTheCircuits() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    const auto boxes = bench.page().findChildren<QCheckBox*>();
    QVERIFY(!boxes.isEmpty());
    boxes.front()->click();
    QTRY_VERIFY(bench.shows({0, 0}));
    const double expected = gateNorm(*bench.document.model(), {0, 0}, ":fold_norm=true");
    QVERIFY(bench.page().run()->options().foldNorm);
    QVERIFY(std::abs(bench.page().run()->circuits().queryKey->norm - expected) <= 1e-5 * expected);
}

void TestWeightsView::thumbnailsAreThoseOfTheLayerAndTheSelection() {
    Bench bench;
    bench.view.show();
    bench.selection.select({{0, 1}, {1, 2}}, Selection::Mode::replace, HeadId{0, 1});
    const auto heads = static_cast<std::size_t>(bench.document.spec().layers[0].heads);
    QTRY_COMPARE(bench.page().sheet()->heads().size(), heads + 1);
    QVERIFY(bench.page().sheet()->heads().back() == (HeadId{1, 2}));
    QTRY_VERIFY(bench.page().sheet()->hasThumbnail({1, 2}) && bench.page().sheet()->hasThumbnail({0, 0}));
    QTest::mouseClick(bench.page().sheet(), Qt::LeftButton, {}, bench.page().sheet()->cellRect(HeadId{0, 2}).center());
    QTRY_VERIFY(bench.shows({0, 2}));
    QTest::keyClick(bench.page().sheet(), Qt::Key_Down);
    QTRY_VERIFY(bench.shows({0, 3}));
}

void TestWeightsView::cutHeadsAreHatched() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    const QImage before = bench.page().queryKey()->map()->grab().toImage();
    bench.document.masks()->setHeadsCut({{0, 0}}, true);
    QVERIFY(bench.page().queryKey()->map()->grab().toImage() != before);
}

void TestWeightsView::cellsOfTheMapAreProducts() {
    Bench bench;
    bench.view.show();
    bench.select({1, 1});
    QTRY_VERIFY(bench.shows({1, 1}));
    const Model& model = *bench.document.model();
    const LayerSpec& layer = model.spec().layers[1];
    const auto rowsOf = [&](WeightName name, int unit) {
        return model.tensor(1, name).to(at::kDouble).narrow(0, unit * layer.headDim, layer.headDim);
    };
    const at::Tensor expected =
        rowsOf(WeightName::query, 1).t().mm(rowsOf(WeightName::key, layer.kvGroup(1))).contiguous();
    const MatrixMap& map = *bench.page().queryKey()->map();
    QTRY_VERIFY(map.valueOf({2, 5}));
    for (const MatrixCell cell : {MatrixCell{2, 5}, MatrixCell{0, 0}, MatrixCell{7, 1}}) {
        const double value = expected[cell.row][cell.column].item<double>();
        QVERIFY(std::abs(static_cast<double>(*map.valueOf(cell)) - value) <= 1e-5 * (1 + std::abs(value)));
    }
}

void TestWeightsView::curvesAddUp() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    const Figure& curves = bench.page().curves();
    QCOMPARE(curves.series.size(), std::size_t{2});
    double squares = 0;
    for (const double value : curves.series.front().values)
        squares += value * value;
    const double norm = bench.page().run()->circuits().queryKey->norm;
    QVERIFY(std::abs(std::sqrt(squares) - norm) <= 1e-4 * norm);
    double shares = 100 * bench.page().run()->circuits().queryKey->unrotatedShare;
    for (const double share : bench.page().shares().series.front().values)
        shares += share;
    QVERIFY(std::abs(shares - 100) <= 1e-3);
}

void TestWeightsView::neuronsAreDrawnAndChosen() {
    Bench bench;
    bench.view.show();
    bench.view.showNeurons(true);
    QTRY_COMPARE(bench.view.neurons()->layer(), std::optional(0));
    bench.select({1, 0});
    QTRY_COMPARE(bench.view.neurons()->layer(), std::optional(1));
    const Figure& figure = bench.view.currentFigure();
    QCOMPARE(figure.series.front().values.size(), static_cast<std::size_t>(bench.document.spec().layers[1].ffn));
    const at::Tensor down = bench.document.model()->tensor(1, WeightName::down).to(at::kDouble);
    QVERIFY(std::abs(figure.series.front().values[3] - down.select(1, 3).norm().item<double>()) <= 1e-6);
    NeuronNormsPlot& plot = *bench.view.neurons()->plot();
    QTest::mouseClick(&plot, Qt::LeftButton, {}, plot.position(3)->toPoint());
    QVERIFY(plot.chosen().has_value());
    plot.choose(3);
    QTest::keyClick(&plot, Qt::Key_Right);
    QCOMPARE(plot.chosen(), std::optional<std::size_t>(4));
    bench.document.masks()->setNeuronsCut(1, std::array{3}, true);
    QVERIFY(bench.view.currentFigure().series.front().cut[3]);
}

void TestWeightsView::figureHasBothCircuits() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    const Figure figure = bench.view.currentFigure();
    QCOMPARE(figure.kind, FigureKind::grid);
    QVERIFY(figure.parts.size() >= 3);
    QCOMPARE(figure.parts[0].cells.rows(), static_cast<std::size_t>(bench.document.spec().hidden));
    QVERIFY(bench.view.figureActions()->actions().front()->isEnabled());
}

SECATEUR_SUITE(TestWeightsView)
#include "tst_weights_view.moc"
