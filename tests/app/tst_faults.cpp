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
// A run without a fault counts the calls of each kind. If they are more than SECATEUR_FAULTS (40 by default; 500 take
// some minutes), the first, the last and some drawn ones fail.
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

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <new>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

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

/// Work in a process of its own, which the constructor starts.
class Child {
public:
    /// @param begin makes a call fail @param end ends that, and returns the number of calls
    Child(const std::function<void()>& begin, const Work& work, const std::function<long()>& end) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0)
            qFatal("no pipe");
        m_answer = ends[0];
        m_process = ::fork();
        if (m_process == 0) {
            ::alarm(120);
            const std::string said = sentenceOf(begin, work);
            const std::string answer = std::to_string(end()) + "|" + said;
            const bool isTold = ::write(ends[1], answer.data(), answer.size()) == std::ssize(answer);
            ::_exit(isTold ? 0 : 1);
        }
        ::close(ends[1]);
    }

    /// Waits for the end. To be called once.
    Ending ending() const {
        QByteArray answer;
        std::array<char, 4096> block{};
        for (ssize_t count = 0; (count = ::read(m_answer, block.data(), block.size())) > 0;)
            answer += QByteArray(block.data(), count);
        ::close(m_answer);
        int status = 0;
        ::waitpid(m_process, &status, 0);
        const qsizetype bar = answer.indexOf('|');
        return {status != 0 || bar < 0, answer.left(bar).toLong(), QString::fromUtf8(answer.mid(bar + 1))};
    }

private:
    int m_answer = -1;
    pid_t m_process = -1;
};

/// Runs work in a child process.
Ending inChild(const std::function<void()>& begin, const Work& work, const std::function<long()>& end) {
    return Child(begin, work, end).ending();
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
        const Files found = filesIn(folder);
        const Files& before = m_generations.front();
        const Files& after = m_generations[static_cast<std::size_t>(generation)];
        if (!areOf(before, found) && !areOf(after, found))
            return "the files are neither as before nor as after: " + ending.error;
        if (ending.error.isEmpty() ? found != after : ending.error.contains("othing was changed") && found != before)
            return "the files are not what was said: " + ending.error;
        if (isInterrupted(found) != ending.error.endsWith("The export is incomplete: repeat it with --force"))
            return "does not say that the export must be repeated: " + ending.error;
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

using Kind = std::pair<CallKind, const char*>; ///< a kind of call and its name

constexpr std::array kinds{Kind{CallKind::create, "create"}, Kind{CallKind::write, "write"},
                           Kind{CallKind::sync, "sync"},     Kind{CallKind::rename, "rename"},
                           Kind{CallKind::remove, "remove"}, Kind{CallKind::map, "map"}};

int faults() {
    constexpr int usual = 40;
    return qEnvironmentVariableIsSet("SECATEUR_FAULTS") ? qEnvironmentVariableIntValue("SECATEUR_FAULTS") : usual;
}

/// The numbers of the calls that fail, of 1 to `all`: all of them, or `most`, of which one third are the first, where
/// files are made, and one third the last, where they take their names.
std::vector<long> failingCalls(long all, long most, std::mt19937& random) {
    std::vector<long> calls(static_cast<std::size_t>(all));
    std::iota(calls.begin(), calls.end(), 1);
    if (all <= most)
        return calls;
    const std::vector<long> middle(calls.begin() + most / 3, calls.end() - most / 3);
    std::vector<long> drawn;
    std::ranges::sample(middle, std::back_inserter(drawn), most - 2 * (most / 3), random);
    calls.erase(calls.begin() + most / 3, calls.end() - most / 3);
    calls.insert(calls.begin() + most / 3, drawn.begin(), drawn.end());
    return calls;
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

    void failOneByOne(const Writer& writer, const Generations& files, int generation, Kind kind, bool lasting);
    void failAutosaves(Kind kind);

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
    for (const Kind& kind : kinds)
        for (const bool lasting : {false, true}) {
            failOneByOne(writer, files, generation, kind, lasting);
            if (QTest::currentTestFailed())
                return;
        }
}

void TestFaults::failOneByOne(const Writer& writer, const Generations& files, int generation, Kind kind, bool lasting) {
    const auto endingOf = [&](const QTemporaryDir& folder, long call) {
        files.putInto(folder);
        const std::string path = folder.path().toStdString();
        return inChild([&] { failAtCall(path, kind.first, call, lasting); }, writing(writer, path, generation),
                       stopFailing);
    };
    const Ending whole = endingOf(QTemporaryDir(), 0);
    QVERIFY2(!whole.hasCrashed && whole.error.isEmpty(), qPrintable(whole.error));
    for (const long call : failingCalls(whole.calls, faults(), m_random)) {
        const QTemporaryDir folder;
        const Ending ending = endingOf(folder, call);
        const QString wrong = files.wrong(folder.path(), ending, generation, kind.first == CallKind::remove);
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("%1 %2 of %3%4: %5")
                                                 .arg(kind.second)
                                                 .arg(call)
                                                 .arg(whole.calls)
                                                 .arg(lasting ? " and all later ones" : "", wrong)));
        ++m_faults;
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
    for (const long number : failingCalls(all, 2L * faults(), m_random)) {
        const QTemporaryDir folder;
        const Ending ending = endingOf(folder, number);
        const QString wrong = files.wrong(folder.path(), ending, generation, false);
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("allocation %1 of %2: %3").arg(number).arg(all).arg(wrong)));
        ++m_faults;
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
    for (const Kind& kind : kinds) {
        if (kind.first == CallKind::map || kind.first == CallKind::remove)
            continue;
        failAutosaves(kind);
        if (QTest::currentTestFailed())
            return;
    }
}

/// Several children at a time, because an autosave waits before it writes.
void TestFaults::failAutosaves(Kind kind) {
    constexpr std::size_t atATime = 10;
    const auto start = [kind](const QTemporaryDir& folder, long call) {
        const std::string path = folder.path().toStdString();
        return Child([path, kind, call] { failAtCall(path, kind.first, call); }, [path] { return autosaveTwice(path); },
                     stopFailing);
    };
    const QTemporaryDir trial;
    const Ending whole = start(trial, 0).ending();
    QVERIFY2(!whole.hasCrashed && whole.error.isEmpty(), qPrintable(whole.error));
    const std::vector<long> calls = failingCalls(whole.calls, faults(), m_random);
    for (std::size_t first = 0; first < calls.size(); first += atATime) {
        const std::vector<QTemporaryDir> folders(std::min(atATime, calls.size() - first));
        std::vector<Child> children;
        for (std::size_t i = 0; i < folders.size(); ++i)
            children.push_back(start(folders[i], calls[first + i]));
        QStringList wrong;
        for (std::size_t i = 0; i < folders.size(); ++i, ++m_faults)
            if (const QString what = wrongAutosave(folders[i].path(), children[i].ending()); !what.isEmpty())
                wrong << QString("%1 %2 of %3: %4").arg(kind.second).arg(calls[first + i]).arg(whole.calls).arg(what);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    }
}

int main(int count, char** values) {
    initialiseRuntime(1); // without further threads, which a fork would not take along
    spdlog::set_level(spdlog::level::err);
    TestFaults test;
    return QTest::qExec(&test, count, values);
}

#include "tst_faults.moc"
