// What's This?, the frame around the control with the keyboard focus, and the keys of pictures.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/attention/attention_sheet.h"
#include "widgets/document/document.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_view.h"
#include "widgets/help/manual_window.h"
#include "widgets/help/whats_this.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/layers/layers_plot.h"
#include "widgets/layers/layers_view.h"
#include "widgets/plot/point_widget.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/metric_tree.h"
#include "widgets/window/command_palette.h"
#include "widgets/window/main_window.h"
#include "widgets/window/view_tabs.h"
#include "widgets/window/window_help.h"

#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QHelpEvent>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <QWhatsThis>

#include <algorithm>
#include <memory>

using namespace secateur;
using namespace secateur::test;

namespace {

/// The main window with a small model.
struct ExplainedProgram {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    std::unique_ptr<MainWindow> window = std::make_unique<MainWindow>(&document, &jobs);

    ExplainedProgram() {
        window->show();
        const std::string path = folder.filePath("small.gguf").toStdString();
        services.addModel(path, 3);
        window->open(QString::fromStdString(path));
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(60);
        QApplication::setActiveWindow(window.get());
    }
    template <typename Widget>
    Widget* find() const {
        return window->findChild<Widget*>();
    }
    WhatsThis* help() const { return window->findChild<WhatsThis*>(); }
    QWidget* ring() const { return window->findChild<QWidget*>("focusRing"); }
};

/// The pop-up of What's This?; nullptr if there is none.
QWidget* popUp() {
    for (QWidget* widget : QApplication::topLevelWidgets())
        if (widget->inherits("QWhatsThat") && widget->isVisible())
            return widget;
    return nullptr;
}

FigureSeries pointsAt(const std::vector<double>& x, const std::vector<double>& y) {
    FigureSeries series;
    series.label = "points";
    series.positions = x;
    series.values = y;
    for (std::size_t i = 0; i < x.size(); ++i)
        series.places.push_back(i);
    return series;
}

} // namespace

class TestWhatsThis : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void init();

    void explanationHasNameTextKeyAndSection();
    void explanationOfARowHasItsToolTip();
    void areasExplainWhatHasNoTextOfItsOwn();
    void shiftF1StartsTheMode();
    void shiftF1TwiceExplainsTheFocus();
    void enterFollowsTheLink();
    void linkedSectionsExist();
    void frameFollowsTheKeyboard();
    void frameIsOnTheCurrentTab();
    void viewsAndPanelsFollowTheFocus();
    void paletteReturnsTheFocus();
    void combosAreDescribed();
    void arrowsMoveBetweenPoints();
    void arrowsMoveBetweenThumbnails();
    void keysScrollHighFigures();
};

void TestWhatsThis::initTestCase() {
    QCoreApplication::setOrganizationName("secateur");
    static QTemporaryDir settings;
    qputenv("XDG_STATE_HOME", settings.path().toUtf8());
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
}

void TestWhatsThis::init() {
    QSettings().clear();
}

void TestWhatsThis::explanationHasNameTextKeyAndSection() {
    const ExplainedProgram program;
    const QString grid = program.help()->explanation(program.window->headsView()->grid(), {5, 5});
    for (const char* part : {"Heat map of heads by layer", "Each cell is a head", "using.md#heads", "Manual: Heads"})
        QVERIFY2(grid.contains(part), qPrintable(grid));
    const auto tools = program.find<HeadsView>()->findChildren<QToolButton*>();
    const auto shears =
        std::ranges::find(tools, QString("Shears"), [](const QToolButton* tool) { return tool->text(); });
    QVERIFY(shears != tools.end());
    const QString tool = program.help()->explanation(*shears, {});
    QVERIFY2(tool.contains("Key: S") && tool.contains("cut or restore"), qPrintable(tool));
}

void TestWhatsThis::explanationOfARowHasItsToolTip() {
    const ExplainedProgram program;
    const auto* tree = program.find<MetricTree>();
    const QModelIndex group = tree->model()->index(0, 0);
    const QModelIndex row = tree->model()->index(1, 0, group);
    const QString text = program.help()->explanation(tree->viewport(), tree->visualRect(row).center());
    QVERIFY2(text.contains(row.data().toString()), qPrintable(text));
    QVERIFY2(text.contains("All metrics by what they need"), qPrintable(text));
    QVERIFY2(text.contains("using.md#measure"), qPrintable(text));
}

void TestWhatsThis::areasExplainWhatHasNoTextOfItsOwn() {
    const ExplainedProgram program;
    const QString text = program.help()->explanation(program.find<MetricList>(), {});
    QVERIFY2(text.contains("Lists all metrics"), qPrintable(text));
    // An event that the filter answers is accepted; the window as a whole has nothing to say.
    QHelpEvent query(QEvent::QueryWhatsThis, {}, {});
    QVERIFY(QApplication::sendEvent(program.find<MetricList>(), &query) && query.isAccepted());
    QVERIFY(program.help()->explanation(program.window.get(), {}).isEmpty());
}

