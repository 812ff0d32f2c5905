// Every writer under faults of the disk and of memory, in the manner of SQLite's tests: each call of write(), open(),
// fsync(), rename(), unlink() and mmap() fails once, alone and with all later ones, and allocations fail one after
// another. After each fault the target has its old or its new contents, no temporary file is left, and the error is one
// sentence; the next write succeeds. A writer never renames a file whose bytes are not on the disk.
//
// Allocations fail in the writers of sessions, masks and CSV only: Qt, which writes pictures, and oneDNN, which
// multiplies when an export is verified, end the process if one of theirs fails.
//
// Each fault has a process of its own, forked from this one, so that a crash is seen.
//
// SECATEUR_FAULTS: the number of first allocations that fail in each writer, and of those drawn beyond; 40 by default,
// 500 take some minutes.
// SECATEUR_FAULTS_SEED: the seed of the drawn ones. Each run prints it.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include "analysis/base/error.h"
#include "app/window/window_services.h"
#include "backends/base/runtime.h"
#include "backends/session/session_hdf5.h"
#include "tests/kills/failing_allocations.h"
#include "tests/kills/interposed_calls.h"
#include "tests/kills/writers.h"
#include "tests/kills/written_files.h"

#include <spdlog/spdlog.h>
#endif

#include "widgets/document/autosave.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/jobs/job_runner.h"

#include <QCoreApplication>
#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <new>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace fs = std::filesystem;

namespace {

/// How a child process ended.
struct Ending {
    bool hasCrashed = true;
    long calls = 0; ///< counted while it worked
    QString error;  ///< empty = it worked
};

/// Returns what was said without an exception, usually nothing.
using Work = std::function<std::string()>;

/// The sentence that a user sees of a failure; empty if there is none. @param begin makes calls fail from there on
std::string sentenceOf(const std::function<void()>& begin, const Work& work) {
    try {
        begin();
        return work();
    } catch (const Error& error) {
        return error.what();
    } catch (const std::bad_alloc&) {
        return "there is not enough memory";
    } catch (const std::exception& error) {
        return std::string("\nnot an Error: ") + error.what();
    } catch (...) {
        return "\nan unknown exception";
    }
}

/// Runs work in a child process. @param begin makes a call fail @param end ends that, and returns the number of calls
Ending inChild(const std::function<void()>& begin, const Work& work, const std::function<long()>& end) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        qFatal("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120);
        const std::string said = sentenceOf(begin, work);
        const std::string answer = std::to_string(end()) + "|" + said;
        const bool isTold = ::write(ends[1], answer.data(), answer.size()) == std::ssize(answer);
        ::_exit(isTold ? 0 : 1);
    }
    ::close(ends[1]);
    QByteArray answer;
    std::array<char, 4096> block{};
    for (ssize_t count = 0; (count = ::read(ends[0], block.data(), block.size())) > 0;)
        answer += QByteArray(block.data(), count);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    const qsizetype bar = answer.indexOf('|');
    return {status != 0 || bar < 0, answer.left(bar).toLong(), QString::fromUtf8(answer.mid(bar + 1))};
}

Work writing(const Writer& writer, const std::string& folder, int generation) {
    return [&writer, folder, generation] {
        writer.write(folder, generation);
        return std::string();
    };
}

/// A folder with the files of one generation, and all generations of a writer.
class Generations {
public:
    explicit Generations(const Writer& writer)
        : m_writer(writer) {
        writer.write(m_earlier.path().toStdString(), 0);
        const QTemporaryDir trial;
        for (int generation = 0; generation <= writer.generations; ++generation) {
            writer.write(trial.path().toStdString(), generation);
            m_generations.push_back(filesIn(trial.path()));
        }
    }

    void putInto(const QTemporaryDir& folder) const {
        fs::copy(m_earlier.path().toStdString(), folder.path().toStdString(), fs::copy_options::recursive);
    }

    /// What is wrong after a fault; empty if all is right.
    QString wrong(const QString& folder, const Ending& ending, int generation, bool mayLeave) const {
        try {
            return ending.hasCrashed ? "the process crashed" : wrongFiles(folder, ending, generation, mayLeave);
        } catch (const Error& error) {
            return error.what();
        }
    }

private:
    QString wrongFiles(const QString& folder, const Ending& ending, int generation, bool mayLeave) const {
        const Files found = withoutUnnamed(filesIn(folder));
        const bool isOld = isWhole(found, m_generations[0]);
        const bool isNew = isWhole(found, m_generations[static_cast<std::size_t>(generation)]);
        if (!isOld && !isNew)
            return "the files are neither as before nor as after: " + ending.error;
        if (ending.error.isEmpty() ? !isNew : ending.error.contains("othing was changed") && !isOld)
            return "the files are not what was said: " + ending.error;
        if (ending.error.contains('\n') || ending.error.endsWith('.'))
            return "not one sentence: " + ending.error;
        if (mayLeave ? !areRecognisable(leftoversIn(folder)) : !leftoversIn(folder).isEmpty())
            return "is left: " + leftoversIn(folder).join(' ');
        m_writer.open(folder.toStdString());
        m_writer.write(folder.toStdString(), 0);
        return filesIn(folder) == m_generations[0] ? QString() : "the next write fails";
    }

