#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/head_filter_rule.h"
#include "tests/support/suite.h"
#include "widgets/attention/attention_sheet.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_view.h"
#include "widgets/layers/layers_plot.h"
#include "widgets/layers/layers_view.h"
#include "widgets/masks/cut_box.h"
#include "widgets/results/filter_bar.h"
#include "widgets/results/selection_inspector.h"
#include "widgets/window/command_palette.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeWidget>
#include <QUndoStack>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <numeric>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// Four layers of four heads in two KV groups. The values of gate_norm_head are 0 to 15, and the one of L3.H3 is
/// missing. attention_pattern has each of its four classes once per layer. The spectral values of the eight groups are
/// 0 to 7.
Session session() {
    Session made;
    made.model.name = "model";
    made.model.path = "model.gguf";
    made.model.spec.architecture = "llama";
    LayerSpec layer;
    layer.heads = 4;
    layer.kvHeads = 2;
    layer.headDim = 8;
    layer.ffn = 16;
    made.model.spec.layers.assign(4, layer);
    const auto add = [&](const char* id, std::size_t columns, auto value) {
        MetricResult result;
        result.request = parseMetricRequests(id).front();
        result.values = Matrix(4, columns);
        for (std::size_t row = 0; row < 4; ++row)
            for (std::size_t column = 0; column < columns; ++column)
                result.values(row, column) = value(static_cast<double>(row), static_cast<double>(column));
        made.results.push_back(std::move(result));
    };
    add("gate_norm_head", 4, [](double row, double column) { return 4 * row + column; });
    add("gate_norm", 1, [](double row, double) { return row; });
    add("attention_pattern", 4, [](double, double column) { return column; });
    made.results.front().values(3, 3) = missing;
    MetricResult& pattern = made.results.back();
    for (const char* name : {"sink", "diagonal", "previous", "entropy", "agreement", "margin"})
        pattern.features.push_back({name, Matrix(4, 4, 0.25)});
    made.view["heads.metric"] = "gate_norm_head";
    return made;
}

/// The heads that pass the filter `text`, in the form "L0.H1 L2.H3".
QString passing(const char* text, const Session& of = session()) {
    const auto cut = [](HeadId head) { return head.head == 0; };
    const auto spared = [](HeadId head) { return head.layer == 1; };
    const auto result = [&](const std::string& id) -> const MetricResult* {
        const auto found =
            std::ranges::find_if(of.results, [&](const MetricResult& each) { return each.request.resultId() == id; });
        return found == of.results.end() ? nullptr : &*found;
    };
    const PassingHeads heads = HeadRule(text).passing({of.model.spec, result, cut, spared});
    QStringList names;
    for (std::size_t layer = 0; layer < heads.size(); ++layer)
        for (std::size_t head = 0; head < heads[layer].size(); ++head)
            if (heads[layer][head])
                names << QString("%1.%2").arg(layer).arg(head);
    return names.join(' ');
}

/// The error message for the filter `text`.
QString refusal(const char* text) {
    try {
        passing(text);
        return "not refused";
    } catch (const Error& error) {
        return error.what();
    }
}

/// A document with a session in memory, and views that share one filter.
struct Bench {
    Session served = session();
    JobRunner jobs;
    Document document{services(), &jobs};
    Selection selection;
    HeadFilter filter{&document};
    HeadsView heads{&document, &selection};
    LayersView layers{&document, &selection};
    CutBox cutBox{&document};
    SelectionInspector inspector{&document, &selection};
    QTemporaryDir folder;

    Bench() {
        heads.setFilter(&filter);
        layers.setFilter(&filter);
        cutBox.setFilter(&filter);
        heads.resize(860, 500);
        layers.resize(860, 440);
        QSignalSpy opened(&document, &Document::opened);
        document.files()->open(folder.path() + "/made.h5");
        QVERIFY(opened.wait());
        for (QWidget* view : {static_cast<QWidget*>(&heads), static_cast<QWidget*>(&layers)}) {
            view->show();
            QVERIFY(QTest::qWaitForWindowExposed(view));
        }
        settle();
    }

