// Checks all windows of the program for people who use the keyboard or a screen reader: every control has a name, a
// text for What's This?, a place in the chain of Tab, and a visible focus.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/control_checks.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/gallery/gallery_tile.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/window/main_window.h"
#include "widgets/window/view_tabs.h"

#include <QDialog>
#include <QDockWidget>
#include <QSettings>
#include <QTemporaryDir>

#include <memory>

using namespace secateur;
using namespace secateur::test;

namespace {

/// The main window with a small model.
struct AccessibleProgram {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    std::unique_ptr<MainWindow> window = std::make_unique<MainWindow>(&document, &jobs);

    explicit AccessibleProgram(bool opensModel = true) {
        window->show();
        if (!opensModel)
            return;
        const std::string path = folder.filePath("small.gguf").toStdString();
        services.addModel(path, 3);
        window->open(QString::fromStdString(path));
        settle();
    }

    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(60); // long enough for the next frame, in which views show results
    }
    QAction* action(const QString& text) const {
        for (const QMenu* menu : window->findChildren<QMenu*>())
            for (QAction* action : menu->actions())
                if (action->text().remove('&').contains(text))
                    return action;
        qFatal("no action %s", qPrintable(text));
    }
    ViewTabs* tabs() const { return window->findChild<ViewTabs*>(); }
    /// The window that an action opens, or a figure of the gallery if `text` is empty.
    QWidget* dialog(const QString& text) {
        window->goTo({1, 1}); // some actions need a selected head
        if (text.isEmpty())
            openFigure();
        else
            action(text)->trigger();
        settle();
        for (QWidget* widget : QApplication::topLevelWidgets())
            if ((qobject_cast<QDialog*>(widget) || widget->windowFlags().testFlag(Qt::Popup)) && widget->isVisible())
                return widget;
        return nullptr;
    }
    void openFigure() {
        window->showTab("gallery");
        const auto tiles = window->findChildren<GalleryTile*>();
        QTRY_VERIFY(std::ranges::any_of(tiles, [](const GalleryTile* tile) { return tile->figure() != nullptr; }));
        for (GalleryTile* tile : tiles)
            if (tile->figure()) {
                tile->setFocus();
                QTest::keyClick(tile, Qt::Key_Return);
                return;
            }
    }
};

/// Fails with a list of offenders, and prints how many controls were checked.
bool isClean(const QString& place, int count, QStringList offenders) {
    offenders.removeDuplicates();
    qInfo("%s: %d controls, %d offenders", qPrintable(place), count, static_cast<int>(offenders.size()));
    for (const QString& offender : offenders)
        qInfo("    %s", qPrintable(offender));
    return offenders.isEmpty();
}

} // namespace

class TestAccessibility : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void init();

    void controlsAreNamedAndExplained();
    void controlsOfDialogsAreNamedAndExplained_data();
    void controlsOfDialogsAreNamedAndExplained();
    void commandsAreExplained();
    void keyboardReachesAllOfTheWelcomePage();
    void keyboardReachesAllOfAView_data();
    void keyboardReachesAllOfAView();
    void keyboardReachesAllOfAPanel_data();
    void keyboardReachesAllOfAPanel();
    void keyboardReachesAllOfADialog_data();
    void keyboardReachesAllOfADialog();
};

void TestAccessibility::initTestCase() {
    QCoreApplication::setOrganizationName("secateur");
    static QTemporaryDir settings;
    qputenv("XDG_STATE_HOME", settings.path().toUtf8());
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
    QApplication::setCursorFlashTime(0); // a blinking cursor would look like a focus
}

void TestAccessibility::init() {
    QSettings().clear();
}

