// Crash reports, each written by a child process that crashes.

#include "backends/base/crash_report.h"
#include "backends/base/signal_text.h"
#include "tests/support/suite.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace secateur;

namespace {

/// How a child process ended, and what it left.
struct CrashOutcome {
    int signal = 0; ///< that ended it; 0 = it ended by itself
    QString error;  ///< what it printed on standard error
    QStringList reports;
    QString text; ///< of the first report
};

/// Runs work in a child process that writes crash reports into a folder of its own.
CrashOutcome crash(const QTemporaryDir& folder, const std::function<void()>& work) {
    const QByteArray printed = folder.filePath("stderr").toUtf8();
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("XDG_STATE_HOME", folder.path().toUtf8().constData(), 1);
        ::dup2(::open(printed.constData(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) // Qt Test handles them too
            ::signal(number, SIG_DFL);
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        reportCrashes({"secateur-test", {"--flag", "model.gguf"}, {"Qt: 6"}});
        work();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CrashOutcome outcome;
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    QFile error(folder.filePath("stderr"));
    if (error.open(QIODevice::ReadOnly))
        outcome.error = QString::fromUtf8(error.readAll());
    const QDir reports(folder.filePath("secateur/crashes"));
    outcome.reports = reports.entryList(QDir::Files);
    QFile file(reports.filePath(outcome.reports.value(0)));
    if (!outcome.reports.isEmpty() && file.open(QIODevice::ReadOnly))
        outcome.text = QString::fromUtf8(file.readAll());
    return outcome;
}

void writeNowhere() {
    int* volatile nowhere = nullptr;
    *nowhere = 1;
}

// Reads its argument after the call, so that calls cannot reuse one frame.
[[gnu::noinline]] int fillStack(volatile int* depth) {
    volatile char room[4096];
    room[0] = static_cast<char>(*depth);
    volatile int next = *depth + 1;
    return next < 0 ? 0 : fillStack(&next) + room[0];
}

} // namespace

class TestCrashReport : public QObject {
    Q_OBJECT

private slots:
    void signalsLeaveAReport_data() {
        QTest::addColumn<int>("number");
        QTest::addColumn<QString>("name");
        QTest::newRow("segmentation fault") << SIGSEGV << "SIGSEGV";
        QTest::newRow("bus error") << SIGBUS << "SIGBUS";
        QTest::newRow("arithmetic error") << SIGFPE << "SIGFPE";
        QTest::newRow("illegal instruction") << SIGILL << "SIGILL";
        QTest::newRow("abort") << SIGABRT << "SIGABRT";
    }
    void signalsLeaveAReport() {
        QFETCH(int, number);
        QFETCH(QString, name);
        const QTemporaryDir folder;
        const CrashOutcome outcome = crash(folder, [number] { ::raise(number); });
        QCOMPARE(outcome.signal, number); // the report does not replace the effect of the signal
        QCOMPARE(outcome.reports.size(), 1);
        QVERIFY2(QRegularExpression("^secateur-test-\\d{8}-\\d{6}-\\d+\\.txt$").match(outcome.reports[0]).hasMatch(),
                 qPrintable(outcome.reports[0]));
        QVERIFY2(outcome.text.contains("signal: " + name), qPrintable(outcome.text));
        for (const char* fact : {"program: secateur-test " SECATEUR_VERSION, "command line: --flag model.gguf",
                                 "\nlibtorch: ", "\nHDF5: ", "\nQt: 6\n", "\nprocessor: ", "\nBacktrace of thread "})
            QVERIFY2(outcome.text.contains(fact), fact);
        const QString path = folder.filePath("secateur/crashes/" + outcome.reports[0]);
        QVERIFY2(outcome.error.endsWith("The crash report is " + path + "\n"), qPrintable(outcome.error));
    }

    void aWrongAccessIsNamed() {
        const QTemporaryDir folder;
        const CrashOutcome outcome = crash(folder, writeNowhere);
        QCOMPARE(outcome.signal, SIGSEGV);
        QVERIFY2(outcome.text.contains("at address 0x0\n"), qPrintable(outcome.text));
        QVERIFY(outcome.text.section("\nBacktrace of thread", 1).count('\n') > 3);
    }

    void aFullStackLeavesAReport() {
        const QTemporaryDir folder;
        const CrashOutcome outcome = crash(folder, [] {
            volatile int depth = 0;
            fillStack(&depth);
        });
        QCOMPARE(outcome.signal, SIGSEGV);
        QCOMPARE(outcome.reports.size(), 1);
        QVERIFY(outcome.text.contains("\nBacktrace of thread "));
    }

    void anExceptionThatNothingCatchesIsQuoted() {
        const QTemporaryDir folder;
        const CrashOutcome outcome =
            crash(folder, [] { std::thread([] { throw std::runtime_error("no such layer: 31"); }).join(); });
        QCOMPARE(outcome.signal, SIGABRT);
        QVERIFY2(outcome.text.contains("exception: no such layer: 31\n"), qPrintable(outcome.text));
    }

    void theReportContainsTheLastLines() {
        const QTemporaryDir folder;
        const CrashOutcome outcome = crash(folder, [] {
            noteOpened("/models/first.gguf");
            noteOpened("/models/second.gguf");
            for (int line = 0; line < 250; ++line)
                noteLogLine("info", "line " + std::to_string(line));
            noteLogLine("warning", std::string(5000, 'x'));
            ::raise(SIGSEGV);
        });
        QVERIFY(outcome.text.contains("\nopen: /models/second.gguf\n"));
        QVERIFY(!outcome.text.contains("first.gguf"));
        QCOMPARE(outcome.text.count("  info  line "), 199);
        QVERIFY(outcome.text.contains("  info  line 51\n") && outcome.text.contains("  info  line 249\n"));
        QVERIFY(!outcome.text.contains("line 50\n"));
        QVERIFY(outcome.text.contains("  warning  xxx"));
        QVERIFY(outcome.text.size() < 20'000);
    }

    void anOrdinaryEndLeavesNothing() {
        const QTemporaryDir folder;
        const CrashOutcome outcome = crash(folder, [] { noteLogLine("info", "done"); });
        QCOMPARE(outcome.signal, 0);
        QVERIFY(!QFile::exists(folder.filePath("secateur")));
        QCOMPARE(outcome.error, QString());
    }

    void aForkedProcessWritesNoReport() {
        const QTemporaryDir folder;
        const CrashOutcome outcome = crash(folder, [] {
            const pid_t child = ::fork();
            if (child == 0)
                writeNowhere();
            int status = 0;
            ::waitpid(child, &status, 0);
            ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : 1);
        });
        QCOMPARE(outcome.signal, 0);
        QCOMPARE(outcome.reports, QStringList());
    }

    void aReportThatCannotBeWrittenIsSaid() {
        const QTemporaryDir folder;
        QFile blocked(folder.filePath("secateur")); // where the folder should be
        QVERIFY(blocked.open(QIODevice::WriteOnly));
        const CrashOutcome outcome = crash(folder, [] { ::raise(SIGABRT); });
        QCOMPARE(outcome.signal, SIGABRT);
        QVERIFY2(outcome.error.contains("No crash report could be written"), qPrintable(outcome.error));
    }

    void timesAreThoseOfTheCalendar() {
        for (const std::time_t time : {std::time_t(0), std::time_t(951'782'399), std::time_t(951'782'400),
                                       std::time_t(1'709'251'199), std::time_t(4'102'444'800)}) {
            std::array<char, 20> written{};
            const std::size_t size = writeTime(written.data(), time, TimeForm::date);
            QCOMPARE(QString::fromLatin1(written.data(), static_cast<qsizetype>(size)),
                     QDateTime::fromSecsSinceEpoch(time, Qt::UTC).toString("yyyy-MM-dd HH:mm:ss"));
        }
    }
};

SECATEUR_SUITE(TestCrashReport)
#include "tst_crash_report.moc"
