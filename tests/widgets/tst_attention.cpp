// Attention maps of a prompt: their computation, thumbnails and drawing, and the attention view of the window.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include <ATen/ATen.h>

#include "analysis/running/attention_reader.h"
#include "analysis/running/runner.h"
#include "backends/session/mask_json.h"
#include "backends/engine/open_model.h"
#include "tests/support/expected.h"
#include "tests/support/judged_run.h"
#endif

#include "analysis/base/error.h"
#include "tests/support/suite.h"
#include "widgets/attention/attention_plot.h"
#include "widgets/attention/attention_run.h"
#include "widgets/attention/attention_sheet.h"
#include "widgets/attention/attention_view.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/plot/figure_widget.h"

#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QWheelEvent>

#include <algorithm>
#include <cstdio>
#include <numeric>

using namespace secateur;

namespace {

constexpr int promptTokens = 17;

std::vector<int> drawnTokens(const ModelSpec& spec, int count) {
    std::vector<int> ids;
    for (int i = 0; i < count; ++i)
        ids.push_back((i * i * 7 + 3 * i + 1) % spec.vocab);
    return ids;
}

std::shared_ptr<const Model> model(const char* folder) {
    return openModel(test::data().filePath(QString("forward/%1").arg(folder)).toStdString());
}

Batch batchOf(const std::vector<int>& ids) {
    Batch batch;
    batch.rows = 1;
    batch.positions = static_cast<int>(ids.size());
    batch.ids = ids;
    return batch;
}

/// An attention view on a document with a small model. The tokenizer makes a token of each character of the prompt.
struct Bench {
    Bench()
        : document(services(), &jobs)
        , view(&document, &jobs, &selection) {
        view.resize(700, 620);
        view.run()->setPrompt("a short text");
        document.files()->open(test::data().filePath("forward/llama-gqa"));
    }

    static Services services() {
        Services services;
        services.isSession = [](const std::string&) { return false; };
        services.openModel = [](const std::string& path, const Progress& progress) { return openModel(path, progress); };
        services.maskDigest = maskDigest;
        services.readPrompt = [](const Model& model, const std::string& text) {
            if (text == "unreadable")
                throw Error("has no tokenizer", "model");
            PromptTokens tokens;
            for (const char letter : text) {
                tokens.ids.push_back(letter % model.spec().vocab);
                tokens.labels.emplace_back(1, letter);
            }
            return tokens;
        };
        return services;
    }

    bool shows(HeadId head) const { return view.run()->head() == head && view.plot()->map(); }

    JobRunner jobs;
    Document document;
    Selection selection;
    AttentionView view;
};

} // namespace

class TestAttention : public QObject {
    Q_OBJECT

private slots:
    void mapsAreThoseOfAWholeRun_data();
    void mapsAreThoseOfAWholeRun();
    void fewStreamsGiveTheSame();
    void thumbnailsKeepTheLargest();
    void longTextsHaveReducedMaps_data();
    void longTextsHaveReducedMaps();
    void partsRefineReducedMaps();
    void cutHeadsHaveNone();
    void promptsThatCannotRunAreRefused();
    void pyramidKeepsTheLargest();
    void pointerFindsItsCell();
    void zoomKeepsThePlaceUnderThePointer();
    void keysMoveThroughTheMap();
    void largeMapsAreDrawnInAFrame();
    void viewShowsTheActiveHead();
    void nothingRunsBeforeItIsSeen();
    void anotherPromptIsReadAfterAPause();
    void allHeadsAreReadOnceTheyAreWanted();
    void maskChangesTheMaps();
    void failureIsSaidInThePlot();
    void thumbnailsHaveTheSizeThatIsWanted();
    void commandNamesHeadPromptAndMask();
    void figureHasTheTokens();
};

void TestAttention::mapsAreThoseOfAWholeRun_data() {
    QTest::addColumn<QString>("folder");
    for (const char* folder : {"llama-gqa", "qwen3", "gemma3", "bert"})
        if (test::data().exists(QString("forward/%1").arg(folder)))
            QTest::newRow(folder) << folder;
}

