#include "analysis/base/error.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/results/result_combo.h"
#include "widgets/results/scale_combo.h"
#include "widgets/scatter/scatter_plot.h"
#include "widgets/scatter/scatter_view.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include <cmath>
#include <ctime>
#include <random>
#include <utility>

using namespace secateur;

namespace {

constexpr int layers = 6;
constexpr int heads = 4;

ModelSpec shape(int layerCount, int headCount, int neurons) {
    ModelSpec spec;
    spec.architecture = "llama";
    LayerSpec layer;
    layer.heads = headCount;
    layer.kvHeads = headCount / 2;
    layer.headDim = 64;
    layer.ffn = neurons;
    spec.layers.assign(static_cast<std::size_t>(layerCount), layer);
    return spec;
}

template <typename Value>
MetricResult result(std::string_view id, const ModelSpec& spec, Value value) {
    MetricResult made;
    made.request = {findMetric(id), {}};
    const Scope scope = made.request.info->scope;
    made.values = Matrix(spec.layers.size(), columnsFor(scope, spec));
    for (std::size_t layer = 0; layer < made.values.rows(); ++layer)
        for (std::size_t cell = 0; cell < cellsInLayer(scope, spec.layers[layer]); ++cell)
            made.values(layer, cell) = value(static_cast<double>(layer), static_cast<double>(cell));
    return made;
}

/// A session with two metrics. Plotted against each other they place the heads on a slightly bent grid: layers from
/// left to right, heads from bottom to top.
Session session() {
    const ModelSpec spec = shape(layers, heads, 5);
    Session made;
    made.model.name = "grid";
    made.model.path = "grid.gguf";
    made.model.spec = spec;
    made.results = {
        result("gate_norm_head", spec, [](double layer, double head) { return 10 * layer + 0.1 * head; }),
        result("mag_sp_head", spec, [](double layer, double head) { return std::pow(10, head) + 0.01 * layer; }),
        result("gate_norm_group", spec, [](double layer, double group) { return layer + 10 * group; }),
        result("gate_norm", spec, [](double layer, double) { return layer; }),
        result("mag_sp_neuron", spec, [](double layer, double neuron) { return 5 * layer + neuron; })};
    return made;
}

/// CPU time of this process in milliseconds. Other work on the machine would distort wall time.
double cpuMs() {
    return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::set<HeadId> wholeLayer(int layer) {
    std::set<HeadId> whole;
    for (int head = 0; head < heads; ++head)
        whole.insert({layer, head});
    return whole;
}

} // namespace

namespace {

/// A scatter view on a document with a session in memory.
class Bench {
public:
    Bench()
        : document(services(), &jobs) {
        view.resize(900, 620);
        QSignalSpy opened(&document, &Document::opened);
        document.files()->open(folder.path() + "/made.h5");
        QVERIFY(opened.wait());
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        settle();
    }

    static void settle() { QTest::qWait(40); }
    ScatterPlot* plot() const { return view.plot(); }
    QPoint at(int layer, int index) const {
        return plot()->position({layer, index}).value_or(QPointF(-1, -1)).toPoint();
    }
    void click(QPoint point, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(plot(), Qt::LeftButton, modifiers, point);
    }
    void drag(const QList<QPoint>& points, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mousePress(plot(), Qt::LeftButton, modifiers, points.front());
        for (const QPoint& point : points)
            move(point, Qt::LeftButton, modifiers);
        QTest::mouseRelease(plot(), Qt::LeftButton, modifiers, points.back());
    }
    /// Sends a mouse move with pressed buttons, which QTest::mouseMove() cannot do.
    void move(QPoint point, Qt::MouseButtons held = {}, Qt::KeyboardModifiers modifiers = {}) {
        QMouseEvent event(QEvent::MouseMove, point, plot()->mapToGlobal(point), Qt::NoButton, held, modifiers);
        QApplication::sendEvent(plot(), &event);
    }
    QString line() const { return view.findChild<QLabel*>("correlation")->text(); }
    ScaleCombo* scale(const QString& axis) const {
        for (ScaleCombo* box : view.findChildren<ScaleCombo*>())
            if (box->accessibleName() == "Scale of " + axis)
                return box;
        return nullptr;
    }
    /// As if the user had chosen the scale of an axis.
    void choose(const QString& axis, ScaleKind kind) const {
        scale(axis)->choose(kind);
        emit scale(axis)->activated(scale(axis)->currentIndex());
    }
    const std::set<HeadId>& selected() const { return selection.heads(); }