    Services services() {
        Services made;
        made.isSession = [](const std::string&) { return true; };
        made.readSession = [this](const std::string&) { return served; };
        made.openModel = [](const std::string& path, const Progress&) -> std::shared_ptr<const Model> {
            throw Error("is not there", path);
        };
        made.maskDigest = [](const PruningMask&) { return std::string("a mask"); };
        return made;
    }

    static void settle() { QTest::qWait(80); }
    QColor colourOf(HeadId head) {
        return heads.grab().toImage().pixelColor(
            heads.grid()->mapTo(&heads, heads.grid()->cellRect(head).center() + QPoint(5, 5)));
    }
    static void moveTo(QWidget* widget, QPoint point) {
        QMouseEvent event(QEvent::MouseMove, point, widget->mapToGlobal(point), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(widget, &event);
    }
};

int distance(const QColor& a, const QColor& b) {
    return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue());
}

} // namespace

class TestHeadFilter : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
    void conditionsJoin_data();
    void conditionsJoin();
    void badTextIsRefusedInASentence_data();
    void badTextIsRefusedInASentence();
    void rulesNameTheirHeads();
    void valuesOfWhatFailsAreLeftOut();
    void headsThatFailStepBackAndAreNotSelectedWithOthers();
    void meansAreOverWhatPasses();
    void cutBoxLeavesTheOthersAlone();
    void filterFollowsTheMask();
    void barSaysHowManyPassAndWhatIsWrong();
    void hoverIsOneForAllViews();
    void classesAreNamedEverywhere();
    void sheetOfManyHeadsIsPaintedInAFrame();
    void placesAreFound_data();
    void placesAreFound();
    void findingIsFastInLargeModels();
};

void TestHeadFilter::conditionsJoin_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("heads");
    QTest::newRow("nothing") << "" << passing("not layer 9");
    QTest::newRow("names") << "L1.H2 l3.h0"
                           << "1.2 3.0";
    QTest::newRow("names and a condition") << "L1.H2 L3.H0, layer 3"
                                           << "3.0";
    QTest::newRow("layer") << "layer 1"
                           << "1.0 1.1 1.2 1.3";
    QTest::newRow("layers") << "layers 1-2, head 0-1"
                            << "1.0 1.1 2.0 2.1";
    QTest::newRow("not cut") << "layer 0, not cut"
                             << "0.1 0.2 0.3";
    QTest::newRow("protected") << "protected and cut"
                               << "1.0";
    QTest::newRow("above") << "gate_norm_head > 12"
                           << "3.1 3.2";
    QTest::newRow("at least") << "gate_norm_head>=12"
                              << "3.0 3.1 3.2";
    QTest::newRow("a gap meets neither") << "not gate_norm_head < 13"
                                         << "3.1 3.2";
    QTest::newRow("count") << "gate_norm_head lowest 3"
                           << "0.0 0.1 0.2";
    QTest::newRow("share of 15") << "gate_norm_head highest 20%"
                                 << "3.0 3.1 3.2";
    QTest::newRow("per layer") << "gate_norm >= 3, head 0"
                               << "3.0";
    QTest::newRow("class") << "pattern is Sink"
                           << "0.0 1.0 2.0 3.0";
    QTest::newRow("other classes") << "layer 2, attention_pattern is not sink"
                                   << "2.1 2.2 2.3";
    QTest::newRow("upper case, empty parts") << " Layer 2 ,, NOT Cut AND head 1 "
                                             << "2.1";
}

void TestHeadFilter::conditionsJoin() {
    QFETCH(const QString, text);
    QTEST(passing(text.toUtf8()), "heads");
}

void TestHeadFilter::badTextIsRefusedInASentence_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("part");
    QTest::newRow("no metric") << "sink_hed > 1"
                               << "sink_hed";
    QTest::newRow("not measured") << "sink_head > 1"
                                  << "not measured";
    QTest::newRow("no number") << "gate_norm_head > much"
                               << "one number after >";
    QTest::newRow("no limit") << "gate_norm_head"
                              << "gate_norm_head lowest 10 %";
    QTest::newRow("too large a share") << "gate_norm_head lowest 101 %"
                                       << "how many";
    QTest::newRow("half a head") << "gate_norm_head lowest 1.5"
                                 << "how many";
    QTest::newRow("class as number") << "pattern > 1"
                                     << "pattern is sink";
    QTest::newRow("number as class") << "gate_norm_head is sink"
                                     << "no classes";
    QTest::newRow("unknown class") << "pattern is round"
                                   << "sink, diagonal, uniform, other";
    QTest::newRow("range") << "layer 5-3"
                           << "range";
    QTest::newRow("huge range") << "layer 0-99999999999"
                                << "range";
    QTest::newRow("neurons") << "mag_sp_neuron > 1"
                             << "neuron";
    QTest::newRow("not what") << "not"
                              << "followed by a condition";
    QTest::newRow("words") << "cut head"
                           << "Unknown metric \"cut\"";
    QTest::newRow("misspelt") << "sink_had > 0.5"
                              << "Unknown metric \"sink_had\". Did you mean sink_head?";
    QTest::newRow("option") << "gate_norm:fold_norm > 1"
                            << "fold_norm";
}