void TestAttention::mapsAreThoseOfAWholeRun() {
    QFETCH(QString, folder);
    const auto opened = model(qPrintable(folder));
    const ModelSpec& spec = opened->spec();
    const std::vector<int> ids = drawnTokens(spec, promptTokens);
    const Batch batch = batchOf(ids);
    test::AttentionKeeper keeper(batch);
    const auto plan = opened->runner().plan(PruningMask(spec), ComputeType::float32);
    test::streamsOf(opened->runner(), *plan, batch, &keeper);
    AttentionRules rules;
    rules.type = ComputeType::float32;
    const AttentionReader reader(opened, PruningMask(spec), ids, rules);
    double worst = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < spec.layers[static_cast<std::size_t>(layer)].heads; ++head) {
            const LayerAttention found = reader.layer(layer, head);
            QVERIFY(found.map && found.map->tokens == promptTokens);
            const at::Tensor expected = keeper.maps.at(layer)[0][head].contiguous();
            for (std::size_t i = 0; i < found.map->values.size(); ++i)
                worst = std::max(worst, std::abs(static_cast<double>(found.map->values[i]) -
                                                 static_cast<double>(expected.data_ptr<float>()[i])));
            for (int query = 0; query < promptTokens; ++query) {
                const auto row = found.map->values.begin() + query * promptTokens;
                QVERIFY(std::abs(std::accumulate(row, row + promptTokens, 0.0) - 1) < 1e-5);
            }
        }
    std::printf("%s: %.1e\n", qPrintable(folder), worst);
    QVERIFY(worst <= 1e-6);
}

void TestAttention::fewStreamsGiveTheSame() {
    const auto opened = model("llama-gqa");
    const std::vector<int> ids = drawnTokens(opened->spec(), promptTokens);
    AttentionRules frugal;
    frugal.streamBudget = 1;
    const AttentionReader all(opened, PruningMask(opened->spec()), ids);
    const AttentionReader one(opened, PruningMask(opened->spec()), ids, frugal);
    const int last = opened->spec().layerCount() - 1;
    QVERIFY(last > 0);
    QVERIFY(all.layer(last, 1).map->values == one.layer(last, 1).map->values);
}

void TestAttention::thumbnailsKeepTheLargest() {
    const auto opened = model("llama-gqa");
    const std::vector<int> ids = drawnTokens(opened->spec(), promptTokens);
    AttentionRules rules;
    rules.thumbnailSide = 6; // 17 tokens are divided into 6 cells: five of 3 tokens and one of 2
    const AttentionReader reader(opened, PruningMask(opened->spec()), ids, rules);
    const LayerAttention found = reader.layer(1, 2);
    const AttentionThumbnail& small = found.thumbnails.at(2);
    QCOMPARE(small.side, 6);
    for (int row = 0; row < 6; ++row)
        for (int column = 0; column < 6; ++column) {
            float largest = 0;
            for (int query = 3 * row; query < std::min(3 * row + 3, promptTokens); ++query)
                for (int key = 3 * column; key < std::min(3 * column + 3, promptTokens); ++key)
                    largest = std::max(largest, found.map->at(query, key));
            QCOMPARE(small.values[static_cast<std::size_t>(6 * row + column)], largest);
        }
}

void TestAttention::longTextsHaveReducedMaps_data() {
    mapsAreThoseOfAWholeRun_data();
}

