// Opening models, sessions and masks in the main window: from the welcome page, by dropping, from the list of recent
// files.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#include "tests/support/window_program.h"
#endif

#include "tests/support/scratch_settings.h"
#include "tests/support/suite.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/messages.h"
#include "widgets/window/command_palette.h"
#include "widgets/window/panels.h"
#include "widgets/window/welcome_page.h"

#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QListWidget>
#include <QMessageBox>
#include <QMimeData>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QUrl>

#include <optional>
#include <set>
#include <string>

using namespace secateur;
using namespace secateur::test;

namespace {

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

class TestOpening : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { m_settings.emplace(); }
    void init() { QSettings().clear(); }

    void opensOnTheWelcomePage();
    void welcomePageOffersWhatLiesInTheCache();
    void cachedModelsAreOpenedByClickAndKey();
    void aSlowCacheHoldsUpNothing();
    void emptyCacheIsNotMentioned();
    void sessionWithoutItsModelShowsWhatIsStored();
    void modelIsOpenedByDroppingIt();
    void otherFilesAreNotTaken();
    void droppingReadsNoFile();
    void maskIsOpenedByDroppingIt();
    void maskLeadsToItsModel();
    void maskThatIsNoneIsRefused();
    void editsWhileAModelOpensAreAskedAbout();
    void failedOpeningLeadsBackToTheWelcomePage();
    void cancelledOpeningLeadsBackToTheWelcomePage();
    void recentFilesAreListed();

private:
    std::optional<ScratchSettings> m_settings;
};

void TestOpening::opensOnTheWelcomePage() {
    const Program program;
    QVERIFY(program.find<WelcomePage>()->isVisible());
    QVERIFY(!program.find<HeadsView>()->isVisible());
    QVERIFY(program.allText(program.find<WelcomePage>()).contains("Drop a model folder"));
    QVERIFY(!program.find<QDockWidget>("metrics")->isVisible());
    QCOMPARE(program.window->windowTitle(), "Secateur");
}

void TestOpening::welcomePageOffersWhatLiesInTheCache() {
    Program program;
    for (int i = 0; i < 40; ++i)
        program.services.cached.push_back(
            {"org/model-" + std::to_string(i), program.path("small.gguf"), 1'500'000'000, 0});
    program.launch();
    auto* list = program.find<WelcomePage>()->findChild<QListWidget*>();
    QTRY_COMPARE(list->count(), 40);
    QVERIFY(list->isVisible());
    QVERIFY(program.allText(program.find<WelcomePage>()).contains("In the Hugging Face cache"));
    QCOMPARE(list->item(3)->text(), "org/model-3");
    QCOMPARE(list->item(3)->data(Qt::AccessibleTextRole).toString(), "org/model-3, 1.50 GB");
    QVERIFY(list->verticalScrollBar()->maximum() > 0); // the list does not show all entries without scrolling
    QVERIFY(list->height() < program.window->height() / 2);
    QVERIFY(list->selectedItems().empty());
    std::set<QString> titles;
    for (const Command& command : program.window->commands())
        titles.insert(command.title);
    QVERIFY(titles.contains("Open org/model-39"));
}

void TestOpening::cachedModelsAreOpenedByClickAndKey() {
    Program program;
    program.services.addModel(program.path("first.gguf"), 2);
    program.services.addModel(program.path("second.gguf"), 2);
    program.services.cached = {{"org/first", program.path("first.gguf"), 1, 0},
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
    another.services.cached = {{"org/first", another.path("first.gguf"), 1, 0}};
    another.launch();
    list = another.find<WelcomePage>()->findChild<QListWidget*>();
    QTRY_COMPARE(list->count(), 1);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(0)).center());
    another.settle();
    QCOMPARE(another.document.session().model.name, "first.gguf");
}

void TestOpening::aSlowCacheHoldsUpNothing() {
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

void TestOpening::emptyCacheIsNotMentioned() {
    const Program program;
    QTest::qWait(40);
    QVERIFY(!program.find<WelcomePage>()->findChild<QListWidget*>()->isVisible());
    QVERIFY(!program.allText(program.find<WelcomePage>()).contains("Hugging Face cache"));
}

void TestOpening::sessionWithoutItsModelShowsWhatIsStored() {
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

void TestOpening::modelIsOpenedByDroppingIt() {
    Program program;
    program.services.addModel(program.path("small.gguf"), 3);
    QVERIFY(drop(program.window.get(), QString::fromStdString(program.path("small.gguf"))));
    program.settle();
    QCOMPARE(program.document.session().model.name, "small.gguf");
    QVERIFY(drop(program.window.get(), program.folder.path())); // a folder may contain a model, so it is accepted
    program.settle();
}

void TestOpening::otherFilesAreNotTaken() {
    const Program program;
    QVERIFY(!drop(program.window.get(), program.folder.filePath("letter.odt")));
    QVERIFY(program.jobs.isIdle());
}

void TestOpening::droppingReadsNoFile() {
    Program program;
    const FakeModel model("/nowhere/small.gguf", 3);
    program.services.addSession(program.path("work.h5"), model.card());
    QVERIFY(drop(program.window.get(), QString::fromStdString(program.path("work.h5"))));
    QCOMPARE(program.services.readsOfOwner.load(), 0);
    program.settle();
    QVERIFY(program.document.isOpen());
    QCOMPARE(program.services.readsOfOwner.load(), 0);
}

void TestOpening::maskIsOpenedByDroppingIt() {
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

void TestOpening::maskLeadsToItsModel() {
    Program program;
    program.openModel(); // and is a recent file from now on
    const QString file = QString::fromStdString(program.path("sinks.mask.json"));
    PruningMask mask(program.document.spec());
    setHeads(mask, std::array{HeadId{1, 2}}, false);
    Program next;
    next.services.masks[file.toStdString()] = {mask, "small.gguf", {}, {}, {}};
    next.services.addModel(program.path("small.gguf"), 3);
    next.services.addModel(next.path("other.gguf"), 3);
    next.services.cached = {{"org/Small.gguf", next.path("other.gguf"), 1, 0},
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

void TestOpening::maskThatIsNoneIsRefused() {
    Program program;
    program.window->open(QString::fromStdString(program.path("letter.json")));
    program.settle();
    QVERIFY(program.find<MessageBar>()->text().contains("letter.json: is no mask"));
    QVERIFY(program.find<WelcomePage>()->isVisible());
}

void TestOpening::editsWhileAModelOpensAreAskedAbout() {
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

void TestOpening::failedOpeningLeadsBackToTheWelcomePage() {
    Program program;
    program.window->open("/models/none.gguf");
    QVERIFY(!program.find<WelcomePage>()->isVisible());
    program.settle();
    QVERIFY(program.find<WelcomePage>()->isVisible());
    QVERIFY(program.find<MessageBar>()->isVisible());
}

void TestOpening::cancelledOpeningLeadsBackToTheWelcomePage() {
    Program program;
    program.services.opensSlowly = true;
    program.window->open("/models/slow.gguf");
    QTest::qWait(20);
    program.jobs.cancelAll();
    program.settle();
    QVERIFY(program.find<WelcomePage>()->isVisible());
    QVERIFY(!program.find<MessageBar>()->isVisible());
}

void TestOpening::recentFilesAreListed() {
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

SECATEUR_SUITE(TestOpening)

#include "tst_opening.moc"
