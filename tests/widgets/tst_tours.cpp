// The guided tours over the real main window.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/messages.h"
#include "widgets/tours/tour.h"
#include "widgets/tours/tour_balloon.h"
#include "widgets/tours/tour_guide.h"
#include "widgets/tours/tour_place.h"
#include "widgets/window/main_window.h"
#include "widgets/window/theme.h"
#include "widgets/window/welcome_page.h"
#include "widgets/window/window_tours.h"

#include <QAccessible>
#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QSettings>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <algorithm>
#include <memory>

using namespace secateur;
using namespace secateur::test;

namespace {

/// The main window with a small model in memory.
struct TouredWindow {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    std::unique_ptr<MainWindow> window;

    TouredWindow() {
        services.addModel(path("small.gguf"), 3);
        launch();
    }
    void launch() {
        window.reset();
        window = std::make_unique<MainWindow>(&document, &jobs);
        window->resize(1400, 900);
        window->show();
    }
    std::string path(const char* name) const { return folder.filePath(name).toStdString(); }
    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(40);
    }
    void openModel() {
        window->open(QString::fromStdString(path("small.gguf")));
        settle();
        window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(window.get()));
    }
    /// The model becomes the demo model, which is found.
    void findDemo() {
        services.found = {{"small.gguf", path("small.gguf"), 10, 0, "/cache", true}};
        launch();
        QTest::qWait(60);
    }
    template <typename Widget>
    Widget* find(const QString& name = {}) const {
        return window->findChild<Widget*>(name);
    }
    TourGuide* guide() const { return window->findChild<WindowTours*>()->guide(); }
    TourBalloon* balloon() const { return guide()->balloon(); }
    /// Starts a tour; waits until the layout of the window is final.
    void start(const char* id, int step = 1) {
        window->startTour(id, step);
        QTest::qWait(60);
    }
    bool isTouring() const { return guide()->tour() && balloon()->isVisible(); }
    QRect body() const { return balloon()->body(); }
    QRect outline() const { return guide()->outline()->geometry(); }
    HeadsGrid* grid() const { return find<HeadsGrid>("headsGrid"); }
};

/// Calls a function for each step of each tour.
template <typename Check>
void forEachStep(const TouredWindow& program, Check check) {
    for (const Tour& tour : allTours())
        for (std::size_t step = 0; step < tour.steps.size(); ++step) {
            program.window->startTour(tour.id, static_cast<int>(step) + 1);
            QTest::qWait(60);
            const std::string where = std::string(tour.id) + " " + std::to_string(step + 1);
            QVERIFY2(program.isTouring(), where.c_str());
            check(tour, step, where);
            if (QTest::currentTestFailed())
                return;
        }
}

} // namespace

class TestTours : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void init();

    void rowsAreComplete();
    void everyStepFindsItsWidget();
    void buttonsLeadThroughATour();
    void toursAreLeftAtAnyTime();
    void escLeavesFromAnyView();
    void escClosesThePaletteFirst();
    void stepsEndWhenTheUserDoesWhatTheyAsk();
    void keysOfTheViewWorkDuringATour();
    void backDoesNotGoOnByItself();
    void balloonFollowsTheWindow();
    void balloonFollowsDocks();
    void hiddenWidgetsAreShownAgain();
    void windowStaysUsable();
    void balloonHasNamesForScreenReaders();
    void balloonFitsSmallWindows();
    void placesAreBesideTheTarget_data();
    void placesAreBesideTheTarget();
    void toursAreInMenuAndPalette();
    void tourOpensTheDemoModel();
    void tourWaitsForAModelThatIsOpening();
    void tourWithoutAModelSaysWhatToDo();
    void tourOfASessionNeedsItsModel();
    void anotherModelInsteadOfTheDemoStartsNoTour();
};

void TestTours::initTestCase() {
    QCoreApplication::setOrganizationName("secateur");
    QCoreApplication::setApplicationName("secateur");
    static QTemporaryDir settings;
    qputenv("XDG_STATE_HOME", settings.path().toUtf8());
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
}

void TestTours::init() {
    QSettings().clear();
}

