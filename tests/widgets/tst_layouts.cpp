// Named layouts, and the view of each model that the settings remember.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/messages.h"
#include "widgets/results/filter_bar.h"
#include "widgets/results/result_combo.h"
#include "widgets/window/layouts.h"
#include "widgets/window/main_window.h"
#include "widgets/window/view_memory.h"
#include "widgets/window/view_tabs.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <memory>

using namespace secateur;
using namespace secateur::test;

namespace {

/// The main window with services that keep files in memory.
struct Workplace {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    std::unique_ptr<Document> document;
    std::unique_ptr<MainWindow> window;

    Workplace() { launch(); }
    ~Workplace() { window.reset(); }

    /// Closes the window and the document, and starts both anew.
    void launch() {
        if (window)
            window->close();
        window.reset();
        document = std::make_unique<Document>(services.services(), &jobs);
        window = std::make_unique<MainWindow>(document.get(), &jobs);
        window->show();
    }
    void open(const char* name, int layers = 3) {
        const std::string path = folder.filePath(name).toStdString();
        services.addModel(path, layers);
        window->open(QString::fromStdString(path));
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(40);
    }
    QStringList visiblePanels() const {
        QStringList names;
        for (const QDockWidget* dock : window->findChildren<QDockWidget*>())
            if (!dock->isHidden())
                names << dock->objectName();
        names.sort();
        return names;
    }
    QDockWidget* panel(const char* name) const { return window->findChild<QDockWidget*>(name); }
    Layouts* layouts() const { return window->findChild<Layouts*>(); }
    ViewTabs* tabs() const { return window->findChild<ViewTabs*>(); }
    QString message() const { return window->findChild<MessageBar*>()->text(); }
    QAction* layoutAction(const QString& text) const {
        for (QAction* action : layouts()->actions())
            if (action->text().remove('&') == text)
                return action;
        return nullptr;
    }
};

} // namespace

