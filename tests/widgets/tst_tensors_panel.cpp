// Pictures of matrices, and the panel Tensors: the list, marks, numbers, statistics, scales and the comparison.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include <ATen/ATen.h>

#include "backends/engine/open_model.h"
#include "backends/session/mask_json.h"
#include "backends/weights/open_tensors.h"
#include "tests/support/expected.h"
#endif

#include "analysis/base/error.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/weights/matrix_map.h"
#include "widgets/weights/tensor_details.h"
#include "widgets/weights/tensor_filter.h"
#include "widgets/weights/tensor_picture.h"
#include "widgets/weights/tensor_tree.h"
#include "widgets/weights/tensors_panel.h"
#include "widgets/weights/tile_makers.h"
#include "widgets/weights/tile_run.h"
#include "widgets/weights/unit_edges.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>

using namespace secateur;

namespace {

constexpr auto noNumber = std::numeric_limits<float>::quiet_NaN();

/// A grid of numbers in memory: row * 1000 + column, or what a function says.
class DrawnGrid : public NumberGrid {
public:
    using Number = std::function<float(std::int64_t row, std::int64_t column)>;
    DrawnGrid(std::int64_t rows, std::int64_t columns, Number number)
        : NumberGrid(rows, columns)
        , m_number(std::move(number)) {}
    void read(std::int64_t begin, std::span<float> target) const override {
        for (float& number : target) {
            number = m_number(begin / columns(), begin % columns());
            ++begin;
        }
    }
    std::string subject() const override { return "drawn"; }

private:
    Number m_number;
};

MatrixTile tileOf(std::int64_t rows, std::int64_t columns, std::int64_t block = 1) {
    MatrixTile tile;
    tile.window = {0, 0, rows, columns};
    tile.rowsPerBlock = tile.columnsPerBlock = block;
    tile.rows = static_cast<int>((rows + block - 1) / block);
    tile.columns = static_cast<int>((columns + block - 1) / block);
    for (int i = 0; i < tile.rows * tile.columns; ++i)
        tile.values.push_back(static_cast<float>(i % 37) - 18);
    paintTile(tile, {"vik", ScaleKind::linear, 0}, {});
    return tile;
}

void turnWheel(QWidget& widget, QPointF point, int angle) {
    QWheelEvent wheel(point, widget.mapToGlobal(point), {}, {0, angle}, Qt::NoButton, Qt::ControlModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&widget, &wheel);
}

/// The panel on a document with a small model.
struct Bench {
    explicit Bench(const QString& folder = "gqa-f32")
        : document(services(), &jobs)
        , panel(&document, &jobs, &selection) {
        panel.resize(1300, 420);
        document.files()->open(test::data().filePath(folder));
    }
    static Services services() {
        Services services;
        services.isSession = [](const std::string&) { return false; };
        services.openModel = [](const std::string& path, const Progress& progress) {
            return openModel(path, progress);
        };
        services.maskDigest = maskDigest;
        services.storedTensors = openTensors;
        return services;
    }
    void show() {
        panel.show();
        QTRY_VERIFY(panel.isDone());
        settle();
    }
    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(60);
        QTRY_VERIFY(jobs.isIdle());
    }
    MatrixMap& map() { return *panel.picture()->map(); }
    std::size_t index(const char* name) { return *panel.source().stored()->find(name); }
    const QTreeWidgetItem* row(const QString& text) {
        const auto rows = panel.tree()->findItems(text, Qt::MatchEndsWith | Qt::MatchRecursive, 0);
        return rows.isEmpty() ? nullptr : rows.front();
    }

    JobRunner jobs;
    Document document;
    Selection selection;
    TensorsPanel panel;
};

constexpr auto queryName = "model.layers.1.self_attn.q_proj.weight";

} // namespace