void TestTours::rowsAreComplete() {
    QSet<QString> ids;
    for (const Tour& tour : allTours()) {
        QVERIFY(*tour.title && *tour.summary);
        QVERIFY(tour.steps.size() >= 4 && tour.steps.size() <= 7); // a short tour
        QCOMPARE(findTour(tour.id), &tour);
        ids << tour.id;
        for (const TourStep& step : tour.steps) {
            QVERIFY(*step.target && *step.heading);
            QVERIFY2(QString(step.text).endsWith('.'), step.text);
            QVERIFY2(QString(step.text).size() <= 200, step.text); // one or two sentences, or three short ones
            QCOMPARE(step.isDone != nullptr, *step.until != '\0');
        }
    }
    QCOMPARE(ids, (QSet<QString>{"look", "cut", "compare"}));
    QVERIFY(!findTour("unknown"));
}

void TestTours::everyStepFindsItsWidget() {
    TouredWindow program;
    program.openModel();
    forEachStep(program, [&](const Tour& tour, std::size_t step, const std::string& where) {
        const TourGuide& guide = *program.guide();
        QCOMPARE(guide.tour(), &tour);
        QCOMPARE(guide.step(), step);
        QVERIFY2(guide.target() && guide.target()->isVisible(), where.c_str());
        QVERIFY2(guide.outline()->isVisible(), where.c_str());
        QVERIFY2(!program.balloon()->showButton()->isVisible(), where.c_str());
        QVERIFY2(program.outline().width() >= 15 && program.outline().height() >= 15, where.c_str());
        QVERIFY2(program.window->rect().contains(program.body()), where.c_str());
        const QRect covered = program.body() & program.outline();
        QVERIFY2(covered.width() * covered.height() * 3 < program.outline().width() * program.outline().height(),
                 where.c_str());
        QCOMPARE(program.balloon()->heading(), tourText(tour.steps[step].heading));
    });
}

void TestTours::buttonsLeadThroughATour() {
    TouredWindow program;
    program.openModel();
    program.start("look");
    QVERIFY(!program.balloon()->backButton()->isEnabled());
    QVERIFY(program.balloon()->nextButton()->hasFocus());
    const std::size_t count = findTour("look")->steps.size();
    for (std::size_t step = 1; step < count; ++step) {
        QTest::mouseClick(program.balloon()->nextButton(), Qt::LeftButton);
        QCOMPARE(program.guide()->step(), step);
        QTest::qWait(20);
    }
    QCOMPARE(program.balloon()->nextButton()->text(), "Fin&ish");
    QTest::keyClick(program.balloon()->backButton(), Qt::Key_Return);
    QCOMPARE(program.guide()->step(), count - 2);
    QVERIFY(program.balloon()->nextButton()->hasFocus());
    QTest::keyClick(program.balloon()->nextButton(), Qt::Key_Return);
    QTest::keyClick(program.balloon()->nextButton(), Qt::Key_Space);
    QVERIFY(!program.isTouring());
    QVERIFY(!program.guide()->outline()->isVisible());
}

void TestTours::toursAreLeftAtAnyTime() {
    TouredWindow program;
    program.openModel();
    forEachStep(program, [&](const Tour&, std::size_t step, const std::string& where) {
        if (step % 2 == 0)
            program.balloon()->leaveButton()->click();
        else
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
        QVERIFY2(!program.guide()->tour() && !program.balloon()->isVisible(), where.c_str());
        QVERIFY2(!program.guide()->outline()->isVisible(), where.c_str());
    });
    QVERIFY(program.document.masks()->mask().keepsAll());
}

void TestTours::escLeavesFromAnyView() {
    TouredWindow program;
    program.openModel();
    program.start("look");
    program.grid()->setFocus();
    QTest::keyClick(program.grid(), Qt::Key_Escape);
    QVERIFY(!program.isTouring());
    QVERIFY(program.grid()->hasFocus());
    // While no tour runs, Esc has its usual effect.
    QTest::keyClick(program.grid(), Qt::Key_Home);
    QTest::keyClick(program.grid(), Qt::Key_Escape);
    QVERIFY(!program.isTouring());
}

