// Metric values that are first estimated and then computed exactly: how they arrive, are described and are drawn.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "analysis/figures/figure.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/layers/layers_plot.h"
#include "widgets/layers/layers_view.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/plot_scale.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/results/selection_inspector.h"

#include <QApplication>
#include <QCheckBox>
#include <QElapsedTimer>
#include <QHelpEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolTip>
#include <QTreeWidget>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr int axisWidth = 46; ///< width in pixels of the value axis with its labels, at the left of the plot

/// A simulated measurement. The test passes values to it, which it delivers, until the test ends it.
class Dictated {
public:
    struct Layer {
        std::string resultId;
        int layer;
        std::vector<double> values;
        std::vector<double> errors;
    };

    void give(const Layer& layer) {
        const std::lock_guard lock(m_mutex);
        m_layers.push_back(layer);
        m_changed.notify_all();
    }
    void finish() {
        const std::lock_guard lock(m_mutex);
        m_finished = true;
        m_changed.notify_all();
    }

    std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests,
                                      const Progress& progress, const LayerSink& sink) {
        std::vector<MetricResult> results;
        for (const MetricRequest& request : requests)
            results.push_back({request,
                               Matrix(model.spec().layers.size(), columnsFor(request.info->scope, model.spec())),
                               {},
                               {},
                               0,
                               {}});
        for (double done = 0; const std::optional<Layer> layer = next(progress); ++done) {
            for (std::size_t i = 0; i < requests.size(); ++i)
                if (requests[i].resultId() == layer->resultId) {
                    std::ranges::copy(layer->values,
                                      results[i].values.row(static_cast<std::size_t>(layer->layer)).begin());
                    sink({i, layer->layer, layer->values, layer->errors});
                }
            progress.report(0.5, "measuring");
        }
        return results;
    }

private:
    std::optional<Layer> next(const Progress& progress) {
        std::unique_lock lock(m_mutex);
        while (m_layers.empty() && !m_finished) {
            m_changed.wait_for(lock, std::chrono::milliseconds(2));
            progress.check();
        }
        if (m_layers.empty())
            return {};
        Layer layer = std::move(m_layers.front());
        m_layers.pop_front();
        return layer;
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Layer> m_layers;
    bool m_finished = false;
};

/// A document with a simulated measurement, and views that show its values.
struct Bench {
    explicit Bench(int layerCount)
        : services(dictatedServices())
        , document(services, &jobs)
        , layers(&document, &selection)
        , inspector(&document, &selection) {
        layers.resize(860, 440);
        inspector.resize(300, 400);
        const std::string path = folder.filePath("model.gguf").toStdString();
        files.addModel(path, layerCount);
        QSignalSpy opened(&document, &Document::opened);
        document.files()->open(QString::fromStdString(path));
        QVERIFY(opened.wait());
        for (QWidget* widget : {static_cast<QWidget*>(&layers), static_cast<QWidget*>(&inspector)}) {
            widget->show();
            QVERIFY(QTest::qWaitForWindowExposed(widget));
        }
    }
    ~Bench() { dictated.finish(); }

    Services dictatedServices() {
        Services made = files.services();
        made.measure = [this](const Model& model, std::span<const MetricRequest> requests, const MeasureChoice&,
                              const Progress& progress,
                              const LayerSink& sink) { return dictated.measure(model, requests, progress, sink); };
        return made;
    }
    void give(const char* id, int layer, double value, double error = 0) {
        dictated.give({id, layer, {value}, error > 0 ? std::vector{error} : std::vector<double>()});
    }
    double value(int layer) const {
        const MetricResult* result = document.measurements()->result("gate_norm");
        return result ? result->values(static_cast<std::size_t>(layer), 0) : missing;
    }
    static void settle() { QTest::qWait(90); } // long enough to deliver a job's results and to draw a frame
    void hover(int layer) {
        const QPoint at = layers.plot()->position(layer);
        QMouseEvent event(QEvent::MouseMove, at, layers.plot()->mapToGlobal(at), Qt::NoButton, {}, {});
        QApplication::sendEvent(layers.plot(), &event);
    }

