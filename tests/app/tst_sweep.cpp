// `secateur-cli sweep`: its output, its session, sweeps that were stopped or divided, and wrong input.

#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/drawn_checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/sweeps.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <QElapsedTimer>

#include <csignal>

using namespace secateur;
using test::bitsOf;
using test::DrawnShape;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

Session sessionAt(const QString& path) {
    return readSession(path.toStdString());
}

QByteArray bytesAt(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Runs a command, sends it SIGINT as soon as the session exists, and returns its exit status.
int interruptedOnceItWrites(const QStringList& arguments, const QString& out) {
    QProcess program;
    program.start(SECATEUR_CLI, arguments);
    while (program.state() != QProcess::NotRunning && !QFileInfo::exists(out))
        program.waitForFinished(2);
    if (program.state() == QProcess::Running)
        ::kill(static_cast<pid_t>(program.processId()), SIGINT);
    program.waitForFinished(60'000);
    return program.exitCode();
}

} // namespace

class TestSweep : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;
    QString m_model;
    QString m_text;

    QStringList sweep(const QString& out, const QStringList& more = {}) const {
        return QStringList{"sweep",        m_model, "--dtype",    "float32", "--max-tokens", "256",
                           "--seq-len",    "64",    "--window",   "32",      "--threads",    "1",
                           "--score-tokens", "512", "--out",      out} +
               more;
    }

    QStringList small(const QString& out, const QStringList& more = {}) const {
        return sweep(out, QStringList{"--strategy", "gate_norm,attention_importance,random_head", "--budgets",
                                      "1,2,params:4%", "--repeat", "2"} +
                              more);
    }

    /// Points of two strategies, pruned and recovered.
    QStringList recovering(const QString& out, const QStringList& more = {}) const {
        return sweep(out, QStringList{"--strategy", "gate_norm,random_head", "--budgets", "1,2", "--text", m_text,
                                      "--score", m_text, "--recover", "quick", "--recover-data", m_text,
                                      "--recover-steps", "3"} +
                              more);
    }

private slots:
    void initTestCase() {
        test::writeDrawnFolder(m_scratch, "model", DrawnShape{.layers = 6, .heads = 4, .kvHeads = 2});
        test::writeDrawnFolder(m_scratch, "other", DrawnShape{.layers = 5, .heads = 4, .kvHeads = 2});
        m_model = m_scratch.path("model");
        m_text = QString::fromStdString(m_scratch.write("text.txt", test::numberedSentences(60, "\n\n\n")));
    }

    void pointsAreDocumentedNumbers() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const Outcome outcome = run(small(out, {"--json", "--csv", scratch.path("tables"), "--masks", scratch.path("masks")}));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json document = outcome.json();
        QCOMPARE(document.at("curves").size(), std::size_t{3});
        const Json& points = document.at("curves").at("random_head");
        QCOMPARE(points.size(), std::size_t{6});
        const Json& point = points.at(0);
        for (const char* field : {"budget", "reached", "repetition", "seed", "compensation", "recovered", "removed", "mask",
                                  "loss_nats", "delta_nats", "delta_standard_error", "perplexity", "tasks",
                                  "tokens_per_second", "parameters", "kv_bytes_per_token", "operations_per_token",
                                  "choosing_seconds", "scoring_seconds", "error"})
            QVERIFY2(point.contains(field), field);
        QCOMPARE(point.at("budget"), "1");
        QCOMPARE(point.at("removed").at("heads"), 1);
        QVERIFY(std::abs(point.at("delta_nats").get<double>() -
                         (point.at("loss_nats").get<double>() - document.at("dense").at("loss_nats").get<double>())) < 1e-9);
        QCOMPARE(document.at("scored").at("tokens"), 512);
        QCOMPARE(document.at("calibration").at("tokens"), 256);
        const Session session = sessionAt(out);
        QCOMPARE(session.curves.size(), std::size_t{1});
        const QByteArray table = bytesAt(scratch.path("tables/curves.csv"));
        QCOMPARE(table.count('\n'), 1 + 1 + 3 + 3 + 6);
        QCOMPARE(table, QByteArray::fromStdString(curvesCsv(session.curves[0])));
        const QStringList masks = QDir(scratch.path("masks")).entryList({"*.mask.json"});
        QCOMPARE(static_cast<std::size_t>(masks.size()), session.masks.size());
        QVERIFY2(masks.contains("random_head_1_seed_0.mask.json"), qPrintable(masks.join(' ')));
        // A mask of the sweep evaluates to the loss of its point.
        const std::string digest = point.at("mask").at("digest");
        const Outcome evaluated =
            run({"evaluate", m_model, "--mask", scratch.path("masks/random_head_1_seed_0.mask.json"), "--dtype", "float32",
                 "--max-tokens", "512", "--window", "32", "--json"});
        QVERIFY2(evaluated.status == 0, qPrintable(evaluated.error));
        QCOMPARE(evaluated.json().at("mask").at("digest"), digest);
    }

    void theSameCommandRunsNothingAgain() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const Outcome first = run(small(out));
        QVERIFY2(first.status == 0, qPrintable(first.error));
        QVERIFY(first.out.contains("gate_norm") && first.out.contains("dense"));
        const QByteArray bytes = bytesAt(out);
        QElapsedTimer timer;
        timer.start();
        const Outcome second = run(small(out));
        qInfo("the second run took %lld ms", timer.elapsed());
        QCOMPARE(second.status, 0);
        QCOMPARE(second.out, first.out);
        QCOMPARE(bytesAt(out), bytes);
        // A further strategy and budget leave the points that are there.
        const std::string before = bitsOf(sessionAt(out).curves[0]);
        QCOMPARE(run(sweep(out, {"--strategy", "gate_norm,block_influence", "--budgets", "1,3"})).status, 0);
        const Curves curves = sessionAt(out).curves[0];
        QCOMPARE(curves.curve("gate_norm")->points.size(), std::size_t{4});
        QCOMPARE(curves.curve("block_influence")->points.size(), std::size_t{2});
        QCOMPARE(curves.curve("random_head")->points.size(), std::size_t{6});
        const Outcome shown = run({"session", "show", out});
        QVERIFY(shown.out.contains("block_influence") && shown.out.contains("calibrated on"));
    }

    void aSweepStoppedByTheUserContinues() {
        const Scratch scratch;
        QCOMPARE(run(small(scratch.path("whole.h5"))).status, 0);
        const QString out = scratch.path("s.h5");
        const int status = interruptedOnceItWrites(small(out), out);
        QVERIFY2(status == 1 || status == 0, qPrintable(QString::number(status))); // 0: it was faster than the signal
        const Outcome rest = run(small(out));
        QVERIFY2(rest.status == 0, qPrintable(rest.error));
        QCOMPARE(bitsOf(sessionAt(out)), bitsOf(sessionAt(scratch.path("whole.h5"))));
    }

    void partsMergeToTheWhole() {
        const Scratch scratch;
        QCOMPARE(run(small(scratch.path("whole.h5"))).status, 0);
        QStringList parts;
        for (const char* part : {"1/3", "2/3", "3/3"}) {
            parts << scratch.path(QString("part%1.h5").arg(parts.size()));
            const Outcome outcome = run(small(parts.last(), {"--part", part}));
            QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        }
        const Outcome merged = run(QStringList{"session", "merge"} + parts + QStringList{"--out", scratch.path("all.h5")});
        QVERIFY2(merged.status == 0, qPrintable(merged.error));
        QVERIFY2(merged.out.contains("12 points"), merged.out.constData());
        QCOMPARE(bitsOf(sessionAt(scratch.path("all.h5"))), bitsOf(sessionAt(scratch.path("whole.h5"))));
    }

    void recoveriesHaveEpochs() {
        const Scratch scratch;
        const QStringList epochs{"--strategy", "gate_norm", "--budgets", "1", "--text", m_text, "--score", m_text,
                                 "--recover", "quick", "--recover-data", m_text, "--recover-epochs", "2", "--json"};
        const Outcome outcome = run(sweep(scratch.path("s.h5"), epochs));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        QCOMPARE(outcome.json().at("curves").at("gate_norm").at(1).at("recovered"), "quick:epochs=2:data=text");
    }

    void recoveredPointsStandBesideThePrunedOnes() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const QStringList masks{"--masks", scratch.path("masks"), "--json"};
        const Outcome outcome = run(recovering(out, masks));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json points = outcome.json().at("curves").at("gate_norm");
        QCOMPARE(points.size(), std::size_t{4});
        for (const std::size_t i : {0, 2}) {
            const Json& pruned = points.at(i);
            const Json& recovered = points.at(i + 1);
            QVERIFY(pruned.at("recovered").is_null() && pruned.at("training_seconds").is_null());
            QCOMPARE(recovered.at("recovered"), "quick:steps=3:data=text");
            QCOMPARE(recovered.at("mask"), pruned.at("mask"));
            QCOMPARE(recovered.at("parameters"), pruned.at("parameters"));
            QVERIFY(recovered.at("training_seconds").get<double>() > 0);
            QVERIFY(recovered.at("loss_nats") != pruned.at("loss_nats"));
        }
        const QStringList folders = QDir(out + ".adapters").entryList(QDir::Dirs | QDir::NoDotAndDotDot);
        QCOMPARE(folders.size(), 4);
        // An adapter of the sweep evaluates to the loss of its point.
        const std::string digest = points.at(3).at("mask").at("digest");
        const QString start = QString::fromStdString(digest.substr(digest.find(':') + 1, 12));
        const QString folder = folders.filter(start).value(0);
        QVERIFY2(folder.startsWith(start + "-quick-steps-3-data-text-"), qPrintable(folder));
        const Outcome evaluated =
            run({"evaluate", m_model, "--mask", scratch.path("masks/gate_norm_2.mask.json"), "--adapter",
                 out + ".adapters/" + folder, "--dtype", "float32", "--text", m_text, "--max-tokens", "512",
                 "--window", "32", "--threads", "1", "--json"});
        QVERIFY2(evaluated.status == 0, qPrintable(evaluated.error));
        QVERIFY(std::abs(evaluated.json().at("text").at("loss_nats").get<double>() -
                         points.at(3).at("loss_nats").get<double>()) < 1e-6);
        // The figure has a line for them, and the same command runs nothing again.
        const QString figure = scratch.path("curves.csv");
        QCOMPARE(run({"plot", out, "--figure", "curves", "--out", figure}).status, 0);
        QVERIFY2(bytesAt(figure).contains("gate_norm + quick:steps=3:data=text"), bytesAt(figure).constData());
        const QByteArray bytes = bytesAt(out);
        QCOMPARE(run(recovering(out, masks)).status, 0);
        QCOMPARE(bytesAt(out), bytes);
    }

    void aKilledRecoveryGoesOn() {
        const Scratch scratch;
        const QString whole = scratch.path("whole.h5");
        QCOMPARE(run(recovering(whole)).status, 0);
        const std::string bits = bitsOf(sessionAt(whole));
        const QString out = scratch.path("s.h5");
        int kills = 0;
        for (int i = 0; i < 40; ++i) {
            QProcess program;
            program.start(SECATEUR_CLI, recovering(out));
            QVERIFY(program.waitForStarted());
            if (program.waitForFinished(120 + 25 * i))
                break;
            if (i % 2 == 0)
                program.kill();
            else
                program.terminate();
            program.waitForFinished();
            ++kills;
        }
        QCOMPARE(run(recovering(out)).status, 0);
        qInfo("%d kills", kills);
        QCOMPARE(bitsOf(sessionAt(out)), bits);
        for (const QString& folder : QDir(whole + ".adapters").entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            const QString file = ".adapters/" + folder + "/adapter_model.safetensors";
            QVERIFY(!bytesAt(whole + file).isEmpty());
            QCOMPARE(bytesAt(out + file), bytesAt(whole + file));
        }
        // Without masks of its own, a recovery takes those that an earlier sweep chose.
        const QString later = scratch.path("later.h5");
        QStringList pruned = recovering(later);
        pruned.remove(pruned.indexOf("--recover"), 6);
        QCOMPARE(run(pruned).status, 0);
        QCOMPARE(run(recovering(later)).status, 0);
        QCOMPARE(bitsOf(sessionAt(later)), bits);
    }

    void aFailedRecoveryLeavesTheOtherPoints() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        scratch.write("s.h5.adapters", "in the way");
        const Outcome outcome = run(recovering(out));
        QCOMPARE(outcome.status, 0);
        QVERIFY2(outcome.error.contains("gate_norm 1 + quick:steps=3:data=text: "), qPrintable(outcome.error));
        const Curves curves = sessionAt(out).curves[0];
        for (const Curve& curve : curves.curves)
            for (const CurvePoint& point : curve.points) {
                QCOMPARE(point.error.empty(), point.key.recovered.empty());
                QCOMPARE(std::isnan(point.lossNats), !point.key.recovered.empty());
            }
        QVERIFY(QFile::remove(out + ".adapters"));
        QCOMPARE(run(recovering(out, {"--retry"})).status, 0);
        const Outcome whole = run(recovering(scratch.path("whole.h5")));
        QCOMPARE(bitsOf(sessionAt(out)), bitsOf(sessionAt(scratch.path("whole.h5"))));
    }

    void theForecastCountsTrainings() {
        const Scratch scratch;
        const Outcome outcome = run(recovering(scratch.path("s.h5"), {"--progress", "plain"}));
        QVERIFY2(outcome.error.contains("4 trainings on "), qPrintable(outcome.error));
    }

    void theForecastCountsFitsOfCompensations() {
        const Scratch scratch;
        const auto forecast = [&](const QString& modes) {
            return run(sweep(scratch.path(modes + ".h5"), {"--strategy", "gate_norm", "--budgets", "1,2", "--compensate",
                                                           modes, "--progress", "plain"}))
                .error;
        };
        const QString without = forecast("none");
        QVERIFY2(without.contains("passes over the scored text"), qPrintable(without));
        QVERIFY2(!without.contains("passes over the calibration text"), qPrintable(without));
        const QString fitted = forecast("none,weights");
        QVERIFY2(fitted.contains("passes over the calibration text"), qPrintable(fitted));
    }

    void partsOfTheTextShowHowStableMasksAre() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const QStringList points{"--strategy", "gate_norm,attention_importance,random_head", "--budgets", "1,2,3",
                                 "--stability", "2"};
        const Outcome outcome = run(sweep(out, points));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Session session = sessionAt(out);
        QCOMPARE(session.curves.size(), std::size_t{3});
        QCOMPARE(std::ranges::count_if(session.curves, &Curves::areScored), 1);
        for (const Curves& curves : session.curves)
            if (!curves.areScored())
                QCOMPARE(curves.curves.size(), std::size_t{1}); // gate_norm reads no text, random_head is drawn
        QCOMPARE(session.results.size(), std::size_t{4}); // both metrics, and one on each part
        QVERIFY(!session.latest("attention_importance")->data->isPart());
        const QString figure = scratch.path("stability.csv");
        const Outcome plotted = run({"plot", out, "--figure", "stability", "--out", figure});
        QVERIFY2(plotted.status == 0, qPrintable(plotted.error));
        QVERIFY(bytesAt(figure).contains("\"1, 2 texts\""));
        QCOMPARE(run({"plot", out, "--figure", "stability:of=scores", "--out", scratch.path("scores.csv")}).status, 0);
        const QByteArray bytes = bytesAt(out);
        QCOMPARE(run(sweep(out, points)).status, 0);
        QCOMPARE(bytesAt(out), bytes);
        QStringList many = points;
        many.last() = "99";
        const Outcome refused = run(sweep(scratch.path("t.h5"), many));
        QCOMPARE(refused.status, 2);
        QVERIFY2(refused.error.contains("fewer than 99 parts"), qPrintable(refused.error));
    }

    void anImpossibleBudgetRunsTheLargestAndAFailureIsNoted() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const Outcome outcome = run(sweep(out, {"--strategy", "gate_norm", "--budgets", "2,1.5,40"}));
        QCOMPARE(outcome.status, 0);
        QVERIFY2(outcome.out.contains("40 (at most 6)"), outcome.out.constData());
        QVERIFY2(outcome.error.contains("note: gate_norm 1.5: "), qPrintable(outcome.error));
        const Curves curves = sessionAt(out).curves[0];
        QCOMPARE(curves.curves[0].points.size(), std::size_t{3});
        QVERIFY(!curves.curves[0].points[1].error.empty() || !curves.curves[0].points[0].error.empty());
        const Outcome again = run(sweep(out, {"--strategy", "gate_norm", "--budgets", "2,1.5,40"}));
        QVERIFY(again.error.contains("1 point failed in an earlier run; --retry runs them again"));
    }

    void equalTextsAreWarnedOf() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const QString copy = scratch.path("copy.txt");
        QVERIFY(QFile::copy(m_text, copy));
        const QStringList points{"--strategy", "gate_norm", "--budgets", "1", "--text", m_text};
        const Outcome outcome = run(sweep(out, points + QStringList{"--score", copy}));
        QVERIFY2(outcome.error.contains("the scored text is the calibration text"), qPrintable(outcome.error));
        const Curves curves = sessionAt(out).curves.at(0);
        QVERIFY(curves.conditions.scoresCalibrationText);
        QVERIFY(run({"session", "show", out}).error.contains("the scored text is the calibration text"));
        // The last third of one text is another text.
        const QString second = scratch.path("t.h5");
        QCOMPARE(run(sweep(second, points)).status, 0);
        const Curves divided = sessionAt(second).curves.at(0);
        QVERIFY(!divided.conditions.scoresCalibrationText && divided.warnings.empty());
        QVERIFY(divided.conditions.scored.digest != curves.conditions.scored.digest);
    }

    void tasksAndTimesJoinThePoints() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const QString task = QString::fromStdString(
            scratch.write("choices.jsonl", R"({"query":"the model","choices":["a layer","the text"],"gold":0}
{"query":"the text","choices":["of a","the mask"],"gold":1})"));
        const QStringList points{"--strategy", "gate_norm", "--budgets", "1,2"};
        QCOMPARE(run(sweep(out, points)).status, 0);
        const Outcome outcome =
            run(sweep(out, points + QStringList{"--task", task + ":format=generic:shots=1", "--latency", "--warmup", "0",
                                                "--runs", "1", "--new-tokens", "4", "--json"}));
        QVERIFY2(outcome.status == 0, outcome.out.constData());
        const Json point = outcome.json().at("curves").at("gate_norm").at(1);
        QVERIFY(point.at("tasks").at("choices").at("metrics").contains("acc"));
        QVERIFY(point.at("tasks").at("choices").at("delta").at("acc").at("value").is_number());
        QVERIFY(point.at("tokens_per_second").get<double>() > 0);
        QVERIFY(point.at("loss_nats").is_number());
        QCOMPARE(sessionAt(out).curves.size(), std::size_t{1});
    }

    void wrongInputIsRefused_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QStringList& arguments, int status, const char* sentence) {
            QTest::newRow(name) << arguments << status << sentence;
        };
        row("no budget", {"--strategy", "gate_norm"}, 2, "needs --strategy and --budgets, or --preset alone");
        row("two choices", {"--preset", "gate_norm", "--budgets", "1"}, 2,
            "needs --strategy and --budgets, or --preset alone");
        row("an unknown strategy", {"--strategy", "gate_nrom", "--budgets", "1"}, 2, "Did you mean gate_norm?");
        row("an unknown preset", {"--preset", "gate_nrom"}, 2, "Did you mean gate_norm?");
        row("no budget at all", {"--strategy", "gate_norm", "--budgets", "some"}, 2, "\"some\" is neither a number");
        row("a part that is not there", {"--strategy", "gate_norm", "--budgets", "1", "--part", "4/3"}, 2,
            "\"4/3\" is no part such as 3/16");
        row("an unknown compensation", {"--strategy", "gate_norm", "--budgets", "1", "--compensate", "best"}, 2,
            "\"best\" is not a mode of compensation: use own, none, bias, scale, both, weights");
        row("an unknown recipe", {"--strategy", "gate_norm", "--budgets", "1", "--recover", "slow"}, 2,
            "The known ones are amp, gate_norm, quick");
        row("steps and epochs", {"--strategy", "gate_norm", "--budgets", "1", "--recover", "quick", "--recover-steps", "3",
                                 "--recover-epochs", "1"}, 2, "--recover-epochs");
        row("steps of no recovery", {"--strategy", "gate_norm", "--budgets", "1", "--recover-steps", "3"}, 2, "--recover");
        row("a size without a preset", {"--strategy", "gate_norm", "--budgets", "1", "--size", "paper"}, 2,
            "requires --preset");
        row("a text that is not there", {"--strategy", "gate_norm", "--budgets", "1", "--score", "nowhere.txt"}, 1,
            "nowhere.txt: does not exist");
        row("a task that is not there", {"--strategy", "gate_norm", "--budgets", "1", "--task", "no.jsonl:shots=2"}, 1,
            "no.jsonl");
        row("an absurd number of shots", {"--strategy", "gate_norm", "--budgets", "1", "--task", "no.jsonl:shots=x"}, 2,
            "shots=x is no number from 0 to 1000");
        row("a protection of no layer", {"--strategy", "gate_norm", "--budgets", "1", "--protect", "77"}, 2, "77");
    }
    void wrongInputIsRefused() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        QFETCH(QString, sentence);
        const Scratch scratch;
        const Outcome outcome = run(sweep(scratch.path("s.h5"), arguments));
        QCOMPARE(outcome.status, status);
        QVERIFY2(outcome.error.contains(sentence), qPrintable(outcome.error));
        QVERIFY(!QFileInfo::exists(scratch.path("s.h5")));
    }

    void aTextThatCannotBeDividedIsRefused() {
        const Scratch scratch;
        const QString word = QString::fromStdString(scratch.write("word.txt", "word"));
        const Outcome outcome =
            run(sweep(scratch.path("s.h5"), {"--strategy", "gate_norm", "--budgets", "1", "--text", word}));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.error.contains("word.txt: is too short to be divided into a calibration text and a scored text"),
                 qPrintable(outcome.error));
    }

    void aSessionOfAnotherModelIsRefused() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        QCOMPARE(run(sweep(out, {"--strategy", "gate_norm", "--budgets", "1"})).status, 0);
        const QByteArray bytes = bytesAt(out);
        QStringList other = sweep(out, {"--strategy", "gate_norm", "--budgets", "1"});
        other[1] = m_scratch.path("other");
        const Outcome outcome = run(other);
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.error.contains("is a session of model") && outcome.error.contains("not of other"),
                 qPrintable(outcome.error));
        QCOMPARE(bytesAt(out), bytes);
    }

    void aPresetRuns() {
        const Scratch scratch;
        const Outcome outcome = run(sweep(scratch.path("s.h5"), {"--preset", "gate_norm", "--json"}));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json curves = outcome.json().at("curves");
        QCOMPARE(curves.size(), std::size_t{4});
        QCOMPARE(curves.at("gate_norm").size(), std::size_t{2}); // 1,4,7,10,13 of 40 layers are 1 and 2 of 6
        QCOMPARE(curves.at("random_attention").size(), std::size_t{6});
    }
};

SECATEUR_SUITE(TestSweep)
#include "tst_sweep.moc"