/// A map of at most 5 cells along an edge has cells of 4 x 4 values here. Parts of it are compared with the full map.
void TestAttention::longTextsHaveReducedMaps() {
    QFETCH(QString, folder);
    const auto opened = model(qPrintable(folder));
    const std::vector<int> ids = drawnTokens(opened->spec(), promptTokens);
    AttentionRules rules;
    rules.type = ComputeType::float32;
    const AttentionReader whole(opened, PruningMask(opened->spec()), ids, rules);
    rules.mapSide = 5;
    const AttentionReader reduced(opened, PruningMask(opened->spec()), ids, rules);
    const AttentionMap full = *whole.layer(1, 2).map;
    const LayerAttention found = reduced.layer(1, 2);
    QCOMPARE(found.thumbnails.size(), std::size_t{1});
    QCOMPARE(found.map->cells, 4);
    QCOMPARE(found.map->side(), 5);
    const auto largest = [&](const MapWindow& window, int row, int column) {
        float most = 0;
        for (int i = 0; i < window.cells * window.cells; ++i) {
            const int query = row * window.cells + i / window.cells;
            const int key = column * window.cells + i % window.cells;
            if (query < window.queries && key < window.keys)
                most = std::max(most, full.at(window.firstQuery + query, window.firstKey + key));
        }
        return most;
    };
    double worst = 0;
    const auto compare = [&](const MapWindow& window, const std::vector<float>& values) {
        QCOMPARE(values.size(), static_cast<std::size_t>(window.rows() * window.columns()));
        for (int row = 0; row < window.rows(); ++row)
            for (int column = 0; column < window.columns(); ++column)
                worst = std::max(worst, std::abs(static_cast<double>(largest(window, row, column)) -
                                                 static_cast<double>(values[static_cast<std::size_t>(
                                                     row * window.columns() + column)])));
    };
    compare({0, promptTokens, 0, promptTokens, 4}, found.map->values);
    for (const MapWindow& window : {MapWindow{3, 9, 2, 15, 1}, MapWindow{16, 1, 0, 17, 1}, MapWindow{0, 17, 0, 17, 2},
                                    MapWindow{8, 9, 4, 13, 2}})
        compare(window, reduced.part({1, 2}, window)->values);
    compare({2, 4, 0, 6, 1}, whole.part({1, 2}, {2, 4, 0, 6, 1})->values);
    std::printf("%s: %.1e\n", qPrintable(folder), worst);
    QVERIFY(worst <= 1e-6);
}

void TestAttention::partsRefineReducedMaps() {
    constexpr int side = 64;
    AttentionPlot plot;
    plot.resize(500, 500);
    plot.setTokens(QStringList(QList<QString>(side, "t")));
    QSignalSpy wanted(&plot, &AttentionPlot::partWanted);
    plot.setMap(std::make_shared<MapPyramid>(AttentionMap{{0, 0}, side, 8, std::vector<float>(64, 0.5F)}),
                ColourRange());
    plot.grab();
    QTRY_COMPARE(wanted.count(), 1);
    const auto window = wanted.first().first().value<MapWindow>();
    QCOMPARE(window, (MapWindow{0, side, 0, side, 1}));
    QCOMPARE(plot.valueAt({9, 3}).cells, 8);
    auto part = std::make_shared<AttentionPart>(AttentionPart{{0, 0}, window, std::vector<float>(side * side, 0.25F)});
    plot.setPart(part);
    QCOMPARE(plot.valueAt({9, 3}).cells, 1);
    QCOMPARE(plot.valueAt({9, 3}).value, 0.25F);
    plot.grab();
    QTest::qWait(300);
    QCOMPARE(wanted.count(), 1); // the part has everything on screen
}

void TestAttention::cutHeadsHaveNone() {
    const auto opened = model("llama-gqa");
    const ModelSpec& spec = opened->spec();
    PruningMask mask(spec);
    LayerMask cut = mask.layer(1);
    cut.heads[0] = false;
    mask.setLayer(1, cut);
    LayerMask dropped = mask.layer(0);
    dropped.attention = AttentionCut::drop;
    mask.setLayer(0, dropped);
    const AttentionReader reader(opened, mask, drawnTokens(spec, promptTokens));
    QVERIFY(!reader.layer(1, 0).map);
    const LayerAttention found = reader.layer(1, 3);
    QCOMPARE(found.map->head.head, 3);
    QCOMPARE(found.thumbnails.size(), static_cast<std::size_t>(spec.layers[1].heads - 1));
    QCOMPARE(found.thumbnails.front().head.head, 1);
    QVERIFY(reader.layer(0, 0).thumbnails.empty());
}

void TestAttention::promptsThatCannotRunAreRefused() {
    const auto opened = model("llama-gqa");
    const PruningMask mask(opened->spec());
    QVERIFY_EXCEPTION_THROWN(AttentionReader(opened, mask, {}), Error);
    const auto tooMany = static_cast<std::size_t>(opened->spec().context) + 1;
    QVERIFY_EXCEPTION_THROWN(AttentionReader(opened, mask, std::vector<int>(tooMany, 1)), Error);
}