    QTemporaryDir folder;
    FakeServices files;
    Dictated dictated;
    Services services;
    JobRunner jobs;
    Document document;
    Selection selection;
    LayersView layers;
    SelectionInspector inspector;
};

/// Values that vary over the layers like gate-norms: low in the first layers, then up and down.
double typical(int layer, int kind = 0) {
    const double x = 0.16 * layer + kind;
    return (kind == 1 ? 0.62 : 1) * (34 - 24 * std::exp(-0.3 * layer) + 9 * std::sin(2.1 * x) + 4 * std::sin(5.3 * x));
}

double estimate(int layer, int kind, double error) {
    std::mt19937 random(static_cast<unsigned>(31 * layer + kind));
    return typical(layer, kind) + std::normal_distribution<double>(0, error)(random);
}

MetricResult gateNorm(const std::vector<double>& values, const std::vector<double>& errors) {
    MetricResult result;
    result.request = parseMetricRequests("gate_norm").front();
    result.values = Matrix(values.size(), 1);
    std::ranges::copy(values, result.values.values().begin());
    if (errors.empty())
        return result;
    result.standardError = Matrix(values.size(), 1);
    std::ranges::copy(errors, result.standardError->values().begin());
    return result;
}

Figure drawn(const FakeModel& model, const MetricResult& result) {
    const std::array results{result};
    return layerSeries(model.card(), results, ScaleKind::linear);
}

int count(const QImage& image, QRgb colour) {
    int found = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            found += (image.pixel(x, y) | 0xff000000U) == colour ? 1 : 0;
    return found;
}

/// The first and the last image row of the vertical axis of a figure. The axis is the longest black column in the left
/// quarter of the image.
std::pair<int, int> valueAxisEnds(const QImage& image) {
    std::pair<int, int> longest;
    for (int x = 0; x < image.width() / 4; ++x) {
        int first = -1;
        for (int y = 0; y < image.height(); ++y) {
            const bool isBlack = image.pixel(x, y) == QColor(Qt::black).rgb();
            if (isBlack && first < 0)
                first = y;
            if (isBlack && y - first > longest.second - longest.first)
                longest = {first, y};
            if (!isBlack)
                first = -1;
        }
    }
    return longest;
}

QPalette darkPalette() {
    QPalette palette(QColor(0x2b, 0x2d, 0x30), QColor(0x1e, 0x1f, 0x22));
    for (const auto role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText})
        palette.setColor(role, QColor(0xdf, 0xe1, 0xe5));
    palette.setColor(QPalette::Base, QColor(0x1e, 0x1f, 0x22));
    return palette;
}

} // namespace

class TestEstimates : public QObject {
    Q_OBJECT

private slots:
    void cleanup() { QApplication::setPalette(QApplication::style()->standardPalette()); }

    void exactValuesReplaceEstimates();
    void estimatesOfACancelledMeasurementAreForgotten();
    void figuresHoldErrorsAndMarks();
    void aMeanOfEstimatesHasTheMeanOfTheirErrors();
    void whiskersReachTwoStandardErrors();
    void pointsThatAreNotSeparatedAreHollow();
    void barsStandOnZeroOrAreNotDrawn();
    void axesStayWhereTheyAre();
    void axesMakeRoom();
    void theViewSaysWhatIsEstimated();
    void theInspectorSaysWhatIsEstimated();
    void screenshots();
};

