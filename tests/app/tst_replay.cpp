// Every writer and a power failure, in the manner of SQLite's tests. The calls of a write are recorded. For each moment
// between two calls, files are built as a disk may hold them then: everything that was flushed, and of the rest nothing,
// everything, a beginning, single changes, or parts drawn by a seed, with torn writes. In each such state the files are
// those before the write or those after it, and after the last call they are those after it. The product opens them,
// and the next write succeeds.
//
// SECATEUR_REPLAY: the number of drawn parts for each moment, 20 by default.
// SECATEUR_REPLAY_SEED: the seed of the drawn parts. Each run prints it.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "backends/base/atomic_file.h"
#include "tests/kills/crash_states.h"
#include "tests/kills/writers.h"
#include "tests/kills/written_files.h"

#include <spdlog/spdlog.h>
#endif

#include <QCoreApplication>
#include <QTemporaryDir>
#include <QTest>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <random>
#include <set>

using namespace secateur;
using namespace secateur::test;

namespace {

/// What is wrong with the files after a power failure; empty if nothing is. @param isDone whether the write had ended
using Judge = std::function<QString(const DiskFiles& files, bool isDone)>;

/// The files without the contents of temporary ones, which nobody reads.
DiskFiles seen(DiskFiles files) {
    for (auto& [name, bytes] : files)
        if (name.starts_with('.'))
            bytes.clear();
    return files;
}

/// Judges the files that one write of a writer may leave.
class WriteJudge {
public:
    /// @param before, after the files around the write
    WriteJudge(const Writer& writer, Files before, Files after)
        : m_writer(writer)
        , m_before(std::move(before))
        , m_after(std::move(after)) {
        const QTemporaryDir trial;
        m_writer.write(trial.path().toStdString(), 0);
        m_next = filesIn(trial.path());
    }

    QString operator()(const DiskFiles& files, bool isDone) const {
        const QTemporaryDir folder;
        putDiskFiles(files, folder.path().toStdString());
        try {
            return wrong(folder.path(), isDone);
        } catch (const Error& error) {
            return error.what();
        }
    }

private:
    QString wrong(const QString& folder, bool isDone) const {
        const Files found = filesIn(folder);
        const bool isThere = found.contains(m_after.begin()->first);
        const bool isOld = isThere == !m_before.empty() && isPartOf(found, m_before.empty() ? m_after : m_before);
        const bool isNew = isThere && isPartOf(found, m_after);
        if (isDone ? found != m_after : !isOld && !isNew)
            return isDone ? "the files are not those of the write, which had ended"
                          : "the files are neither as before nor as after";
        if (!areRecognisable(leftoversIn(folder)))
            return "is left: " + leftoversIn(folder).join(' ');
        if (isThere)
            m_writer.open(folder.toStdString());
        m_writer.write(folder.toStdString(), 0);
        if (m_writer.id == "figure-svg") // leaves the removal to the next file that is not a picture
            checkCanWrite(folder.toStdString() + "/next.csv", FileKind::csv);
        if (!leftoversIn(folder).isEmpty())
            return "is still left: " + leftoversIn(folder).join(' ');
        return filesIn(folder) == m_next ? QString() : "the next write fails";
    }

    const Writer& m_writer;
    Files m_before;
    Files m_after;
    Files m_next;
};

/// Writes bytes in two calls, which a power failure may separate.
void put(const std::string& path, const std::string& bytes, bool isSynced) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const std::size_t half = bytes.size() / 2;
    const bool isWritten = ::write(file, bytes.data(), half) == static_cast<ssize_t>(half) &&
                           ::write(file, bytes.data() + half, bytes.size() - half) > 0;
    if (!isWritten || (isSynced && ::fsync(file) != 0))
        qFatal("cannot write %s", path.c_str());
    ::close(file);
}

void flushFolder(const std::string& folder) {
    const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::fsync(file);
    ::close(file);
}

} // namespace

class TestReplay : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void filesAreAsBeforeOrAfterAPowerFailure_data();
    void filesAreAsBeforeOrAfterAPowerFailure();
    void eachOfSeveralFilesIsAsBeforeOrAfter();
    void mistakesOfAWriterAreFound_data();
    void mistakesOfAWriterAreFound();
    void cleanupTestCase() { qInfo("%d states, %d of them different", m_states, m_different); }

private:
    QString wrong(const RecordedRun& run, const Judge& judge);

    std::mt19937 m_random;
    int m_drawn = 20;
    int m_states = 0;
    int m_different = 0;
};

void TestReplay::initTestCase() {
    const unsigned seed = qEnvironmentVariableIsSet("SECATEUR_REPLAY_SEED")
                              ? static_cast<unsigned>(qEnvironmentVariableIntValue("SECATEUR_REPLAY_SEED"))
                              : std::random_device()();
    m_random.seed(seed);
    if (qEnvironmentVariableIsSet("SECATEUR_REPLAY"))
        m_drawn = qEnvironmentVariableIntValue("SECATEUR_REPLAY");
    qInfo("SECATEUR_REPLAY_SEED=%u", seed);
}

