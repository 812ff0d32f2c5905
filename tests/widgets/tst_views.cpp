#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_threshold.h"
#include "widgets/heads/heads_view.h"
#include "widgets/layers/layers_plot.h"
#include "widgets/layers/layers_view.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_scale.h"
#include "widgets/results/scale_combo.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QElapsedTimer>
#include <QFile>
#include <QImage>
#include <QMenu>
#include <QSignalSpy>
#include <QStyleFactory>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

ModelSpec shape(int layers, int heads, int kvHeads) {
    ModelSpec spec;
    spec.architecture = "llama";
    LayerSpec layer;
    layer.heads = heads;
    layer.kvHeads = kvHeads;
    layer.headDim = 64;
    spec.layers.assign(static_cast<std::size_t>(layers), layer);
    return spec;
}

MetricResult result(std::string_view id, const ModelSpec& spec, Matrix values = {}) {
    MetricResult made;
    made.request = {findMetric(id), {}};
    const Scope scope = made.request.info->scope;
    made.values = std::move(values);
    if (!made.values.empty())
        return made;
    made.values = Matrix(spec.layers.size(), columnsFor(scope, spec));
    std::mt19937 random(7);
    std::normal_distribution<double> noise(0, 0.45);
    for (std::size_t layer = 0; layer < made.values.rows(); ++layer)
        for (std::size_t cell = 0; cell < cellsInLayer(scope, spec.layers[layer]); ++cell)
            made.values(layer, cell) =
                (scope == Scope::layer ? 30 : 10) *
                std::exp(noise(random) - 1.1 * std::cos(0.13 * static_cast<double>(layer)) + 0.2);
    return made;
}

Session session(const ModelSpec& spec) {
    Session made;
    made.model.name = "SmolLM2-135M-Instruct";
    made.model.path = "SmolLM2-135M-Instruct.gguf";
    made.model.spec = spec;
    for (const char* id : {"gate_norm", "gate_norm_headwise", "gate_norm_head", "gate_norm_group"})
        made.results.push_back(result(id, spec));
    return made;
}

/// A dark palette. It sets only the roles that the views use.
QPalette darkPalette() {
    QPalette palette(QColor(0x2b, 0x2d, 0x30), QColor(0x1e, 0x1f, 0x22));
    for (const auto role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText})
        palette.setColor(role, QColor(0xdf, 0xe1, 0xe5));
    palette.setColor(QPalette::Base, QColor(0x1e, 0x1f, 0x22));
    return palette;
}

} // namespace

namespace {

/// A heads view and a layers view on a document with a session in memory.
class Bench {
public:
    Bench()
        : document(services(), &jobs) {
        heads.resize(860, 640);
        layers.resize(860, 440);
    }

    void open(const Session& made) {
        served = made;
        QSignalSpy opened(&document, &Document::opened);
        document.files()->open(folder.path() + "/made.h5");
        QVERIFY(opened.wait());
        for (QWidget* view : {static_cast<QWidget*>(&heads), static_cast<QWidget*>(&layers)}) {
            view->show();
            QVERIFY(QTest::qWaitForWindowExposed(view));
        }
        settle();
    }

    static void settle() { QTest::qWait(40); }

    QPoint cell(int layer, int head) { return heads.grid()->cellRect({layer, head}).center(); }
    void press(int key, Qt::KeyboardModifiers modifiers = {}) {
        QTest::keyClick(heads.grid(), static_cast<Qt::Key>(key), modifiers);
    }
    void click(QPoint point, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(heads.grid(), Qt::LeftButton, modifiers, point);
    }
    void drag(const QList<QPoint>& points, Qt::KeyboardModifiers modifiers = {},
              Qt::MouseButton button = Qt::LeftButton) {
        QTest::mousePress(heads.grid(), button, modifiers, points.front());
        for (const QPoint& point : points)
            move(heads.grid(), point, button, modifiers);
        QTest::mouseRelease(heads.grid(), button, modifiers, points.back());
    }
    /// Sends a mouse move with pressed buttons, which QTest::mouseMove() cannot do.
    static void move(QWidget* widget, QPoint point, Qt::MouseButtons held = {}, Qt::KeyboardModifiers modifiers = {}) {
        QMouseEvent event(QEvent::MouseMove, point, widget->mapToGlobal(point), Qt::NoButton, held, modifiers);
        QApplication::sendEvent(widget, &event);
    }