    const Writer& m_writer;
    QTemporaryDir m_earlier;
    std::vector<Files> m_generations;
};

constexpr std::array kinds{std::pair{CallKind::create, "create"}, std::pair{CallKind::write, "write"},
                           std::pair{CallKind::sync, "sync"},     std::pair{CallKind::rename, "rename"},
                           std::pair{CallKind::remove, "remove"}, std::pair{CallKind::map, "map"}};

int faults() {
    constexpr int usual = 40;
    return qEnvironmentVariableIsSet("SECATEUR_FAULTS") ? qEnvironmentVariableIntValue("SECATEUR_FAULTS") : usual;
}

/// Edits a mask, waits for the autosave, edits it again and waits again. Returns the first failure that was said.
/// Nothing is cleaned up, as in a crash.
std::string autosaveTwice(const std::string& folder) {
    static int count = 1;
    static char name[] = "tst_faults";
    static char* values[] = {name, nullptr};
    new QCoreApplication(count, values);
    auto* document = new Document(windowServices(), new JobRunner);
    auto* autosave = new Autosave(document, QString::fromStdString(folder));
    QString said;
    QObject::connect(autosave, &Autosave::failed, [&](const QString& message) { said = message; });
    document->files()->open(QString::fromStdString(autosavedModel()));
    if (!QTest::qWaitFor([&] { return document->isOpen(); }, 60'000))
        return "\nthe model does not open";
    for (const int edit : {1, 2}) {
        document->masks()->replaceMask(editedMask(document->spec(), edit), "edit");
        document->masks()->renameMask(QString("edit %1").arg(edit));
        if (!QTest::qWaitFor([&] { return autosave->isWritten(); }, 60'000))
            return "\nthe autosave does not end";
    }
    return said.toStdString();
}

/// What is wrong with an autosave whose first or second write failed; empty if all is right.
QString wrongAutosave(const QString& folder, const Ending& ending) {
    if (ending.hasCrashed || ending.error.contains('\n') || ending.error.endsWith('.'))
        return "crashed, or said no sentence: " + ending.error;
    const QStringList sessions = QDir(folder).entryList({"*.h5"}, QDir::Files);
    if (sessions.size() != 1)
        return QString("%1 sessions are there").arg(sessions.size());
    for (const QString& name : leftoversIn(folder))
        if (!name.endsWith(".lock"))
            return "is left: " + name;
    const Session session = readSession(QDir(folder).filePath(sessions.front()).toStdString());
    const int edit = numberOf(session.masks.at(0).name);
    if (session.masks.at(0).record.mask != editedMask(session.model.spec, edit))
        return "the session is not that of an edit";
    return edit == 2 || !ending.error.isEmpty() ? QString() : "an edit was lost without a word";
}

} // namespace

class TestFaults : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void filesAreWholeAfterAFaultOfTheDisk_data() { writersAndGenerations(); }
    void filesAreWholeAfterAFaultOfTheDisk();
    void filesAreWholeAfterAFailedAllocation_data() { writersAndGenerations({"session", "mask", "figure-csv"}); }
    void filesAreWholeAfterAFailedAllocation();
    void nothingTakesItsNameBeforeItIsOnTheDisk_data() { writersAndGenerations(); }
    void nothingTakesItsNameBeforeItIsOnTheDisk();
    void theAutosaveSaysFaultsAndGoesOn();
    void cleanupTestCase() { qInfo("%d faults", m_faults); }

private:
    /// @param ids of the writers; empty = all
    static void writersAndGenerations(const QStringList& ids = {}) {
        QTest::addColumn<int>("generation");
        for (const Writer& writer : writers())
            for (const int generation : {1, 2})
                if ((ids.isEmpty() || ids.contains(QString::fromStdString(writer.id))) &&
                    (generation == 1 || writer.id == "session")) // an even generation of a session is a new file
                    QTest::addRow("%s:%d", writer.id.c_str(), generation) << generation;
    }
    static const Writer& ownWriter() {
        return writer(QString(QTest::currentDataTag()).section(':', 0, 0).toStdString());
    }

    std::mt19937 m_random;
    int m_faults = 0;
};

void TestFaults::initTestCase() {
    const unsigned seed = qEnvironmentVariableIsSet("SECATEUR_FAULTS_SEED")
                              ? static_cast<unsigned>(qEnvironmentVariableIntValue("SECATEUR_FAULTS_SEED"))
                              : std::random_device()();
    m_random.seed(seed);
    qInfo("SECATEUR_FAULTS_SEED=%u", seed);
}

void TestFaults::filesAreWholeAfterAFaultOfTheDisk() {
    QFETCH(int, generation);
    const Writer& writer = ownWriter();
    const Generations files(writer);
    for (const auto& [kind, name] : kinds)
        for (const bool lasting : {false, true}) {
            const auto endingOf = [&, kind = kind](const QTemporaryDir& folder, long call) {
                files.putInto(folder);
                const std::string path = folder.path().toStdString();
                return inChild([&] { failAtCall(path, kind, call, lasting); }, writing(writer, path, generation),
                               stopFailing);
            };
            const long calls = endingOf(QTemporaryDir(), 0).calls; // a run that fails makes fewer
            for (long call = 1; call <= calls; ++call, ++m_faults) {
                const QTemporaryDir folder;
                const Ending ending = endingOf(folder, call);
                const bool mayLeave = kind == CallKind::remove;
                const QString wrong = files.wrong(folder.path(), ending, generation, mayLeave);
                QVERIFY2(wrong.isEmpty(), qPrintable(QString("%1 %2 of %3%4: %5")
                                                         .arg(name)
                                                         .arg(call)
                                                         .arg(calls)
                                                         .arg(lasting ? " and all later ones" : "", wrong)));
            }
        }
}

void TestFaults::filesAreWholeAfterAFailedAllocation() {
    QFETCH(int, generation);
    const Writer& writer = ownWriter();
    const Generations files(writer);
    const auto endingOf = [&](const QTemporaryDir& folder, long number) {
        files.putInto(folder);
        return inChild([number] { failAtAllocation(number); }, writing(writer, folder.path().toStdString(), generation),
                       stopFailingAllocations);
    };
    const long all = endingOf(QTemporaryDir(), 0).calls;
    QVERIFY(all > 1);
    for (int i = 1; i <= 2 * faults(); ++i, ++m_faults) {
        const long number = i <= faults() ? i : std::uniform_int_distribution<long>(1, all)(m_random);
        if (number > all)
            continue;
        const QTemporaryDir folder;
        const Ending ending = endingOf(folder, number);
        const QString wrong = files.wrong(folder.path(), ending, generation, false);
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("allocation %1 of %2: %3").arg(number).arg(all).arg(wrong)));
    }
}

