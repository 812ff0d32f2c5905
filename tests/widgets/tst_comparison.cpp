#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "analysis/session/result_key.h"
#include "tests/support/suite.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/layers/layers_view.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/metric_names.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeWidget>

using namespace secateur;
using namespace secateur::test;

namespace {

/// Replaces the measurement of metrics by constant values. The value tells on which text and under which mask it was
/// "measured".
std::vector<MetricResult> measured(const Model& model, std::span<const MetricRequest> requests,
                                   const MeasureChoice& choice) {
    std::vector<MetricResult> results;
    for (const MetricRequest& request : requests) {
        MetricResult& result = results.emplace_back();
        result.request = request;
        result.values = Matrix(model.spec().layers.size(), columnsFor(request.info->scope, model.spec()));
        const bool isOfWeights = request.info->needs == Needs::weights;
        std::ranges::fill(result.values.values(), static_cast<double>(choice.text.size()) + (choice.mask ? 0.5 : 0));
        if (isOfWeights)
            continue;
        result.measurement.dataDigest = "data of " + choice.text;
        if (choice.mask)
            result.measurement.maskDigest = FakeServices().services().maskDigest(*choice.mask);
        result.data = MeasuredData{choice.text.empty() ? "built-in" : choice.text, 1, 8, 8, 8, "document", "never"};
    }
    return results;
}

struct Bench {
    Bench() {
        files.addModel(path("small.gguf"), 3);
        files.addModel(path("other.gguf"), 3, "sha256:other");
        files.addModel(path("deep.gguf"), 5, "sha256:deep");
        document.files()->open(QString::fromStdString(path("small.gguf")));
        QVERIFY(opened.wait());
        settle();
    }
    std::string path(const char* name) const { return folder.filePath(name).toStdString(); }
    Services services() {
        Services made = files.services();
        made.measure = [](const Model& model, std::span<const MetricRequest> requests, const MeasureChoice& choice,
                          const Progress&, const LayerSink&) { return measured(model, requests, choice); };
        return made;
    }
    void measure(const char* text, bool masked = false) {
        document.measurements()->chooseMeasuring({text, 0, {}}, masked);
        document.measurements()->measure(parseMetricRequests("sink_head,sink_layer"));
        settle();
    }
    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(40); // long enough for a frame to be drawn
    }
    double value(const std::string& key) const { return document.measurements()->result(key)->values(0, 0); }

    QTemporaryDir folder;
    FakeServices files;
    JobRunner jobs;
    Document document{services(), &jobs};
    QSignalSpy opened{&document, &Document::opened};
    Comparison& comparison = *document.comparison();
};

} // namespace

class TestComparison : public QObject {
    Q_OBJECT

private slots:
    void twoTextsStandSideBySide() {
        Bench bench;
        bench.measure("a");
        bench.measure("abc");
        QCOMPARE(bench.value("sink_layer"), 3.0);
        const std::vector<std::string> others = bench.document.measurements()->otherKeys("sink_layer");
        QCOMPARE(others.size(), 1U);
        QCOMPARE(bench.value(others[0]), 1.0);
        QCOMPARE(bench.comparison.choices().size(), 2U); // the results on both texts can be chosen
        bench.comparison.compareWith(parseResultKey(others[0]).key);
        QCOMPARE(bench.value(bench.comparison.keyOf("sink_layer")), 2.0);
        bench.comparison.show(Comparison::Shown::b);
        QCOMPARE(bench.value(bench.comparison.keyOf("sink_layer")), 1.0);
        bench.comparison.show(Comparison::Shown::a);
        QCOMPARE(bench.value(bench.comparison.keyOf("sink_layer")), 3.0);
        bench.comparison.show(Comparison::Shown::both);
        QCOMPARE(bench.comparison.keysOf("sink_layer").size(), 2U);
        // It has only one result, so it is shown instead of both.
        QCOMPARE(bench.comparison.keyOf("gate_norm"), "gate_norm");
    }

    void chosenLatestIsComparedWithTheOneBefore() {
        Bench bench;
        bench.measure("a");
        bench.measure("abc");
        const std::string latest = measurementKey(bench.document.measurements()->result("sink_layer")->measurement);
        bench.comparison.compareWith(latest);
        QCOMPARE(bench.value(bench.comparison.keyOf("sink_layer")), -2.0);
    }

    void namesAreOfTheMeasurementsThatAreShown() {
        Bench bench;
        Measurements& measurements = *bench.document.measurements();
        measurements.chooseMeasuring({"b", 0, {}}, false);
        measurements.measure(parseMetricRequests("block_influence")); // only on b
        bench.settle();
        bench.measure("a");
        bench.measure("b");
        const std::string b = measurementKey(measurements.result("sink_head")->measurement);
        bench.comparison.compareWith(b);
        QVERIFY2(bench.comparison.nameOfB().startsWith("b,"), qPrintable(bench.comparison.nameOfB()));
        QVERIFY2(bench.comparison.nameOfA().startsWith("a,"), qPrintable(bench.comparison.nameOfA()));
        // Another result has a third measurement, which is its A.
        measurements.chooseMeasuring({"c", 0, {}}, false);
        measurements.measure(parseMetricRequests("sink_layer"));
        bench.settle();
        bench.comparison.setSubject("sink_layer");
        QVERIFY2(bench.comparison.nameOfA().startsWith("c,"), qPrintable(bench.comparison.nameOfA()));
        bench.comparison.setSubject("sink_head@-" + b);
        QVERIFY2(bench.comparison.nameOfA().startsWith("a,"), qPrintable(bench.comparison.nameOfA()));
    }