class TestTensorsPanel : public QObject {
    Q_OBJECT

private slots:
    void pointerFindsItsCell();
    void zoomReachesSingleNumbers();
    void narrowMatricesFillTheArea();
    void keysMoveTheCursor();
    void tilesAreWantedWhereTheyLack();
    void coloursStayWhileTheViewMoves();
    void notFiniteBlocksArePink();
    void panningTakesLessThanAFrame();
    void filterReadsWordsAndConditions();
    void nothingIsReadBeforeItIsSeen();
    void listHasFoldersAndStatistics();
    void listIsSortedAndFiltered();
    void pictureShowsTheStoredNumber();
    void marksSelectUnits();
    void cutUnitsAreHatched();
    void scalesAreAPictureOfTheirOwn();
    void comparisonListsErrors();
    void oddTensorsAreShownAsTheyAre();
    void figureIsThePartOnScreen();
};

void TestTensorsPanel::pointerFindsItsCell() {
    MatrixMap map;
    map.resize(600, 500);
    map.setMatrix(200, 300, "row", "column");
    map.setTile(std::make_shared<MatrixTile>(tileOf(200, 300)));
    map.show();
    for (const MatrixCell cell : {MatrixCell{0, 0}, MatrixCell{199, 299}, MatrixCell{70, 120}}) {
        QTest::mouseMove(&map, map.cellRect(cell).center());
        QTRY_VERIFY(map.cursor() == cell);
    }
    QVERIFY(!map.cellAt(QPointF(2, 2)));
    QVERIFY(map.visibleCells() == (CellWindow{0, 0, 200, 300}));
}

void TestTensorsPanel::zoomReachesSingleNumbers() {
    MatrixMap map;
    map.resize(600, 500);
    map.setMatrix(32'000, 5'120, "row", "column");
    QCOMPARE(map.wantedTile()->window, (CellWindow{0, 0, 32'000, 5'120}));
    QVERIFY(map.wantedTile()->rowsPerBlock > 32);
    map.setTile(std::make_shared<MatrixTile>(tileOf(32'000, 5'120, 64)));
    const QPointF point = map.cellRect({12'345, 2'345}).center();
    const MatrixCell cell = *map.cellAt(point);
    for (int i = 0; i < 60; ++i)
        turnWheel(map, point, 120);
    const MatrixCell now = *map.cellAt(point);
    QVERIFY(std::abs(now.row - cell.row) <= 1 && std::abs(now.column - cell.column) <= 1);
    QVERIFY(map.cellRect(now).height() > map.fontMetrics().height());
    QVERIFY(map.cellRect(now).width() > map.fontMetrics().horizontalAdvance("0.000"));
    QCOMPARE(map.wantedTile()->rowsPerBlock, 1);
    QVERIFY(map.wantedTile()->window.contains(now) && map.wantedTile()->window.rows < 100);
    map.resetZoom();
    QCOMPARE(map.visibleCells(), (CellWindow{0, 0, 32'000, 5'120}));
}

