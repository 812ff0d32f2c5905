#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/autosave.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/jobs/job_runner.h"

#include <QDir>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <QThreadPool>

#include <atomic>
#include <functional>
#include <memory>

using namespace secateur;
using namespace secateur::test;

namespace {

/// A document with FakeServices, which keep the contents of files in memory. Session files on the disk are therefore
/// empty.
struct Bench {
    QTemporaryDir folder;
    FakeServices fake;
    JobRunner jobs;
    Document document{services(), &jobs};

    Bench() {
        fake.addModel(path("small.gguf"), 3);
        document.files()->open(QString::fromStdString(path("small.gguf")));
        settle();
    }
    Services services() {
        Services services = fake.services();
        services.writeSession = [this, write = services.writeSession](const Session& session, const std::string& path) {
            write(session, path);
            std::ofstream(path) << "a session";
            const std::lock_guard lock(fake.mutex);
            fake.sessions[path] = session;
        };
        return services;
    }
    std::string path(const char* name) const { return folder.filePath(name).toStdString(); }
    QString state() const { return folder.filePath("state"); }
    QStringList autosaved() const { return QDir(state()).entryList({"*.h5"}, QDir::Files); }
    void settle() { QTRY_VERIFY(jobs.isIdle()); }
    void cut(HeadId head) { document.masks()->setHeadsCut({head}, true); }
};

} // namespace

class TestAutosave : public QObject {
    Q_OBJECT

private slots:
    void nothingIsWrittenOfWhatNobodyChanged();
    void aChangeIsWrittenWithinASecond();
    void otherThreadsDoNotHoldItUp();
    void protectionIsAutosaved();
    void savingTakesItAway();
    void whatACrashLeftComesBack();
    void aRunningProgramsFileIsNotOffered();
    void whatIsDiscardedIsGone();
    void aFullDiskIsSaidOnce();
    void aSessionOpenTwiceIsSaid();
};

void TestAutosave::nothingIsWrittenOfWhatNobodyChanged() {
    Bench bench;
    Autosave autosave(&bench.document, bench.state());
    QTest::qWait(900);
    QVERIFY(bench.autosaved().isEmpty());
    QVERIFY(autosave.leftovers().empty());
}

void TestAutosave::aChangeIsWrittenWithinASecond() {
    Bench bench;
    Autosave autosave(&bench.document, bench.state());
    QElapsedTimer since;
    since.start();
    for (int head = 0; head < 3; ++head) { // the autosave is not postponed while edits continue
        bench.cut({0, head});
        QTest::qWait(250);
    }
    QTRY_VERIFY(!bench.autosaved().isEmpty());
    QVERIFY2(since.elapsed() < 1000, qPrintable(QString::number(since.elapsed())));
    QTRY_VERIFY(autosave.isWritten());
    const std::lock_guard lock(bench.fake.mutex);
    const Session& kept = bench.fake.sessions.at((bench.state() + "/" + bench.autosaved().first()).toStdString());
    QCOMPARE(kept.masks.size(), std::size_t{1});
    QVERIFY(!kept.masks.front().record.mask.layer(0).heads[0]);
    QVERIFY(kept.results.empty()); // results are not autosaved, because measuring them again takes little time
}

void TestAutosave::otherThreadsDoNotHoldItUp() {
    Bench bench;
    auto autosave = std::make_unique<Autosave>(&bench.document, bench.state());
    std::atomic<bool> enough = false;
    QThreadPool* pool = QThreadPool::globalInstance();
    for (int i = 0; i < 2 * pool->maxThreadCount(); ++i)
        pool->start([&enough] {
            while (!enough)
                QThread::msleep(1);
        });
    bench.jobs.start("long", JobRunner::Priority::interactive, [](const Progress& progress) -> std::function<void()> {
        while (true)
            progress.report(0.5, "working");
    });
    bench.cut({0, 0});
    QElapsedTimer since;
    since.start();
    const bool isThere = QTest::qWaitFor([&] { return autosave->isWritten() && !bench.autosaved().isEmpty(); }, 2000);
    const qint64 took = since.elapsed();
    autosave.reset(); // does not wait for them either
    const qint64 ended = since.elapsed();
    enough = true;
    pool->waitForDone();
    QVERIFY2(isThere && took < 1000 && ended < 1500, qPrintable(QString("%1 %2 ms").arg(took).arg(ended)));
}

void TestAutosave::protectionIsAutosaved() {
    Bench bench;
    QString left;
    Protection units;
    units.protectHead(bench.document.spec(), {1, 2});
    {
        Autosave crashed(&bench.document, bench.state());
        bench.document.masks()->setProtected(units, "Protect");
        QTRY_VERIFY(crashed.isWritten() && !bench.autosaved().isEmpty());
        left = bench.state() + "/" + bench.autosaved().first();
        QVERIFY(QFile::copy(left, left + ".kept"));
    }
    QVERIFY(QFile::rename(left + ".kept", left));
    bench.document.files()->open(QString::fromStdString(bench.path("small.gguf")));
    bench.settle();
    QVERIFY(bench.document.masks()->isProtected().empty());
    Autosave autosave(&bench.document, bench.state());
    const std::list<Leftover> found = autosave.leftovers();
    QCOMPARE(found.size(), std::size_t{1});
    bench.document.files()->recover(found.front().path, found.front().session);
    bench.settle();
    QVERIFY(bench.document.masks()->isProtected() == units);
}