    void viewsFollow() {
        Bench bench;
        Selection selection;
        HeadsView heads(&bench.document, &selection);
        LayersView layers(&bench.document, &selection);
        bench.measure("a");
        bench.measure("abc");
        heads.showMetric("sink_head");
        layers.chooseMetrics({"sink_layer"});
        QCOMPARE(heads.currentFigure().cells(0, 0), 3.0);
        bench.comparison.compareWith(parseResultKey(bench.document.measurements()->otherKeys("sink_head")[0]).key);
        QCOMPARE(heads.currentFigure().cells(0, 0), 2.0);
        QCOMPARE(heads.currentFigure().scale.map, "vik");
        QVERIFY(heads.currentFigure().command.find("metric=sink_head@") != std::string::npos);
        bench.comparison.show(Comparison::Shown::both);
        QCOMPARE(layers.currentFigure().series.size(), 2U);
        bench.comparison.compareWith({});
        QCOMPARE(layers.currentFigure().series.size(), 1U);
        QCOMPARE(heads.currentFigure().scale.map, "viridis");
    }

    void referenceModelIsMeasuredToo() {
        Bench bench;
        bench.measure("a");
        bench.comparison.openReference(QString::fromStdString(bench.path("other.gguf")));
        QTRY_VERIFY(bench.comparison.reference());
        bench.settle();
        QVERIFY(bench.document.measurements()->result("gate_norm@reference"));
        // It was not measured on the reference model.
        QVERIFY(!bench.document.measurements()->result("sink_layer@reference"));
        bench.measure("a");
        QVERIFY(bench.document.measurements()->result("sink_layer@reference"));
        QVERIFY(bench.document.measurements()->result("sink_layer@-reference"));
        bench.comparison.closeReference();
        QVERIFY(!bench.document.measurements()->result("sink_layer@reference"));
        QVERIFY(!bench.comparison.isOn());
    }

    void referenceOfAnotherShapeHasNoDifference() {
        Bench bench;
        bench.comparison.openReference(QString::fromStdString(bench.path("deep.gguf")));
        QTRY_VERIFY(bench.comparison.reference());
        bench.settle();
        QVERIFY(bench.document.measurements()->result("gate_norm@reference"));
        QVERIFY(!bench.document.measurements()->result("gate_norm@-reference"));
    }

    void brokenReferenceIsSaid() {
        Bench bench;
        QSignalSpy failed(&bench.comparison, &Comparison::failed);
        bench.comparison.openReference("/none/such.gguf");
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(!bench.comparison.reference());
    }

    void measurementsOfAnotherMaskAreStale() {
        Bench bench;
        bench.measure("a");
        QCOMPARE(bench.document.measurements()->state("sink_head"), MetricState::done);
        QSignalSpy stale(bench.document.measurements(), &Measurements::staleChanged);
        bench.document.masks()->setHeadsCut({{1, 2}}, true);
        QCOMPARE(stale.count(), 1);
        QCOMPARE(bench.document.measurements()->state("sink_head"), MetricState::stale);
        // gate_norm depends only on weights, so a mask does not make it stale.
        QCOMPARE(bench.document.measurements()->state("gate_norm"), MetricState::done);
        bench.measure("a", true);
        QCOMPARE(bench.document.measurements()->state("sink_head"), MetricState::done);
        QCOMPARE(bench.value("sink_head"), 1.5);
        QVERIFY(
            bench.document.session().mask(bench.document.measurements()->result("sink_head")->measurement.maskDigest));
        bench.document.masks()->undoStack()->undo();
        QCOMPARE(bench.document.measurements()->state("sink_head"), MetricState::stale);
        QCOMPARE(bench.document.measurements()->state(bench.document.measurements()->otherKeys("sink_head")[0]),
                 MetricState::done);
    }

    void listHasARowForEachMeasurement() {
        Bench bench;
        MetricList list(&bench.document);
        const auto* tree = list.findChild<QTreeWidget*>();
        const QString title = toQString(findMetric("sink_head")->title);
        const auto rowOf = [&] { return tree->findItems(title, Qt::MatchExactly | Qt::MatchRecursive).front(); };
        bench.measure("a");
        QCOMPARE(rowOf()->childCount(), 0);
        bench.measure("abc");
        QCOMPARE(rowOf()->childCount(), 1);
        QCOMPARE(rowOf()->child(0)->text(0), QString("a"));
        bench.document.measurements()->forget(bench.document.measurements()->otherKeys("sink_head")[0]);
        QCOMPARE(rowOf()->childCount(), 0);
        QCOMPARE(bench.value("sink_head"), 3.0);
    }

    void choiceIsKeptWithTheSession() {
        Bench bench;
        bench.document.measurements()->chooseMeasuring({"text.txt", 4096, {}}, true);
        QCOMPARE(bench.document.session().view.at("measure.text"), "text.txt");
        QCOMPARE(bench.document.session().view.at("measure.tokens"), "4096");
        QCOMPARE(bench.document.session().view.at("measure.masked"), "true");
    }
};

SECATEUR_SUITE(TestComparison)
#include "tst_comparison.moc"