void TestTensorsPanel::narrowMatricesFillTheArea() {
    MatrixMap map;
    map.resize(700, 400);
    map.setMatrix(1, 576, "row", "column");
    QVERIFY(map.cellRect({0, 0}).height() >= 20);
    map.setMatrix(49'152, 64, "row", "column");
    QVERIFY(map.cellRect({0, 63}).right() - map.cellRect({0, 0}).left() > 300);
    map.setMatrix(576, 576, "row", "column"); // square cells where they fill the area
    const QRect first = map.cellRect({0, 0});
    const QRect last = map.cellRect({575, 575});
    QVERIFY(std::abs((last.right() - first.left()) - (last.bottom() - first.top())) <= 2);
}

void TestTensorsPanel::keysMoveTheCursor() {
    MatrixMap map;
    map.resize(600, 500);
    map.setMatrix(200, 300, "row", "column");
    map.setTile(std::make_shared<MatrixTile>(tileOf(200, 300)));
    QTest::keyClick(&map, Qt::Key_Down); // the first key sets the cursor
    QTest::keyClick(&map, Qt::Key_Down);
    QTest::keyClick(&map, Qt::Key_Right, Qt::ShiftModifier);
    QVERIFY(map.cursor() == (MatrixCell{1, 10}));
    QCOMPARE(*map.valueOf({1, 10}), static_cast<float>(310 % 37) - 18);
    QTest::keyClick(&map, Qt::Key_End, Qt::ControlModifier);
    QVERIFY(map.cursor() == (MatrixCell{199, 299}));
    for (int i = 0; i < 30; ++i)
        QTest::keyClick(&map, Qt::Key_Plus);
    QVERIFY(map.visibleCells().contains(MatrixCell{199, 299}) && map.visibleCells().rows < 40);
    QTest::keyClick(&map, Qt::Key_Home);
    QVERIFY(map.visibleCells().contains(MatrixCell{199, 0}));
    QTest::keyClick(&map, Qt::Key_0);
    QCOMPARE(map.visibleCells(), (CellWindow{0, 0, 200, 300}));
}

void TestTensorsPanel::tilesAreWantedWhereTheyLack() {
    MatrixMap map;
    map.resize(600, 500);
    map.setMatrix(4'000, 4'000, "row", "column");
    const TileRequest whole = *map.wantedTile();
    MatrixTile coarse = tileOf(4'000, 4'000, whole.rowsPerBlock);
    coarse.isCoarse = true;
    map.setTile(std::make_shared<MatrixTile>(coarse));
    QVERIFY(map.wantedTile() == whole);
    map.setTile(std::make_shared<MatrixTile>(tileOf(4'000, 4'000, whole.rowsPerBlock)));
    QVERIFY(!map.wantedTile());
    map.zoom(4);
    const TileRequest part = *map.wantedTile();
    QVERIFY(part.rowsPerBlock < whole.rowsPerBlock);
    QVERIFY(part.window.contains(map.visibleCells()) && part.window.rows < 2'500);
    map.dropTiles(true);
    map.resetZoom();
    QVERIFY(map.wantedTile() == whole);
}

void TestTensorsPanel::coloursStayWhileTheViewMoves() {
    MatrixTile first = tileOf(20, 20);
    MatrixTile second = first;
    for (float& value : second.values)
        value *= 1.2F;
    const ColourScale scale{"vik", ScaleKind::linear, 0};
    paintTile(second, scale, first.range);
    QCOMPARE(second.range.upper(), first.range.upper());
    for (float& value : second.values)
        value *= 10;
    paintTile(second, scale, first.range);
    QVERIFY(second.range.upper() > 5 * first.range.upper());
    QCOMPARE(second.range.lower(), -second.range.upper()); // zero in the middle
}

void TestTensorsPanel::notFiniteBlocksArePink() {
    MatrixTile tile = tileOf(2, 2);
    tile.values[3] = noNumber;
    tile.notFinite = {0, 1, 0, 0};
    paintTile(tile, {"vik", ScaleKind::linear, 0}, {});
    QCOMPARE(tile.picture.pixel(1, 0), notFiniteColour);
    QCOMPARE(qAlpha(tile.picture.pixel(1, 1)), 0);
    QCOMPARE(qAlpha(tile.picture.pixel(0, 1)), 255);
}

void TestTensorsPanel::panningTakesLessThanAFrame() {
    MatrixMap map;
    map.resize(1'400, 900);
    map.setMatrix(32'000, 5'120, "row", "column");
    map.setTile(std::make_shared<MatrixTile>(tileOf(32'000, 5'120, 32)));
    MatrixMarks neurons;
    for (int neuron = 0; neuron < 5'120; ++neuron)
        neurons.push_back(
            {neuron, neuron + 1, QString("N%1").arg(neuron), neuron % 3 == 0 ? Hatch::cut : Hatch::none, false});
    map.setMarks(MatrixMap::Edge::columns, neurons);
    map.zoom(4);
    map.grab();
    std::vector<qint64> times;
    for (int i = 0; i < 60; ++i) {
        const QPointF point(500, 450);
        QWheelEvent wheel(point, map.mapToGlobal(point), {}, {i < 30 ? -40 : 40, i < 30 ? -40 : 40}, Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QElapsedTimer timer;
        timer.start();
        QCoreApplication::sendEvent(&map, &wheel);
        map.grab();
        times.push_back(timer.nsecsElapsed());
    }
    std::ranges::sort(times);
    std::printf("32,000 x 5,120, a step: median %.1f ms, worst %.1f ms\n", times[30] / 1e6, times.back() / 1e6);
    QVERIFY(times[30] < 32'000'000); // 16 ms on a quiet machine
}

void TestTensorsPanel::filterReadsWordsAndConditions() {
    StoredTensor tensor;
    tensor.name = "blk.3.attn_q.weight";
    tensor.type = "Q4_1";
    tensor.shape = {576, 576};
    tensor.bytes = 207'360;
    TensorStatistics statistics;
    statistics.count = 100;
    statistics.zeros = 20;
    statistics.norm = 12.5;
    const TensorFacts facts{&tensor, &statistics, nullptr};
    for (const char* text :
         {"", "attn_q", "q4_1", "576x576", "ATTN size > 200k", "norm >= 12.5", "zeros>10%", "norm < 13 size < 1M"})
        QVERIFY2(TensorFilter(text).passes(facts), text);
    for (const char* text : {"attn_k", "q4", "size > 1M", "norm > 12.5", "zeros < 0.2", "snr < 100", "error > 0"})
        QVERIFY2(!TensorFilter(text).passes(facts), text);
    QVERIFY(TensorFilter("size > much").error().contains("size > much"));
    QVERIFY(TensorFilter("norm < 1e3").error().isEmpty());
}

void TestTensorsPanel::nothingIsReadBeforeItIsSeen() {
    Bench bench;
    QTRY_VERIFY(bench.document.model() && bench.jobs.isIdle());
    QVERIFY(!bench.panel.source().stored());
}

void TestTensorsPanel::listHasFoldersAndStatistics() {
    Bench bench;
    bench.show();
    const TensorTree& tree = *bench.panel.tree();
    const auto folders = tree.findItems("model.layers.1", Qt::MatchExactly, 0);
    QCOMPARE(folders.size(), 1);
    QVERIFY(folders.front()->childCount() >= 9);
    const auto opened = openTensors(test::data().filePath("gqa-f32").toStdString());
    for (std::size_t tensor = 0; tensor < opened->tensors().size(); ++tensor) {
        QVERIFY(tree.statistics(tensor));
        const TensorStatistics expected = statisticsOf(*opened->grid(tensor));
        QCOMPARE(tree.statistics(tensor)->norm, expected.norm);
    }
    bench.panel.tree()->setFoldered(false);
    QCOMPARE(tree.topLevelItemCount(), static_cast<int>(opened->tensors().size()));
}

void TestTensorsPanel::listIsSortedAndFiltered() {
    Bench bench;
    bench.show();
    TensorTree& tree = *bench.panel.tree();
    tree.setFoldered(false);
    tree.sortByColumn(TensorTree::normColumn, Qt::DescendingOrder);
    double before = std::numeric_limits<double>::infinity();
    for (const std::size_t tensor : tree.shownTensors()) {
        QVERIFY(tree.statistics(tensor)->norm <= before);
        before = tree.statistics(tensor)->norm;
    }
    const std::size_t all = tree.shownTensors().size();
    bench.panel.filter()->setText("self_attn.q_proj");
    QVERIFY(!tree.shownTensors().empty() && tree.shownTensors().size() < all);
    for (const std::size_t tensor : tree.shownTensors())
        QVERIFY(bench.panel.source().tensor(tensor).name.find("q_proj") != std::string::npos);
    bench.panel.filter()->clear();
    QCOMPARE(tree.shownTensors().size(), all);
}

void TestTensorsPanel::pictureShowsTheStoredNumber() {
    Bench bench;
    bench.show();
    bench.panel.showTensor(queryName);
    bench.settle();
    const auto opened = openTensors(test::data().filePath("gqa-f32").toStdString());
    const auto grid = opened->grid(*opened->find(queryName));
    for (const MatrixCell cell :
         {MatrixCell{0, 0}, MatrixCell{3, 5}, MatrixCell{grid->rows() - 1, grid->columns() - 1}}) {
        const QRect place = bench.map().cellRect(cell);
        for (int i = 0; i < 40; ++i)
            turnWheel(bench.map(), place.center(), 120);
        QTRY_VERIFY(bench.map().valueOf(*bench.map().cellAt(place.center())));
        const MatrixCell under = *bench.map().cellAt(place.center());
        QCOMPARE(*bench.map().valueOf(under), numberAt(*grid, under.row, under.column));
        QTest::mouseMove(&bench.map(), place.center());
        const QString start = QString("[%1, %2] = ").arg(under.row).arg(under.column);
        QTRY_VERIFY2(bench.panel.picture()->readout().startsWith(start),
                     qPrintable(start + " " + bench.panel.picture()->readout()));
        QVERIFY2(bench.panel.picture()->readout().contains("0x"), qPrintable(bench.panel.picture()->readout()));
        bench.map().resetZoom();
        bench.settle();
    }
}

void TestTensorsPanel::marksSelectUnits() {
    Bench bench;
    bench.show();
    bench.panel.showTensor(queryName);
    bench.settle();
    const LayerSpec& layer = bench.document.spec().layers[1];
    QCOMPARE(bench.map().marks(MatrixMap::Edge::rows).size(), static_cast<std::size_t>(layer.heads));
    QCOMPARE(bench.map().marks(MatrixMap::Edge::rows)[1].name, "H1");
    QTest::mouseClick(&bench.map(), Qt::LeftButton, {}, bench.map().cellRect({layer.headDim + 1, 2}).center());
    QVERIFY(bench.selection.heads() == (std::set<HeadId>{{1, 1}}));
    QVERIFY(bench.map().marks(MatrixMap::Edge::rows)[1].isSelected);
    bench.panel.showTensor("model.layers.1.self_attn.k_proj.weight");
    bench.settle();
    QTest::mouseClick(&bench.map(), Qt::LeftButton, {}, bench.map().cellRect({1, 2}).center());
    QCOMPARE(bench.selection.heads().size(), static_cast<std::size_t>(layer.heads / layer.kvHeads));
    bench.panel.showTensor("model.layers.1.mlp.down_proj.weight");
    bench.settle();
    QCOMPARE(bench.map().marks(MatrixMap::Edge::columns).size(), static_cast<std::size_t>(layer.ffn));
    QTest::mouseClick(&bench.map(), Qt::LeftButton, {}, bench.map().cellRect({0, 7}).center());
    QVERIFY(bench.map().marks(MatrixMap::Edge::columns)[7].isSelected);
}

void TestTensorsPanel::cutUnitsAreHatched() {
    Bench bench;
    bench.show();
    bench.panel.showTensor(queryName);
    bench.settle();
    bench.document.masks()->setHeadsCut({{1, 2}}, true);
    QCOMPARE(bench.map().marks(MatrixMap::Edge::rows)[2].hatch, Hatch::cut);
    QCOMPARE(bench.map().marks(MatrixMap::Edge::rows)[1].hatch, Hatch::none);
    cutOrRestoreUnit(*bench.document.masks(), {CutUnit::head, 1, 2});
    QCOMPARE(bench.map().marks(MatrixMap::Edge::rows)[2].hatch, Hatch::none);
    cutOrRestoreUnit(*bench.document.masks(), {CutUnit::neuron, 1, 3});
    QVERIFY(!bench.document.masks()->mask().layer(1).neurons[3]);
    bench.panel.showTensor("model.layers.1.mlp.up_proj.weight");
    bench.settle();
    QCOMPARE(bench.map().marks(MatrixMap::Edge::rows)[3].hatch, Hatch::cut);
}

void TestTensorsPanel::scalesAreAPictureOfTheirOwn() {
    Bench bench("gqa-q4_1-gguf/model.gguf");
    bench.show();
    bench.panel.showTensor("blk.1.attn_q.weight");
    bench.settle();
    const StoredTensor& tensor = bench.panel.source().tensor(*bench.panel.picture()->tensor());
    QCOMPARE(tensor.type, "Q4_1");
    bench.panel.picture()->choose(TensorShown::scales);
    bench.settle();
    QCOMPARE(bench.map().columns(), tensor.columns() / tensor.scaleElements);
    QVERIFY(bench.map().tile());
    QVERIFY(!bench.map().marks(MatrixMap::Edge::rows).empty());
    bench.panel.picture()->choose(TensorShown::minima);
    bench.settle();
    QVERIFY(bench.map().tile() && bench.map().reason().isEmpty());
    bench.panel.picture()->choose(TensorShown::values);
    bench.settle();
    QTest::mouseMove(&bench.map(), bench.map().cellRect({2, 3}).center());
    QTRY_VERIFY2(bench.panel.picture()->readout().contains("code"), qPrintable(bench.panel.picture()->readout()));
}

void TestTensorsPanel::comparisonListsErrors() {
    Bench bench;
    bench.show();
    bench.panel.showTensor(queryName);
    bench.settle();
    bench.panel.compareWith(test::data().filePath("gqa-q4_1-gguf/model.gguf"));
    QTRY_VERIFY(bench.panel.source().other() && bench.panel.isDone());
    bench.settle();
    QCOMPARE(bench.panel.picture()->shown(), TensorShown::difference);
    QVERIFY(bench.map().tile());
    const TensorDifference* query = bench.panel.tree()->difference(bench.index(queryName));
    QVERIFY(query && query->relativeError() > 0 && query->relativeError() < 0.2);
    QVERIFY(query->signalToNoise() > 10 && query->signalToNoise() < 60);
    QVERIFY(!bench.panel.tree()->isColumnHidden(TensorTree::snrColumn));
    const TensorDifference* norm = bench.panel.tree()->difference(bench.index("model.norm.weight"));
    QVERIFY(norm && std::isinf(norm->signalToNoise())); // norms are not quantised
    bench.panel.filter()->setText("snr < 60");
    QVERIFY(!bench.panel.tree()->shownTensors().empty());
    bench.panel.endComparison();
    QVERIFY(bench.panel.tree()->isColumnHidden(TensorTree::snrColumn));
    QCOMPARE(bench.panel.picture()->shown(), TensorShown::values);
}

void TestTensorsPanel::oddTensorsAreShownAsTheyAre() {
    JobRunner jobs;
    MatrixMap map;
    map.resize(500, 400);
    map.show();
    TileRun tiles(&map, &jobs);
    const auto run = [&](const std::shared_ptr<NumberGrid>& grid) {
        map.setMatrix(grid->rows(), grid->columns(), "row", "column");
        tiles.start("drawn", tileMaker(std::make_shared<BlockPyramid>(grid), BlockValue::mean));
        QTRY_VERIFY(jobs.isIdle() && map.tile());
    };
    run(std::make_shared<DrawnGrid>(8, 8, [](auto, auto) { return noNumber; }));
    QVERIFY(std::ranges::all_of(map.tile()->notFinite, [](char isOdd) { return isOdd != 0; }));
    map.grab();
    run(std::make_shared<DrawnGrid>(8, 8, [](auto, auto) { return 0.5F; }));
    QVERIFY(map.tile()->range.lower() < map.tile()->range.upper());
    QVERIFY(map.tile()->range.upper() >= 0.5 && map.tile()->range.lower() <= 0.5);
    QCOMPARE(*map.valueOf({3, 3}), 0.5F);
    map.setMatrix(8, 8, "row", "column");
    tiles.start("torn", [](const TileRequest&, const TileRun::Sink&, const Progress&) -> MatrixTile {
        throw Error("was truncated", "model.safetensors");
    });
    QTRY_COMPARE(map.reason(), "model.safetensors: was truncated");
}

void TestTensorsPanel::figureIsThePartOnScreen() {
    Bench bench;
    bench.show();
    bench.panel.showTensor(queryName);
    bench.settle();
    const StoredTensor& tensor = bench.panel.source().tensor(bench.index(queryName));
    const Figure figure = bench.panel.picture()->currentFigure();
    QCOMPARE(figure.kind, FigureKind::heatMap);
    QCOMPARE(figure.cells.rows(), static_cast<std::size_t>(tensor.rows()));
    const auto grid = bench.panel.source().grid(bench.index(queryName), TensorShown::values);
    QCOMPARE(static_cast<float>(figure.cells(3, 4)), numberAt(*grid, 3, 4));
    QCOMPARE(figure.x.ticks.front().name, "0");
    QVERIFY(figure.caption.find(queryName) != std::string::npos);
}

SECATEUR_SUITE(TestTensorsPanel)
#include "tst_tensors_panel.moc"
