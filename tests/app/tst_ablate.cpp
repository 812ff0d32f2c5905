// `secateur-cli ablate`, started as a program: arguments, output and files. tst_ablation tests the values that it
// computes.

#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <csignal>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString sources = SECATEUR_TEST_SOURCES "/perplexity/";

/// Copies a small model of tests/data/forward and a tokenizer whose tokens are single characters to `scratch`.
QString writeModel(const Scratch& scratch, const QString& name) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/" + name + "/";
    for (const QString& file : {source + "config.json", source + "model.safetensors",
                                sources + "adds-bos/tokenizer.json", sources + "adds-bos/tokenizer_config.json"})
        QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
    return scratch.path();
}

QByteArray line(const Json& row) {
    return QByteArray::fromStdString(row.dump() + "\n");
}

QByteArray choices() {
    const std::vector<const char*> words{"sand", "tin", "hotel 1", "a", "he - robots", "21"};
    QByteArray rows;
    for (std::size_t i = 0; i < 24; ++i)
        rows += line(Json{{"query", std::string("the ") + words[i % 6] + " " + words[i / 6]},
                          {"choices", {words[(i + 1) % 6], words[(i + 3) % 6], words[(2 * i) % 5]}},
                          {"gold", i % 3}});
    return rows;
}

} // namespace

class TestAblate : public QObject {
    Q_OBJECT

private:
    Scratch m_folder;
    QString m_model;

    QStringList ablate(const QStringList& more) const {
        return QStringList{"ablate", m_model, "--dtype", "float32"} + more;
    }
    QStringList onText(const QStringList& more) const {
        return ablate(QStringList{"--text", sources + "articles.raw", "--seq-len", "24", "--max-tokens", "100"} + more);
    }
    QString maskOf(int layer, int head) const {
        const std::string structure = run({"inspect", m_model, "--json"}).json().at("structure").get<std::string>();
        const Json mask{{"secateur_mask", 1},
                        {"model", {{"architecture", "llama"}, {"structure", structure}}},
                        {"layers", {{{"layer", layer}, {"heads_cut", {head}}}}}};
        return QString::fromStdString(m_folder.write("cut.mask.json", QByteArray::fromStdString(mask.dump())));
    }

    /// Runs `command` to complete the unfinished session `path`. Afterwards its values must equal those of the session
    /// `whole`.
    static void goesOn(const QStringList& command, const QString& path, const QString& whole) {
        const Outcome on = run(command + QStringList{path, "--json"});
        QVERIFY2(on.status == 0, qPrintable(on.error));
        QVERIFY(QString::fromStdString(on.json()["warnings"].dump()).contains("come from"));
        const auto valuesOf = [](const QString& file, std::size_t result) {
            const auto values = readSession(file.toStdString()).results.at(result).values;
            return std::vector<double>(values.values().begin(), values.values().end());
        };
        for (const std::size_t result : {0, 1})
            QCOMPARE(valuesOf(path, result), valuesOf(whole, result));
        QCOMPARE(readSession(path.toStdString()).results.size(), std::size_t{2});
    }

private slots:
    void initTestCase() { m_model = writeModel(m_folder, "llama-gqa"); }

    void aDocumentIsThatOfMeasure() {
        const Outcome outcome = run(onText({"--units", "heads,attention,mlps,blocks", "--json"}));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json document = outcome.json();
        QCOMPARE(document["metrics"].size(), std::size_t{4});
        QCOMPARE(document["metrics"]["ablation_head"]["unit"], Json("nats/token"));
        QCOMPARE(document["metrics"]["ablation_head"]["values"][1].size(), std::size_t{4});
        QCOMPARE(document["metrics"]["ablation_mlp"]["values"].size(), std::size_t{2});
        QVERIFY(document["metrics"]["ablation_block"]["features"]["error"][0].is_number());
        const Outcome measure = run({"measure", m_model, "--dtype", "float32", "--metric", "ablation", "--text",
                                     sources + "articles.raw", "--seq-len", "24", "--max-tokens", "100", "--json"});
        QVERIFY2(measure.status == 0, qPrintable(measure.error));
        for (const auto& [id, metric] : document["metrics"].items())
            QCOMPARE(measure.json()["metrics"][id]["values"], metric["values"]);
    }