void TestEstimates::exactValuesReplaceEstimates() {
    Bench bench(3);
    for (int layer = 0; layer < 3; ++layer)
        bench.give("gate_norm", layer, 10 + layer, 0.5);
    bench.give("gate_norm_headwise", 0, 4);
    QTRY_COMPARE(bench.value(2), 12.0);
    const MetricResult* result = bench.document.measurements()->result("gate_norm");
    QCOMPARE(bench.document.measurements()->state("gate_norm"), MetricState::computing);
    QCOMPARE(result->errorAt(1, 0), 0.5);
    QTRY_VERIFY(bench.document.measurements()->result("gate_norm_headwise"));
    QVERIFY(!bench.document.measurements()->result("gate_norm_headwise")->standardError);

    bench.give("gate_norm", 1, 11.25);
    QTRY_COMPARE(bench.value(1), 11.25);
    QVERIFY(result->standardError);
    QCOMPARE((*result->standardError)(1, 0), 0.0);
    QCOMPARE((*result->standardError)(2, 0), 0.5);
    bench.give("gate_norm", 0, 10.25);
    bench.give("gate_norm", 2, 12.25);
    QTRY_COMPARE(bench.value(2), 12.25);
    QVERIFY(!result->standardError);
    bench.dictated.finish();
    QTRY_COMPARE(bench.document.measurements()->state("gate_norm"), MetricState::done);
    QCOMPARE(bench.value(1), 11.25);
    QVERIFY(!bench.document.measurements()->result("gate_norm")->standardError);
}

void TestEstimates::estimatesOfACancelledMeasurementAreForgotten() {
    Bench bench(3);
    bench.give("gate_norm", 0, 10, 0.5);
    QTRY_COMPARE(bench.value(0), 10.0);
    QVERIFY(
        // NaN: layer 2 is not estimated yet.
        std::isnan((*bench.document.measurements()->result("gate_norm")->standardError)(2, 0)));
    bench.jobs.cancelAll();
    QTRY_VERIFY(bench.jobs.isIdle());
    QVERIFY(!bench.document.measurements()->result("gate_norm"));
    QVERIFY(bench.document.session().results.empty());
}

void TestEstimates::figuresHoldErrorsAndMarks() {
    const FakeModel model("model.gguf", 5);
    const MetricResult result = gateNorm({10, 20, 20.5, 30, missing}, {0.1, 0.4, 0, 0.4, missing});
    const Figure figure = drawn(model, result);
    const FigureSeries& series = figure.series.front();
    QCOMPARE(series.errors.size(), 5U);
    QCOMPARE(series.errors[3], 0.4);
    // Exact values are never marked as not separated.
    QCOMPARE(series.notSeparated, std::vector<bool>({false, true, false, false, false}));
    QCOMPARE(QString::fromStdString(estimatesIn(figure)), "estimates for 3 of 5 layers; 1 not yet separated");
    QVERIFY2(QString::fromStdString(figure.caption)
                 .endsWith("Whiskers: ±2 standard errors; hollow: not separated from another layer. There are "
                           "estimates for 3 of 5 layers; 1 not yet separated."),
             figure.caption.c_str());
    QCOMPARE(QString::fromStdString(toCsv(figure)), "layer,gate-norm,gate-norm standard error\r\n"
                                                    "0,10,0.1\r\n1,20,0.4\r\n2,20.5,0\r\n3,30,0.4\r\n4,,\r\n");
    const MetricResult exact = gateNorm({10, 20, 20.5, 30, missing}, {});
    QVERIFY(estimatesIn(drawn(model, exact)).empty());
    QVERIFY(drawn(model, exact).series.front().errors.empty());
    const MetricResult apart = gateNorm({10, 20, 30, 40, 50}, {1, 1, 1, 1, 1});
    QCOMPARE(QString::fromStdString(estimatesIn(drawn(model, apart))), "estimates for 5 of 5 layers; all separated");
}

void TestEstimates::aMeanOfEstimatesHasTheMeanOfTheirErrors() {
    const FakeModel model("model.gguf", 1);
    MetricResult heads;
    heads.request = parseMetricRequests("gate_norm_head").front();
    heads.values = Matrix(1, 4, 3);
    heads.standardError = Matrix(1, 4, 0.5);
    (*heads.standardError)(0, 2) = 0;
    heads.values(0, 3) = (*heads.standardError)(0, 3) = missing;
    QVERIFY(std::abs(drawn(model, heads).series.front().errors[0] - 1.0 / 3) < 1e-12);
}