    JobRunner jobs;
    Document document;
    Selection selection;
    QWidget picture;
    MaskActions maskActions{document.masks(), &selection, &picture};
    ScatterView view{&document, &jobs, &selection, &maskActions};
    QTemporaryDir folder;

private:
    static Services services() {
        Services made;
        made.isSession = [](const std::string&) { return true; };
        made.readSession = [](const std::string&) { return session(); };
        made.openModel = [](const std::string& path, const Progress&) -> std::shared_ptr<const Model> {
            throw Error("is not there", path);
        };
        return made;
    }
};

} // namespace

class TestScatterView : public QObject {
    Q_OBJECT

private slots:
    void theFirstTwoMeasuredMetricsOfHeadsAreShown() {
        const Bench bench;
        QCOMPARE(bench.view.keys(), (std::vector<std::string>{"gate_norm_head", "mag_sp_head"}));
        const MetricResult& x = *bench.document.measurements()->result("gate_norm_head");
        const MetricResult& y = *bench.document.measurements()->result("mag_sp_head");
        const RankCorrelation correlation = rankCorrelation(x.values.values(), y.values.values());
        QCOMPARE(bench.line(), QString::fromStdString(correlationText(correlation, Scope::head)));
        QVERIFY(bench.line().endsWith("24 heads"));
    }