void TestAttention::pyramidKeepsTheLargest() {
    constexpr int side = 13;
    std::vector<float> values(side * side);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>((i * 37) % 101);
    const MapPyramid pyramid(values, side);
    QCOMPARE(pyramid.level(1).cells, 1);
    QCOMPARE(pyramid.level(0.2).cells, 1);
    QCOMPARE(pyramid.level(3.9).cells, 2);
    const MapPyramid::Level& quarter = pyramid.level(4);
    QCOMPARE(quarter.side, 4);
    for (int row = 0; row < quarter.side; ++row)
        for (int column = 0; column < quarter.side; ++column) {
            float largest = 0;
            for (int y = 4 * row; y < std::min(4 * row + 4, side); ++y)
                for (int x = 4 * column; x < std::min(4 * column + 4, side); ++x)
                    largest = std::max(largest, pyramid.at(y, x));
            QCOMPARE(quarter.at(row, column), largest);
        }
    QCOMPARE(pyramid.level(1000).side, 1);
    QVERIFY(pyramid.sample(20).size() <= 40);
    QCOMPARE(pyramid.sample(1000).size(),
             static_cast<std::size_t>(std::ranges::count_if(values, [](float value) { return value > 0; })));
}

void TestAttention::pointerFindsItsCell() {
    AttentionPlot plot;
    plot.resize(500, 500);
    QStringList tokens;
    for (int i = 0; i < 20; ++i)
        tokens << QString("t%1").arg(i);
    plot.setTokens(tokens);
    plot.setMap(std::make_shared<MapPyramid>(std::vector<float>(400, 0.5F), 20), ColourRange());
    plot.show();
    QSignalSpy hovers(&plot, &AttentionPlot::hoverChanged);
    for (const AttentionCell cell : {AttentionCell{0, 0}, AttentionCell{19, 19}, AttentionCell{7, 3}}) {
        QTest::mouseMove(&plot, plot.cellRect(cell).center());
        QTRY_VERIFY(plot.hovered() == cell);
    }
    QVERIFY(hovers.count() >= 3);
    QVERIFY(!plot.cellAt(QPointF(2, 2)));
}

void TestAttention::zoomKeepsThePlaceUnderThePointer() {
    AttentionPlot plot;
    plot.resize(500, 500);
    plot.setTokens(QStringList(QList<QString>(200, "t")));
    plot.setMap(std::make_shared<MapPyramid>(std::vector<float>(40000, 0.5F), 200), ColourRange());
    const QPointF point = plot.cellRect({0, 120}).center();
    const AttentionCell cell = *plot.cellAt(point);
    for (int i = 0; i < 6; ++i) {
        QWheelEvent wheel(point, plot.mapToGlobal(point), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier,
                          Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(&plot, &wheel);
    }
    QVERIFY(plot.cellAt(point) == cell);
    QVERIFY(plot.cellRect(cell).width() >= 5);
    plot.resetZoom();
    QVERIFY(plot.cellAt(point) == cell);
}

void TestAttention::keysMoveThroughTheMap() {
    AttentionPlot plot;
    plot.resize(500, 500);
    plot.setTokens({"a", "b", "c"});
    plot.setMap(std::make_shared<MapPyramid>(std::vector<float>(9, 0.5F), 3), ColourRange());
    QTest::keyClick(&plot, Qt::Key_Down);
    QTest::keyClick(&plot, Qt::Key_Down);
    QTest::keyClick(&plot, Qt::Key_Down);
    QTest::keyClick(&plot, Qt::Key_Right);
    QVERIFY(plot.hovered() == (AttentionCell{2, 1}));
}

void TestAttention::largeMapsAreDrawnInAFrame() {
    constexpr int side = 4096;
    std::vector<float> values(static_cast<std::size_t>(side) * side);
    for (int query = 0; query < side; ++query)
        for (int key = 0; key <= query; ++key)
            values[static_cast<std::size_t>(query) * side + static_cast<std::size_t>(key)] =
                1 / static_cast<float>(1 + query - key);
    AttentionPlot plot;
    plot.resize(1000, 900);
    plot.setTokens(QStringList(QList<QString>(side, "token")));
    plot.setMap(std::make_shared<MapPyramid>(std::move(values), side), ColourRange());
    plot.grab();
    std::vector<qint64> times;
    for (int i = 0; i < 40; ++i) {
        const QPointF point(500 + i, 450);
        QWheelEvent wheel(point, plot.mapToGlobal(point), {}, {0, i < 20 ? 120 : -120}, Qt::NoButton,
                          Qt::ControlModifier, Qt::NoScrollPhase, false);
        QElapsedTimer timer;
        timer.start();
        QCoreApplication::sendEvent(&plot, &wheel);
        plot.grab();
        times.push_back(timer.nsecsElapsed());
    }
    std::ranges::sort(times);
    std::printf("4,096 tokens, a zoom step: median %.1f ms, worst %.1f ms\n", times[20] / 1e6, times.back() / 1e6);
    QVERIFY(times[20] < 50'000'000);
}

void TestAttention::viewShowsTheActiveHead() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    bench.selection.select({{1, 2}}, Selection::Mode::replace, HeadId{1, 2});
    QVERIFY(!bench.view.plot()->map()); // the map of head L0.H0 is no longer shown
    QTRY_VERIFY(bench.shows({1, 2}));
    QVERIFY(bench.view.run()->isRead(0) && bench.view.run()->isRead(1));
    QSignalSpy told(&bench.view, &AttentionView::hoverText);
    QTest::mouseMove(bench.view.plot(), bench.view.plot()->cellRect({3, 1}).center());
    QTRY_VERIFY(!told.isEmpty());
    QVERIFY2(told.last().at(0).toString().startsWith("L1.H2: query 3 “"), qPrintable(told.last().at(0).toString()));
    QTest::mouseClick(bench.view.strip(), Qt::LeftButton, {}, bench.view.strip()->cellRect({1, 3}).center());
    QTRY_VERIFY(bench.shows({1, 3}));
    QVERIFY(bench.selection.heads() == (std::set<HeadId>{{1, 3}}));
}

