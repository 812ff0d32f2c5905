// What secateur-cli leaves when it crashes: the test ends it by a signal from outside.

#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QtTest>

#include <csignal>

using namespace secateur;
using test::Scratch;

namespace {

const QString stories = qEnvironmentVariable("SECATEUR_TEST_DATA") + "/models/stories260K/stories260K.gguf";

QStringList filesUnder(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::NoDotAndDotDot);
}

/// Starts a program whose state folder is a scratch folder.
void startWith(QProcess& program, const Scratch& state, const QStringList& arguments) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("XDG_STATE_HOME", state.path());
    program.setProcessEnvironment(environment);
    program.start(SECATEUR_CLI, arguments);
}

} // namespace

class TestCrashes : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!QFile::exists(stories))
            QSKIP("SECATEUR_TEST_DATA is not set");
    }

    void aCrashLeavesAReport() {
        const Scratch state;
        const std::string text = state.write("long.txt", QByteArray("the dog ran. ").repeated(200'000));
        QProcess program;
        program.setReadChannel(QProcess::StandardError);
        startWith(program, state,
                  {"measure", stories, "--metric", "forward", "--text", QString::fromStdString(text), "--max-tokens",
                   "1000000", "--progress", "json"});
        QByteArray printed;
        while (!printed.contains("layer") && program.waitForReadyRead(30'000))
            printed += program.readAllStandardError();
        QVERIFY2(printed.contains("layer"), printed.constData());
        QCOMPARE(::kill(static_cast<pid_t>(program.processId()), SIGSEGV), 0);
        QVERIFY(program.waitForFinished(30'000));
        QCOMPARE(program.exitStatus(), QProcess::CrashExit);
        const QString folder = state.path("secateur/crashes");
        const QStringList reports = filesUnder(folder);
        QCOMPARE(reports.size(), 1);
        printed += program.readAllStandardError();
        QVERIFY2(printed.contains(("The crash report is " + folder + "/" + reports[0]).toUtf8()), printed.constData());
        QFile file(folder + "/" + reports[0]);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString report = QString::fromUtf8(file.readAll());
        QVERIFY2(report.contains("command line: measure " + stories + " --metric forward"), qPrintable(report));
        QVERIFY2(report.contains("  info  "), qPrintable(report)); // although only warnings are printed
        QVERIFY(!printed.contains("[info]"));
    }

    void anOrdinaryRunLeavesNothing() {
        const Scratch state;
        QProcess program;
        startWith(program, state, {"inspect", stories});
        QVERIFY(program.waitForFinished(30'000));
        QCOMPARE(program.exitCode(), 0);
        QCOMPARE(filesUnder(state.path()), QStringList());
    }
};

SECATEUR_SUITE(TestCrashes)
#include "tst_crashes.moc"