void TestTours::escClosesThePaletteFirst() {
    TouredWindow program;
    program.openModel();
    program.start("look");
    QTest::keyClick(program.window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QWidget* input = QApplication::focusWidget();
    QVERIFY(qobject_cast<QLineEdit*>(input));
    QTest::keyClick(input, Qt::Key_Escape);
    QVERIFY(!input->isVisible());
    QVERIFY(program.isTouring());
}

void TestTours::stepsEndWhenTheUserDoesWhatTheyAsk() {
    TouredWindow program;
    program.openModel();
    program.start("look", 2);
    QTest::mouseClick(program.grid(), Qt::LeftButton, {}, program.grid()->cellRect({1, 2}).center());
    QTRY_COMPARE(program.guide()->step(), 2U);
    program.start("look", 4);
    program.document.measurements()->measure(parseMetricRequests("gate_norm:fold_norm=true"));
    QTRY_COMPARE(program.guide()->step(), 4U);

    MaskEditor& masks = *program.document.masks();
    program.start("cut", 1);
    masks.setHeadsCut({{1, 2}}, true);
    QTRY_COMPARE(program.guide()->step(), 1U);
    program.start("cut", 4);
    masks.setHeadsCut({{1, 1}}, true);
    QTRY_COMPARE(program.guide()->step(), 4U);
    program.start("cut", 6);
    masks.undoStack()->undo();
    QTRY_VERIFY(!program.isTouring()); // the last step

    program.start("compare", 1);
    masks.duplicateMask();
    QTRY_COMPARE(program.guide()->step(), 1U);
    masks.compareWithNext();
    QTRY_COMPARE(program.guide()->step(), 2U);
}

void TestTours::keysOfTheViewWorkDuringATour() {
    TouredWindow program;
    program.openModel();
    program.start("cut", 1);
    QVERIFY(program.grid()->hasFocus()); // because the text says to press Space
    QTest::keyClick(program.grid(), Qt::Key_Home);
    QTest::keyClick(program.grid(), Qt::Key_Space);
    QVERIFY(!program.document.masks()->mask().keepsAll());
    QTRY_COMPARE(program.guide()->step(), 1U);
    QVERIFY(program.grid()->hasFocus()); // whoever works in a view goes on there
    QTest::keyClick(program.grid(), Qt::Key_X, Qt::AltModifier);
    QTRY_COMPARE(program.guide()->step(), 2U);
}

void TestTours::backDoesNotGoOnByItself() {
    TouredWindow program;
    program.openModel();
    program.start("cut", 1);
    program.document.masks()->setHeadsCut({{1, 2}}, true);
    QTRY_COMPARE(program.guide()->step(), 1U);
    program.balloon()->backButton()->click();
    QTest::qWait(1000);
    QCOMPARE(program.guide()->step(), 0U);
    program.document.masks()->undoStack()->undo(); // no cut
    QTest::qWait(1000);
    QCOMPARE(program.guide()->step(), 0U);
}

void TestTours::balloonFollowsTheWindow() {
    TouredWindow program;
    program.openModel();
    forEachStep(program, [&](const Tour&, std::size_t, const std::string& where) {
        program.window->resize(1200, 800);
        QTest::qWait(80);
        const QWidget* target = program.guide()->target();
        QVERIFY2(program.window->rect().contains(program.body()), where.c_str());
        const QRect shown(target->mapTo(program.window.get(), QPoint(0, 0)), target->size());
        QVERIFY2(program.outline().intersects(shown), where.c_str());
        program.window->resize(1400, 900);
        QTest::qWait(40);
    });
}

void TestTours::balloonFollowsDocks() {
    TouredWindow program;
    program.openModel();
    program.start("look", 3);
    const QRect before = program.outline();
    auto* dock = program.find<QDockWidget>("selection");
    program.window->addDockWidget(Qt::LeftDockWidgetArea, dock);
    QTRY_VERIFY(program.outline().center().x() < before.center().x() - 300);
    QVERIFY(program.window->rect().contains(program.body()));
    // In a window of its own the panel keeps its outline.
    dock->setFloating(true);
    QTRY_COMPARE(program.guide()->outline()->window(), dock->window());
    QVERIFY(program.guide()->outline()->isVisible());
    QVERIFY(program.window->rect().contains(program.body()));
    dock->setFloating(false);
    QTRY_COMPARE(program.guide()->outline()->window(), program.window.get());
}

void TestTours::hiddenWidgetsAreShownAgain() {
    TouredWindow program;
    program.openModel();
    program.start("look", 3);
    auto* dock = program.find<QDockWidget>("selection");
    dock->hide();
    QTRY_VERIFY(program.balloon()->showButton()->isVisible());
    QVERIFY(!program.guide()->outline()->isVisible());
    QVERIFY(program.isTouring());
    program.balloon()->showButton()->click();
    QVERIFY(dock->isVisible());
    QTRY_VERIFY(program.guide()->outline()->isVisible());
    QVERIFY(!program.balloon()->showButton()->isVisible());
    // The same for a view.
    program.start("look", 5);
    program.window->showTab("heads");
    QTRY_VERIFY(program.balloon()->showButton()->isVisible());
    program.guide()->back();
    QTRY_VERIFY(!program.balloon()->showButton()->isVisible());
}

void TestTours::windowStaysUsable() {
    TouredWindow program;
    program.openModel();
    program.start("look");
    QVERIFY(!program.balloon()->isWindow());
    QVERIFY(program.guide()->outline()->testAttribute(Qt::WA_TransparentForMouseEvents));
    // The middle of the outlined picture is the picture.
    const QPoint middle = program.grid()->mapTo(program.window.get(), program.grid()->cellRect({0, 1}).center());
    QCOMPARE(program.window->childAt(middle), program.grid());
    for (const char* menu : {"File", "Mask", "Help"})
        QVERIFY(std::ranges::any_of(program.window->menuBar()->actions(), [&](const QAction* action) {
            return action->text().remove('&') == menu && action->isEnabled();
        }));
    program.window->setTheme("dark");
    QTest::qWait(40);
    QVERIFY(program.isTouring());
    program.window->setTheme("light");
}

void TestTours::balloonHasNamesForScreenReaders() {
    TouredWindow program;
    program.openModel();
    program.start("cut", 1);
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(program.balloon());
    QCOMPARE(interface->text(QAccessible::Name), "Tour: Cut heads · step 1 of 6");
    QVERIFY(interface->text(QAccessible::Description).contains("press Space"));
    for (QPushButton* button : program.balloon()->findChildren<QPushButton*>()) {
        QVERIFY(!button->text().isEmpty() && !button->whatsThis().isEmpty());
        QVERIFY(button->focusPolicy() & Qt::TabFocus);
    }
}

void TestTours::balloonFitsSmallWindows() {
    TouredWindow program;
    program.openModel();
    program.window->resize(1024, 640);
    QTest::qWait(60);
    forEachStep(program, [&](const Tour&, std::size_t, const std::string& where) {
        QVERIFY2(program.window->rect().contains(program.body()), where.c_str());
        for (const QLabel* label : program.balloon()->findChildren<QLabel*>())
            if (label->isVisible())
                QVERIFY2(label->height() >= label->heightForWidth(label->width()), where.c_str());
    });
}

void TestTours::placesAreBesideTheTarget_data() {
    QTest::addColumn<QRect>("target");
    QTest::addColumn<bool>("hasArrow");
    QTest::newRow("left") << QRect(0, 100, 200, 300) << true;
    QTest::newRow("right") << QRect(800, 100, 200, 300) << true;
    QTest::newRow("top") << QRect(0, 0, 1000, 30) << true;
    QTest::newRow("bottom") << QRect(0, 600, 1000, 100) << true;
    QTest::newRow("a small one in a corner") << QRect(990, 690, 10, 10) << true;
    QTest::newRow("everything") << QRect(0, 0, 1000, 700) << false;
    QTest::newRow("nothing") << QRect() << false;
}

void TestTours::placesAreBesideTheTarget() {
    QFETCH(QRect, target);
    QFETCH(bool, hasArrow);
    const QRect room(0, 0, 1000, 700);
    const TourPlace place = placeBalloon(room, target, QSize(300, 150), 12);
    QVERIFY(room.contains(place.body));
    QCOMPARE(place.body.size(), QSize(300, 150));
    QCOMPARE(place.hasArrow, hasArrow);
    if (!hasArrow)
        return;
    QVERIFY(!place.body.intersects(target));
    QVERIFY(target.adjusted(-1, -1, 1, 1).contains(place.tip));
    // The tip is near the balloon.
    QVERIFY(place.body.adjusted(-16, -16, 16, 16).contains(place.tip));
}

void TestTours::toursAreInMenuAndPalette() {
    TouredWindow program;
    program.openModel();
    QStringList titles;
    for (const Command& command : program.window->commands())
        if (command.title.startsWith("Tour: "))
            titles << command.title;
    QCOMPARE(titles, QStringList({"Tour: Look at a model", "Tour: Cut heads", "Tour: Compare masks"}));
    for (const Command& command : program.window->commands())
        if (command.title == "Tour: Cut heads")
            command.run();
    QVERIFY(program.isTouring());
    QCOMPARE(program.guide()->tour(), findTour("cut"));
}

void TestTours::tourOpensTheDemoModel() {
    TouredWindow program;
    program.findDemo();
    auto* page = program.find<WelcomePage>();
    QStringList offered;
    for (const QToolButton* button : page->findChildren<QToolButton*>())
        offered << button->text();
    for (const Tour& tour : allTours())
        QVERIFY(offered.contains(tour.title));
    for (QToolButton* button : page->findChildren<QToolButton*>())
        if (button->text() == "Cut heads")
            button->click();
    program.settle();
    QVERIFY(program.document.isOpen());
    QTRY_VERIFY(program.isTouring());
    QCOMPARE(program.guide()->tour(), findTour("cut"));
    QVERIFY(program.guide()->target()->isVisible());
}

void TestTours::tourWaitsForAModelThatIsOpening() {
    TouredWindow program;
    program.services.opensSlowly = true;
    program.window->open(QString::fromStdString(program.path("small.gguf")));
    program.window->startTour("look", 3);
    QTest::qWait(60);
    QVERIFY(!program.isTouring());
    program.services.opensSlowly = false;
    QTRY_VERIFY(program.isTouring());
    QCOMPARE(program.guide()->step(), 2U);
}

void TestTours::tourWithoutAModelSaysWhatToDo() {
    const TouredWindow program;
    program.window->startTour("look");
    QTRY_VERIFY(program.find<MessageBar>()->text().startsWith("A tour needs an open model"));
    QVERIFY(!program.isTouring());
    QVERIFY(program.find<WelcomePage>()->isVisible());
}

void TestTours::tourOfASessionNeedsItsModel() {
    TouredWindow program;
    const FakeModel model("/nowhere/elsewhere.gguf", 3); // no file next to the session has this name
    program.services.addSession(program.path("work.h5"), model.card());
    program.window->open(QString::fromStdString(program.path("work.h5")));
    program.settle();
    program.find<MessageBar>()->dismissAll();
    program.window->startTour("look");
    const auto* bar = program.find<MessageBar>();
    QTRY_VERIFY2(bar->text().contains("locate its checkpoint"), qPrintable(bar->text()));
    QVERIFY(!program.isTouring());
}

void TestTours::anotherModelInsteadOfTheDemoStartsNoTour() {
    TouredWindow program;
    program.findDemo();
    program.services.addModel(program.path("other.gguf"), 2);
    program.services.opensSlowly = true;
    program.window->startTour("look");
    program.window->open(QString::fromStdString(program.path("other.gguf")));
    program.services.opensSlowly = false;
    program.settle();
    QTRY_COMPARE(program.document.session().model.name, "other.gguf");
    QTest::qWait(60);
    QVERIFY(!program.isTouring());
}

SECATEUR_SUITE(TestTours)
#include "tst_tours.moc"
