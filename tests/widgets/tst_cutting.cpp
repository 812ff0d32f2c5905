#include "analysis/base/error.h"
#include "tests/support/scratch_settings.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_cuts.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_threshold.h"
#include "widgets/heads/heads_view.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/window/main_window.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDoubleSpinBox>
#include <QElapsedTimer>
#include <QImage>
#include <QSignalSpy>
#include <QStyle>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

using namespace secateur;

namespace {

ModelSpec shape(int layers, int heads, int kvHeads) {
    ModelSpec spec;
    spec.architecture = "llama";
    LayerSpec layer;
    layer.heads = heads;
    layer.kvHeads = kvHeads;
    layer.headDim = 64;
    layer.ffn = 12;
    spec.layers.assign(static_cast<std::size_t>(layers), layer);
    return spec;
}

/// A session whose metric values increase with the head and with the layer.
Session session(const ModelSpec& spec) {
    Session made;
    made.model.name = "rising";
    made.model.spec = spec;
    for (const char* id : {"gate_norm_head", "gate_norm_group"}) {
        MetricResult result;
        result.request = {findMetric(id), {}};
        result.values = Matrix(spec.layers.size(), columnsFor(result.request.info->scope, spec));
        double value = 0;
        for (double& cell : result.values.values())
            cell = ++value;
        made.results.push_back(std::move(result));
    }
    made.view["heads.metric"] = "gate_norm_head";
    made.view["heads.clip"] = "0";
    return made;
}

QPalette darkPalette() {
    QPalette palette(QColor(0x2b, 0x2d, 0x30), QColor(0x1e, 0x1f, 0x22));
    for (const auto role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText})
        palette.setColor(role, QColor(0xdf, 0xe1, 0xe5));
    palette.setColor(QPalette::Base, QColor(0x1e, 0x1f, 0x22));
    return palette;
}

} // namespace

namespace {

/// A heads view on a session in memory, operated with mouse and keyboard events.
class Bench {
public:
    explicit Bench(const ModelSpec& spec, QSize size = {860, 640})
        : m_served(session(spec))
        , document(services(), &jobs) {
        heads.resize(size);
        QSignalSpy opened(&document, &Document::opened);
        document.files()->open(m_folder.path() + "/made.h5");
        opened.wait();
        heads.show();
        heads.activateWindow();
        grid->setFocus();
        settle();
    }

    static void settle() { QTest::qWait(40); }
    QPoint cell(int layer, int head) const { return grid->cellRect({layer, head}).center(); }
    QPoint button(int layer, LayerPart part) const { return grid->switchRect({layer, part}).center(); }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) { QTest::keyClick(grid, key, modifiers); }
    void click(QPoint point, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(grid, Qt::LeftButton, modifiers, point);
    }
    void hold(QPoint point, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mousePress(grid, Qt::LeftButton, modifiers, point);
    }
    void release(QPoint point, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseRelease(grid, Qt::LeftButton, modifiers, point);
    }
    /// Sends a mouse move with pressed buttons, which QTest::mouseMove() cannot do.
    void move(QPoint point, Qt::MouseButtons held = Qt::LeftButton) {
        QMouseEvent event(QEvent::MouseMove, point, grid->mapToGlobal(point), Qt::NoButton, held, {});
        QApplication::sendEvent(grid, &event);
    }
    void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
        hold(from, modifiers);
        move(to);
        release(to, modifiers);
    }
    void run(const QString& text) {
        for (QAction* action : heads.maskActions()->all())
            if (action->text().remove('&') == text && action->isEnabled())
                return action->trigger();
        QFAIL(qPrintable("no action: " + text));
    }

    std::set<HeadId> cut() const {
        std::set<HeadId> left;
        for (int layer = 0; layer < document.spec().layerCount(); ++layer)
            for (int head = 0; head < document.spec().layers[static_cast<std::size_t>(layer)].heads; ++head)
                if (masks->isCut({layer, head}))
                    left.insert({layer, head});
        return left;
    }
    int steps() const { return masks->undoStack()->index(); }
    QString said() const { return m_said.empty() ? QString() : m_said.back().front().toString(); }
    QImage picture() const {
        settle();
        return grid->grab().toImage();
    }
    QImage cellPicture(int layer, int head) const {
        const QRect rect = grid->cellRect({layer, head});
        const double ratio = grid->devicePixelRatioF();
        return picture().copy(QRect(rect.topLeft() * ratio, rect.size() * ratio));
    }

