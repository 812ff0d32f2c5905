// Commands that mpirun runs as one, two and three processes: results equal to the last bit, one sentence for an error,
// a rank that is killed, and a stop. Skipped where mpirun is not installed.

#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/drawn_checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/sweeps.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <QRegularExpression>
#include <QStandardPaths>

#include <csignal>

using namespace secateur;
using test::bitsOf;
using test::DrawnShape;
using test::Outcome;
using test::Scratch;
using Json = nlohmann::json;

namespace {

constexpr int longest = 280'000; ///< milliseconds

/// Starts a command on a number of ranks; 0 = without mpirun.
void start(QProcess& program, int ranks, const QStringList& arguments) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
        environment.insert(name, "1");
    environment.insert("OMPI_MCA_btl_vader_single_copy_mechanism", "none"); // which containers forbid
    program.setProcessEnvironment(environment);
    if (ranks == 0)
        program.start(SECATEUR_CLI, arguments);
    else
        program.start("mpirun",
                      QStringList{"-n", QString::number(ranks), "--oversubscribe", "--bind-to", "none", SECATEUR_CLI} +
                          arguments);
}

Outcome runOn(int ranks, const QStringList& arguments) {
    QProcess program;
    start(program, ranks, arguments);
    if (!program.waitForFinished(longest))
        qFatal("%d ranks do not end: %s", ranks, qPrintable(arguments.join(' ')));
    return {program.exitCode(), program.readAllStandardOutput(), QString::fromUtf8(program.readAllStandardError())};
}

/// A document without times, and without what depends on them or on the division of the work.
Json withoutTimes(Json document) {
    if (document.is_object())
        for (const char* key :
             {"seconds", "created", "peak_bytes", "choosing_seconds", "scoring_seconds", "reused_layers"})
            document.erase(key);
    for (Json& part : document)
        if (part.is_structured())
            part = withoutTimes(part);
    return document;
}

/// The process of a rank of mpirun's job; 0 = it has none now.
pid_t processOfRank(qint64 launcher, int rank) {
    const QDir threads(QString("/proc/%1/task").arg(launcher));
    for (const QString& thread : threads.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        QFile children(threads.filePath(thread + "/children"));
        if (!children.open(QIODevice::ReadOnly))
            continue;
        for (const QByteArray& child : children.readAll().split(' ')) {
            QFile environment("/proc/" + child + "/environ");
            if (!child.isEmpty() && environment.open(QIODevice::ReadOnly) &&
                environment.readAll().split('\0').contains("OMPI_COMM_WORLD_RANK=" + QByteArray::number(rank)))
                return child.toInt();
        }
    }
    return 0;
}

std::string bitsAt(const QString& path) {
    return bitsOf(readSession(path.toStdString()));
}

} // namespace

class TestCluster : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;
    QString m_model;
    QString m_text;
    QString m_task;

    /// Options of all commands: several batches, on one thread.
    QStringList common(const QStringList& more = {}) const {
        return QStringList{m_model, "--text", m_text, "--dtype", "float32", "--threads", "1", "--batch-tokens", "96"} +
               more;
    }

    QStringList sweep(const QString& out, const QStringList& more = {}) const {
        return QStringList{"sweep"} +
               common({"--strategy", "gate_norm,attention_importance,gnorm_greedy,random_head", "--budgets",
                       "1,2,params:4%", "--repeat", "2", "--max-tokens", "256", "--seq-len", "48", "--window", "48",
                       "--score-tokens", "512", "--out", out}) +
               more;
    }