void TestFaults::nothingTakesItsNameBeforeItIsOnTheDisk() {
    QFETCH(int, generation);
    const Writer& writer = ownWriter();
    const Generations files(writer);
    const QTemporaryDir folder;
    files.putInto(folder);
    const std::string path = folder.path().toStdString();
    const Ending ending = inChild([&] { watchSyncs(path); },
                                  [&] {
                                      writer.write(path, generation);
                                      std::string names;
                                      for (const std::string& name : renamedBeforeSync())
                                          names += name + " ";
                                      return names;
                                  },
                                  [] { return 0L; });
    QVERIFY(!ending.hasCrashed);
    QCOMPARE(ending.error, QString());
}

void TestFaults::theAutosaveSaysFaultsAndGoesOn() {
    for (const auto& [kind, name] : kinds) {
        if (kind == CallKind::map || kind == CallKind::remove)
            continue;
        const auto endingOf = [&, kind = kind](const QTemporaryDir& folder, long call) {
            const std::string path = folder.path().toStdString();
            return inChild([&] { failAtCall(path, kind, call); }, [&] { return autosaveTwice(path); }, stopFailing);
        };
        const long calls = endingOf(QTemporaryDir(), 0).calls; // a run that fails makes fewer
        for (long call = 1; call <= calls; ++call, ++m_faults) {
            const QTemporaryDir folder;
            const Ending ending = endingOf(folder, call);
            const QString wrong = wrongAutosave(folder.path(), ending);
            QVERIFY2(wrong.isEmpty(), qPrintable(QString("%1 %2 of %3: %4").arg(name).arg(call).arg(calls).arg(wrong)));
        }
    }
}

int main(int count, char** values) {
    initialiseRuntime(1); // without further threads, which a fork would not take along
    spdlog::set_level(spdlog::level::err);
    TestFaults test;
    return QTest::qExec(&test, count, values);
}

#include "tst_faults.moc"