private:
    Services services() {
        Services made;
        made.isSession = [](const std::string&) { return true; };
        made.readSession = [this](const std::string&) { return m_served; };
        made.openModel = [](const std::string& path, const Progress&) -> std::shared_ptr<const Model> {
            throw Error("is not there", path);
        };
        return made;
    }

    Session m_served;
    QTemporaryDir m_folder;

public:
    JobRunner jobs;
    Document document;
    Selection selection;
    HeadsView heads{&document, &selection};
    HeadsGrid* grid = heads.grid();
    MaskEditor* masks = document.masks();

private:
    QSignalSpy m_said{&heads, &HeadsView::hoverText};
};

} // namespace

namespace {

/// Simulates a user of the heads view. Each call of act() performs one random action with mouse, keyboard or menu. The
/// random seed is fixed.
class RandomUser {
public:
    explicit RandomUser(Bench* bench)
        : m_bench(bench) {}

    void act() {
        constexpr std::array keys{Qt::Key_Space,       Qt::Key_Delete,       Qt::Key_P,  Qt::Key_U,    Qt::Key_S,
                                  Qt::Key_BracketLeft, Qt::Key_BracketRight, Qt::Key_Up, Qt::Key_Down, Qt::Key_Escape,
                                  Qt::Key_Left,        Qt::Key_Right};
        const QPoint from = anywhere();
        switch (below(8)) {
        case 0:
            return m_bench->click(from, modifiers());
        case 1:
        case 2:
            return m_bench->drag(from, anywhere(), modifiers());
        case 3:
            return m_bench->press(keys[static_cast<std::size_t>(below(keys.size()))]);
        case 4: // a drag that Escape cancels
            m_bench->hold(from, modifiers());
            m_bench->move(anywhere());
            m_bench->press(Qt::Key_Escape);
            return m_bench->release(from);
        case 5: {
            const QRect bar = m_bench->grid->colourBarRect();
            return m_bench->drag(bar.center(), QPoint(bar.center().x(), bar.top() + below(bar.height() + 20) - 10));
        }
        case 6:
            return m_bench->click(m_bench->button(below(6), static_cast<LayerPart>(below(4))));
        default:
            const QList<QAction*>& actions = m_bench->heads.maskActions()->all();
            QAction* action = actions[below(static_cast<int>(actions.size()))];
            if (!action->text().contains(QStringLiteral("…")))
                action->trigger();
        }
    }

private:
    int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(m_random); }
    QPoint anywhere() { return {below(m_bench->grid->width()), below(m_bench->grid->height())}; }
    Qt::KeyboardModifiers modifiers() {
        constexpr std::array all{Qt::NoModifier, Qt::ControlModifier, Qt::ShiftModifier, Qt::AltModifier};
        return all[static_cast<std::size_t>(below(all.size()))];
    }

    Bench* m_bench;
    std::mt19937 m_random{11};
};

struct Shades {
    double dark = 0;  ///< share of the pixels darker than the cell's colour without hatches
    double light = 0; ///< share of the pixels lighter than this colour
    double same = 0;
};

Shades shades(const QImage& picture, QColor data) {
    Shades shades;
    for (int y = 0; y < picture.height(); ++y)
        for (int x = 0; x < picture.width(); ++x) {
            const int difference = qGray(picture.pixel(x, y)) - qGray(data.rgb());
            (std::abs(difference) <= 3 ? shades.same : difference < 0 ? shades.dark : shades.light) += 1;
        }
    const double pixels = picture.width() * picture.height();
    return {shades.dark / pixels, shades.light / pixels, shades.same / pixels};
}

} // namespace