    void expectedSecondsAreSaidFirst() {
        const Outcome outcome = run(onText({"--progress", "plain"}));
        QVERIFY(outcome.error.contains("tokens without each of 8 parts"));
        QVERIFY(outcome.out.contains("loss increase without the head (nats/token)"));
    }

    void whatIsMissingIsMeasured() {
        const QString whole = m_folder.path("whole.h5");
        const QStringList command = onText({"--units", "heads,blocks", "--out"});
        QVERIFY(run(command + QStringList{whole}).status == 0);
        Session part = readSession(whole.toStdString());
        // Removes the values of the last layer, as if the run had been stopped before it.
        for (MetricResult& result : part.results)
            std::ranges::fill(result.values.row(result.values.rows() - 1), std::nan(""));
        const QString stopped = m_folder.path("stopped.h5");
        writeSession(part, stopped.toStdString());
        goesOn(command, stopped, whole);
    }

    void whatIsStoppedGoesOn() {
        const QString whole = m_folder.path("long.h5");
        const QString stopped = m_folder.path("killed.h5");
        QFile articles(sources + "articles.raw");
        QVERIFY(articles.open(QIODevice::ReadOnly));
        // A long text, so that the run takes some seconds.
        const std::string text = m_folder.write("long.raw", articles.readAll().repeated(480));
        // A model of three layers: the run can be stopped after the first and before the last.
        const Scratch folder;
        const QStringList command{
            "ablate", writeModel(folder, "gemma3"), "--dtype",   "float32", "--units",      "heads,blocks",
            "--text", QString::fromStdString(text), "--seq-len", "24",      "--max-tokens", "48000",
            "--out"};
        QVERIFY(run(command + QStringList{whole}).status == 0);
        QProcess program;
        program.start(SECATEUR_CLI, command + QStringList{stopped, "--progress", "json"});
        program.setReadChannel(QProcess::StandardError);
        bool isAsked = false;
        while (!isAsked && program.waitForReadyRead(30'000))
            while (!isAsked && program.canReadLine())
                if (program.readLine().contains("parts of layer 1")) {
                    ::kill(static_cast<pid_t>(program.processId()), SIGINT);
                    isAsked = true;
                }
        QVERIFY(program.waitForFinished(30'000) || program.state() == QProcess::NotRunning);
        if (program.exitCode() != 0) { // false if a fast machine finished the run before the signal arrived
            const auto values = readSession(stopped.toStdString()).results.front().values;
            QVERIFY(std::isfinite(values.values().front()));
            QVERIFY(std::isnan(values.values().back()));
        }
        goesOn(command, stopped, whole);
    }

    void tasksAreAskedWithoutEachPart() {
        const QString task = QString::fromStdString(m_folder.write("choices.jsonl", choices()));
        const QString out = m_folder.path("task.h5");
        const Outcome outcome = run(ablate({"--task", task, "--out", out, "--json"}));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json metric = outcome.json()["metrics"]["ablation_head:of=accuracy"];
        QCOMPARE(metric["unit"], Json(""));
        for (const auto& [layer, head] : {std::pair{0, 1}, std::pair{1, 3}}) {
            const Outcome own = run(
                {"evaluate", m_model, "--dtype", "float32", "--task", task, "--mask", maskOf(layer, head), "--json"});
            QVERIFY2(own.status == 0, qPrintable(own.error));
            const Json acc = own.json()["tasks"]["choices"]["delta"]["acc"];
            const auto fall = metric["values"][static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
            QVERIFY2(std::abs(fall.get<double>() + acc["value"].get<double>()) < 1e-12,
                     qPrintable(QString::fromStdString(acc.dump() + fall.dump())));
        }
        const Json again = run(ablate({"--task", task, "--out", out, "--json"})).json();
        QCOMPARE(again["metrics"]["ablation_head:of=accuracy"]["values"], metric["values"]);
        QVERIFY(QString::fromStdString(again["warnings"].dump()).contains("8 values"));
        const Session session = readSession(out.toStdString());
        QCOMPARE(session.results.size(), std::size_t{1});
        QCOMPARE(session.results.front().request.info->title, "accuracy lost without the head");
    }

    void severalTasksAreAskedInOneRun() {
        const QString task = QString::fromStdString(m_folder.write("first.jsonl", choices()));
        const QByteArray half = choices().split('\n').mid(0, 12).join('\n');
        const QString other = QString::fromStdString(m_folder.write("other.jsonl", half));
        const QString out = m_folder.path("tasks.h5");
        const QStringList command =
            ablate({"--task", task, "--task", other, "--units", "heads,attention", "--out", out});
        const Outcome both = run(command + QStringList{"--json"});
        QVERIFY2(both.status == 0, qPrintable(both.error));
        const Json document = both.json();
        QVERIFY(!document.contains("metrics") && !document.contains("data"));
        QCOMPARE(document["tasks"].size(), std::size_t{2});
        for (const auto& [path, name] : {std::pair{task, "first"}, std::pair{other, "other"}}) {
            const Outcome alone = run(ablate({"--task", path, "--units", "heads,attention", "--json"}));
            QVERIFY2(alone.status == 0, qPrintable(alone.error));
            QCOMPARE(document["tasks"][name]["data"], alone.json()["data"]);
            for (const auto& [id, metric] : alone.json()["metrics"].items())
                QCOMPARE(document["tasks"][name]["metrics"][id]["values"], metric["values"]);
        }
        QCOMPARE(readSession(out.toStdString()).results.size(), std::size_t{4});
        const Outcome again = run(command);
        QVERIFY2(again.status == 0, qPrintable(again.error));
        QVERIFY2(again.out.startsWith("first\n") && again.out.contains("\nother\n"), again.out.constData());
        QVERIFY2(
            (again.out + again.error.toUtf8()).contains("8 values of ablation_head:of=accuracy on other come from"),
            again.out.constData());
        QCOMPARE(readSession(out.toStdString()).results.size(), std::size_t{4});
    }

    void masksCutMore() {
        const Outcome outcome = run(onText({"--mask", maskOf(1, 2), "--json"}));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json values = outcome.json()["metrics"]["ablation_head"]["values"];
        QVERIFY(values[1][2].is_null() && values[1][3].is_number());
        QVERIFY(outcome.json()["mask"]["digest"] != "dense");
    }

    void byMetricCutsByIt() {
        const QString out = m_folder.path("by.mask.json");
        const Outcome outcome = run({"prune", m_model, "--strategy", "by_metric:metric=ablation_head", "--budget", "2",
                                     "--text", sources + "articles.raw", "--max-tokens", "60", "--out", out});
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
    }

    void aDtypeAndAMemoryBudgetAreChosenForPruneToo() {
        const QString out = m_folder.path("typed.mask.json");
        const auto pruned = [&](const QStringList& more) {
            return run(QStringList{"prune", m_model, "--strategy", "loss_greedy", "--budget", "2", "--text",
                                   sources + "articles.raw", "--max-tokens", "60", "--out", out} +
                       more);
        };
        const auto scores = [&](const QStringList& more) {
            const Outcome outcome = pruned(more);
            if (outcome.status != 0)
                qFatal("%s", qPrintable(outcome.error));
            return test::readJson(out).at("provenance");
        };
        const Json whole = scores({"--dtype", "float32"});
        QCOMPARE(scores({"--dtype", "float32", "--memory-budget", "1"})["order"], whole["order"]);
        if (const Outcome outcome = pruned({"--dtype", "bfloat16"}); outcome.status == 0)
            QVERIFY(test::readJson(out).at("provenance")["order"] != whole["order"]);
        else
            QVERIFY2(outcome.error.contains("This processor cannot multiply bfloat16"), qPrintable(outcome.error));
        QCOMPARE(whole["options"]["dtype"], Json("float32"));
        QVERIFY(!scores({})["options"].contains("dtype"));
        for (const QStringList& bad : {QStringList{"--dtype", "int8"}, {"--memory-budget", "much"}})
            QCOMPARE(run(QStringList{"prune", m_model, "--strategy", "gate_norm", "--budget", "1", "--out", out} + bad)
                         .status,
                     2);
    }

    void nonsenseIsRefused() {
        const Outcome unit = run(onText({"--units", "neurons"}));
        QCOMPARE(unit.status, 2);
        QVERIFY(unit.error.contains("must be one of heads, attention, mlps, blocks"));
        QCOMPARE(run(onText({"--task", "x.jsonl"})).status, 2);
    }
};

SECATEUR_SUITE(TestAblate)
#include "tst_ablate.moc"
