// Kills child processes while they write sessions, masks, exports and the autosave. After each kill, every file must be
// complete, with its old or its new contents. The next write must succeed. The autosave may lack only the edits of
// about the last second.
//
// A child is killed at its n-th call of write(), rename(), fsync() or a similar function
// (tests/kills/interposed_calls.h). n is a random number up to the number of such calls in a complete run. Half of the
// children that autosave are killed at a random time instead.
//
// SECATEUR_KILLS: the total number of kills, 32 by default. 200 kills take some minutes.
// SECATEUR_KILLS_SEED: the random seed. Each run prints its seed, so that the run can be repeated.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "app/window/window_services.h"
#include "backends/session/session_hdf5.h"
#include "tests/kills/interposed_calls.h"
#include "tests/kills/writers.h"
#include "tests/kills/written_files.h"
#include "tests/support/fixture.h"
#endif

#include "analysis/base/error.h"
#include "widgets/document/autosave.h"
#include "widgets/document/document.h"
#include "widgets/jobs/job_runner.h"

#include <QCoreApplication>
#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace secateur;
using namespace secateur::test;

namespace fs = std::filesystem;

namespace {

/// Number of outcomes of each kind.
struct Ends {
    int points = 0;
    int old = 0;
    int renewed = 0;
    int broken = 0;
    int leftovers = 0; ///< number of files and folders with temporary names
};

/// What a child process printed, and the time at which it was killed.
struct Life {
    bool wasKilled = false;
    int begun = 0; ///< the last generation that it began to write; for an autosave, the last edit
    int done = 0;
    long calls = 0;
    long long died = 0;
    std::map<int, long long> edits;  ///< time of each edit, by the edit's number
    std::map<int, long long> begins; ///< time at which the autosave of each edit began
    std::map<int, long long> ends;
};

/// The longest time between two edits plus the longest time of a write, in seconds. Anything that delays a child also
/// delays its autosave, so this much more may be lost.
double longestDelay(const Life& life) {
    long long pause = 0;
    for (const auto& [edit, when] : life.edits)
        if (edit > 1)
            pause = std::max(pause, when - life.edits.at(edit - 1));
    long long writing = 0;
    for (const auto& [edit, when] : life.begins) {
        const auto end = life.ends.find(edit);
        writing = std::max(writing, (end == life.ends.end() ? life.died : end->second) - when);
    }
    return 1e-9 * static_cast<double>(pause + writing);
}

void read(Life& life, const QByteArray& said) {
    for (const QByteArray& line : said.split('\n')) {
        const QList<QByteArray> words = line.split(' ');
        if (words[0] == "begin")
            life.begins[life.begun = words[1].toInt()] = words[2].toLongLong();
        else if (words[0] == "done")
            life.ends[life.done = words[1].toInt()] = words[2].toLongLong();
        else if (words[0] == "edit")
            life.edits[words[1].toInt()] = words[2].toLongLong();
        else if (words[0] == "calls")
            life.calls = words[1].toLong();
        else if (words[0] == "died")
            life.died = words[1].toLongLong();
    }
}

void start(QProcess& child, const QStringList& arguments) {
    child.start(QCoreApplication::applicationFilePath(), arguments);
    if (!child.waitForStarted())
        qFatal("the child process does not start");
}

/// Runs a child process and returns what it printed. @param milliseconds time after the first edit at which to kill the
/// child; 0 if the child kills itself or ends
Life live(const QString& id, const QString& folder, long call, int milliseconds = 0) {
    QProcess child;
    child.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    start(child, {"--write", id, folder, QString::number(call)});
    Life life;
    QByteArray said;
    if (milliseconds > 0) {
        while (!said.contains("edit") && child.waitForReadyRead(60'000))
            said += child.readAllStandardOutput();
        QThread::msleep(static_cast<unsigned long>(milliseconds));
        life.died = nanoseconds();
        child.kill();
    }
    if (!child.waitForFinished(600'000)) // starting a child can take minutes on a busy machine
        qFatal("a child of %s does not end", qPrintable(id));
    life.wasKilled = child.exitStatus() == QProcess::CrashExit;
    read(life, said + child.readAllStandardOutput());
    return life;
}

/// Sets the times of all files two minutes back, as if the kill had been then.
void age(const QString& folder) {
    const auto then = fs::file_time_type::clock::now() - std::chrono::minutes(2);
    for (const QString& name : QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot)) {
        const fs::path path = QDir(folder).filePath(name).toStdString();
        if (fs::is_directory(path))
            for (const fs::directory_entry& item : fs::directory_iterator(path))
                fs::last_write_time(item.path(), then);
        fs::last_write_time(path, then);
    }
}

/// A program started later: it offers all autosaved sessions, and after they are discarded and something is written, no
/// file is left. @throws Error
void offerAndLetGo(const QString& folder, qsizetype sessions) {
    JobRunner jobs;
    Document document(windowServices(), &jobs);
    age(folder);
    for (const bool isFirst : {true, false}) {
        Autosave autosave(&document, folder);
        const std::list<Leftover> leftovers = autosave.leftovers();
        if (static_cast<qsizetype>(leftovers.size()) != (isFirst ? sessions : 0))
            throw Error("what was left is not offered");
        for (const Leftover& leftover : leftovers)
            autosave.discard(leftover);
        writer("session").write(folder.toStdString(), 0);
        QFile::remove(folder + "/work.h5");
    }
    const QStringList rest = QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
    if (!rest.isEmpty())
        throw Error("stays for ever: " + rest.join(' ').toStdString());
}

} // namespace

class TestKills : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void filesAreAsBeforeOrAfter_data();
    void filesAreAsBeforeOrAfter();
    void autosavedEditsAreLostForASecondAtMost();
    void aSessionOpenInAnotherProcessIsSaid();
    void cleanupTestCase();

private:
    QString endOf(const Writer& kind, const QString& folder, const Life& life, const std::vector<Files>& generations);
    QString autosaveEndOf(const QString& folder, const Life& life);
    long drawn(long last) { return std::uniform_int_distribution<long>(1, last)(m_random); }

    std::mt19937 m_random;
    int m_kills = 32;
    std::map<QString, Ends> m_ends;
    std::vector<double> m_losses; ///< for each kill, the seconds of edits that the autosave lacks
};

void TestKills::initTestCase() {
    const unsigned seed = qEnvironmentVariableIsSet("SECATEUR_KILLS_SEED")
                              ? static_cast<unsigned>(qEnvironmentVariableIntValue("SECATEUR_KILLS_SEED"))
                              : std::random_device()();
    m_random.seed(seed);
    if (qEnvironmentVariableIsSet("SECATEUR_KILLS"))
        m_kills = qEnvironmentVariableIntValue("SECATEUR_KILLS");
    qInfo("%d kills, SECATEUR_KILLS_SEED=%u", m_kills, seed);
}

/// Counts the outcome of a kill. Returns what is wrong with the files, or an empty string.
QString TestKills::endOf(const Writer& kind, const QString& folder, const Life& life,
                         const std::vector<Files>& generations) {
    Ends& ends = m_ends[QString::fromStdString(kind.id)];
    ++ends.points;
    ends.leftovers += static_cast<int>(leftoversIn(folder).size());
    try {
        const Files found = withoutUnnamed(filesIn(folder));
        const auto first =
            std::ranges::find_if_not(generations[0], [](const auto& file) { return isCompensation(file.first); });
        const auto isGeneration = [&](int number) {
            return found.contains(first->first) && isPartOf(found, generations[static_cast<std::size_t>(number)]);
        };
        const bool isOld = isGeneration(life.done);
        const bool isNew = !isOld && isGeneration(life.begun);
        if (!isOld && !isNew)
            throw Error("is neither as before nor as after");
        kind.open(folder.toStdString());
        if (!areRecognisable(leftoversIn(folder)))
            throw Error("leaves files that nobody knows: " + leftoversIn(folder).join(' ').toStdString());
        age(folder);
        const int next = 0;
        kind.write(folder.toStdString(), next);
        if (filesIn(folder) != generations[next])
            throw Error("is not what was written after a kill");
        if (!leftoversIn(folder).isEmpty())
            throw Error("the next write leaves " + leftoversIn(folder).join(' ').toStdString());
        ++(isOld ? ends.old : ends.renewed);
    } catch (const Error& error) {
        ++ends.broken;
        return error.what();
    }
    return {};
}

void TestKills::filesAreAsBeforeOrAfter_data() {
    QTest::addColumn<int>("kills");
    QTest::newRow("session") << m_kills / 4;
    std::vector<std::string> others;
    for (const Writer& writer : writers())
        if (writer.id == "mask" || writer.id == "compensated-mask" || writer.id.starts_with("export-"))
            others.push_back(writer.id);
    const int rest = m_kills / 2; // the autosave has a quarter
    for (int i = 0; i < std::ssize(others); ++i) {
        const int count = static_cast<int>(std::ssize(others));
        QTest::newRow(others[static_cast<std::size_t>(i)].c_str()) << rest * (i + 1) / count - rest * i / count;
    }
}

void TestKills::filesAreAsBeforeOrAfter() {
    QFETCH(int, kills);
    const QString id = QTest::currentDataTag();
    const Writer& kind = writer(id.toStdString());
    const QTemporaryDir earlier;
    kind.write(earlier.path().toStdString(), 0);
    const auto putEarlier = [&](const QTemporaryDir& folder) {
        fs::copy(earlier.path().toStdString(), folder.path().toStdString(), fs::copy_options::recursive);
    };
    const QTemporaryDir trial;
    std::vector<Files> generations;
    for (int generation = 0; generation <= kind.generations; ++generation) {
        kind.write(trial.path().toStdString(), generation);
        generations.push_back(filesIn(trial.path()));
    }
    const QTemporaryDir unharmed;
    putEarlier(unharmed);
    const Life whole = live(id, unharmed.path(), 0);
    QVERIFY(!whole.wasKilled && whole.calls > 3 * kind.generations);
    QVERIFY(filesIn(unharmed.path()) == generations.back());
    for (int i = 0; i < kills; ++i) {
        const QTemporaryDir folder;
        putEarlier(folder);
        const long call = drawn(whole.calls);
        const Life life = live(id, folder.path(), call);
        QVERIFY(life.wasKilled);
        const QString wrong = endOf(kind, folder.path(), life, generations);
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("call %1 of %2: %3").arg(call).arg(whole.calls).arg(wrong)));
    }
}