class TestCutting : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { static const test::ScratchSettings settings; }

    void init() { QApplication::setPalette(QApplication::style()->standardPalette()); }

    void shearsCutAndRestore() {
        Bench bench(shape(10, 8, 4));
        bench.press(Qt::Key_S);
        bench.click(bench.cell(2, 3));
        QCOMPARE(bench.cut(), (std::set<HeadId>{{2, 3}}));
        QVERIFY(bench.selection.heads().empty());
        bench.drag(bench.cell(4, 1), bench.cell(4, 6));
        QCOMPARE(bench.cut().size(), 7U);
        QCOMPARE(bench.steps(), 2);
        // A drag sets all cells that it passes to the new state of its first cell. This drag begins on a cut cell, so
        // it restores cells.
        bench.drag(bench.cell(4, 6), bench.cell(4, 7));
        QCOMPARE(bench.cut().size(), 6U);
        bench.drag(bench.cell(1, 0), bench.cell(4, 3));
        QVERIFY(bench.masks->isCut({3, 2}) && bench.masks->isCut({4, 3}));
        bench.masks->undoStack()->undo();
        bench.masks->undoStack()->undo();
        QCOMPARE(bench.cut().size(), 7U);
        bench.press(Qt::Key_S);
        bench.click(bench.cell(2, 3));
        QCOMPARE(bench.cut().size(), 7U);
        QCOMPARE(bench.selection.heads(), (std::set<HeadId>{{2, 3}}));
    }

    void altIsShearsForAMoment() {
        Bench bench(shape(10, 8, 4));
        bench.drag(bench.cell(3, 0), bench.cell(3, 2), Qt::AltModifier);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{3, 0}, {3, 1}, {3, 2}}));
        bench.click(bench.cell(5, 5));
        QCOMPARE(bench.cut().size(), 3U);
    }

    void aDragIsSeenBeforeItIsDoneAndCanBeGivenUp() {
        Bench bench(shape(10, 8, 4));
        bench.press(Qt::Key_S);
        bench.hold(bench.cell(3, 0));
        bench.move(bench.cell(3, 4));
        QVERIFY(bench.masks->preview());
        QCOMPARE(bench.masks->preview()->layer(3).keptHeads(), 3);
        QVERIFY(bench.cut().empty());
        bench.press(Qt::Key_Escape);
        QVERIFY(!bench.masks->preview());
        bench.release(bench.cell(3, 4));
        QVERIFY(bench.cut().empty());
        QCOMPARE(bench.steps(), 0);
    }

    void escapeGivesUpDragPreviewSelectionInTurn() {
        Bench bench(shape(10, 8, 4));
        bench.click(bench.cell(1, 1));
        bench.masks->setPreview(bench.masks->withHeads(bench.masks->mask(), {{7, 7}}, true));
        bench.hold(bench.cell(3, 0), Qt::ControlModifier);
        bench.move(bench.cell(4, 4));
        bench.press(Qt::Key_Escape);
        QCOMPARE(bench.selection.heads().size(), 1U);
        QVERIFY(bench.masks->preview());
        bench.release(bench.cell(4, 4));
        bench.press(Qt::Key_Escape);
        QVERIFY(!bench.masks->preview());
        QCOMPARE(bench.selection.heads().size(), 1U);
        bench.press(Qt::Key_Escape);
        QVERIFY(bench.selection.heads().empty());
    }

    void headersCutLayersAndColumns() {
        Bench bench(shape(10, 8, 4));
        bench.click({8, bench.cell(2, 0).y()}, Qt::AltModifier);
        QCOMPARE(bench.cut().size(), 8U);
        bench.drag({8, bench.cell(5, 0).y()}, {8, bench.cell(7, 0).y()}, Qt::AltModifier);
        QCOMPARE(bench.cut().size(), 32U);
        const int above = bench.grid->cellRect({0, 0}).top() - 5;
        bench.click({bench.cell(0, 3).x(), above}, Qt::AltModifier);
        QCOMPARE(bench.cut().size(), 38U);
        bench.click({bench.cell(0, 3).x(), above}, Qt::AltModifier);
        QCOMPARE(bench.cut().size(), 28U);
    }

    void groupsAreCutAsAWhole() {
        Bench bench(shape(10, 8, 4));
        bench.heads.showMetric("gate_norm_group");
        bench.click(bench.cell(2, 3), Qt::AltModifier);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{2, 2}, {2, 3}}));
        bench.press(Qt::Key_BracketRight);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{0, 0}, {0, 1}, {2, 2}, {2, 3}}));
    }

    void keysCutProtectAndGrow() {
        Bench bench(shape(10, 8, 4));
        bench.click(bench.cell(2, 2));
        bench.press(Qt::Key_U);
        QCOMPARE(bench.selection.heads(), (std::set<HeadId>{{2, 2}, {2, 3}}));
        bench.press(Qt::Key_Space);
        QCOMPARE(bench.cut().size(), 2U);
        bench.click(bench.cell(2, 1), Qt::ShiftModifier);
        bench.press(Qt::Key_Delete);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{2, 1}, {2, 2}, {2, 3}}));
        bench.press(Qt::Key_Space);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{2, 3}}));
        bench.press(Qt::Key_P);
        QCOMPARE(bench.masks->isProtected().heads.size(), 2U);
        bench.press(Qt::Key_Space);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{2, 3}}));
        QVERIFY(bench.masks->preview() == std::nullopt);
        bench.press(Qt::Key_P);
        QVERIFY(bench.masks->isProtected().empty());
    }

    void oneHeadOfAProtectedLayerIsLetGo() {
        Bench bench(shape(4, 8, 4));
        bench.click(bench.button(1, LayerPart::protection));
        QCOMPARE(bench.masks->isProtected().layers, (std::set<int>{1}));
        bench.click(bench.cell(1, 2));
        bench.press(Qt::Key_P);
        QVERIFY(!bench.masks->isProtected().has({1, 2}));
        QVERIFY(bench.masks->isProtected().has({1, 3}));
        QCOMPARE(bench.masks->isProtected().heads.size(), 7U);
    }

    void draggingTheColourBarCutsBelowAThreshold() {
        Bench bench(shape(10, 8, 4)); // the values of the 80 heads are 1 to 80
        bench.masks->setProtected({{}, {{0, 0}}}, "protect");
        const QRect bar = bench.grid->colourBarRect();
        bench.hold(QPoint(bar.center().x(), bar.bottom()));
        bench.move(QPoint(bar.center().x(), bar.center().y()));
        QVERIFY(bench.masks->preview());
        QVERIFY(bench.cut().empty());
        QVERIFY2(bench.said().contains("heads below 4"), qPrintable(bench.said()));
        QVERIFY2(bench.said().contains("1 protected left alone"), qPrintable(bench.said()));
        bench.release(bar.center());
        QCOMPARE(bench.steps(), 2);
        const std::size_t half = bench.cut().size();
        QVERIFY(half > 36 && half < 43);
        QVERIFY(!bench.masks->isCut({0, 0}));
        // A second drag of the threshold replaces the cuts of the first one instead of adding to them.
        bench.drag(bar.center(), QPoint(bar.center().x(), bar.center().y() + bar.height() / 4));
        QVERIFY(bench.cut().size() < half - 15);
        bench.hold(bar.center());
        bench.press(Qt::Key_Escape);
        bench.release(bar.center());
        QVERIFY(bench.cut().size() < half - 15);
        bench.masks->undoStack()->undo();
        QCOMPARE(bench.cut().size(), half);
    }

    void bracketsMoveTheThreshold() {
        Bench bench(shape(10, 8, 4));
        bench.masks->setHeadsCut({{0, 1}}, true);
        bench.press(Qt::Key_BracketRight);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{0, 0}, {0, 1}}));
        bench.press(Qt::Key_BracketRight);
        bench.press(Qt::Key_BracketRight);
        QCOMPARE(bench.cut().size(), 4U);
        QVERIFY2(bench.said().contains("4 heads below 4.5"), qPrintable(bench.said()));
        bench.press(Qt::Key_BracketLeft);
        QCOMPARE(bench.cut().size(), 3U);
        bench.masks->undoStack()->setIndex(1);
        QCOMPARE(bench.cut(), (std::set<HeadId>{{0, 1}}));
        QVERIFY(!bench.grid->threshold()->marker());
    }

    void aThresholdSaysWhatWouldMakeTheMaskAgain() {
        Bench bench(shape(10, 8, 4));
        const ModelSpec& spec = bench.masks->spec();
        bench.masks->setProtected(Protection::parse("0.0,9", spec), "protect");
        for (int i = 0; i < 5; ++i)
            bench.press(Qt::Key_BracketRight);
        const MaskRecord& record = *bench.masks->state().edited().record;
        QVERIFY(record.provenance.has_value());
        const MaskProvenance& made = *record.provenance;
        QCOMPARE(made.strategy, std::string("by_metric"));
        QCOMPARE(made.options.at("threshold"), std::string("6.5"));
        QVERIFY(made.budget == (Budget{5, false}));
        const PruneRequest request{parseStrategyRequest("by_metric:metric=" + made.options.at("metric")),
                                   *made.budget,
                                   made.options.at("protect"),
                                   0,
                                   {}};
        const Matrix& values = bench.document.measurements()->result(bench.heads.resultId())->values;
        QVERIFY(pruneBy(spec, request, values) == record.mask);
    }

    void aThresholdOnKvGroupsCutsAndCountsGroups() {
        Bench bench(shape(4, 8, 4));
        MetricResult result;
        result.request = parseMetricRequests("gate_norm_group").front();
        result.values = Matrix(4, 4, 9);
        result.values(1, 2) = 1;
        result.values(3, 0) = 2;
        bench.masks->setProtected(Protection::parse("3.1", bench.masks->spec()), "protect");
        HeadsThreshold threshold(bench.masks, nullptr);
        threshold.setResult(&result);
        threshold.preview(3);
        QCOMPARE(threshold.text(), QString("1 KV group below 3.00 · 1 protected left alone"));
        threshold.apply();
        QCOMPARE(bench.cut(), (std::set<HeadId>{{1, 4}, {1, 5}}));
        QVERIFY(bench.masks->state().edited().record->provenance->budget == (Budget{1, false}));
    }

    void switchesTurnSublayersAndBlocksOff() {
        Bench bench(shape(10, 8, 4));
        bench.move(bench.button(3, LayerPart::attention), {});
        QCOMPARE(bench.said(), QString("L3 · attention · click to drop it"));
        bench.click(bench.button(3, LayerPart::attention));
        QCOMPARE(bench.masks->mask().layer(3).attention, AttentionCut::drop);
        QCOMPARE(bench.cut().size(), 8U);
        QCOMPARE(bench.said(), QString("L3 · the attention is dropped · click to restore it"));
        bench.click(bench.button(3, LayerPart::mlp));
        QVERIFY(!bench.masks->mask().layer(3).mlp);
        bench.click(bench.button(5, LayerPart::block));
        QVERIFY(!bench.masks->mask().layer(5).block);
        bench.click(bench.button(5, LayerPart::mlp));
        QVERIFY(!bench.masks->mask().layer(5).block);
        bench.click(bench.button(5, LayerPart::block));
        bench.click(bench.button(3, LayerPart::mlp));
        bench.click(bench.button(3, LayerPart::attention));
        QVERIFY(bench.masks->mask().keepsAll());
    }

    void actionsActOnTheSelectedLayers() {
        Bench bench(shape(10, 8, 4));
        bench.click(bench.cell(2, 1));
        bench.click(bench.cell(4, 5), Qt::ControlModifier);
        bench.run("Drop the MLP of the selected layers");
        QVERIFY(!bench.masks->mask().layer(2).mlp && !bench.masks->mask().layer(4).mlp);
        bench.run("Bypass Q/K with α 0.2");
        QCOMPARE(bench.masks->mask().layer(4).alpha, 0.2);
        bench.run("Cut or restore the selected columns");
        QCOMPARE(bench.cut().size(), 20U);
        bench.run("Cut or restore all heads of the selected layers");
        QCOMPARE(bench.cut().size(), 32U);
        bench.run("Restore the selected layers");
        QCOMPARE(bench.cut().size(), 16U);
        bench.run("Drop the selected blocks");
        QVERIFY(!bench.masks->mask().layer(2).block);
        bench.run("Restore everything");
        QVERIFY(bench.masks->mask().keepsAll());
        bench.run("Invert heads");
        QCOMPARE(bench.cut().size(), 80U);
    }

    void anotherAlphaIsAskedForInAPopup() {
        Bench bench(shape(10, 8, 4));
        bench.click(bench.cell(2, 1));
        bench.run("Bypass Q/K with another α…");
        auto* popup = bench.grid->findChild<QWidget*>("alpha");
        QVERIFY(popup && popup->isVisible());
        auto* alpha = popup->findChild<QDoubleSpinBox*>();
        alpha->setValue(0.75);
        QTest::keyClick(alpha, Qt::Key_Return);
        QCOMPARE(bench.masks->mask().layer(2).attention, AttentionCut::bypassQk);
        QCOMPARE(bench.masks->mask().layer(2).alpha, 0.75);
        QVERIFY(!popup->isVisible());
    }

    void textsTellWhatIsCut() {
        Bench bench(shape(10, 8, 4));
        bench.masks->setHeadsCut({{1, 1}}, true);
        bench.masks->setAttention({2}, AttentionCut::drop);
        bench.masks->setBlockCut({3}, true);
        bench.masks->setAttention({4}, AttentionCut::bypassQk, 0.2);
        bench.masks->setProtected({{5}, {}}, "protect");
        const std::vector<QString> ends{"· cut", "· cut with its attention", "· cut with its block",
                                        QStringLiteral("· Q/K bypassed, α 0.2"), "· protected"};
        for (int layer = 1; layer <= 5; ++layer) {
            bench.move(bench.cell(layer, 1), {});
            QVERIFY2(bench.said().endsWith(ends[static_cast<std::size_t>(layer - 1)]), qPrintable(bench.said()));
        }
        bench.selection.select({{0, 1}, {1, 1}}, Selection::Mode::replace);
        bench.heads.copyValues();
        QCOMPARE(QApplication::clipboard()->text(),
                 QString("layer,head,gate_norm_head,kept\r\n0,1,2,1\r\n1,1,10,0\r\n"));
    }

    void menusAndPaletteOfferAllOfIt() {
        Bench bench(shape(4, 8, 4));
        MainWindow window(&bench.document, &bench.jobs);
        window.show();
        const auto run = [&](const QString& title) {
            for (const Command& command : window.commands())
                if (command.title == title) {
                    command.run();
                    return true;
                }
            return false;
        };
        QVERIFY(!run("Drop the selected blocks")); // the action is disabled while nothing is selected
        window.goTo({2, 1});
        QVERIFY(run("Drop the selected blocks"));
        QVERIFY(!bench.masks->mask().layer(2).block);
        QVERIFY(run("Undo Drop the blocks of 1 layer"));
        QVERIFY(run("Redo Drop the blocks of 1 layer"));
        QVERIFY(!bench.masks->mask().layer(2).block);
        QVERIFY(run("Restore everything"));
        QVERIFY(run("Bypass Q/K with α 0.5"));
        QVERIFY(run("Shears"));
        QCOMPARE(bench.masks->mask().layer(2).alpha, 0.5);
    }

    void toolsHaveNames() {
        Bench bench(shape(4, 8, 4));
        QStringList names;
        for (const QToolButton* button : bench.heads.findChildren<QToolButton*>())
            names << button->accessibleName();
        QVERIFY(names.contains("Shears tool") && names.contains("Lasso tool"));
    }

    void hatchesShowOnEveryColourAndLeaveTheData_data() {
        QTest::addColumn<int>("layers");
        QTest::addColumn<int>("heads");
        QTest::addColumn<QSize>("size");
        QTest::addColumn<bool>("dark");
        for (const bool dark : {false, true}) {
            const char* theme = dark ? "dark" : "light";
            QTest::addRow("large, %s", theme) << 8 << 6 << QSize(860, 640) << dark;
            QTest::addRow("middling, %s", theme) << 30 << 9 << QSize(860, 640) << dark;
            QTest::addRow("3 pixels, %s", theme) << 128 << 128 << QSize(640, 440) << dark;
        }
    }

    void hatchesShowOnEveryColourAndLeaveTheData() {
        QFETCH(int, layers);
        QFETCH(int, heads);
        QFETCH(QSize, size);
        QFETCH(bool, dark);
        if (dark)
            QApplication::setPalette(darkPalette());
        Bench bench(shape(layers, heads, heads), size);
        for (const HeadId head : {HeadId{0, 0}, {layers / 2, 0}, {layers * 3 / 4, heads / 2}}) {
            const QImage before = bench.cellPicture(head.layer, head.head);
            const QColor data = before.pixelColor(before.width() / 2, before.height() / 2);
            bench.masks->setHeadsCut({head}, true);
            const Shades hatched = shades(bench.cellPicture(head.layer, head.head), data);
            // Hatches consist of dark and light lines. Dark lines are invisible on a black cell and light lines on a
            // white one, so at least one kind must be visible.
            qInfo("%d px: dark %.2f light %.2f data %.2f", before.height(), hatched.dark, hatched.light, hatched.same);
            QVERIFY(std::max(hatched.dark, hatched.light) > 0.1);
            QVERIFY(before.height() < 8 || hatched.same > 0.25);
            bench.masks->undoStack()->undo();
            QCOMPARE(bench.cellPicture(head.layer, head.head), before);
        }
    }

    void kindsOfHatchesDiffer() {
        Bench bench(shape(8, 6, 6));
        bench.masks->setHeadsCut({{3, 1}, {3, 2}}, true);
        bench.masks->duplicateMask();
        bench.masks->setHeadsCut({{3, 1}}, false);
        bench.masks->setHeadsCut({{3, 3}}, true);
        const auto* legend = bench.heads.findChild<HatchLegend*>();
        QVERIFY(!legend->isVisible());
        bench.masks->compareWith(0);
        QVERIFY(legend->isVisible());
        std::vector<QImage> kinds;
        for (int head = 0; head < 4; ++head)
            kinds.push_back(bench.cellPicture(3, head));
        bench.masks->compareWith({});
        bench.masks->setPreview(bench.masks->withHeads(bench.masks->mask(), {{3, 4}}, true));
        kinds.push_back(bench.cellPicture(3, 4));
        for (std::size_t a = 0; a < kinds.size(); ++a)
            for (std::size_t b = 0; b < a; ++b)
                QVERIFY(kinds[a] != kinds[b]);
        QVERIFY(!legend->isVisible());
    }

    void thousandActionsAreAllUndone() {
        Bench bench(shape(6, 8, 4), {600, 400});
        bench.masks->setHeadsCut({{1, 1}, {4, 3}}, true);
        bench.masks->undoStack()->clear();
        const PruningMask start = bench.masks->mask();
        RandomUser user(&bench);
        for (int action = 0; action < 1000; ++action)
            user.act();
        qInfo("1000 actions, %d steps of undo, %zu heads cut", bench.steps(), bench.cut().size());
        QVERIFY(bench.steps() > 100);
        const PruningMask end = bench.masks->mask();
        bench.masks->undoStack()->setIndex(0);
        QCOMPARE(bench.masks->mask(), start);
        QVERIFY(bench.masks->isProtected().empty());
        bench.masks->undoStack()->setIndex(bench.masks->undoStack()->count());
        QCOMPARE(bench.masks->mask(), end);
    }

    void drawingKeepsUp() {
        Bench bench(shape(128, 128, 128), {1100, 900});
        const auto frame = [&](const char* what) {
            QElapsedTimer timer;
            timer.start();
            constexpr int frames = 20;
            for (int i = 0; i < frames; ++i) {
                bench.grid->resetZoom();
                bench.grid->grab();
            }
            qInfo("128 x 128, %s: %.2f ms a frame", what, static_cast<double>(timer.elapsed()) / frames);
        };
        frame("nothing cut");
        std::set<HeadId> every;
        for (int layer = 0; layer < 128; ++layer)
            for (int head = layer % 2; head < 128; head += 2)
                every.insert({layer, head});
        bench.masks->setHeadsCut(every, true);
        frame("every second cut");
        bench.masks->clearMask();
        bench.press(Qt::Key_S);
        QElapsedTimer timer;
        timer.start();
        constexpr int moves = 100;
        bench.hold(bench.cell(10, 10));
        for (int i = 0; i < moves; ++i)
            bench.move(bench.cell(10 + i, 10 + i));
        qInfo("128 x 128, cutting along a drag: %.2f ms a move", static_cast<double>(timer.elapsed()) / moves);
        bench.release(bench.cell(110, 110));
        QVERIFY(timer.elapsed() / moves < 100);
    }

    /// Saves screenshots of the heads view for inspection by a person.
    void screenshots() {
        const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
        if (folder.isEmpty())
            QSKIP("SECATEUR_SCREENSHOTS is not set");
        for (const bool dark : {false, true}) {
            QApplication::setPalette(dark ? darkPalette() : QApplication::style()->standardPalette());
            const std::vector<std::pair<ModelSpec, QSize>> cases{
                {shape(30, 9, 3), {900, 700}}, {shape(8, 6, 6), {860, 600}}, {shape(128, 128, 128), {760, 560}}};
            for (const auto& [spec, size] : cases) {
                Bench bench(spec, size);
                decorate(bench, spec);
                const int percent = static_cast<int>(100 * bench.grid->devicePixelRatioF());
                const QString name = QString("%1/cut_%2_%3_%4")
                                         .arg(folder)
                                         .arg(spec.layerCount())
                                         .arg(dark ? "dark" : "light")
                                         .arg(percent);
                Bench::settle();
                QVERIFY(bench.heads.grab().save(name + ".png"));
                bench.masks->duplicateMask();
                bench.masks->setHeadsCut({{6, 0}, {6, 1}, {6, 2}}, true);
                bench.masks->setHeadsCut({{0, 1}, {0, 2}}, false);
                bench.masks->compareWith(0);
                Bench::settle();
                QVERIFY(bench.heads.grab().save(name + "_compared.png"));
            }
        }
    }

private:
    static void decorate(Bench& bench, const ModelSpec& spec) {
        const int last = spec.layerCount() - 1;
        bench.masks->setHeadsCut({{0, 0}, {0, 1}, {0, 2}, {2, 4}, {last, 3}, {last, 4}, {last, 5}, {last - 1, 1}},
                                 true);
        bench.masks->setAttention({3}, AttentionCut::drop);
        bench.masks->setBlockCut({4}, true);
        bench.masks->setMlpCut({6}, true);
        bench.masks->setAttention({5}, AttentionCut::bypassQk, 0.2);
        bench.masks->setProtected({{7}, {{1, 1}, {1, 2}}}, "protect");
        bench.masks->setPreview(bench.masks->withHeads(bench.masks->mask(), {{2, 0}, {2, 1}, {last - 2, 2}}, true));
        bench.selection.select({{2, 3}, {2, 4}}, Selection::Mode::replace);
    }
};

SECATEUR_SUITE(TestCutting)
#include "tst_cutting.moc"
