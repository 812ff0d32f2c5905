// `secateur-cli reproduce`: its plan, its steps and the folder of figures.

#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/drawn_checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/sweeps.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QtTest>

using namespace secateur;
using test::DrawnShape;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

const Json& stepOf(const Json& document, const std::string& id) {
    for (const Json& step : document.at("steps"))
        if (step.at("id") == id)
            return step;
    qFatal("no step %s", id.c_str());
}

const Json& figureOf(const Json& document, const std::string& id) {
    for (const Json& figure : document.at("figures"))
        if (figure.at("id") == id)
            return figure;
    qFatal("no figure %s", id.c_str());
}

} // namespace

class TestReproduce : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;
    QString m_model;
    QString m_data;

    QStringList reproduce(const QString& paper, const QString& out, const QStringList& more = {}) const {
        return QStringList{"reproduce", paper, m_model, "--threads", "1", "--json", "--out", out} + more;
    }

private slots:
    void initTestCase() {
        test::writeDrawnFolder(m_scratch, "model", DrawnShape{.layers = 6, .heads = 4, .kvHeads = 2});
        m_model = m_scratch.path("model");
        m_data = m_scratch.path("data");
        QDir().mkpath(m_data + "/tasks");
        m_scratch.write("data/wiki.test.raw", test::numberedSentences(400, "\n"));
        QByteArray rows;
        for (int i = 0; i < 6; ++i) {
            const Json choices{{"text", {"this", "that"}}, {"label", {"A", "B"}}};
            const Json row{
                {"id", "q"}, {"question", "Which one?"}, {"choices", choices}, {"answerKey", i % 2 == 0 ? "A" : "B"}};
            rows += QByteArray::fromStdString(row.dump()) + "\n";
        }
        m_scratch.write("data/tasks/arc_easy_test.jsonl", rows);
    }

    void papersAreListedWithTheirFigures() {
        const Outcome outcome = run({"list", "papers", "--json"});
        QCOMPARE(outcome.status, 0);
        const Json items = outcome.json().at("items");
        QCOMPARE(items.size(), std::size_t{5});
        QCOMPARE(items[0].at("id"), "gate_norm");
        QVERIFY(items[0].at("figures").get<std::string>().starts_with("gate_norm_fig1,"));
    }

    void thePlanNamesCommandsAndCosts() {
        const Outcome outcome = run(reproduce("gate_norm", m_scratch.path("plan.h5"), {"--dry-run", "--data", m_data}));
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json document = outcome.json();
        for (const Json& step : document.at("steps")) {
            QCOMPARE(step.at("state"), "planned");
            QVERIFY(step.at("tokens").get<double>() > 0 && step.at("expected_seconds").get<double>() > 0);
        }
        const QString command = QString::fromStdString(stepOf(document, "tasks").at("command").get<std::string>());
        QVERIFY2(command.contains("data/tasks/arc_easy_test.jsonl") && command.contains("data/wiki.test.raw"),
                 qPrintable(command));
        const auto missing = document.at("missing_files").get<std::vector<std::string>>();
        QVERIFY(std::ranges::find(missing, "boolq.jsonl") != missing.end());
        QVERIFY(std::ranges::find(missing, "arc_easy.jsonl") == missing.end());
        QVERIFY(!QFileInfo::exists(m_scratch.path("plan.h5")));
    }

    void stepsAreRunOnceAndDrawn() {
        const QString out = m_scratch.path("run.h5");
        const QStringList command = reproduce("gate_norm", out, {"--data", m_data, "--only", "measure,curves,tasks"});
        const Outcome outcome = run(command);
        QVERIFY2(outcome.status == 0, qPrintable(outcome.error));
        const Json document = outcome.json();
        for (const char* id : {"measure", "curves", "tasks"})
            QCOMPARE(stepOf(document, id).at("state"), "done");
        QCOMPARE(stepOf(document, "speed").at("state"), "left out");
        const QDir folder(m_scratch.path("run-figures"));
        for (const char* id : {"gate_norm_fig3", "gate_norm_fig4", "gate_norm_fig5", "gate_norm_table1",
                               "gate_norm_table2", "gate_norm_timing"}) {
            const Json& figure = figureOf(document, id);
            QVERIFY2(figure.at("error") == "", figure.at("error").get<std::string>().c_str());
            for (const Json& file : figure.at("files"))
                QVERIFY2(QFileInfo(folder.filePath(QString::fromStdString(file.get<std::string>()))).size() > 0,
                         file.get<std::string>().c_str());
        }
        QVERIFY(folder.exists("gate_norm_table1.tex") && folder.exists("gate_norm_fig4.csv"));
        const Json& lacking = figureOf(document, "gate_norm_fig1");
        QVERIFY(lacking.at("files").empty());
        QVERIFY(lacking.at("error").get<std::string>().find("holds no times by sublayer") != std::string::npos);
        const QByteArray page = bytesOf(folder.filePath("index.html"));
        QVERIFY(page.contains("gate_norm_table1.csv") && page.contains("holds no times by sublayer"));
        QVERIFY(!page.contains("http"));

        const QByteArray before = bytesOf(out);
        const Outcome again = run(command);
        QCOMPARE(again.status, 0);
        for (const char* id : {"measure", "curves", "tasks"})
            QCOMPARE(stepOf(again.json(), id).at("state"), "held");
        QCOMPARE(bytesOf(out), before);
    }

    void aFailedStepLeavesTheOthers() {
        const QString data = m_scratch.path("broken");
        QDir().mkpath(data);
        m_scratch.write("broken/arc_easy.jsonl", "no json\n");
        const QString out = m_scratch.path("broken.h5");
        const Outcome outcome = run(reproduce("gate_norm", out, {"--data", data, "--only", "measure,tasks"}));
        QCOMPARE(outcome.status, 1);
        const Json document = outcome.json();
        QCOMPARE(stepOf(document, "tasks").at("state"), "failed");
        QVERIFY(stepOf(document, "tasks").at("error").get<std::string>().find("arc_easy.jsonl") != std::string::npos);
        QCOMPARE(stepOf(document, "measure").at("state"), "done");
        QVERIFY(figureOf(document, "gate_norm_fig5").at("error") == "");
    }

    void wrongArgumentsAreRefused() {
        QCOMPARE(run(reproduce("no_paper", m_scratch.path("x.h5"))).status, 2);
        const Outcome outcome = run(reproduce("amp", m_scratch.path("x.h5"), {"--only", "nothing", "--dry-run"}));
        QCOMPARE(outcome.status, 2);
        QVERIFY(outcome.out.contains("measure, tasks"));
    }
};

SECATEUR_SUITE(TestReproduce)
#include "tst_reproduce.moc"