void TestAttention::nothingRunsBeforeItIsSeen() {
    Bench bench;
    QTRY_VERIFY(bench.document.model() && bench.jobs.isIdle());
    QVERIFY(!bench.view.run()->tokens());
}

void TestAttention::anotherPromptIsReadAfterAPause() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    bench.view.prompt()->setFocus();
    bench.view.prompt()->selectAll();
    QTest::keyClicks(bench.view.prompt(), "abcde");
    QTRY_COMPARE(bench.view.plot()->tokens(), QStringList({"a", "b", "c", "d", "e"}));
    QTRY_VERIFY(bench.shows({0, 0}));
    QCOMPARE(bench.view.plot()->map()->side(), 5);
    QCOMPARE(bench.document.session().view.at("attention.prompt"), "abcde");
}

void TestAttention::allHeadsAreReadOnceTheyAreWanted() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    const int layers = bench.document.spec().layerCount();
    QVERIFY(!bench.view.run()->isRead(layers - 1));
    bench.view.showAllHeads(true);
    for (int layer = 0; layer < layers; ++layer)
        QTRY_VERIFY(bench.view.run()->isRead(layer));
    QTest::mouseDClick(bench.view.sheet(), Qt::LeftButton, {}, bench.view.sheet()->cellRect({layers - 1, 1}).center());
    QTRY_VERIFY(bench.shows({layers - 1, 1}));
    QVERIFY(bench.view.plot()->isVisible());
}

void TestAttention::maskChangesTheMaps() {
    Bench bench;
    bench.view.show();
    bench.selection.select({{1, 0}}, Selection::Mode::replace, HeadId{1, 0});
    QTRY_VERIFY(bench.shows({1, 0}));
    const float before = bench.view.plot()->map()->at(5, 2);
    LayerMask cut = bench.document.masks()->mask().layer(0);
    bench.document.masks()->setHeadsCut({{0, 0}, {0, 1}}, true);
    QCOMPARE(bench.view.plot()->map()->at(5, 2), before); // the map of the dense model is shown until Masked is chosen
    bench.view.run()->setMasked(true);
    QTRY_VERIFY(bench.shows({1, 0}));
    QVERIFY(bench.view.plot()->map()->at(5, 2) != before);
    bench.document.masks()->setHeadsCut({{1, 0}}, true);
    QTRY_VERIFY(bench.view.run()->head() == (HeadId{1, 0}) && !bench.view.run()->isRunning());
    QVERIFY(!bench.view.plot()->map());
}