void TestHeadFilter::badTextIsRefusedInASentence() {
    QFETCH(const QString, text);
    QFETCH(const QString, part);
    const QString said = refusal(text.toUtf8());
    QVERIFY2(said.contains(part), qPrintable(said));
}

void TestHeadFilter::rulesNameTheirHeads() {
    const auto rule = [](const std::set<HeadId>& heads) { return QString::fromStdString(ruleOf(heads)); };
    QCOMPARE(rule({{1, 2}}), "layer 1, head 2");
    QCOMPARE(rule({{1, 2}, {1, 3}, {2, 2}, {2, 3}}), "layer 1-2, head 2-3");
    QCOMPARE(rule({{1, 2}, {3, 0}}), "L1.H2 L3.H0");
    for (const char* heads : {"1.2", "1.2 1.3 2.2 2.3", "1.2 3.0"}) {
        std::set<HeadId> named;
        for (const QString& name : QString(heads).split(' '))
            named.insert({name.left(1).toInt(), name.mid(2).toInt()});
        QCOMPARE(passing(rule(named).toUtf8()), QString(heads));
    }
    QVERIFY_EXCEPTION_THROWN(HeadRule("L1.H2 cut"), UsageError);
}

void TestHeadFilter::valuesOfWhatFailsAreLeftOut() {
    const Session made = session();
    PassingHeads heads(4, std::vector<bool>(4, true));
    heads[1][2] = false;
    heads[2].assign(4, false);
    const auto left = [&](const char* id, std::size_t columns) {
        MetricResult result;
        result.request = parseMetricRequests(id).front();
        result.values = Matrix(4, columns, 1);
        QStringList rows;
        const Matrix kept = resultOfPassing(result, made.model.spec, heads).values;
        for (std::size_t row = 0; row < 4; ++row) {
            QString text;
            for (const double value : kept.row(row))
                text += std::isnan(value) ? '-' : 'x';
            rows << text;
        }
        return rows.join(' ');
    };
    QCOMPARE(left("gate_norm_head", 4), QString("xxxx xx-x ---- xxxx"));
    QCOMPARE(left("gate_norm_group", 2), QString("xx x- -- xx"));
    QCOMPARE(left("gate_norm", 1), QString("x - - x")); // a layer passes if all its heads pass
    // Neurons belong to no head: left out only if all heads of the layer fail.
    QCOMPARE(left("mag_sp_neuron", 2), QString("xx xx -- xx"));
}