QString TestKills::autosaveEndOf(const QString& folder, const Life& life) {
    Ends& ends = m_ends["autosave"];
    ++ends.points;
    ends.leftovers += static_cast<int>(leftoversIn(folder).size());
    int found = 0;
    try {
        const QStringList files = QDir(folder).entryList({"*.h5"}, QDir::Files);
        for (const QString& file : files) { // read before the autosave starts, because it removes unreadable files
            const Session session = readSession(QDir(folder).filePath(file).toStdString());
            found = numberOf(session.masks.at(0).name);
            if (session.masks.at(0).record.mask != editedMask(session.model.spec, found))
                throw Error("the cuts are not those of edit " + std::to_string(found));
        }
        offerAndLetGo(folder, files.size());
        if (found != life.done && found != life.begun)
            throw Error("is neither as before nor as after");
        const auto lost = life.edits.upper_bound(found);
        const double seconds = lost == life.edits.end() ? 0 : 1e-9 * static_cast<double>(life.died - lost->second);
        m_losses.push_back(seconds);
        if (seconds > 1 + longestDelay(life))
            throw Error(QString("edits of the last %1 s are lost").arg(seconds).toStdString());
    } catch (const Error& error) {
        ++ends.broken;
        return error.what();
    }
    ++(found == life.done ? ends.old : ends.renewed);
    return {};
}