void TestEstimates::whiskersReachTwoStandardErrors() {
    const FakeModel model("model.gguf", 2);
    Figure figure = drawn(model, gateNorm({20, 80}, {5, 0}));
    figure.y.range = AxisRange{0, 100};
    const QImage image = figureImage(figure, FigureWidth::page);
    const QColor blue = lineColours().front();
    // The line leaves the first point to the right. The leftmost blue pixels therefore belong to the caps at the ends
    // of its whisker.
    const auto [axisTop, axisBottom] = valueAxisEnds(image);
    std::vector<int> rows;
    for (int x = 0; x < image.width() && rows.empty(); ++x)
        for (int y = axisTop; y < axisBottom; ++y)
            if (image.pixel(x, y) == blue.rgb())
                rows.push_back(y);
    QVERIFY(!rows.empty());
    const auto valueAt = [&, top = axisTop, bottom = axisBottom](int row) {
        return 100.0 * (bottom - row) / (bottom - top);
    };
    QVERIFY2(std::abs(valueAt(rows.front()) - 30) < 0.7, qPrintable(QString::number(valueAt(rows.front()))));
    QVERIFY2(std::abs(valueAt(rows.back()) - 10) < 0.7, qPrintable(QString::number(valueAt(rows.back()))));
}

void TestEstimates::pointsThatAreNotSeparatedAreHollow() {
    const FakeModel model("model.gguf", 3);
    const MetricResult result = gateNorm({20, 20.5, 80}, {1, 0, 1});
    Figure mixed = drawn(model, result);
    mixed.y.range = AxisRange{0, 100};
    Figure separated = mixed;
    separated.series.front().notSeparated.assign(3, false);
    const QRgb blue = lineColours().front().rgb();
    const auto blues = [&](const Figure& figure) { return count(figureImage(figure, FigureWidth::page), blue); };
    const double radius = 4.5 / 96 * 300 / 2;
    const double discs = (blues(separated) - blues(mixed)) / (M_PI * radius * radius);
    // The difference is the white interior of a hollow disc, as a share of the disc's area. It does not include the
    // outline, the whisker and the line.
    QVERIFY2(discs > 0.3 && discs < 0.9, qPrintable(QString::number(discs)));
    mixed.series.front().rightAxis = true;
    mixed.rightY = std::exchange(mixed.y, {});
    const double diamonds = blues(separated) - blues(mixed);
    QVERIFY(diamonds > 0);
}

void TestEstimates::barsStandOnZeroOrAreNotDrawn() {
    const FakeModel model("model.gguf", 4);
    const QRgb bar = mixed(Qt::white, lineColours().front(), 0.2).rgb();
    const auto bars = [&](const Figure& figure) { return count(figureImage(figure, FigureWidth::page), bar); };
    Figure figure = drawn(model, gateNorm({20, 40, 60, 80}, {1, 0, 0, 1}));
    figure.y.range = AxisRange{0, 100};
    const int both = bars(figure);
    figure.series.front().errors[0] = 0;
    QVERIFY2(std::abs(bars(figure) / double(both) - 0.8) < 0.02, qPrintable(QString::number(bars(figure))));
    figure.y.range = AxisRange{10, 100};
    // A value axis that does not begin at 0 has no bars, and other marks have few such pixels.
    QVERIFY(bars(figure) < both / 1000);
    figure.y.range = AxisRange{0, 100};
    figure.y.logarithmic = true;
    figure.y.range = AxisRange{1, 100};
    QVERIFY(bars(figure) < both / 1000); // a logarithmic value axis has no bars
    figure.y = {"gate-norm", false, AxisRange{0, 100}};
    figure.series.push_back(figure.series.front());
    QVERIFY(bars(figure) < both / 1000); // with two series there are no bars, because they would cover each other
}

