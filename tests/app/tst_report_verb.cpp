// `secateur-cli report`, started as a program: arguments, refusals and files.

#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString model = SECATEUR_TEST_SOURCES "/gqa-f32"; // a model of two layers

/// A session with weight metrics.
QString madeSession(const Scratch& scratch) {
    const QString session = scratch.path("s.h5");
    run({"measure", model, "--metric", "gate_norm,gate_norm_head,mag_sp_neuron", "--out", session});
    return session;
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class TestReportVerb : public QObject {
    Q_OBJECT

private slots:
#ifdef SECATEUR_WITH_QT
    void reportsAreWrittenAsHtmlAndPdf() {
        const Scratch scratch;
        const QString session = madeSession(scratch);
        const Outcome html = run({"report", session, "--out", scratch.path("r.html"), "--json"});
        QCOMPARE(html.status, 0);
        const Json result = html.json();
        QCOMPARE(result["path"], Json(scratch.path("r.html").toStdString()));
        QCOMPARE(result["sections"][0]["title"], Json("Model"));
        QCOMPARE(result["sections"][0]["items"][0]["label"], Json("Table 1"));
        const QByteArray page = contents(scratch.path("r.html"));
        QVERIFY(page.contains("gate_norm_head") && page.contains("data:image/svg+xml;base64,"));
        QVERIFY(page.contains(("secateur-cli plot " + session).toUtf8()));
        QCOMPARE(run({"report", session, "--out", scratch.path("r.pdf")}).status, 0);
        QVERIFY(contents(scratch.path("r.pdf")).startsWith("%PDF-"));
    }

    void partsAndFiguresAreChosen() {
        const Scratch scratch;
        const QString session = madeSession(scratch);
        const Outcome some =
            run({"report", session, "--out", scratch.path("r.html"), "--title", "Heads", "--parts", "figures,model",
                 "--figures", "heads:metric=gate_norm_head:scale=rank,layers:metrics=gate_norm", "--json"});
        QCOMPARE(some.status, 0);
        const Json result = some.json();
        QCOMPARE(result["title"], Json("Heads"));
        QCOMPARE(result["sections"].size(), std::size_t{2});
        QCOMPARE(result["sections"][1]["items"].size(), std::size_t{2});
    }

    void wrongArgumentsAreRefused() {
        const Scratch scratch;
        const QString session = madeSession(scratch);
        const QString out = scratch.path("r.html");
        QCOMPARE(run({"report", session, "--out", scratch.path("r.docx")}).status, 2);
        QCOMPARE(run({"report", session, "--out", out, "--parts", "maps"}).status, 2);
        QCOMPARE(run({"report", session, "--out", out, "--figures", "cat"}).status, 2);
        QCOMPARE(run({"report", session, "--out", out, "--figures", "heads:metric=sink_head"}).status, 1);
        QCOMPARE(run({"report", model, "--out", out}).status, 1);
        QVERIFY(!QFile::exists(out));
        scratch.write("notes.html", "my notes");
        QCOMPARE(run({"report", session, "--out", scratch.path("notes.html")}).status, 1);
        QCOMPARE(contents(scratch.path("notes.html")), QByteArray("my notes"));
        QCOMPARE(run({"report", session, "--out", scratch.path("notes.html"), "--force"}).status, 0);
    }
#else
    void aBuildWithoutQtRefusesInOneSentence() {
        const Scratch scratch;
        const Outcome refused = run({"report", madeSession(scratch), "--out", scratch.path("r.html")});
        QCOMPARE(refused.status, 1);
        QVERIFY(refused.error.contains("writing reports needs the build with Qt"));
        QVERIFY(!QFile::exists(scratch.path("r.html")));
    }
#endif
};

SECATEUR_SUITE(TestReportVerb)
#include "tst_report_verb.moc"