void TestAttention::failureIsSaidInThePlot() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    bench.view.run()->setPrompt("unreadable");
    QTRY_COMPARE(bench.view.run()->failure(), QString("model: has no tokenizer"));
    QVERIFY(!bench.view.plot()->map());
    bench.view.run()->setPrompt("readable");
    QTRY_VERIFY(bench.shows({0, 0}));
    QVERIFY(bench.view.run()->failure().isEmpty());
}

void TestAttention::thumbnailsHaveTheSizeThatIsWanted() {
    Bench bench;
    bench.view.show();
    QTRY_VERIFY(bench.shows({0, 0}));
    bench.view.showAllHeads(true);
    AttentionSheet& sheet = *bench.view.sheet();
    const int before = sheet.side();
    const QPointF about = QRectF(sheet.cellRect({1, 1})).center();
    QWheelEvent turn(about, sheet.mapToGlobal(about), {}, {0, 240}, Qt::NoButton, Qt::ControlModifier,
                     Qt::NoScrollPhase, false);
    QApplication::sendEvent(&sheet, &turn);
    QVERIFY2(sheet.side() > before, qPrintable(QString::number(sheet.side())));
    QCOMPARE(bench.document.session().view.at("attention.side"), std::to_string(sheet.side()));
    auto* slider = bench.view.findChild<QSlider*>();
    QVERIFY(slider->isVisible());
    slider->setValue(40);
    QCOMPARE(sheet.cellRect({1, 1}).width(), 40);
    for (const HeadId head : {HeadId{0, 0}, HeadId{1, 1}})
        QCOMPARE(sheet.headAt(QRectF(sheet.cellRect(head)).center()), std::optional(head));
    QVERIFY(!sheet.headAt(sheet.cellRect({0, 0}).bottomRight() + QPoint(2, 2))); // between the cells of two heads
    QVERIFY(!sheet.headAt({1, 1}));
    for (const HeadId head : {HeadId{0, 0}, HeadId{0, 1}})
        QCOMPARE(bench.view.strip()->headAt(QRectF(bench.view.strip()->cellRect(head)).center()), std::optional(head));
}

void TestAttention::commandNamesHeadPromptAndMask() {
    Bench bench;
    bench.view.show();
    bench.view.run()->setPrompt("a b");
    bench.selection.select({{1, 1}}, Selection::Mode::replace, HeadId{1, 1});
    QTRY_VERIFY(bench.shows({1, 1}));
    const std::string command = bench.view.currentFigure().command;
    QVERIFY2(command.find("attention:layer=1:head=1:colours=viridis:scale=linear:clip=1") != std::string::npos,
             command.c_str());
    QVERIFY2(command.ends_with("--prompt 'a b'"), command.c_str());
    QSignalSpy wanted(&bench.view, &AttentionView::maskedCommandWanted);
    bench.view.run()->setMasked(true);
    QTRY_VERIFY(bench.shows({1, 1}));
    bench.view.figureActions()->copyCommand();
    QCOMPARE(wanted.size(), 1);
    const CommandLine masked = bench.view.command("/m.json");
    QCOMPARE(masked.back(), "/m.json");
}

void TestAttention::figureHasTheTokens() {
    Bench bench;
    bench.view.show();
    bench.view.run()->setPrompt("abcd");
    QTRY_VERIFY(bench.shows({0, 0}) && bench.view.plot()->map()->side() == 4);
    const Figure figure = bench.view.currentFigure();
    QCOMPARE(figure.cells.rows(), std::size_t{4});
    QVERIFY(std::isnan(figure.cells(0, 1)));
    QCOMPARE(figure.x.names, (std::vector<std::string>{"a", "b", "c", "d"}));
    QVERIFY(toCsv(figure).starts_with("query,query name,key,key name,attention of L0.H0\r\n0,a,0,a,1\r\n"));
}

SECATEUR_SUITE(TestAttention)
#include "tst_attention.moc"