    std::set<HeadId> selected() const { return selection.heads(); }

    Session served;
    JobRunner jobs;
    Document document;
    Selection selection;
    HeadsView heads{&document, &selection};
    LayersView layers{&document, &selection};
    QTemporaryDir folder;

private:
    Services services() {
        Services made;
        made.isSession = [](const std::string&) { return true; };
        made.readSession = [this](const std::string&) { return served; };
        made.openModel = [](const std::string& path, const Progress&) -> std::shared_ptr<const Model> {
            throw Error("is not there", path);
        };
        return made;
    }
};

} // namespace

class TestViews : public QObject {
    Q_OBJECT

private slots:
    void init() { QApplication::setPalette(QApplication::style()->standardPalette()); }

    void emptyDocumentIsHarmless() {
        Bench bench;
        for (QWidget* view : {static_cast<QWidget*>(&bench.heads), static_cast<QWidget*>(&bench.layers)}) {
            view->show();
            QVERIFY(QTest::qWaitForWindowExposed(view));
        }
        bench.heads.selectAll();
        bench.heads.copyValues();
        bench.heads.resetZoom();
        bench.heads.showMetric("gate_norm_group");
        for (const int key : {Qt::Key_Down, Qt::Key_Escape, Qt::Key_End, Qt::Key_A})
            bench.press(key, key == Qt::Key_A ? Qt::ControlModifier : Qt::NoModifier);
        QVERIFY(bench.heads.currentFigure().cells.empty());
        QVERIFY(bench.layers.currentFigure().series.empty());
        QVERIFY(bench.selected().empty());
        screenshot(bench.heads, "heads_empty");
    }