void TestWhatsThis::shiftF1StartsTheMode() {
    const ExplainedProgram program;
    auto* grid = program.window->headsView()->grid();
    grid->setFocus();
    QTest::keyClick(grid, Qt::Key_F1, Qt::ShiftModifier);
    QVERIFY(QWhatsThis::inWhatsThisMode());
    QTest::mouseClick(grid, Qt::LeftButton, {}, {5, 5});
    QVERIFY(popUp());
    QVERIFY(program.document.session().evaluations.empty());
    QTest::keyClick(popUp(), Qt::Key_Escape);
    QTRY_VERIFY(!popUp());
    QVERIFY(!QWhatsThis::inWhatsThisMode());
}

void TestWhatsThis::shiftF1TwiceExplainsTheFocus() {
    const ExplainedProgram program;
    auto* grid = program.window->headsView()->grid();
    grid->setFocus();
    QTest::keyClick(grid, Qt::Key_F1, Qt::ShiftModifier);
    QTest::keyClick(grid, Qt::Key_F1, Qt::ShiftModifier);
    QVERIFY(!QWhatsThis::inWhatsThisMode());
    QVERIFY(popUp());
    QTest::keyClick(popUp(), Qt::Key_Escape);
    QTRY_VERIFY(!popUp());
}

void TestWhatsThis::enterFollowsTheLink() {
    const ExplainedProgram program;
    const QSignalSpy wanted(program.help(), &WhatsThis::sectionWanted);
    auto* grid = program.window->headsView()->grid();
    grid->setFocus();
    QTest::keyClick(grid, Qt::Key_F1, Qt::ShiftModifier);
    QTest::keyClick(grid, Qt::Key_F1, Qt::ShiftModifier);
    QVERIFY(popUp());
    QTest::keyClick(popUp(), Qt::Key_Return);
    QCOMPARE(wanted.size(), 1);
    QCOMPARE(wanted.first(), (QVariantList{"using.md", "heads"}));
    QTRY_VERIFY(program.find<ManualWindow>() && program.find<ManualWindow>()->isVisible());
}

void TestWhatsThis::linkedSectionsExist() {
    const QList<ManualPage> pages = manualPages();
    QVERIFY(linkedSections().size() > 15);
    for (const QString& section : linkedSections()) {
        const auto page = std::ranges::find(pages, section.section('#', 0, 0), &ManualPage::name);
        QVERIFY2(page != pages.end(), qPrintable(section));
        const bool exists = std::ranges::any_of(
            page->sections, [&](const ManualSection& each) { return each.anchor == section.section('#', 1); });
        QVERIFY2(exists, qPrintable(section));
    }
}

void TestWhatsThis::frameFollowsTheKeyboard() {
    const ExplainedProgram program;
    auto* grid = program.window->headsView()->grid();
    grid->setFocus();
    QTest::keyClick(grid, Qt::Key_Right);
    QVERIFY(program.ring() && program.ring()->isVisible());
    QCOMPARE(program.ring()->parentWidget(), grid);
    QCOMPARE(program.ring()->size(), grid->size());
    QTest::keyClick(grid, Qt::Key_Tab);
    QVERIFY(program.ring());
    QCOMPARE(program.ring()->parentWidget(), QApplication::focusWidget());
    QTest::mouseClick(grid, Qt::LeftButton);
    QVERIFY(!program.ring());
}

void TestWhatsThis::frameIsOnTheCurrentTab() {
    const ExplainedProgram program;
    auto* tabs = program.find<ViewTabs>()->tabBar();
    tabs->setFocus();
    QTest::keyClick(tabs, Qt::Key_Right);
    QCOMPARE(tabs->currentIndex(), 1);
    QVERIFY(program.ring());
    QCOMPARE(program.ring()->geometry(), tabs->tabRect(1));
}

void TestWhatsThis::viewsAndPanelsFollowTheFocus() {
    const ExplainedProgram program;
    program.window->showTab("layers");
    program.find<LayersView>()->setFocus();
    QCOMPARE(QApplication::focusWidget(), program.find<LayersView>()->findChild<LayersPlot*>());
    // Panels that lie behind others come forward when the focus does.
    auto* sweep = program.window->findChild<QDockWidget*>("sweep");
    QVERIFY(sweep->visibleRegion().isEmpty());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Home);
    sweep->findChild<QLineEdit*>()->setFocus();
    QTRY_VERIFY(!sweep->visibleRegion().isEmpty());
    program.window->showTab("sheet");
    program.find<ViewTabs>()->currentWidget()->setFocus();
    const auto* sheet = qobject_cast<AttentionSheet*>(QApplication::focusWidget());
    QVERIFY(sheet && sheet->isVisible());
}