void TestEstimates::axesStayWhereTheyAre() {
    const int layers = 12;
    Bench bench(layers);
    bench.layers.chooseMetrics({"gate_norm"});
    for (int layer = 0; layer < layers; ++layer)
        bench.give("gate_norm", layer, estimate(layer, 0, 0.8), 0.8);
    QTRY_VERIFY(!std::isnan(bench.value(layers - 1)));
    Bench::settle();
    const QImage before = bench.layers.plot()->grab().toImage();
    for (int layer = 0; layer < layers; ++layer) {
        bench.give("gate_norm", layer, typical(layer));
        QTRY_COMPARE(bench.value(layer), typical(layer));
        Bench::settle();
        const QImage now = bench.layers.plot()->grab().toImage();
        // After the last exact value the note on estimates disappears, which changes the layout.
        if (layer < layers - 1)
            QCOMPARE(now.copy(0, 0, axisWidth, now.height()), before.copy(0, 0, axisWidth, now.height()));
    }
}

void TestEstimates::axesMakeRoom() {
    const AxisRange shown{0, 100};
    QCOMPARE(steadyRange(shown, {10, 95}, false), shown);
    // The range is much wider than the values, so it is replaced.
    QCOMPARE(steadyRange(shown, {0, 30}, false), (AxisRange{0, 30}));
    QCOMPARE(steadyRange(shown, {0, 110}, false), (AxisRange{0, 121}));
    QCOMPARE(steadyRange(shown, {-10, 90}, false), (AxisRange{-20, 100}));
    const AxisRange decades = steadyRange({1, 100}, {1, 1000}, true);
    QCOMPARE(decades.lower, 1.0);
    QVERIFY(std::abs(decades.upper - 1000 * std::pow(1000, 0.1)) < 1e-6);
    QCOMPARE(steadyRange({0, 100}, {1, 50}, true), (AxisRange{1, 50}));

    FigureSeries series{"a", {7, 20, missing}, {1, 0, missing}, false};
    QVERIFY(fittingRange({series}, false, false).upper > 20);
    QCOMPARE(fittingRange({series}, false, false).lower, 0.0);
    series.errors[0] = 8; // the whisker from 7 - 16 to 7 + 16 reaches below 0
    QVERIFY(fittingRange({series}, false, false).lower < -9);
    QVERIFY(fittingRange({series}, false, true).lower > 0);
}

void TestEstimates::theViewSaysWhatIsEstimated() {
    Bench bench(3);
    bench.layers.chooseMetrics({"gate_norm"});
    const QLabel* status = bench.layers.findChild<QLabel*>("estimates");
    QSignalSpy said(&bench.layers, &LayersView::hoverText);
    for (int layer = 0; layer < 3; ++layer)
        bench.give("gate_norm", layer, 10.0 + 0.3 * layer, 0.1234);
    QTRY_COMPARE(status->text(), QString("estimates for 3 of 3 layers; 3 not yet separated"));
    bench.hover(1);
    QCOMPARE(said.back().front().toString(), "L1 · gate-norm = 10.30 ± 0.12 (estimate)");
    const QPoint at = bench.layers.plot()->position(1);
    QHelpEvent help(QEvent::ToolTip, at, bench.layers.plot()->mapToGlobal(at));
    QApplication::sendEvent(bench.layers.plot(), &help);
    QCOMPARE(QToolTip::text(), "L1\ngate-norm = 10.3 ± 0.123 (estimate ± its standard error)");
    bench.give("gate_norm", 1, 10.2871);
    // The text is updated although the pointer has not moved.
    QTRY_COMPARE(said.back().front().toString(), "L1 · gate-norm = 10.3");
    for (int layer = 0; layer < 3; ++layer)
        bench.give("gate_norm", layer, 10.0 + layer);
    QTRY_COMPARE(status->text(), QString());
}