    void clicksSelectHeads() {
        Bench bench;
        bench.click(bench.at(2, 3));
        QCOMPARE(bench.selected(), (std::set<HeadId>{{2, 3}}));
        QVERIFY(bench.selection.active() == (HeadId{2, 3}));
        bench.click(bench.at(4, 3), Qt::ControlModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{2, 3}, {4, 3}}));
        bench.click(bench.at(2, 3), Qt::ControlModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{4, 3}}));
        bench.click(bench.at(3, 3), Qt::ShiftModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{3, 3}, {4, 3}}));
        bench.click({bench.at(2, 3).x(), bench.at(2, 3).y() + 60});
        QVERIFY(bench.selected().empty());
    }

    void whatIsSelectedElsewhereIsOutlinedInTheAccentColour() {
        Bench bench;
        const auto accents = [&] {
            bench.settle();
            const QImage image = bench.plot()->grab().toImage();
            const QPoint middle = bench.at(2, 3);
            int found = 0;
            for (int dx = -9; dx <= 9; ++dx)
                for (int dy = -9; dy <= 9; ++dy)
                    found += image.pixelColor(middle + QPoint(dx, dy)) == themeOf(*bench.plot()).accent ? 1 : 0;
            return found;
        };
        QCOMPARE(accents(), 0);
        bench.selection.select({{1, 3}, {2, 3}}, Selection::Mode::replace, HeadId{1, 3});
        QVERIFY2(accents() > 3, qPrintable(QString::number(accents())));
        bench.selection.clear();
        QCOMPARE(accents(), 0);
    }

    void rectanglesAndLassosSelectWhatIsInside() {
        Bench bench;
        const QPoint out(12, 12);
        bench.drag({bench.at(2, 3) - out, bench.at(4, 3) + out});
        QCOMPARE(bench.selected(), (std::set<HeadId>{{2, 3}, {3, 3}, {4, 3}}));
        bench.drag({bench.at(0, 3) + QPoint(-8, -8), bench.at(0, 3) + QPoint(8, 8)}, Qt::ControlModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{0, 3}, {2, 3}, {3, 3}, {4, 3}}));
        const QPoint a = bench.at(1, 3);
        const QPoint b = bench.at(5, 3);
        // The lasso encloses the two outer points. Between them it passes above the other points of the row.
        bench.selection.clear();
        bench.drag({a + QPoint(-15, 20), a + QPoint(-15, -20), b + QPoint(15, -20), b + QPoint(15, 20),
                    b + QPoint(-15, 20), b + QPoint(-15, -15), a + QPoint(15, -15), a + QPoint(15, 20)},
                   Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{1, 3}, {5, 3}}));
    }

    void escapeGivesUpADragAndThenTheSelection() {
        Bench bench;
        bench.click(bench.at(0, 3));
        QTest::mousePress(bench.plot(), Qt::LeftButton, {}, bench.at(2, 3) - QPoint(12, 12));
        bench.move(bench.at(4, 3) + QPoint(12, 12), Qt::LeftButton);
        QCOMPARE(bench.selected().size(), std::size_t(3));
        QTest::keyClick(bench.plot(), Qt::Key_Escape);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{0, 3}}));
        QTest::keyClick(bench.plot(), Qt::Key_Escape);
        QVERIFY(bench.selected().empty());
    }

    void hoveringIsSharedBothWays() {
        Bench bench;
        QSignalSpy told(&bench.view, &ScatterView::hoverText);
        bench.move(bench.at(2, 3));
        QVERIFY(bench.selection.hovered() == (HeadId{2, 3}));
        QCOMPARE(told.last().front().toString(), QString("L2.H3 · gate-norm per head = 20.3 · Mag-SP per head = 1000"));
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(bench.plot(), &leave);
        QVERIFY(!bench.selection.hovered());
        bench.selection.hover(HeadId{4, 3});
        QVERIFY(bench.plot()->hoveredPoint() == std::size_t(4 * heads + 3));
        QVERIFY(told.last().front().toString().startsWith("L4.H3"));
    }

    void arrowsMoveToTheNextPoint() {
        Bench bench;
        bench.click(bench.at(2, 3));
        QTest::keyClick(bench.plot(), Qt::Key_Right);
        QVERIFY(bench.selection.active() == (HeadId{3, 3}));
        QTest::keyClick(bench.plot(), Qt::Key_Left, Qt::ShiftModifier);
        QVERIFY(bench.selection.active() == (HeadId{2, 3}));
        QCOMPARE(bench.selected().size(), std::size_t(2));
        bench.choose("y", ScaleKind::logarithmic);
        bench.settle();
        QTest::keyClick(bench.plot(), Qt::Key_Down);
        QVERIFY(bench.selection.active() == (HeadId{2, 2}));
        QTest::keyClick(bench.plot(), Qt::Key_Up);
        QVERIFY(bench.selection.active() == (HeadId{2, 3}));
    }

    void axesHaveTheScaleThatSuitsTheValues() {
        const Bench bench;
        QVERIFY(bench.view.currentFigure().y.logarithmic);  // three quarters lie in the lowest quarter
        QVERIFY(!bench.view.currentFigure().x.logarithmic); // one value is 0
        QCOMPARE(bench.scale("y")->currentText(), QString("auto: log"));
        QCOMPARE(bench.scale("x")->currentText(), QString("auto: linear"));
        bench.choose("y", ScaleKind::linear);
        Bench::settle();
        QVERIFY(bench.at(2, 0).y() - bench.at(2, 1).y() < 8);
        bench.choose("y", ScaleKind::logarithmic);
        Bench::settle();
        QVERIFY(bench.at(2, 0).y() - bench.at(2, 1).y() > 60);
        QCOMPARE(bench.document.session().view.at("scatter.scaley"), std::string("log"));
        QVERIFY(bench.view.currentFigure().command.find(":scalex=auto:scaley=log ") != std::string::npos);
        bench.choose("x", ScaleKind::logarithmic); // not offered
        Bench::settle();
        QVERIFY(!bench.view.currentFigure().x.logarithmic);
        bench.choose("x", ScaleKind::rank);
        Bench::settle();
        const std::vector<double> x = bench.view.currentFigure().series.front().positions;
        QVERIFY(std::ranges::min(x) > 0 && std::ranges::max(x) < 100);
    }

    void spaceCutsAndRestores() {
        Bench bench;
        bench.plot()->setFocus();
        bench.click(bench.at(2, 3));
        QTest::keyClick(bench.plot(), Qt::Key_Space);
        QVERIFY(bench.document.masks()->isCut({2, 3}));
        QVERIFY(bench.view.currentFigure().series.front().cut[2 * heads + 3]);
        QVERIFY(toCsv(bench.view.currentFigure()).find("\r\n2,3,20.3,1000.02,0\r\n") != std::string::npos);
        QTest::keyClick(bench.plot(), Qt::Key_Space);
        QVERIFY(!bench.document.masks()->isCut({2, 3}));
    }

    void groupsAndLayersStandForTheirHeads() {
        Bench bench;
        bench.view.showMetrics("gate_norm_group", "gate_norm_group");
        bench.settle();
        QVERIFY(bench.line().endsWith("12 KV groups"));
        bench.click(bench.at(1, 1));
        QCOMPARE(bench.selected(), (std::set<HeadId>{{1, 2}, {1, 3}}));
        bench.view.showMetrics("gate_norm", "gate_norm");
        bench.settle();
        QVERIFY(bench.line().endsWith("6 layers"));
        bench.click(bench.at(4, 0));
        QCOMPARE(bench.selected(), wholeLayer(4));
    }

    void neuronsAreShownButNotSelected() {
        Bench bench;
        bench.view.showMetrics("mag_sp_neuron", "gate_norm");
        bench.settle();
        QVERIFY(bench.line().endsWith("30 neurons"));
        QTest::keyClick(bench.plot(), Qt::Key_Right);
        QVERIFY(bench.plot()->currentPoint());
        QVERIFY(bench.selected().empty());
        QSignalSpy opened(&bench.view, &ScatterView::layerOpened);
        QTest::keyClick(bench.plot(), Qt::Key_Return);
        QCOMPARE(opened.size(), 1);
    }

    void doubleClicksOpenAHeadAndResetTheZoom() {
        Bench bench;
        QSignalSpy opened(&bench.view, &ScatterView::opened);
        QTest::mouseDClick(bench.plot(), Qt::LeftButton, {}, bench.at(2, 3));
        QCOMPARE(opened.size(), 1);
        QVERIFY(opened.front().front().value<HeadId>() == (HeadId{2, 3}));
        const QPoint before = bench.at(5, 3);
        const QPoint fixed = bench.at(3, 3);
        QWheelEvent wheel(fixed, bench.plot()->mapToGlobal(fixed), {}, {0, 240}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(bench.plot(), &wheel);
        QVERIFY(bench.plot()->isZoomed());
        // The point moves a little, because the margins adapt to the labels.
        QVERIFY((bench.at(3, 3) - fixed).manhattanLength() < 12);
        QVERIFY(bench.at(5, 3).x() > before.x() + 20);
        QTest::mouseDClick(bench.plot(), Qt::LeftButton, {}, fixed + QPoint(0, 90));
        QVERIFY(!bench.plot()->isZoomed());
        QCOMPARE(bench.at(5, 3), before);
    }

    void theRankMapSharesTheSelection() {
        Bench bench;
        bench.view.showRankMap(true);
        bench.settle();
        QVERIFY(bench.view.rankMap()->isVisible() && !bench.plot()->isVisible());
        QCOMPARE(bench.view.currentFigure().kind, FigureKind::heatMap);
        QTest::mouseClick(bench.view.rankMap(), Qt::LeftButton, {}, bench.view.rankMap()->cellRect({3, 1}).center());
        QCOMPARE(bench.selected(), (std::set<HeadId>{{3, 1}}));
        QVERIFY(QString::fromStdString(bench.view.currentFigure().command)
                    .contains("--figure rank_difference:x=gate_norm_head:y=mag_sp_head"));
    }

    void theAxesAreKeptAndSwapped() {
        Bench bench;
        bench.view.showMetrics("gate_norm", "mag_sp_head");
        for (QToolButton* button : bench.view.findChildren<QToolButton*>())
            if (button->accessibleName() == "Swap the two metrics")
                button->click();
        QCOMPARE(bench.view.keys(), (std::vector<std::string>{"mag_sp_head", "gate_norm"}));
        QCOMPARE(bench.document.session().view.at("scatter.x"), std::string("mag_sp_head"));
        QCOMPARE(bench.document.session().view.at("scatter.y"), std::string("gate_norm"));
    }

    void itSaysWhyThereIsNothing() {
        Bench bench;
        bench.view.showMetrics("sink_head", "mag_sp_head");
        bench.settle();
        QVERIFY(!bench.plot()->isVisible());
        const auto said = [&](const QString& words) {
            const QList<QLabel*> labels = bench.view.findChildren<QLabel*>();
            return std::ranges::any_of(labels,
                                       [&](QLabel* each) { return each->isVisible() && each->text().contains(words); });
        };
        QVERIFY(said("Not measured"));
        auto* button = bench.view.findChild<QPushButton*>();
        // It cannot be measured, because the checkpoint is not open.
        QVERIFY(button->isVisible() && !button->isEnabled());
        QVERIFY(bench.view.currentFigure().series.empty());
        bench.view.showMetrics("mag_sp_neuron", "mag_sp_head");
        QVERIFY(said("nothing in common but their layer") && !button->isVisible());
    }

    void selectedValuesAreCopiedWithBoth() {
        Bench bench;
        bench.selection.select({{2, 3}, {1, 0}}, Selection::Mode::replace);
        bench.view.copyValues();
        QCOMPARE(QApplication::clipboard()->text().replace("\r\n", "\n"),
                 QString("layer,head,gate-norm per head,Mag-SP per head\n1,0,10,1.01\n2,3,20.3,1000.02\n"));
    }

    void screenshots() {
        const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
        if (folder.isEmpty())
            QSKIP("SECATEUR_SCREENSHOTS names no folder");
        Bench bench;
        bench.document.masks()->setHeadsCut({{0, 3}, {3, 3}, {4, 1}}, true);
        bench.selection.select({{2, 3}, {3, 3}}, Selection::Mode::replace, HeadId{2, 3});
        bench.selection.hover(HeadId{5, 3});
        for (const bool isMap : {false, true})
            for (const bool isDark : {false, true}) {
                QPalette palette(isDark ? QColor(0x2b, 0x2d, 0x30) : QColor(0xf0, 0xf0, 0xf0));
                palette.setColor(QPalette::Base, isDark ? QColor(0x1e, 0x1f, 0x22) : QColor(Qt::white));
                bench.view.setPalette(palette);
                bench.view.showRankMap(isMap);
                bench.settle();
                bench.view.grab().save(folder + (isMap ? "/scatter_map" : "/scatter") + (isDark ? "_dark" : "") +
                                       ".png");
            }
    }

    void manyPointsAreDrawnAtOnce_data() {
        QTest::addColumn<int>("layerCount");
        QTest::addColumn<int>("units");
        QTest::addColumn<bool>("areHeads");
        QTest::newRow("16,384 heads") << 128 << 128 << true;
        QTest::newRow("200,000 neurons") << 40 << 5000 << false;
    }
    void manyPointsAreDrawnAtOnce() {
        QFETCH(int, layerCount);
        QFETCH(int, units);
        QFETCH(bool, areHeads);
        const ModelSpec spec = shape(layerCount, areHeads ? units : 2, areHeads ? 1 : units);
        std::mt19937 random(3);
        std::normal_distribution<double> noise;
        const auto value = [&](double layer, double) { return 0.05 * layer + noise(random); };
        ModelCard card;
        card.name = "many";
        card.spec = spec;
        const char* id = areHeads ? "mag_sp_head" : "mag_sp_neuron";
        const MetricResult x = result(id, spec, value);
        const MetricResult y = result(id, spec, value);
        double before = cpuMs();
        const auto taken = [&] {
            const double now = cpuMs();
            return now - std::exchange(before, now);
        };
        const RankCorrelation known{.count = x.values.values().size()};
        ScatterLook look;
        look.correlation = &known;
        const Figure figure = metricScatter(card, x, y, look);
        const double made = taken();
        MaskEditor masks;
        masks.reset(spec);
        Selection selection;
        ScatterPlot plot(&masks, &selection, nullptr);
        plot.resize(900, 620);
        plot.showFigure(figure, areHeads ? Scope::head : Scope::neuron, spec);
        plot.show();
        QVERIFY(QTest::qWaitForWindowExposed(&plot));
        Bench::settle();
        taken();
        plot.showFigure(figure, areHeads ? Scope::head : Scope::neuron, spec);
        const double shown = taken();
        QCoreApplication::processEvents(); // draws the plot
        const QPixmap drawn = plot.grab();
        const double painted = taken();
        plot.selectAll();
        QCoreApplication::processEvents();
        const double marked = taken();
        qInfo("made in %.0f ms, placed in %.0f ms, drawn in %.0f ms, all selected in %.0f ms", made, shown, painted,
              marked);
        QCOMPARE(figure.series.front().values.size(), x.values.values().size());
        QCOMPARE(selection.heads().size(), areHeads ? x.values.values().size() : std::size_t(0));
        QVERIFY(painted < 500);
        if (const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS"); !folder.isEmpty())
            drawn.save(folder + "/many-" + QString::number(units) + ".png");
    }
};

SECATEUR_SUITE(TestScatterView)
#include "tst_scatter_view.moc"