/// Judges all different states of a run. Returns the first one that is wrong, or an empty string.
QString TestReplay::wrong(const RecordedRun& run, const Judge& judge) {
    std::set<std::pair<bool, DiskFiles>> judged;
    for (std::size_t done = 0; done <= run.calls(); ++done) {
        const std::size_t pending = run.pending(done).size();
        for (const RecordedRun::Part& part : RecordedRun::parts(pending, m_drawn, m_random)) {
            ++m_states;
            const DiskFiles files = seen(run.after(done, part));
            const bool isDone = done == run.calls();
            if (!judged.emplace(isDone, files).second)
                continue;
            ++m_different;
            if (const QString said = judge(files, isDone); !said.isEmpty())
                return QString("%1, after call %2 of %3:").arg(said).arg(done).arg(run.calls()) +
                       QString::fromStdString(run.described(done, part));
        }
    }
    return {};
}

void TestReplay::filesAreAsBeforeOrAfterAPowerFailure_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<int>("generation");
    QTest::addColumn<bool>("isFirst");
    for (const Writer& writer : writers()) {
        const QString id = QString::fromStdString(writer.id);
        QTest::addRow("%s, a first one", writer.id.c_str()) << id << 0 << true;
        QTest::addRow("%s, another", writer.id.c_str()) << id << 1 << false;
        if (writer.id == "session") // an even generation is a new file, an odd one an addition
            QTest::addRow("session, a third one") << id << 2 << false;
    }
}

void TestReplay::filesAreAsBeforeOrAfterAPowerFailure() {
    QFETCH(QString, id);
    QFETCH(int, generation);
    QFETCH(bool, isFirst);
    const Writer& kind = writer(id.toStdString());
    const QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    if (!isFirst)
        kind.write(path, 0);
    const Files before = filesIn(folder.path());
    RecordedRun run(path);
    kind.write(path, generation);
    run.end();
    QVERIFY(run.calls() > 3);
    const QString said = wrong(run, WriteJudge(kind, before, filesIn(folder.path())));
    QVERIFY2(said.isEmpty(), qPrintable(said));
}

/// The tables of `measure --csv`.
void TestReplay::eachOfSeveralFilesIsAsBeforeOrAfter() {
    const QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    const std::vector<std::string> names{"first.csv", "second.csv"};
    const auto writeAll = [&](const std::string& text) {
        AtomicFiles tables;
        for (const std::string& name : names)
            tables.add(path + "/" + name, text, FileKind::csv);
        tables.commit();
    };
    const std::string before = "layer,value\n0,1\n";
    const std::string after = "layer,value\n0,2\n1,3\n";
    writeAll(before);
    RecordedRun run(path);
    writeAll(after);
    run.end();
    const QString said = wrong(run, [&](const DiskFiles& files, bool isDone) {
        QString complaints;
        for (const std::string& name : names)
            if (!files.contains(name) || (files.at(name) != after && (isDone || files.at(name) != before)))
                complaints += "wrong: " + QString::fromStdString(name);
        return complaints;
    });
    QVERIFY2(said.isEmpty(), qPrintable(said));
}

void TestReplay::mistakesOfAWriterAreFound_data() {
    QTest::addColumn<bool>("isAside");
    QTest::addColumn<bool>("isSynced");
    QTest::addColumn<bool>("isFolderSynced");
    QTest::addColumn<QString>("said");
    QTest::newRow("none") << true << true << true << "";
    QTest::newRow("the file is overwritten") << false << true << true << "neither";
    QTest::newRow("the bytes are not flushed before the rename") << true << false << true << "neither";
    QTest::newRow("the folder is not flushed") << true << true << false << "had ended";
}

void TestReplay::mistakesOfAWriterAreFound() {
    QFETCH(bool, isAside);
    QFETCH(bool, isSynced);
    QFETCH(bool, isFolderSynced);
    QFETCH(QString, said);
    const QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    put(path + "/file", "the old text", true);
    RecordedRun run(path);
    put(path + (isAside ? "/.aside" : "/file"), "a new text", isSynced);
    if (isAside)
        QCOMPARE(std::rename((path + "/.aside").c_str(), (path + "/file").c_str()), 0);
    if (isFolderSynced)
        flushFolder(path);
    run.end();
    const QString found = wrong(run, [](const DiskFiles& files, bool isDone) -> QString {
        const auto file = files.find("file");
        const std::string text = file != files.end() ? file->second : "";
        if (isDone)
            return text == "a new text" ? "" : "the old text, although the write had ended";
        return text == "a new text" || text == "the old text" ? "" : "neither the old nor the new text";
    });
    QVERIFY2(said.isEmpty() ? found.isEmpty() : found.contains(said), qPrintable(found));
}

int main(int count, char** values) {
    QCoreApplication application(count, values);
    spdlog::set_level(spdlog::level::err);
    TestReplay test;
    return QTest::qExec(&test, count, values);
}

#include "tst_replay.moc"