void TestWhatsThis::paletteReturnsTheFocus() {
    const ExplainedProgram program;
    auto* tree = program.find<MetricTree>();
    tree->setFocus();
    QTest::keyClick(tree, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(program.find<CommandPalette>()->isVisible());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QCOMPARE(QApplication::focusWidget(), tree);
}

void TestWhatsThis::combosAreDescribed() {
    const ExplainedProgram program;
    for (const QComboBox* combo : program.find<HeadsView>()->findChildren<QComboBox*>())
        QVERIFY(!combo->accessibleDescription().isEmpty());
}

void TestWhatsThis::arrowsMoveBetweenPoints() {
    Figure figure;
    figure.kind = FigureKind::scatter;
    figure.series = {pointsAt({1, 2, 3}, {5, 9, 4})};
    PointWidget widget;
    widget.resize(400, 300);
    widget.show();
    widget.setFigure(figure);
    const QSignalSpy chosen(&widget, &PointWidget::chosen);
    const QSignalSpy activated(&widget, &PointWidget::activated);
    QTest::keyClick(&widget, Qt::Key_Return); // nothing is chosen yet
    QCOMPARE(activated.size(), 0);
    QTest::keyClick(&widget, Qt::Key_Right);
    QCOMPARE(widget.highlighted(), std::optional<std::size_t>(0)); // the leftmost
    for (int press = 0; press < 4; ++press)
        QTest::keyClick(&widget, Qt::Key_Right);
    QCOMPARE(widget.highlighted(), std::optional<std::size_t>(2)); // the rightmost
    QCOMPARE(widget.accessibleDescription(), widget.text(2));
    QTest::keyClick(&widget, Qt::Key_Return);
    QCOMPARE(activated.size(), 1);
    QVERIFY(chosen.size() >= 2);
}

void TestWhatsThis::arrowsMoveBetweenThumbnails() {
    Selection selection;
    const FakeModel model("small.gguf", 12);
    QScrollArea area;
    auto* sheet = new AttentionSheet(&selection);
    sheet->setLayers(model.card().spec, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    area.setWidget(sheet);
    area.resize(300, 200);
    area.show();
    const QSignalSpy opened(sheet, &AttentionSheet::opened);
    const auto press = [&](Qt::Key key) { QTest::keyClick(sheet, key); };
    press(Qt::Key_Down);
    QCOMPARE(selection.active(), std::optional(HeadId{0, 0}));
    press(Qt::Key_Down);
    press(Qt::Key_Right);
    QCOMPARE(selection.active(), std::optional(HeadId{1, 1}));
    press(Qt::Key_Up);
    press(Qt::Key_Up); // there is no layer above
    QCOMPARE(selection.active(), std::optional(HeadId{0, 1}));
    for (int i = 0; i < 11; ++i)
        press(Qt::Key_Down);
    QCOMPARE(selection.active(), std::optional(HeadId{11, 1}));
    QVERIFY(area.verticalScrollBar()->value() > 0);
    press(Qt::Key_Return);
    QCOMPARE(opened.size(), 1);
    // In a sheet of one layer with two columns, down moves by two heads.
    sheet->setLayers(model.card().spec, {3});
    sheet->setColumns(2);
    press(Qt::Key_Down);
    QCOMPARE(selection.active(), std::optional(HeadId{3, 0}));
    press(Qt::Key_Down);
    QCOMPARE(selection.active(), std::optional(HeadId{3, 2}));
}

void TestWhatsThis::keysScrollHighFigures() {
    Figure table;
    table.kind = FigureKind::table;
    table.table.columns = {{"layer"}, {"value"}};
    TableRow row;
    row.cells = {TableCell{"a layer"}, TableCell{"a value"}};
    table.table.rows.assign(200, row);
    FigureWidget widget;
    widget.resize(400, 300);
    widget.show();
    widget.setFigure(table);
    QCOMPARE(widget.focusPolicy(), Qt::StrongFocus);
    const auto* bar = widget.findChild<QScrollBar*>();
    QVERIFY(bar->maximum() > 0);
    QTest::keyClick(&widget, Qt::Key_Down);
    QCOMPARE(bar->value(), bar->singleStep());
    QTest::keyClick(&widget, Qt::Key_End);
    QCOMPARE(bar->value(), bar->maximum());
    QTest::keyClick(&widget, Qt::Key_A); // no key of the figure
}

SECATEUR_SUITE(TestWhatsThis)
#include "tst_whats_this.moc"
