// Kills `secateur-cli sweep` at random moments and starts the same command again, until it ends. The session must then
// equal that of an unbroken run in all but times, and every killed run must leave a session that opens.
//
// SECATEUR_SWEEP_KILLS: number of kills, 20 by default. SECATEUR_KILLS_SEED: the random seed, which each run prints.

#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/drawn_checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/sweeps.h"

#include <QtTest>

#include <QElapsedTimer>

#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

/// Number of points that are chosen, scored or failed.
std::size_t numbersIn(const Session& session) {
    std::size_t numbers = 0;
    for (const Curves& curves : session.curves)
        for (const Curve& curve : curves.curves)
            for (const CurvePoint& point : curve.points)
                numbers += (point.isChosen() ? 1 : 0) + (std::isnan(point.lossNats) ? 0 : 1);
    return numbers;
}

} // namespace

class TestSweepKills : public QObject {
    Q_OBJECT

private slots:
    void aKilledSweepEndsLikeAnUnbrokenOne() {
        const Scratch scratch;
        writeDrawnFolder(scratch, "model", DrawnShape{.layers = 6, .heads = 4, .kvHeads = 2});
        const auto sweep = [&](const QString& out) {
            return QStringList{"sweep",      scratch.path("model"),
                               "--strategy", "gate_norm,attention_importance,gnorm_greedy,random_head",
                               "--budgets",  "1,2,3,params:4%",
                               "--repeat",   "3",
                               "--dtype",    "float32",
                               "--threads",  "1",
                               "--max-tokens", "256",
                               "--seq-len",  "64",
                               "--window",   "32",
                               "--score-tokens", "1024",
                               "--out",      out};
        };
        QElapsedTimer timer;
        timer.start();
        QCOMPARE(run(sweep(scratch.path("whole.h5"))).status, 0);
        const auto whole = static_cast<int>(timer.elapsed());
        const std::string bits = bitsOf(readSession(scratch.path("whole.h5").toStdString()));

        const unsigned seed = qEnvironmentVariableIsSet("SECATEUR_KILLS_SEED")
                                  ? qEnvironmentVariable("SECATEUR_KILLS_SEED").toUInt()
                                  : std::random_device()();
        const int wanted = qEnvironmentVariableIsSet("SECATEUR_SWEEP_KILLS")
                               ? qEnvironmentVariable("SECATEUR_SWEEP_KILLS").toInt()
                               : 20;
        qInfo("seed %u, an unbroken sweep takes %d ms", seed, whole);
        std::mt19937 random(seed);
        const QString out = scratch.path("killed.h5");
        int kills = 0;
        int ends = 0;
        std::size_t most = 0;
        while (kills < wanted || !QFileInfo::exists(out)) {
            QProcess program;
            program.start(SECATEUR_CLI, sweep(out));
            QVERIFY(program.waitForStarted());
            // The beginning of a run only opens the model. Kills come in the rest of it.
            const int delay = whole / 8 + static_cast<int>(random() % static_cast<unsigned>(std::max(whole / 2, 1)));
            if (!program.waitForFinished(delay)) {
                program.kill();
                QVERIFY(program.waitForFinished(60'000));
                ++kills;
            } else {
                QCOMPARE(program.exitCode(), 0);
            }
            if (!QFileInfo::exists(out))
                continue;
            const Session session = readSession(out.toStdString());
            QVERIFY(numbersIn(session) >= most || most == 0);
            most = numbersIn(session);
            if (bitsOf(session) == bits) {
                ++ends;
                most = 0;
                QVERIFY(QFile::remove(out));
            }
        }
        const Outcome last = run(sweep(out));
        QVERIFY2(last.status == 0, qPrintable(last.error));
        QCOMPARE(bitsOf(readSession(out.toStdString())), bits);
        qInfo("%d kills, %d sweeps that ended with the same bits", kills, ends + 1);
    }
};

SECATEUR_SUITE(TestSweepKills)
#include "tst_sweep_kills.moc"