void TestAccessibility::controlsAreNamedAndExplained() {
    AccessibleProgram program;
    std::set<const QWidget*> seen;
    QStringList offenders;
    for (int tab = 0; tab < program.tabs()->count(); ++tab) {
        program.tabs()->setCurrentIndex(tab);
        program.settle();
        offenders << unexplained(program.window.get(), seen);
    }
    for (QDockWidget* dock : program.window->findChildren<QDockWidget*>()) {
        dock->show();
        program.settle();
        offenders << unexplained(program.window.get(), seen);
    }
    program.window->filterHeads("layer 0");
    program.window->fail("A failure.");
    program.settle();
    offenders << unexplained(program.window.get(), seen);
    QVERIFY(isClean("names and texts in the window", static_cast<int>(seen.size()), offenders));
}

void TestAccessibility::controlsOfDialogsAreNamedAndExplained_data() {
    QTest::addColumn<QString>("action");
    QTest::newRow("report") << "Report…";
    QTest::newRow("more measurements") << "More measurements…";
    QTest::newRow("manual") << "Manual";
    QTest::newRow("shortcuts") << "Shortcuts";
    QTest::newRow("alpha") << "another α";
    QTest::newRow("figure") << "";
}

void TestAccessibility::controlsOfDialogsAreNamedAndExplained() {
    QFETCH(QString, action);
    AccessibleProgram program;
    const QWidget* dialog = program.dialog(action);
    QVERIFY(dialog);
    std::set<const QWidget*> seen;
    const QStringList offenders = unexplained(dialog, seen);
    QVERIFY(isClean(QString("names and texts in the dialog: %1").arg(QTest::currentDataTag()),
                    static_cast<int>(seen.size()), offenders));
}

void TestAccessibility::commandsAreExplained() {
    const AccessibleProgram program;
    QStringList offenders;
    int count = 0;
    for (const QAction* action : program.window->menuBar()->actions())
        offenders << unexplainedActions(action->menu(), count);
    QVERIFY(isClean("commands", count, offenders));
}

void TestAccessibility::keyboardReachesAllOfTheWelcomePage() {
    AccessibleProgram program(false);
    QTest::qWait(40);
    int count = 0;
    const QStringList offenders = unreachable(program.window.get(), count);
    QVERIFY(isClean("focus on the welcome page", count, offenders));
}

void TestAccessibility::keyboardReachesAllOfAView_data() {
    QTest::addColumn<QString>("tab");
    for (const char* tab :
         {"heads", "layers", "neurons", "attention", "sheet", "scatter", "gradients", "curves", "gallery", "weights",
          "norms"})
        QTest::newRow(tab) << tab;
}

void TestAccessibility::keyboardReachesAllOfAView() {
    QFETCH(QString, tab);
    AccessibleProgram program;
    program.window->showTab(tab);
    program.settle();
    int count = 0;
    const QStringList offenders = unreachable(program.window.get(), count);
    QVERIFY(isClean("focus in the view " + tab, count, offenders));
}

void TestAccessibility::keyboardReachesAllOfAPanel_data() {
    QTest::addColumn<QString>("panel");
    for (const char* panel : {"search", "recover", "sweep", "export", "continuation", "jobs", "log", "tensors"})
        QTest::newRow(panel) << panel;
}

void TestAccessibility::keyboardReachesAllOfAPanel() {
    QFETCH(QString, panel);
    AccessibleProgram program;
    auto* dock = program.window->findChild<QDockWidget*>(panel);
    QVERIFY(dock);
    dock->show();
    dock->raise();
    program.settle();
    int count = 0;
    const QStringList offenders = unreachable(program.window.get(), count);
    QVERIFY(isClean("focus with the panel " + panel, count, offenders));
}

void TestAccessibility::keyboardReachesAllOfADialog_data() {
    controlsOfDialogsAreNamedAndExplained_data();
}

void TestAccessibility::keyboardReachesAllOfADialog() {
    QFETCH(QString, action);
    AccessibleProgram program;
    QWidget* dialog = program.dialog(action);
    QVERIFY(dialog);
    int count = 0;
    const QStringList offenders = unreachable(dialog, count);
    QVERIFY(isClean(QString("focus in the dialog: %1").arg(QTest::currentDataTag()), count, offenders));
}

SECATEUR_SUITE(TestAccessibility)
#include "tst_accessibility.moc"