    void clicksSelectCells() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        bench.click(bench.cell(4, 2));
        QCOMPARE(bench.selected(), (std::set<HeadId>{{4, 2}}));
        bench.click(bench.cell(6, 5), Qt::ControlModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{4, 2}, {6, 5}}));
        QCOMPARE(bench.selection.active(), (HeadId{6, 5}));
        bench.click(bench.cell(4, 2), Qt::ControlModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{6, 5}}));
        bench.click(bench.cell(6, 5));
        bench.click(bench.cell(8, 4), Qt::ShiftModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{6, 4}, {6, 5}, {7, 4}, {7, 5}, {8, 4}, {8, 5}}));
    }

    void draggingSelectsRectanglesAndLassos() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        bench.drag({bench.cell(2, 1), bench.cell(3, 2)});
        QCOMPARE(bench.selected(), (std::set<HeadId>{{2, 1}, {2, 2}, {3, 1}, {3, 2}}));
        bench.drag({bench.cell(10, 8), bench.cell(10, 8) + QPoint(5000, 0)}, Qt::ControlModifier);
        QCOMPARE(bench.selected().size(), 5U);
        const QRect around = bench.heads.grid()->cellRect({20, 3}).adjusted(-3, -3, 3, 3);
        bench.drag({around.topLeft(), around.topRight(), around.bottomRight(), around.bottomLeft()},
                   Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(bench.selected().size(), 6U);
        QVERIFY(bench.selected().contains({20, 3}));
    }

    void headersSelectLayersAndColumns() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        bench.click({8, bench.cell(7, 0).y()});
        QCOMPARE(bench.selected().size(), 9U);
        QCOMPARE(bench.selected().begin()->layer, 7);
        bench.click({8, bench.cell(9, 0).y()}, Qt::ShiftModifier);
        QCOMPARE(bench.selected().size(), 27U);
        bench.click({bench.cell(0, 4).x(), bench.heads.grid()->cellRect({0, 4}).top() - 5});
        QCOMPARE(bench.selected().size(), 30U);
        QCOMPARE(bench.selected().rbegin()->head, 4);
    }

    void escapeCancelsTheDragThenTheSelection() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        bench.click(bench.cell(1, 1));
        QTest::mousePress(bench.heads.grid(), Qt::LeftButton, {}, bench.cell(2, 2));
        Bench::move(bench.heads.grid(), bench.cell(9, 8), Qt::LeftButton);
        QCOMPARE(bench.selected().size(), 56U);
        bench.press(Qt::Key_Escape);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{1, 1}}));
        Bench::move(bench.heads.grid(), bench.cell(5, 5), Qt::LeftButton);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{1, 1}}));
        bench.press(Qt::Key_Escape);
        QVERIFY(bench.selected().empty());
    }

    void keysMoveAndExtend() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        bench.press(Qt::Key_Down);
        QCOMPARE(bench.selection.active(), (HeadId{0, 0}));
        bench.press(Qt::Key_Down);
        bench.press(Qt::Key_Right);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{1, 1}}));
        bench.press(Qt::Key_Down, Qt::ShiftModifier);
        bench.press(Qt::Key_Right, Qt::ShiftModifier);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{1, 1}, {1, 2}, {2, 1}, {2, 2}}));
        bench.press(Qt::Key_End);
        QCOMPARE(bench.selection.active(), (HeadId{2, 8}));
        bench.press(Qt::Key_Home, Qt::ControlModifier);
        QCOMPARE(bench.selection.active(), (HeadId{0, 0}));
        bench.press(Qt::Key_PageDown);
        QCOMPARE(bench.selection.active(), (HeadId{15, 0}));
        bench.press(Qt::Key_Up, Qt::ControlModifier);
        QCOMPARE(bench.selection.active(), (HeadId{0, 0}));
        bench.press(Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(bench.selected().size(), 270U);
    }

    void groupsAreSelectedAsAWhole() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        bench.heads.showMetric("gate_norm_group");
        QCOMPARE(bench.heads.resultId(), std::string("gate_norm_group"));
        bench.click(bench.cell(5, 4));
        QCOMPARE(bench.selected(), (std::set<HeadId>{{5, 3}, {5, 4}, {5, 5}}));
        bench.press(Qt::Key_Right);
        QCOMPARE(bench.selected(), (std::set<HeadId>{{5, 6}, {5, 7}, {5, 8}}));
        QSignalSpy said(&bench.heads, &HeadsView::hoverText);
        Bench::move(bench.heads.grid(), bench.cell(2, 1));
        QVERIFY(said.back().front().toString().startsWith("L2.G0 = "));
        QCOMPARE(bench.heads.currentFigure().cells.columns(), 3U);
        screenshot(bench.heads, "heads_group");
    }

    void raggedModelsHaveNoCellsWhereNoHeadsAre() {
        ModelSpec spec = shape(4, 8, 4);
        spec.layers[1].heads = 4;
        spec.layers[1].kvHeads = 2;
        spec.layers[2].heads = spec.layers[2].kvHeads = 0;
        spec.layers[2].attention = AttentionKind::none;
        Bench bench;
        bench.open(session(spec));
        bench.heads.selectAll();
        QCOMPARE(bench.selected().size(), 20U);
        bench.click(bench.cell(0, 0));
        bench.click(bench.cell(1, 6));
        QCOMPARE(bench.selected(), (std::set<HeadId>{{0, 0}}));
        bench.press(Qt::Key_End);
        bench.press(Qt::Key_Down);
        QCOMPARE(bench.selection.active(), (HeadId{1, 3}));
        bench.press(Qt::Key_Down);
        QCOMPARE(bench.selection.active(), (HeadId{3, 3}));
        QCOMPARE(pixel(bench, 1, 6), QApplication::palette().color(QPalette::Base).rgb());
        screenshot(bench.heads, "heads_ragged");
    }

    void colourBarEndsAreTheCellsColours() {
        const ModelSpec spec = shape(3, 4, 4);
        Matrix values(3, 4, 5);
        values(0, 0) = 1;
        values(2, 3) = 9;
        values(1, 1) = missing;
        Session made = session(spec);
        made.results = {result("gate_norm_head", spec, values)};
        for (const QString map : {"viridis", "magma"}) {
            Bench bench;
            made.view["heads.colours"] = map.toStdString();
            made.view["heads.clip"] = "0";
            bench.open(made);
            QCOMPARE(pixel(bench, 0, 0), colourMap(map).front());
            QCOMPARE(pixel(bench, 2, 3), colourMap(map).back());
            QCOMPARE(pixel(bench, 1, 1), themeOf(bench.heads).absent.rgb());
        }
    }

    void themeChangesEverythingButTheData() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        const QRgb light = pixel(bench, 3, 3);
        QApplication::setPalette(darkPalette());
        Bench::settle();
        QCOMPARE(pixel(bench, 3, 3), light);
        const QImage grabbed = bench.heads.grid()->grab().toImage();
        QCOMPARE(grabbed.pixel(1, 1), QColor(0x1e, 0x1f, 0x22).rgb());
    }

    void hoverTellsValueRankAndPercentile() {
        const ModelSpec spec = shape(2, 3, 3);
        Matrix values(2, 3);
        const std::vector<double> numbers{0.1234567890123, 5, 3, 4, 2, 6};
        std::copy(numbers.begin(), numbers.end(), values.values().begin());
        Session made = session(spec);
        made.results = {result("gate_norm_head", spec, values)};
        Bench bench;
        bench.open(made);
        QSignalSpy said(&bench.heads, &HeadsView::hoverText);
        Bench::move(bench.heads.grid(), bench.cell(1, 0));
        QCOMPARE(bench.selection.hovered(), (HeadId{1, 0}));
        QCOMPARE(said.back().front().toString(),
                 "L1.H0 = " + QString::fromStdString(significant(4)) + " · rank 4/6 · 50th percentile of layer");
        Bench::move(bench.heads.grid(), bench.cell(0, 0));
        QHelpEvent help(QEvent::ToolTip, bench.cell(0, 0), bench.heads.grid()->mapToGlobal(bench.cell(0, 0)));
        QApplication::sendEvent(bench.heads.grid(), &help);
        QCOMPARE(QToolTip::text(), QString("L0.H0 = 0.1234567890123"));
        made.results.front().standardError = Matrix(2, 3, 0.0);
        (*made.results.front().standardError)(1, 0) = 0.6;
        Bench estimated;
        estimated.open(made);
        QSignalSpy told(&estimated.heads, &HeadsView::hoverText);
        Bench::move(estimated.heads.grid(), estimated.cell(1, 0));
        QCOMPARE(told.back().front().toString(), "L1.H0 = 4.0 ± 0.6 (estimate) · rank ≈4/6 · 50th percentile of layer");
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(bench.heads.grid(), &leave);
        QCOMPARE(said.back().front().toString(), QString());
    }

    void copiesAndSaves() {
        Bench bench;
        bench.open(session(shape(3, 2, 2)));
        bench.click(bench.cell(1, 0));
        bench.heads.copyValues();
        const double value = bench.served.results[2].values(1, 0);
        QCOMPARE(QApplication::clipboard()->text().toDouble(), value);
        bench.click(bench.cell(1, 1), Qt::ControlModifier);
        bench.heads.copyValues();
        QVERIFY(QApplication::clipboard()->text().startsWith("layer,head,gate_norm_head,kept\r\n1,0,"));
        bench.heads.figureActions()->copyCsv();
        QCOMPARE(QApplication::clipboard()->text().count('\n'), 7);
        bench.layers.figureActions()->copyCsv();
        QCOMPARE(QApplication::clipboard()->text().count('\n'), 4);
        bench.heads.figureActions()->copyImage();
        QCOMPARE(QApplication::clipboard()->image().width(), 2055);

        QSignalSpy failed(&bench.heads, &HeadsView::failed);
        for (const char* format : {"png", "svg", "pdf", "csv"}) {
            const QString path = bench.folder.path() + "/figure." + format;
            bench.heads.figureActions()->save(path, FigureWidth::column);
            QVERIFY(QFile(path).size() > 50);
        }
        QVERIFY(failed.empty());
        bench.heads.figureActions()->save(bench.folder.path() + "/no/figure.png", FigureWidth::column);
        QCOMPARE(failed.size(), 1);
        QCOMPARE(QString::fromStdString(bench.heads.currentFigure().command),
                 QString("secateur-cli plot %1 --figure "
                         "heads:metric=gate_norm_head:colours=viridis:scale=auto:clip=1 --out figure.pdf")
                     .arg(bench.document.sessionPath())); // the session's path, because the checkpoint is not available
        bench.heads.figureActions()->copyCommand();
        QCOMPARE(QGuiApplication::clipboard()->text().toStdString(), bench.heads.currentFigure().command);
    }

    void viewIsKeptAndRestored() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        auto* colours = bench.heads.findChildren<QComboBox*>().at(1);
        QTest::keyClick(colours, Qt::Key_Down);
        bench.heads.showMetric("gate_norm_group");
        bench.layers.chooseMetrics({"gate_norm", "gate_norm_head"});
        Session kept = bench.document.session();
        QCOMPARE(kept.view["heads.colours"], std::string("cividis"));
        Bench again;
        again.open(kept);
        QCOMPARE(again.heads.resultId(), std::string("gate_norm_group"));
        QCOMPARE(again.heads.currentFigure().scale.map, std::string("cividis"));
        QCOMPARE(again.layers.currentFigure().series.size(), 2U);
    }

    void scaleSuitsTheValuesAndIsKept() {
        const ModelSpec spec = shape(4, 4, 4);
        Matrix values(4, 4);
        for (std::size_t i = 0; i < 16; ++i)
            values.values()[i] = std::pow(2.0, static_cast<double>(i)); // all but two in the lowest quarter
        Session made = session(spec);
        made.results = {result("gate_norm_head", spec, values)};
        Bench bench;
        bench.open(made);
        auto* scale = bench.heads.findChild<ScaleCombo*>();
        QCOMPARE(scale->currentText(), QString("auto: log"));
        QCOMPARE(bench.heads.currentFigure().scale.kind, ScaleKind::logarithmic);
        screenshot(bench.heads, "heads_log");
        for (const ScaleKind kind :
             {ScaleKind::linear, ScaleKind::rank, ScaleKind::withinLayer, ScaleKind::logarithmic}) {
            scale->choose(kind);
            emit scale->activated(scale->currentIndex());
            QCOMPARE(bench.heads.currentFigure().scale.kind, kind);
            const std::string option = ":scale=" + std::string(name(kind)) + ":";
            QVERIFY2(bench.heads.currentFigure().command.find(option) != std::string::npos, option.c_str());
            Bench again;
            again.open(bench.document.session());
            QCOMPARE(again.heads.currentFigure().scale.kind, kind);
        }
        made.results.front().values(0, 0) = -1;
        made.view["heads.scale"] = "log";
        Bench below;
        below.open(made);
        QCOMPARE(below.heads.currentFigure().scale.kind, ScaleKind::linear); // the choice does not suit the values
        made.results.front().values(0, 0) = 1;
        made.view = {{"heads.log", "true"}}; // as version 0.1 kept it
        Bench older;
        older.open(made);
        QCOMPARE(older.heads.currentFigure().scale.kind, ScaleKind::logarithmic);
    }

    void thresholdIsDraggedOnRanks() {
        const ModelSpec spec = shape(4, 4, 4);
        Matrix values(4, 4);
        for (std::size_t i = 0; i < 16; ++i)
            values.values()[i] = std::pow(2.0, static_cast<double>(i));
        Session made = session(spec);
        made.results = {result("gate_norm_head", spec, values)};
        made.view["heads.scale"] = "rank";
        Bench bench;
        bench.open(made);
        HeadsThreshold& threshold = *bench.heads.grid()->threshold();
        QVERIFY(threshold.isOffered());
        const double value = threshold.fromBar(25);
        QVERIFY(value > 8 && value < 16); // the fourth and the fifth of 16 values
        threshold.preview(value);
        QCOMPARE(threshold.markerOnBar(), std::optional(25.0));
        threshold.apply();
        QVERIFY(bench.document.masks()->isCut({0, 3}) && !bench.document.masks()->isCut({1, 0}));
        made.view["heads.scale"] = "layer";
        Bench shares;
        shares.open(made);
        QVERIFY(!shares.heads.grid()->threshold()->isOffered()); // shares of a layer are no values
    }

    void savedFiguresHaveTheCutsOnScreen() {
        Bench bench;
        bench.open(session(shape(4, 4, 2)));
        QVERIFY(!bench.heads.currentFigure().mask && bench.heads.currentFigure().rowBars);
        bench.document.masks()->setHeadsCut({{1, 2}}, true);
        for (const Figure& figure : {bench.heads.currentFigure(), bench.layers.currentFigure()})
            QVERIFY(figure.mask && !figure.mask->layer(1).heads[2]);
    }

    void contextMenuActsOnHeads() {
        Bench bench;
        bench.open(session(shape(4, 4, 2)));
        QMenu menu;
        const auto run = [&](const QString& text) {
            menu.clear();
            bench.heads.fillMenu(&menu);
            for (QAction* action : menu.actions())
                if (action->text().remove('&') == text && action->isEnabled())
                    return action->trigger();
            QFAIL(qPrintable(text));
        };
        bench.click(bench.cell(1, 2));
        QSignalSpy opened(bench.heads.grid(), &HeadsGrid::opened);
        run("Show attention");
        QCOMPARE(opened.size(), 1);
        QCOMPARE(opened.front().front().value<HeadId>(), (HeadId{1, 2}));
        run("Copy name");
        QCOMPARE(QApplication::clipboard()->text(), QString("L1.H2"));
        bench.click(bench.cell(3, 0), Qt::ControlModifier);
        run("Copy names");
        QCOMPARE(QApplication::clipboard()->text(), QString("L1.H2 L3.H0"));
        QSignalSpy wanted(&bench.heads, &HeadsView::filterWanted);
        run("Filter to these");
        QCOMPARE(wanted.front().front().toString(), QString("L1.H2 L3.H0"));
    }

    void modelsThatNormaliseHeadsOpenOnQkNorm() {
        ModelSpec spec = shape(4, 4, 4);
        for (LayerSpec& layer : spec.layers)
            layer.normsHeads = true;
        Session made = session(spec);
        Bench bench;
        bench.open(made);
        QCOMPARE(bench.heads.resultId(), std::string("gate_norm_head:qk_norm=true"));
        QCOMPARE(bench.layers.chosenMetrics(),
                 QStringList({"gate_norm:qk_norm=true", "gate_norm_headwise:qk_norm=true"}));
    }

    void smallModelsAreInTheMiddle() {
        Bench bench;
        bench.open(session(shape(2, 2, 2)));
        const QRect first = bench.heads.grid()->cellRect({0, 0});
        const QRect last = bench.heads.grid()->cellRect({1, 1});
        const int above = first.top();
        const int below = bench.heads.grid()->height() - last.bottom();
        QVERIFY2(std::abs(above - below) < 40, qPrintable(QString("%1 %2").arg(above).arg(below)));
        QVERIFY(first.height() > 60);
        screenshot(bench.heads, "heads_small");
    }

    void wheelZoomsAndResets() {
        Bench bench;
        bench.open(session(shape(128, 128, 128)));
        const QRect whole = bench.heads.grid()->cellRect({0, 0});
        QVERIFY(whole.height() >= 3 && whole.width() >= 3);
        const QPoint at = bench.cell(40, 40);
        QWheelEvent wheel(at, bench.heads.grid()->mapToGlobal(at), {}, {0, 360}, {}, Qt::ControlModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(bench.heads.grid(), &wheel);
        QVERIFY(bench.heads.grid()->cellRect({40, 40}).height() > whole.height());
        QVERIFY(bench.heads.grid()->cellRect({40, 40}).adjusted(-3, -3, 3, 3).contains(at));
        screenshot(bench.heads, "heads_zoomed");
        const QRect before = bench.heads.grid()->cellRect({40, 40});
        bench.drag({at, at + QPoint(20, 10)}, {}, Qt::MiddleButton);
        QCOMPARE(bench.heads.grid()->cellRect({40, 40}).topLeft() - before.topLeft(), QPoint(20, 10));
        QTest::mouseDClick(bench.heads.grid(), Qt::LeftButton, {}, {2, 2});
        QCOMPARE(bench.heads.grid()->cellRect({0, 0}), whole);
        bench.press(Qt::Key_End, Qt::ControlModifier);
        QCOMPARE(bench.selection.active(), (HeadId{127, 127}));
        QVERIFY(bench.heads.grid()->rect().contains(bench.cell(127, 127)));
    }

    void largeGridsAreFast() {
        Bench bench;
        bench.open(session(shape(128, 128, 128)));
        screenshot(bench.heads, "heads_large");
        QElapsedTimer timer;
        timer.start();
        constexpr int frames = 30;
        const QPoint at = bench.cell(64, 64);
        for (int frame = 0; frame < frames; ++frame) {
            QWheelEvent wheel(at, bench.heads.grid()->mapToGlobal(at), {}, {0, frame < frames / 2 ? 20 : -20}, {},
                              Qt::ControlModifier, Qt::NoScrollPhase, false);
            QApplication::sendEvent(bench.heads.grid(), &wheel);
            QApplication::processEvents();
            QApplication::processEvents();
        }
        qInfo("zoom frame: %.2f ms", static_cast<double>(timer.elapsed()) / frames);
        QVERIFY(timer.elapsed() / frames < 100);
        timer.restart();
        for (int frame = 0; frame < frames; ++frame) {
            Bench::move(bench.heads.grid(), bench.cell(60 + frame % 2, 60));
            QApplication::processEvents();
        }
        qInfo("hover frame: %.2f ms", static_cast<double>(timer.elapsed()) / frames);
        QVERIFY(timer.elapsed() / frames < 100);
    }

    void cellsStayLargeEnoughByScrolling() {
        Bench bench;
        bench.open(session(shape(128, 8, 8)));
        bench.heads.resize(600, 320);
        Bench::settle();
        QVERIFY(bench.heads.grid()->cellRect({0, 0}).height() >= 3);
        QVERIFY(!bench.heads.grid()->rect().contains(bench.cell(127, 0)));
        const QPoint at = bench.cell(20, 4);
        const int top = bench.cell(20, 4).y();
        QWheelEvent wheel(at, bench.heads.grid()->mapToGlobal(at), {}, {0, -120}, {}, {}, Qt::NoScrollPhase, false);
        QApplication::sendEvent(bench.heads.grid(), &wheel);
        QCOMPARE(bench.cell(20, 4).y(), top - 60);
        bench.press(Qt::Key_End, Qt::ControlModifier);
        QVERIFY(bench.heads.grid()->rect().contains(bench.cell(127, 7)));
        screenshot(bench.heads, "heads_scrolled");
    }

    void oneCellIsDrawn() {
        Bench bench;
        bench.open(session(shape(1, 1, 1)));
        bench.click(bench.cell(0, 0));
        QCOMPARE(bench.selected(), (std::set<HeadId>{{0, 0}}));
        screenshot(bench.heads, "heads_one");
        screenshot(bench.layers, "layers_one");
    }

    void layersAreSelectedInTheSeries() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        LayersPlot* plot = bench.layers.plot();
        QTest::mouseClick(plot, Qt::LeftButton, {}, plot->position(12));
        QCOMPARE(bench.selected().size(), 9U);
        QCOMPARE(bench.selected().begin()->layer, 12);
        QTest::mouseClick(plot, Qt::LeftButton, Qt::ShiftModifier, plot->position(14));
        QCOMPARE(bench.selected().size(), 27U);
        QTest::mouseClick(plot, Qt::LeftButton, Qt::ControlModifier, plot->position(13));
        QCOMPARE(bench.selected().size(), 18U);
        QTest::keyClick(plot, Qt::Key_Home);
        QCOMPARE(bench.selected().rbegin()->layer, 0);
        QTest::keyClick(plot, Qt::Key_Right, Qt::ShiftModifier);
        QCOMPARE(bench.selected().size(), 18U);
        QSignalSpy said(&bench.layers, &LayersView::hoverText);
        Bench::move(plot, plot->position(3));
        const double value = bench.served.results[0].values(3, 0);
        QVERIFY(said.back().front().toString().startsWith("L3 · gate-norm = " +
                                                          QString::fromStdString(significant(value))));
        QTest::keyClick(plot, Qt::Key_Escape);
        QVERIFY(bench.selected().empty());
    }

    void metricsAreChosenInTheMenu() {
        Bench bench;
        bench.open(session(shape(30, 9, 3)));
        QCOMPARE(bench.layers.currentFigure().series.size(), 2U);
        const QList<QAction*> actions = bench.layers.findChild<QToolButton*>()->menu()->actions();
        const auto hasMeans = [](auto* info) { return info->scope != Scope::neuron && info->classes.empty(); };
        QCOMPARE(actions.size(), std::ranges::count_if(allMetrics(), hasMeans));
        actions[2]->trigger();
        QCOMPARE(bench.layers.currentFigure().series.size(), 3U);
        for (int i : {0, 1, 2})
            actions[i]->trigger();
        QVERIFY(bench.layers.currentFigure().series.empty());
    }

    void screenshots() {
        if (qEnvironmentVariableIsEmpty("SECATEUR_SCREENSHOTS"))
            QSKIP("SECATEUR_SCREENSHOTS names no folder");
        Bench bench;
        Session made = session(shape(30, 9, 3));
        for (double& value : made.results[2].values.row(29))
            value = missing;
        bench.open(made);
        bench.drag({bench.cell(3, 2), bench.cell(6, 4)});
        bench.click(bench.cell(12, 6), Qt::ControlModifier);
        Bench::move(bench.heads.grid(), bench.cell(20, 1));
        bench.layers.chooseMetrics({"gate_norm", "gate_norm_headwise", "gate_norm_head"});
        Bench::settle();
        for (const auto& [palette, name] : {std::pair(QApplication::style()->standardPalette(), QString("light")),
                                            std::pair(darkPalette(), QString("dark"))}) {
            QApplication::setPalette(palette);
            Bench::settle();
            screenshot(bench.heads, "heads_" + name);
            screenshot(bench.layers, "layers_" + name);
            for (const char* map : {"magma", "cividis"}) {
                bench.heads.findChildren<QComboBox*>().at(1)->setCurrentText(map);
                emit bench.heads.findChildren<QComboBox*>().at(1)->activated(0);
                Bench::settle();
                screenshot(bench.heads, QString("heads_%1_%2").arg(name, map));
            }
            bench.heads.findChildren<QComboBox*>().at(1)->setCurrentText("viridis");
            emit bench.heads.findChildren<QComboBox*>().at(1)->activated(0);
        }
        Bench wide;
        wide.open(session(shape(32, 32, 8)));
        screenshot(wide.heads, "heads_32");
        wide.heads.resize(420, 400);
        Bench::settle();
        screenshot(wide.heads, "heads_small");
    }

private:
    static QRgb pixel(Bench& bench, int layer, int head) {
        Bench::settle();
        return bench.heads.grid()->grab().toImage().pixel(bench.cell(layer, head) * bench.heads.devicePixelRatioF());
    }

    /// Saves a screenshot of a view for inspection by a person.
    static void screenshot(QWidget& view, const QString& name) {
        const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
        if (folder.isEmpty())
            return;
        Bench::settle();
        const int percent = static_cast<int>(100 * view.devicePixelRatioF());
        QVERIFY(view.grab().save(QString("%1/%2_%3.png").arg(folder, name).arg(percent)));
    }
};

SECATEUR_SUITE(TestViews)
#include "tst_views.moc"