void TestHeadFilter::headsThatFailStepBackAndAreNotSelectedWithOthers() {
    Bench bench;
    const QColor before = bench.colourOf({2, 2});
    bench.filter.setText("layer 0-1");
    Bench::settle();
    const QColor background = bench.heads.palette().color(QPalette::Base);
    QVERIFY(distance(bench.colourOf({2, 2}), background) < distance(before, background) / 3);
    QVERIFY(bench.colourOf({2, 2}) != background); // the colour is faded but not invisible
    bench.heads.selectAll();
    QCOMPARE(bench.selection.heads().size(), 8U);
    HeadsGrid& grid = *bench.heads.grid();
    QTest::mousePress(&grid, Qt::LeftButton, {}, grid.cellRect({0, 0}).center());
    QMouseEvent drag(QEvent::MouseMove, grid.cellRect({3, 1}).center(),
                     grid.mapToGlobal(grid.cellRect({3, 1}).center()), Qt::NoButton, Qt::LeftButton, {});
    QApplication::sendEvent(&grid, &drag);
    QTest::mouseRelease(&grid, Qt::LeftButton, {}, grid.cellRect({3, 1}).center());
    QCOMPARE(bench.selection.heads(), (std::set<HeadId>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
    // A click selects a head even if it does not pass.
    QTest::mouseClick(&grid, Qt::LeftButton, {}, grid.cellRect({3, 1}).center());
    QCOMPARE(bench.selection.heads(), (std::set<HeadId>{{3, 1}}));
    bench.filter.setText({});
    Bench::settle();
    bench.selection.clear();
    Bench::settle();
    QCOMPARE(bench.colourOf({2, 2}), before);
}

void TestHeadFilter::meansAreOverWhatPasses() {
    Bench bench;
    bench.layers.chooseMetrics({"gate_norm_head", "gate_norm"});
    const Figure whole = bench.layers.currentFigure();
    QCOMPARE(whole.series[0].values[1], 5.5);
    QVERIFY(!whole.command.empty());
    bench.filter.setText("head 0-1, layer 0-2");
    Bench::settle();
    const Figure figure = bench.layers.currentFigure();
    QCOMPARE(figure.series[0].values[1], 4.5);
    QVERIFY(std::isnan(figure.series[0].values[3]));
    QCOMPARE(figure.series[1].values[3], 3.0);
    QVERIFY2(figure.series[0].label.ends_with(", 6 of 16 heads"), figure.series[0].label.c_str());
    QVERIFY(figure.series[1].label.find("16 heads") == std::string::npos);
    QVERIFY2(figure.caption.find("head 0-1, layer 0-2") != std::string::npos, figure.caption.c_str());
    QVERIFY(figure.command.empty()); // there is no command, because `secateur-cli plot` has no option for the filter
}

void TestHeadFilter::cutBoxLeavesTheOthersAlone() {
    Bench bench;
    bench.filter.setText("layer 2-3");
    Bench::settle();
    auto* metric = bench.cutBox.findChild<QComboBox*>();
    for (QComboBox* each : bench.cutBox.findChildren<QComboBox*>())
        if (each->accessibleName() == "Metric to cut by")
            metric = each;
    QCOMPARE(metric->findData("attention_pattern"), -1); // classes have no order, so heads cannot be cut by them
    metric->setCurrentIndex(metric->findData("gate_norm_head"));
    emit metric->activated(metric->currentIndex());
    bench.cutBox.findChild<QDoubleSpinBox*>()->setValue(3);
    bench.cutBox.findChild<QPushButton*>()->click();
    std::set<HeadId> cut;
    for (int layer = 0; layer < 4; ++layer)
        for (int head = 0; head < 4; ++head)
            if (bench.document.masks()->isCut({layer, head}))
                cut.insert({layer, head});
    QCOMPARE(cut, (std::set<HeadId>{{2, 0}, {2, 1}, {2, 2}}));
    const auto& made = bench.document.masks()->state().edited().record->provenance;
    QVERIFY(made && made->options.at("filter") == "layer 2-3");
    QString said;
    for (const QLabel* label : bench.cutBox.findChildren<QLabel*>())
        said += label->text() + '\n';
    QVERIFY2(said.contains("8 of 16 heads"), qPrintable(said));
}

void TestHeadFilter::filterFollowsTheMask() {
    Bench bench;
    bench.filter.setText("not cut");
    QCOMPARE(bench.filter.count(), 16U);
    QSignalSpy changed(&bench.filter, &HeadFilter::changed);
    bench.document.masks()->setHeadsCut({{1, 1}, {1, 2}}, true);
    Bench::settle();
    QCOMPARE(bench.filter.count(), 14U);
    QVERIFY(!bench.filter.passes({1, 1}));
    QCOMPARE(changed.size(), 1);
    bench.document.masks()->undoStack()->undo();
    Bench::settle();
    QCOMPARE(bench.filter.count(), 16U);
}

void TestHeadFilter::barSaysHowManyPassAndWhatIsWrong() {
    Bench bench;
    FilterBar bar(&bench.document, &bench.filter);
    bar.open();
    QTest::keyClicks(bar.input(), "layer 3, not cut");
    const auto text = [&](const char* name) {
        for (const QLabel* label : bar.findChildren<QLabel*>())
            if (label->accessibleName() == name)
                return label->isVisible() ? label->text() : QString();
        return QString("no such label");
    };
    QCOMPARE(text("Heads that pass"), QString("4 of 16 heads"));
    QTest::keyClicks(bar.input(), ", gate");
    QVERIFY2(text("What is wrong with the filter").contains("Unknown metric \"gate\""),
             qPrintable(text("What is wrong with the filter")));
    QCOMPARE(text("Heads that pass"), QString());
    QVERIFY(bench.filter.passes({0, 0})); // with an invalid filter all heads pass
    QTest::keyClick(bar.input(), Qt::Key_Escape);
    QVERIFY(!bar.isVisible());
    QVERIFY(!bench.filter.isActive());
    QVERIFY(bench.filter.text().isEmpty());
}

void TestHeadFilter::hoverIsOneForAllViews() {
    Bench bench;
    QSignalSpy changed(&bench.selection, &Selection::hoverChanged);
    const QImage quiet = bench.heads.grab().toImage();
    LayersPlot& plot = *bench.layers.plot();
    Bench::moveTo(&plot, plot.position(2));
    QCOMPARE(bench.selection.hoveredLayer(), std::optional(2));
    QVERIFY(!bench.selection.hovered());
    Bench::settle();
    QVERIFY(bench.heads.grab().toImage() != quiet); // the hovered layer is outlined
    auto* title = bench.inspector.findChild<QLabel*>();
    QCOMPARE(title->text(), QString("L2, 4 heads"));
    HeadsGrid& grid = *bench.heads.grid();
    Bench::moveTo(&grid, grid.cellRect({1, 3}).center());
    QCOMPARE(plot.hoveredLayer(), std::optional(1));
    QCOMPARE(bench.selection.hovered(), std::optional(HeadId{1, 3}));
    Bench::settle();
    QVERIFY(title->text().startsWith("L1.H3"));
    Bench::moveTo(&grid, {2, grid.cellRect({3, 0}).center().y()}); // the pointer is on the label of layer 3
    QCOMPARE(bench.selection.hoveredLayer(), std::optional(3));
    bench.selection.select({{0, 0}}, Selection::Mode::replace);
    Bench::settle();
    QVERIFY(title->text().startsWith("L0.H0")); // a selected head is shown instead of the hovered layer
    QCOMPARE(changed.size(), 3);
}

void TestHeadFilter::classesAreNamedEverywhere() {
    Bench bench;
    bench.heads.showMetric("attention_pattern");
    Bench::settle();
    QSignalSpy said(&bench.heads, &HeadsView::hoverText);
    HeadsGrid& grid = *bench.heads.grid();
    Bench::moveTo(&grid, grid.cellRect({3, 1}).center());
    const QString text = said.last().first().toString();
    QVERIFY2(text.startsWith("L3.H1 = diagonal (agreement 0.25; sink 0.25,"), qPrintable(text));
    const Figure figure = bench.heads.currentFigure();
    QCOMPARE(figure.colour.names.size(), 4U);
    QVERIFY(toCsv(figure).find("3,1,diagonal\r\n") != std::string::npos);
    std::set<QRgb> colours;
    for (int head = 0; head < 4; ++head)
        colours.insert(bench.colourOf({0, head}).rgb());
    QCOMPARE(colours.size(), 4U);
    bench.selection.select({{3, 1}}, Selection::Mode::replace);
    Bench::settle();
    const auto* table = bench.inspector.findChild<QTreeWidget*>();
    const QList<QTreeWidgetItem*> rows = table->findItems("attention pattern", Qt::MatchExactly);
    QCOMPARE(rows.size(), 1);
    QCOMPARE(rows.first()->text(1), QString("diagonal"));
    QVERIFY(rows.first()->child(0)->text(0).contains("entropy 0.25"));
    bench.selection.select({{3, 0}, {3, 1}, {2, 1}}, Selection::Mode::replace);
    Bench::settle();
    const QTreeWidgetItem* many = table->findItems("attention pattern", Qt::MatchExactly).first();
    QCOMPARE(many->text(1), QString("mostly diagonal"));
    QCOMPARE(many->child(0)->text(0), QString("1 sink · 2 diagonal"));
}

void TestHeadFilter::sheetOfManyHeadsIsPaintedInAFrame() {
    ModelSpec spec;
    spec.layers.resize(30);
    for (LayerSpec& layer : spec.layers)
        layer.heads = layer.kvHeads = 32;
    std::vector<int> layers(30);
    std::iota(layers.begin(), layers.end(), 0);
    Selection selection;
    QScrollArea area;
    auto* sheet = new AttentionSheet(&selection);
    area.setWidget(sheet);
    sheet->setSide(56);
    sheet->setLayers(spec, layers);
    for (const int layer : layers) {
        for (int head = 0; head < 32; ++head)
            sheet->setThumbnail({{layer, head}, 96, std::vector<float>(96 * 96, 0.01F)});
        sheet->setRead(layer);
    }
    area.resize(1000, 600);
    area.show();
    QVERIFY(QTest::qWaitForWindowExposed(&area));
    // CPU time in milliseconds, because other work on the machine would distort wall time.
    std::clock_t from = 0;
    const auto milliseconds = [&] { return 1e3 * static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC; };
    double slowest = 0;
    double total = 0;
    constexpr int steps = 20;
    for (int step = 0; step < steps; ++step) { // each step scrolls by half a row
        from = std::clock();
        area.verticalScrollBar()->setValue(30 * step);
        area.repaint();
        QCoreApplication::processEvents();
        const double took = milliseconds();
        slowest = std::max(slowest, took);
        total += took;
    }
    from = std::clock();
    for (int head = 0; head < 16; ++head) {
        selection.hover(HeadId{12, head});
        QCoreApplication::processEvents();
    }
    const double hovering = milliseconds() / 16;
    qInfo("scrolling %.1f ms a step, %.1f at most; hovering %.2f ms", total / steps, slowest, hovering);
    QVERIFY(total / steps < 100);
    QVERIFY(hovering < 50);
}

QString placesText(const QString& typed, const ModelSpec& spec, std::size_t most = 4) {
    QStringList names;
    for (const auto& place : placesFor(typed, spec, most))
        names << (std::holds_alternative<HeadId>(place)
                      ? QString("%1.%2").arg(std::get<HeadId>(place).layer).arg(std::get<HeadId>(place).head)
                      : QString("L%1").arg(std::get<LayerPlace>(place).layer));
    return names.join(' ');
}

void TestHeadFilter::placesAreFound_data() {
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("found");
    for (const char* same : {"12.3", "L12.H3", "l12h3", "12 3", "12,3", " L12 H3", "layer 12 head 3"})
        QTest::newRow(same) << same << "12.3 12.30 12.31";
    QTest::newRow("layer") << "12"
                           << "L12 12.0 12.1 12.2";
    QTest::newRow("layer and longer") << "l1"
                                      << "L1 L10 L11 L12";
    QTest::newRow("any head of a layer") << "12."
                                         << "12.0 12.1 12.2 12.3";
    QTest::newRow("head of every layer") << "h31"
                                         << "0.31 1.31 2.31 3.31";
    QTest::newRow("no such layer") << "40"
                                   << "";
    QTest::newRow("no such head") << "12.32"
                                  << "";
    QTest::newRow("zero") << "0.0"
                          << "0.0";
    QTest::newRow("metric") << "sink"
                            << "";
    QTest::newRow("digits without end") << "99999999999999999999.1"
                                        << "";
}

void TestHeadFilter::placesAreFound() {
    ModelSpec spec;
    spec.layers.resize(30);
    for (LayerSpec& layer : spec.layers)
        layer.heads = layer.kvHeads = 32;
    QFETCH(const QString, typed);
    QTEST(placesText(typed, spec), "found");
}

void TestHeadFilter::findingIsFastInLargeModels() {
    ModelSpec spec;
    spec.layers.resize(128);
    for (LayerSpec& layer : spec.layers)
        layer.heads = layer.kvHeads = 128;
    const std::clock_t from = std::clock();
    constexpr int keys = 100;
    for (int i = 0; i < keys; ++i)
        QCOMPARE(placesFor("127.127", spec, 50).size(), 1U);
    const double perKey = 1e3 * static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC / keys;
    qInfo("%.3f ms a key", perKey);
    QVERIFY(perKey < 4);
}

SECATEUR_SUITE(TestHeadFilter)
#include "tst_head_filter.moc"