void TestEstimates::theInspectorSaysWhatIsEstimated() {
    Bench bench(3);
    for (int layer = 0; layer < 3; ++layer)
        bench.give("gate_norm", layer, 10.0 + 0.3 * (layer / 2) + 5 * (layer == 0), 0.2);
    bench.selection.select({{1, 0}}, Selection::Mode::replace);
    const auto* table = bench.inspector.findChild<QTreeWidget*>();
    const auto text = [&](int row, int column) {
        const QTreeWidgetItem* item = table->topLevelItem(0);
        return !item ? QString() : row == 0 ? item->text(column) : item->child(0)->text(column);
    };
    QTRY_COMPARE(text(0, 1), "10.0 ± 0.2");
    QCOMPARE(text(1, 0), "estimate · rank ≈1 of 3");
    bench.selection.select({{0, 0}}, Selection::Mode::replace);
    QTRY_COMPARE(text(1, 0), "estimate · rank 3 of 3"); // its estimate is separated from both other values
    bench.selection.select({{0, 0}, {1, 0}}, Selection::Mode::replace);
    QTRY_COMPARE(text(1, 0), "2 values from 10.0 to 15.0, 2 estimated");
    for (int layer = 0; layer < 3; ++layer)
        bench.give("gate_norm", layer, 10.0 + layer);
    bench.selection.select({{1, 0}}, Selection::Mode::replace);
    QTRY_COMPARE(text(0, 1), "11.0");
    QTRY_COMPARE(text(1, 0), "rank 2 of 3");
}

void TestEstimates::screenshots() {
    const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
    if (folder.isEmpty())
        QSKIP("SECATEUR_SCREENSHOTS names no folder");
    const int count = 40;
    Bench bench(count);
    const auto save = [&](const QString& name) {
        Bench::settle();
        const int percent = static_cast<int>(100 * bench.layers.devicePixelRatioF());
        for (const auto& [palette, theme] : {std::pair(QApplication::style()->standardPalette(), QString("light")),
                                             std::pair(darkPalette(), QString("dark"))}) {
            QApplication::setPalette(palette);
            Bench::settle();
            QVERIFY(bench.layers.grab().save(QString("%1/%2_%3_%4.png").arg(folder, name, theme).arg(percent)));
        }
        Figure figure = bench.layers.currentFigure();
        for (const char* form : {"png", "pdf", "svg"})
            saveFigure(figure, QString("%1/%2.%3").arg(folder, name, form), FigureWidth::column);
        saveFigure(figure, QString("%1/%2_page.png").arg(folder, name), FigureWidth::page);
    };
    const double share = 0.0125; // relative standard error of an estimate from 64 random signs
    for (int layer = 0; layer < count; ++layer) {
        bench.give("gate_norm", layer, estimate(layer, 0, share * typical(layer)), share * typical(layer));
        bench.give("gate_norm_headwise", layer, typical(layer, 1));
        bench.give("gate_norm_head", layer, estimate(layer, 2, 0.05 * typical(layer)), 0.05 * typical(layer));
    }
    bench.layers.chooseMetrics({"gate_norm"});
    save("one_first");
    bench.layers.chooseMetrics({"gate_norm", "gate_norm_headwise"});
    save("two_first");
    bench.layers.chooseMetrics({"gate_norm", "gate_norm_headwise", "gate_norm_head"});
    save("three_first");
    for (int layer = 0; layer < count; ++layer)
        if (layer % 10 > 2)
            bench.give("gate_norm", layer, typical(layer));
    bench.layers.chooseMetrics({"gate_norm"});
    save("one_mid");
    bench.layers.chooseMetrics({"gate_norm", "gate_norm_headwise"});
    save("two_mid");
}

SECATEUR_SUITE(TestEstimates)
#include "tst_estimates.moc"