void TestAutosave::savingTakesItAway() {
    Bench bench;
    Autosave autosave(&bench.document, bench.state());
    bench.cut({0, 0});
    QTRY_VERIFY(!bench.autosaved().isEmpty());
    bench.document.files()->saveSession(bench.folder.filePath("mine.h5"));
    bench.settle();
    QTRY_VERIFY(bench.autosaved().isEmpty());
    bench.cut({1, 0});
    QTRY_VERIFY(!bench.autosaved().isEmpty());
}

void TestAutosave::whatACrashLeftComesBack() {
    Bench bench;
    QString left;
    {
        Autosave crashed(&bench.document, bench.state());
        bench.cut({1, 2});
        bench.document.masks()->renameMask("sinks");
        QTRY_VERIFY(crashed.isWritten() && !bench.autosaved().isEmpty());
        left = bench.state() + "/" + bench.autosaved().first();
        QVERIFY(QFile::copy(left, left + ".kept"));
    }
    // Puts the file back, as if the program had crashed and not removed it.
    QVERIFY(QFile::rename(left + ".kept", left));
    bench.document.files()->open(QString::fromStdString(bench.path("small.gguf")));
    bench.settle();
    QVERIFY(bench.document.masks()->mask().keepsAll());

    Autosave autosave(&bench.document, bench.state());
    const std::list<Leftover> found = autosave.leftovers();
    QCOMPARE(found.size(), std::size_t{1});
    QCOMPARE(found.front().model, "small.gguf");
    QCOMPARE(found.front().masks, 1);
    bench.document.files()->recover(found.front().path, found.front().session);
    bench.settle();
    QVERIFY(bench.document.masks()->isCut({1, 2}));
    QCOMPARE(bench.document.masks()->state().edited().name, "sinks");
    QVERIFY(bench.document.isModified());
    QVERIFY(bench.document.sessionPath().isEmpty());
    QVERIFY(bench.document.model());
    QTRY_VERIFY(!QFile::exists(left));     // the recovered file is removed, so it is not offered again
    QCOMPARE(bench.autosaved().size(), 1); // the recovered mask is autosaved to a new file
}

void TestAutosave::aRunningProgramsFileIsNotOffered() {
    Bench bench;
    Autosave running(&bench.document, bench.state());
    bench.cut({0, 0});
    QTRY_VERIFY(!bench.autosaved().isEmpty());
    Bench other;
    Autosave second(&other.document, bench.state());
    QVERIFY(second.leftovers().empty());
}

void TestAutosave::whatIsDiscardedIsGone() {
    Bench bench;
    Session session;
    session.model.name = "gone";
    QDir().mkpath(bench.state());
    bench.document.services().writeSession(session, bench.state().toStdString() + "/old.h5");
    std::ofstream(bench.state().toStdString() + "/broken.h5") << "damaged";
    Autosave autosave(&bench.document, bench.state());
    const std::list<Leftover> found = autosave.leftovers();
    QCOMPARE(found.size(), std::size_t{1});
    autosave.discard(found.front());
    QVERIFY(bench.autosaved().isEmpty());
}

void TestAutosave::aFullDiskIsSaidOnce() {
    Bench bench;
    Autosave autosave(&bench.document, bench.state());
    QSignalSpy failed(&autosave, &Autosave::failed);
    bench.fake.diskIsFull = true;
    bench.cut({0, 0});
    QTRY_COMPARE(failed.count(), 1);
    bench.cut({0, 1});
    QTest::qWait(900);
    QCOMPARE(failed.count(), 1);
    bench.fake.diskIsFull = false;
    bench.cut({0, 2});
    QTRY_VERIFY(!bench.autosaved().isEmpty());
}

void TestAutosave::aSessionOpenTwiceIsSaid() {
    Bench bench;
    Autosave autosave(&bench.document, bench.state());
    QSignalSpy first(&autosave, &Autosave::openElsewhere);
    bench.document.files()->saveSession(bench.folder.filePath("mine.h5"));
    bench.settle();
    QCOMPARE(first.count(), 0);
    Bench other;
    Autosave second(&other.document, bench.state());
    QSignalSpy elsewhere(&second, &Autosave::openElsewhere);
    other.document.files()->saveSession(bench.folder.filePath("mine.h5"));
    other.settle();
    QCOMPARE(elsewhere.count(), 1);
}

SECATEUR_SUITE(TestAutosave)
#include "tst_autosave.moc"