private slots:
    void initTestCase() {
#ifndef SECATEUR_WITH_MPI
        QSKIP("this build has no MPI (SECATEUR_MPI)");
#endif
        if (QStandardPaths::findExecutable("mpirun").isEmpty())
            QSKIP("mpirun is not installed (openmpi-bin)");
        test::writeDrawnFolder(m_scratch, "model", DrawnShape{.layers = 6, .heads = 4, .kvHeads = 2});
        m_model = m_scratch.path("model");
        m_text = QString::fromStdString(m_scratch.write("text.txt", test::numberedSentences(80, "\n\n\n")));
        QByteArray rows;
        for (int i = 0; i < 8; ++i)
            rows += "{\"query\": \"the mask cuts\", \"choices\": [\"its heads\", \"a text\"], \"gold\": " +
                    QByteArray::number(i % 2) + "}\n";
        m_task = QString::fromStdString(m_scratch.write("questions.jsonl", rows));
        const Outcome made = test::run(
            {"prune", m_model, "--strategy", "gate_norm", "--budget", "3", "--out", m_scratch.path("three.mask.json")});
        QVERIFY2(made.status == 0, qPrintable(made.error));
    }

    void documentsAreEqual_data() {
        QTest::addColumn<QStringList>("arguments");
        const QString mask = m_scratch.path("three.mask.json");
        const QStringList several{"--max-tokens", "1024", "--seq-len", "48"};
        const QStringList small{"--max-tokens", "192", "--seq-len", "48"};
        const QStringList windows{"--max-tokens", "1024", "--window", "48"};
        const QStringList streamed{"--memory-budget", "40K"};
        const auto row = [](const char* name, const QString& verb, const QStringList& arguments) {
            QTest::newRow(name) << QStringList{verb, "--json"} + arguments;
        };
        row("evaluate", "evaluate", common(windows + QStringList{"--mask", mask}));
        row("evaluate per word", "evaluate", common({"--protocol", "word_ppl", "--window", "48"}));
        row("evaluate several masks", "evaluate", common(windows + QStringList{"--mask", mask, "--mask", mask}));
        row("evaluate, streamed weights", "evaluate", common(windows + streamed));
        row("measure forward", "measure", common(several + QStringList{"--metric", "forward", "--mask", mask}));
        row("measure forward, streamed weights", "measure",
            common(several + streamed + QStringList{"--metric", "forward"}));
        row("measure gradient", "measure", common(several + QStringList{"--metric", "gradient"}));
        row("measure gradient, streamed weights", "measure",
            common(several + streamed + QStringList{"--metric", "gradient"}));
        row("measure attribution", "measure",
            common(small + QStringList{"--metric", "self_attribution:steps=4:sequences=4"}));
        row("ablate", "ablate", common(small + QStringList{"--units", "heads,mlps"}));
        row("ablate screened", "ablate", common(small + QStringList{"--screen", "4", "--screen-exact", "60"}));
    }
    void documentsAreEqual() {
        QFETCH(const QStringList, arguments);
        const Outcome alone = runOn(0, arguments);
        QVERIFY2(alone.status == 0, qPrintable(alone.error));
        const std::string wanted = withoutTimes(alone.json()).dump(1);
        for (const int ranks : {1, 2, 3}) {
            const Outcome outcome = runOn(ranks, arguments);
            QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
            QCOMPARE(withoutTimes(outcome.json()).dump(1), wanted);
        }
    }

    void sessionsAreEqual() {
        const Scratch scratch;
        const QStringList evaluate = QStringList{"evaluate", "--json"} +
                                     common({"--window", "48", "--mask", m_scratch.path("three.mask.json"), "--out"});
        std::string losses;
        std::string curves;
        for (const int ranks : {0, 1, 2, 3}) {
            const QString out = scratch.path(QString("evaluated%1.h5").arg(ranks));
            const Outcome evaluated = runOn(ranks, evaluate + QStringList{out});
            QVERIFY2(evaluated.status == 0, qPrintable(evaluated.error));
            const std::string found = withoutTimes(evaluated.json()).dump(1);
            losses = losses.empty() ? found : losses;
            QCOMPARE(found, losses);
            QCOMPARE(readSession(out.toStdString()).evaluations.size(), std::size_t{2});
            const QString swept = scratch.path(QString("swept%1.h5").arg(ranks));
            const Outcome outcome = runOn(ranks, sweep(swept));
            QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
            curves = curves.empty() ? bitsAt(swept) : curves;
            QCOMPARE(bitsAt(swept), curves);
        }
    }

    void tasksAreEqual() {
        const Scratch scratch;
        QStringList arguments{"ablate",  m_model,   "--task",    m_task, "--units", "mlps",
                              "--dtype", "float32", "--threads", "1",    "--json"};
        const Outcome alone = runOn(0, arguments);
        QVERIFY2(alone.status == 0, qPrintable(alone.error));
        const Outcome shared = runOn(2, arguments);
        QVERIFY2(shared.status == 0, qPrintable(shared.error));
        QCOMPARE(withoutTimes(shared.json()).dump(1), withoutTimes(alone.json()).dump(1));
    }

    void onlyRankZeroSpeaks() {
        for (const QStringList& arguments :
             {QStringList{"list", "metrics"},
              QStringList{"evaluate"} + common({"--window", "48", "--progress", "plain"})}) {
            const Outcome alone = runOn(0, arguments);
            const Outcome shared = runOn(3, arguments);
            QCOMPARE(shared.status, 0);
            QCOMPARE(shared.out, alone.out);
        }
    }

    void errorsAreOneSentence_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        QTest::newRow("usage") << QStringList{"evaluate", m_model, "--latency"} << 2;
        QTest::newRow("file") << QStringList{"measure", m_scratch.path("absent"), "--metric", "forward"} << 1;
        QTest::newRow("argument") << QStringList{"sweep", m_model, "--budgets"} << 2;
        QTest::newRow("folder") << sweep(m_scratch.path("absent/s.h5")) << 1;
    }
    void errorsAreOneSentence() {
        QFETCH(const QStringList, arguments);
        QFETCH(const int, status);
        const Outcome outcome = runOn(3, arguments);
        QCOMPARE(outcome.status, status);
        const qsizetype sentences = outcome.error.count("secateur-cli: ") + outcome.error.count("--budgets: ");
        QVERIFY2(sentences == 1, qPrintable(outcome.error));
    }

    void aKilledRankEndsTheJobWhichGoesOn_data() {
        QTest::addColumn<int>("rank");
        QTest::addColumn<int>("signal");
        QTest::newRow("rank 1 killed") << 1 << SIGKILL;
        QTest::newRow("rank 0 killed") << 0 << SIGKILL;
        QTest::newRow("rank 1 stopped") << 1 << SIGTERM;
        QTest::newRow("mpirun interrupted") << -1 << SIGINT;
    }
    void aKilledRankEndsTheJobWhichGoesOn() {
        QFETCH(const int, rank);
        QFETCH(const int, signal);
        const Scratch scratch;
        // So many runs that it is stopped in the middle. mpirun takes about a second to end its ranks.
        const QString repeat = rank < 0 ? "40" : "12";
        const auto longer = [&](const QString& file) {
            return sweep(file).replaceInStrings(QRegularExpression("^2$"), repeat);
        };
        QCOMPARE(runOn(0, longer(scratch.path("whole.h5"))).status, 0);
        const QString out = scratch.path("s.h5");
        QProcess program;
        start(program, 3, longer(out));
        while (program.state() != QProcess::NotRunning && !QFileInfo::exists(out))
            program.waitForFinished(2);
        const pid_t process =
            rank < 0 ? static_cast<pid_t>(program.processId()) : processOfRank(program.processId(), rank);
        QVERIFY(process > 0);
        QCOMPARE(::kill(process, signal), 0);
        QVERIFY(program.waitForFinished(longest));
        QVERIFY(program.exitCode() != 0);
        QVERIFY(bitsAt(out) != bitsAt(scratch.path("whole.h5")));
        const Outcome outcome = runOn(2, longer(out));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        QCOMPARE(bitsAt(out), bitsAt(scratch.path("whole.h5")));
    }
};

SECATEUR_SUITE(TestCluster)
#include "tst_cluster.moc"