class TestLayouts : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        static QTemporaryDir settings;
        qputenv("XDG_STATE_HOME", settings.path().toUtf8());
        QCoreApplication::setOrganizationName("secateur");
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
    }
    void init() { QSettings().clear(); }

    void aSavedLayoutReturns() {
        Workplace place;
        place.open("small.gguf");
        place.panel("metrics")->hide();
        place.panel("jobs")->show();
        place.tabs()->showTab("layers");
        const QStringList panels = place.visiblePanels();
        place.layouts()->save("two  monitors & more/less");
        QCOMPARE(place.layouts()->saved(), QStringList{"two monitors & more/less"});
        place.layoutAction("Reset layout")->trigger();
        place.tabs()->showTab("heads");
        QVERIFY(place.visiblePanels() != panels);
        QAction* action = place.layoutAction("Layout: two monitors  more/less"); // "&&" is one "&" on screen
        QVERIFY(action);
        action->trigger();
        QCOMPARE(place.visiblePanels(), panels);
        QCOMPARE(place.tabs()->currentTab(), "layers");
    }

    void layoutsSurviveARestart() {
        Workplace place;
        place.open("small.gguf");
        place.panel("mask")->hide();
        place.layouts()->save("mine");
        const QStringList panels = place.visiblePanels();
        place.launch();
        place.open("small.gguf");
        place.layoutAction("Reset layout")->trigger();
        QVERIFY(place.layoutAction("Layout: mine"));
        place.layouts()->apply("mine");
        QCOMPARE(place.visiblePanels(), panels);
        place.layouts()->remove("mine");
        QVERIFY(!place.layoutAction("Layout: mine"));
        QCOMPARE(place.layouts()->saved(), QStringList());
    }

    void builtInLayoutsShowTheirPanels() {
        Workplace place;
        place.open("small.gguf");
        const QStringList first = place.visiblePanels();
        place.layouts()->apply("Picture only");
        QCOMPARE(place.visiblePanels(), QStringList());
        place.layouts()->apply("Pruning");
        QCOMPARE(place.visiblePanels(), QStringList({"evaluations", "mask", "selection"}));
        place.layouts()->apply("Sweep");
        QCOMPARE(place.tabs()->currentTab(), "curves");
        for (const QString& name : Layouts::builtIn())
            QVERIFY2(place.layoutAction("Layout: " + name), qPrintable(name));
        place.layoutAction("Reset layout")->trigger();
        QCOMPARE(place.visiblePanels(), first);
    }

    void builtInNamesAreRefused() {
        Workplace place;
        place.open("small.gguf");
        place.layouts()->save("Pruning");
        QCOMPARE(place.layouts()->saved(), QStringList());
        QVERIFY2(place.message().contains("built-in"), qPrintable(place.message()));
        place.layouts()->save("   ");
        QCOMPARE(place.layouts()->saved(), QStringList());
    }

    void damagedAndOutdatedLayoutsBecomeTheFirst_data() {
        QTest::addColumn<QVariant>("stored");
        QTest::newRow("nothing") << QVariant();
        QTest::newRow("a text") << QVariant("what?");
        QTest::newRow("noise") << QVariant(QVariantMap{{"panels", QByteArray("\1\2\3")}, {"tab", "layers"}});
        QMainWindow other;
        QTest::newRow("another version") << QVariant(QVariantMap{{"panels", other.saveState(1)}, {"tab", "nowhere"}});
    }
    void damagedAndOutdatedLayoutsBecomeTheFirst() {
        QFETCH(QVariant, stored);
        Workplace place;
        place.open("small.gguf");
        const QStringList first = place.visiblePanels();
        QSettings().setValue("window/layouts", QVariantMap{{"old", stored}});
        place.layouts()->apply("Picture only");
        place.layouts()->apply("old");
        QCOMPARE(place.visiblePanels(), first);
        QVERIFY2(place.message().contains("\"old\""), qPrintable(place.message()));
    }

    void dialogsSaveAndDelete() {
        Workplace place;
        place.open("small.gguf");
        place.layoutAction("Save layout as…")->trigger();
        auto* dialog = place.window->findChild<QInputDialog*>();
        QVERIFY(dialog);
        dialog->setTextValue("mine");
        dialog->accept();
        QCOMPARE(place.layouts()->saved(), QStringList{"mine"});
        for (QMenu* menu : place.window->findChildren<QMenu*>())
            if (menu->title() == "&Delete layout")
                menu->actions().constFirst()->trigger();
        auto* question = place.window->findChild<QMessageBox*>();
        QVERIFY(question && question->text().contains("mine"));
        for (QAbstractButton* button : question->buttons())
            if (button->text().contains("Delete"))
                button->click();
        QCOMPARE(place.layouts()->saved(), QStringList());
    }

    void aModelIsShownAsItWasLastViewed() {
        Workplace place;
        place.open("first.gguf");
        auto* metric = place.window->findChild<HeadsView*>()->findChild<ResultCombo*>();
        QVERIFY(metric->count() > 2);
        const QString chosen = metric->itemData(2).toString();
        metric->setCurrentIndex(2);
        emit metric->activated(2);
        place.tabs()->showTab("layers");
        place.window->filterHeads("layer 1");
        place.open("second.gguf", 4);
        place.tabs()->showTab("scatter");
        place.window->findChild<FilterBar*>()->clear();
        place.open("first.gguf");
        QCOMPARE(place.tabs()->currentTab(), "layers");
        QCOMPARE(place.window->findChild<FilterBar*>()->input()->text(), "layer 1");
        QCOMPARE(metric->currentData().toString().section('@', 0, 0), chosen.section('@', 0, 0));
        place.open("second.gguf", 4);
        QCOMPARE(place.tabs()->currentTab(), "scatter");
        QCOMPARE(place.window->findChild<FilterBar*>()->input()->text(), QString());
    }

    void viewsSurviveARestart() {
        Workplace place;
        place.open("first.gguf");
        place.tabs()->showTab("layers");
        place.launch();
        QCOMPARE(place.tabs()->currentTab(), "heads");
        place.open("first.gguf");
        QCOMPARE(place.tabs()->currentTab(), "layers");
        QVERIFY(!place.document->isModified());
    }

    void anotherModelOfTheSameNameIsNew() {
        Workplace place;
        place.open("first.gguf", 3);
        place.tabs()->showTab("layers");
        place.launch();
        place.open("first.gguf", 5);
        QCOMPARE(place.tabs()->currentTab(), "heads");
    }

    void nothingThatRunsTheModelIsRestored() {
        for (const char* tab : {"attention", "sheet", "gradients"}) {
            Workplace place;
            place.open("first.gguf");
            place.document->setView("attention.prompt", "a secret");
            place.document->setView("measure.text", "/texts/long.txt");
            place.tabs()->showTab(tab);
            place.launch();
            place.open("first.gguf");
            QCOMPARE(place.tabs()->currentTab(), "heads");
            QCOMPARE(place.document->storedView("measure.text"), std::string());
            QCOMPARE(place.document->storedView("attention.prompt"), std::string());
        }
    }

    void fiftyModelsAreRemembered() {
        Workplace place;
        place.open("first.gguf");
        QVariantMap models;
        for (int model = 0; model < 60; ++model)
            models[QString("/old/%1.gguf").arg(model)] = QVariantMap{{"time", model}};
        QSettings().setValue("views/models", models);
        place.window->close();
        models = QSettings().value("views/models").toMap();
        QCOMPARE(models.size(), 50);
        QVERIFY(!models.contains("/old/10.gguf") && models.contains("/old/11.gguf"));
        QVERIFY(std::ranges::any_of(models.keys(), [](const QString& path) { return path.endsWith("first.gguf"); }));
        ViewMemory::forget();
        QVERIFY(!QSettings().contains("views/models"));
    }
};

SECATEUR_SUITE(TestLayouts)
#include "tst_layouts.moc"