void TestKills::autosavedEditsAreLostForASecondAtMost() {
    const QTemporaryDir trial;
    const Life whole = live("autosave", trial.path(), 0);
    QVERIFY(!whole.wasKilled && whole.calls > 10);
    for (int i = 0; i < m_kills / 4; ++i) {
        const QTemporaryDir folder;
        const bool atAnyMoment = i % 2 == 1;
        const long drawnMoment = drawn(atAnyMoment ? 2300 : whole.calls);
        const Life life = atAnyMoment ? live("autosave", folder.path(), 0, static_cast<int>(drawnMoment))
                                      : live("autosave", folder.path(), drawnMoment);
        if (!life.wasKilled)
            continue; // the child made fewer calls than `drawnMoment` and was not killed
        const QString wrong = autosaveEndOf(folder.path(), life);
        QVERIFY2(
            wrong.isEmpty(),
            qPrintable(QString("%1 %2: %3").arg(atAnyMoment ? "millisecond" : "call").arg(drawnMoment).arg(wrong)));
    }
}

void TestKills::aSessionOpenInAnotherProcessIsSaid() {
    const QTemporaryDir folder;
    const QString session = folder.filePath("work.h5");
    writer("session").write(folder.path().toStdString(), 0);
    const auto hold = [&](QProcess& child) {
        start(child, {"--hold", folder.filePath("state"), session});
        QByteArray said;
        while (!said.contains('\n') && child.waitForReadyRead(60'000))
            said += child.readAllStandardOutput();
        return QString::fromUtf8(said).trimmed();
    };
    QProcess first;
    QProcess second;
    QCOMPARE(hold(first), "open");
    QCOMPARE(hold(second), "open elsewhere");
    for (QProcess* child : {&first, &second}) {
        child->kill();
        QVERIFY(child->waitForFinished());
    }
    QProcess third; // killed processes no longer hold their locks
    QCOMPARE(hold(third), "open");
    third.kill();
    QVERIFY(third.waitForFinished());
}

void TestKills::cleanupTestCase() {
    qInfo("kind                points  old whole  new whole  broken  left-over files");
    for (const auto& [kind, ends] : m_ends)
        qInfo("%-18s  %6d  %9d  %9d  %6d  %15d", qPrintable(kind), ends.points, ends.old, ends.renewed, ends.broken,
              ends.leftovers);
    if (m_losses.empty())
        return;
    std::ranges::sort(m_losses);
    qInfo("autosaved edits lost: those of the last %.2f s at most, of the last %.2f s in the middle", m_losses.back(),
          m_losses[m_losses.size() / 2]);
}

int main(int count, char** values) {
    QCoreApplication application(count, values);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.value(1) == "--write")
        return writeUntilKilled(arguments.mid(2));
    if (arguments.value(1) == "--hold")
        return holdSession(arguments.mid(2));
    if (!qEnvironmentVariableIsSet("QTEST_FUNCTION_TIMEOUT"))
        qputenv("QTEST_FUNCTION_TIMEOUT", "3600000"); // one hour, because hundreds of kills take long on a busy machine
    TestKills test;
    return QTest::qExec(&test, count, values);
}

#include "tst_kills.moc"
