// `secateur-cli evaluate --out` and `secateur-cli session`: the finished parts of a run are stored in the session and
// not computed again.

#include "analysis/session/session.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/close_numbers.h"
#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/processor.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <csignal>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString sources = SECATEUR_TEST_SOURCES "/perplexity/";
const double nearly = test::roundsAlikeInAllBatches() ? 0 : 1e-7; ///< allowed difference of results

/// Copies a small model of tests/data/forward and a tokenizer whose tokens are single characters to `scratch`.
QString writeModel(const Scratch& scratch, const QString& name) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/" + name + "/";
    for (const QString& file : {source + "config.json", source + "model.safetensors",
                                sources + "adds-bos/tokenizer.json", sources + "adds-bos/tokenizer_config.json"})
        QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
    return scratch.path();
}

QString writeMask(const Scratch& scratch, const QString& model, const QString& name, const char* layers) {
    const std::string structure = run({"inspect", model, "--json"}).json().at("structure").get<std::string>();
    const QByteArray made = R"({"architecture":"llama","structure":")" + QByteArray::fromStdString(structure) + R"("})";
    return QString::fromStdString(
        scratch.write(name, R"({"secateur_mask":1,"model":)" + made + R"(,"layers":)" + layers + "}"));
}

/// Runs a command, sends it SIGINT when its progress has reached `fraction`, and returns its exit status.
int stoppedAt(double fraction, const QStringList& arguments) {
    QProcess program;
    program.setReadChannel(QProcess::StandardError);
    program.start(SECATEUR_CLI, arguments + QStringList{"--progress", "json", "--log-level", "off"});
    program.setReadChannel(QProcess::StandardError); // start() resets the channel that waitForReadyRead() watches
    double told = 0;
    while (told < fraction && (program.canReadLine() || program.waitForReadyRead(30'000))) {
        while (program.canReadLine()) {
            const Json line = Json::parse(program.readLine().toStdString(), nullptr, false);
            if (line.contains("fraction"))
                told = line.at("fraction").get<double>();
        }
    }
    if (program.state() == QProcess::Running)
        ::kill(static_cast<pid_t>(program.processId()), SIGINT);
    program.waitForFinished(30'000);
    return program.exitCode();
}

Session sessionAt(const QString& path) {
    return readSession(path.toStdString());
}

std::vector<double> natsOf(const Evaluation& evaluation) {
    std::vector<double> nats;
    for (const WindowLoss& window : evaluation.text.value().perplexity.windows)
        nats.push_back(window.nats);
    return nats;
}

} // namespace

class TestEvaluateOut : public QObject {
    Q_OBJECT

private:
    Scratch m_llama;
    QString m_model;
    QString m_one;
    QString m_two;

    QStringList evaluate(const QStringList& more, const QString& text = sources + "articles.raw",
                         const char* window = "16") const {
        return QStringList{"evaluate", m_model, "--text", text, "--window", window, "--dtype", "float32"} + more;
    }

private slots:
    void initTestCase() {
        m_model = writeModel(m_llama, "llama-gqa");
        m_one = writeMask(m_llama, m_model, "one.json", R"([{"layer":0,"heads_cut":[1]}])");
        m_two = writeMask(m_llama, m_model, "two.json", R"([{"layer":1,"mlp":"drop"}])");
    }

    void theDenseModelRunsOnceForAllMasks() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const QString said = "the dense model's losses were read from " + out;
        const Outcome first = run(evaluate({"--mask", m_one, "--out", out, "--json"}));
        QVERIFY2(first.status == 0 && first.error.isEmpty(), qPrintable(first.error));
        QVERIFY(first.json().at("warnings").empty());
        const Json second = run(evaluate({"--mask", m_two, "--out", out, "--json"})).json();
        QCOMPARE(second.at("warnings"), Json::array({said.toStdString()}));
        const Session session = sessionAt(out);
        QCOMPARE(session.masks.size(), 2);
        QCOMPARE(session.evaluations.size(), 3);
        QCOMPARE(session.evaluations[0].mask.digest, "dense");
        QCOMPARE(session.evaluations[1].mask.name, "one.json");
        QCOMPARE(session.evaluations[2].mask.name, "two.json");
        for (const Json& document : {first.json(), second}) {
            const Json alone =
                run(evaluate({"--mask", document.at("mask").at("name") == "one.json" ? m_one : m_two, "--json"}))
                    .json();
            const double apart = test::apart(document.at("text"), alone.at("text"));
            qInfo("numbers apart: %.1e", apart);
            QVERIFY(apart <= nearly);
            QCOMPARE(document.at("mask"), alone.at("mask"));
        }
        QVERIFY(Json(natsOf(session.evaluations[2])) == second.at("text").at("window_nats"));

        // Runs that the session already has are neither repeated nor stored twice. Each mask is paired with its own
        // run, whatever the order of the masks in the command.
        const Outcome again = run(evaluate({"--mask", m_two, "--mask", m_one, "--out", out}));
        for (const char* note : {"note: the dense model's losses", "note: one.json's losses", "note: two.json's"})
            QVERIFY2(again.error.contains(note), qPrintable(again.error));
        QCOMPARE(sessionAt(out).evaluations.size(), 3);
        const QString several = scratch.path("several.h5");
        const Json both = run(evaluate({"--mask", m_one, "--mask", m_two, "--out", several, "--json"})).json();
        QCOMPARE(both.at("runs")[1].at("text").at("delta_nats"), second.at("text").at("delta_nats"));
        QCOMPARE(sessionAt(several).evaluations.size(), 3);
        QVERIFY(natsOf(sessionAt(several).evaluations[2]) == natsOf(session.evaluations[2]));
    }

    void otherRulesAreOtherRuns() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        for (const QStringList& more :
             {QStringList{}, {"--bos", "never"}, {"--max-tokens", "64"}, {"--protocol", "word_ppl"}})
            QCOMPARE(run(evaluate(more + QStringList{"--out", out})).status, 0);
        QCOMPARE(run(evaluate({"--out", out}, sources + "articles.raw", "13")).status, 0);
        QCOMPARE(sessionAt(out).evaluations.size(), 5);
        const Json against = run(evaluate({"--mask", m_one, "--against", m_two, "--out", out, "--json"})).json();
        QCOMPARE(against.at("text").at("reference").at("mask").at("name").get<std::string>(), "two.json");
        const Json alone = run(evaluate({"--mask", m_one, "--against", "none", "--out", out, "--json"})).json();
        QVERIFY(alone.at("text").at("reference").is_null());
        QCOMPARE(alone.at("text").at("loss_nats"), against.at("text").at("loss_nats"));
        QCOMPARE(sessionAt(out).evaluations.size(), 7);
    }

    void aStoppedRunGoesOnWhereItStopped() {
        const Scratch scratch;
        QFile articles(sources + "articles.raw");
        QVERIFY(articles.open(QIODevice::ReadOnly));
        const QByteArray once = articles.readAll();
        const QString text = QString::fromStdString(scratch.write("long.txt", once.repeated(150'000 / once.size())));
        const QStringList slow{"--mask", m_one, "--batch-tokens", "16", "--threads", "1"};
        const QString whole = scratch.path("whole.h5");
        const QString parts = scratch.path("parts.h5");
        QCOMPARE(run(evaluate(slow + QStringList{"--out", whole}, text)).status, 0);
        const Session expected = sessionAt(whole);
        const QStringList command = evaluate(slow + QStringList{"--out", parts}, text);
        std::size_t before = 0;
        int stopped = 0;
        for (const double fraction : {0.2, 0.3, 0.7}) {
            if (stoppedAt(fraction, command) == 0)
                break; // the command finished before it could be stopped
            ++stopped;
            const Session part = sessionAt(parts);
            std::size_t windows = 0;
            for (const Evaluation& evaluation : part.evaluations)
                windows += evaluation.text.value().perplexity.windows.size();
            QVERIFY(windows > before);
            before = windows;
            QVERIFY(!part.evaluations.back().text->isComplete());
        }
        qInfo() << "stopped" << stopped << "times; known before the last run:" << before << "of"
                << 2 * expected.evaluations[0].text->windows << "windows";
        QVERIFY(stopped > 0);
        const Outcome last = run(command);
        QVERIFY2(last.status == 0 && last.error.contains("were read from " + parts), qPrintable(last.error));
        const Session found = sessionAt(parts);
        QCOMPARE(found.evaluations.size(), 2);
        for (std::size_t i = 0; i < 2; ++i) {
            QVERIFY(found.evaluations[i].text->isComplete());
            QVERIFY(natsOf(found.evaluations[i]) == natsOf(expected.evaluations[i])); // equal bit by bit
        }
    }

    void answersAreAskedForOnce() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const QString task =
            QString::fromStdString(scratch.write("abc.jsonl", R"({"query":"a b","choices":["c","dd"],"gold":0})"
                                                              "\n"
                                                              R"({"query":"e","choices":["ff","g","a"],"gold":2})"
                                                              "\n"));
        const QStringList ask{"evaluate", m_model, "--task", task, "--dtype", "float32", "--out", out, "--json"};
        const Json dense = run(ask).json();
        const Json cut = run(ask + QStringList{"--mask", m_one}).json();
        QCOMPARE(cut.at("warnings"),
                 Json::array({"the dense model's answers to abc were read from " + out.toStdString()}));
        const Session session = sessionAt(out);
        QCOMPARE(session.evaluations.size(), 2);
        QCOMPARE(session.evaluations[1].tasks.front().run.questions.size(), 2);
        const Json again = run(ask + QStringList{"--mask", m_one}).json();
        QCOMPARE(again.at("tasks"), cut.at("tasks"));
        QCOMPARE(again.at("warnings").size(), std::size_t{2});
        run(ask + QStringList{"--limit", "1"});
        QCOMPARE(sessionAt(out).evaluations.size(), 3);
        // An evaluation on a text is added to the evaluation that the mask already has.
        QCOMPARE(run(evaluate({"--mask", m_one, "--out", out})).status, 0);
        QCOMPARE(sessionAt(out).evaluations.size(), 3);
    }

    void timesAreKept() {
        const Scratch scratch;
        const QString out = scratch.path("s.h5");
        const QStringList timed{"evaluate", m_model,    "--latency", "--prompt-tokens", "3", "--runs",
                                "2",        "--warmup", "0",         "--new-tokens",    "4", "--lengths",
                                "8",        "--mask",   m_one,       "--out",           out, "--json",
                                "--dtype",  "float32"};
        const Json told = run(timed).json();
        QCOMPARE(run(timed).status, 0); // measures again and replaces the first times
        const Session session = sessionAt(out);
        QCOMPARE(session.evaluations.size(), 1);
        QCOMPARE(session.masks.size(), 1);
        const Evaluation& kept = session.evaluations.front();
        QCOMPARE(kept.latency->run.seconds.size(), 2);
        QVERIFY(kept.latency->reference && kept.prefills.front().reference);
        QCOMPARE(kept.timedAgainst.digest, "dense");
        QVERIFY(told.at("latency").at("tokens_per_second").get<double>() > 0);
        const Json shown = run({"session", "show", out, "--json"}).json().at("evaluations")[0];
        QCOMPARE(shown.at("latency").at("new_tokens").get<int>(), 4);
        QCOMPARE(shown.at("prefill")[0].at("tokens").get<int>(), 8);
        QVERIFY(run({"session", "show", out}).out.contains("tokens/s"));
        // An evaluation on a text is added to the evaluation that the mask already has.
        QCOMPARE(run(evaluate({"--mask", m_one, "--out", out})).status, 0);
        QCOMPARE(sessionAt(out).evaluations.size(), 2); // that of the dense model and that of the mask
    }

    void sessionsAreJoinedAndShown() {
        const Scratch scratch;
        const QString a = scratch.path("a.h5");
        const QString b = scratch.path("b.h5");
        const QString c = scratch.path("c.h5");
        run(evaluate({"--mask", m_one, "--out", a}));
        run(evaluate({"--mask", m_two, "--out", b}));
        run({"measure", m_model, "--metric", "gate_norm", "--out", b});
        const Outcome merged = run({"session", "merge", a, b, "--out", c});
        QCOMPARE(merged.out, (c + ": 1 measurement, 2 masks, 3 evaluations\n").toUtf8());
        const Json shown = run({"session", "show", c, "--json"}).json();
        QCOMPARE(shown.at("masks").size(), std::size_t{2});
        QCOMPARE(shown.at("evaluations").size(), std::size_t{3});
        const Json alone = run(evaluate({"--mask", m_two, "--json"})).json().at("text");
        QVERIFY(test::apart(shown.at("evaluations")[2].at("text").at("delta_nats"), alone.at("delta_nats")) <= nearly);
        const QByteArray table = run({"session", "show", c}).out;
        for (const char* part : {"\ndense ", "\none.json ", "\ntwo.json ", "\ngate_norm ", "articles.raw"})
            QVERIFY2(table.contains(part), table);
        // Merging the same sessions again changes nothing.
        QCOMPARE(run({"session", "merge", a, b, "--out", c}).out, merged.out);

        const Scratch other;
        const QString qwen = writeModel(other, "qwen2");
        QVERIFY2(QFile::exists(qwen + "/model.safetensors"), "fixture");
        const Outcome refused =
            run({"evaluate", qwen, "--text", sources + "articles.raw", "--window", "16", "--out", a});
        QCOMPARE(refused.status, 1);
        QVERIFY2(refused.error.contains("a.h5: is a session of "), qPrintable(refused.error));
        const QString d = scratch.path("d.h5");
        QCOMPARE(run({"evaluate", qwen, "--text", sources + "articles.raw", "--window", "16", "--out", d}).status, 0);
        const Outcome mixed = run({"session", "merge", a, d, "--out", c});
        QCOMPARE(mixed.status, 1);
        QVERIFY2(mixed.error.contains("d.h5: is a session of "), qPrintable(mixed.error));
    }
};

SECATEUR_SUITE(TestEvaluateOut)
#include "tst_evaluate_out.moc"
