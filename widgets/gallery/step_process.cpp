#include "widgets/gallery/step_process.h"

#include "analysis/base/error.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>

#include <csignal>
#include <sys/prctl.h>

namespace secateur {

namespace {

constexpr int stepPollMs = 50;
constexpr const char* programName = "secateur-cli";

/// Reads what the command writes on standard error: lines of progress as JSON, notes, and the sentence of a failure.
class StepMessages {
public:
    void read(const QByteArray& bytes, const Progress& progress) {
        m_rest += bytes;
        qsizetype end = 0;
        while ((end = m_rest.indexOf('\n')) >= 0) {
            const QByteArray line = m_rest.left(end).trimmed();
            m_rest.remove(0, end + 1);
            take(line, progress);
        }
    }
    /// The failure that the command has stated; empty = none.
    const QString& sentence() const { return m_sentence; }

private:
    void take(const QByteArray& line, const Progress& progress) {
        const QByteArray name = QByteArray(programName) + ": ";
        if (line.startsWith(name)) {
            m_sentence = QString::fromUtf8(line.mid(name.size()));
            return;
        }
        const QJsonObject report = QJsonDocument::fromJson(line).object();
        if (report.contains("fraction"))
            progress.report(report["fraction"].toDouble(), report["text"].toString().toStdString());
    }

    QByteArray m_rest;
    QString m_sentence;
};

void interrupt(QProcess& process, int patienceMs) {
    if (process.processId() > 0)
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    if (!process.waitForFinished(patienceMs)) {
        process.kill();
        process.waitForFinished();
    }
}

StepOutcome outcomeOf(const QProcess& process, const QString& sentence) {
    if (process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0)
        return {};
    StepOutcome outcome{process.exitCode(), sentence};
    if (process.exitStatus() == QProcess::CrashExit)
        outcome = {-1, QCoreApplication::translate("StepProcess", "The command ended unexpectedly.")};
    else if (sentence.isEmpty())
        outcome.sentence =
            QCoreApplication::translate("StepProcess", "The command ended with status %1.").arg(outcome.status);
    return outcome;
}

} // namespace

QString usualCommandLineProgram() {
    return QDir(QCoreApplication::applicationDirPath()).filePath(programName);
}

QString whyNotRun(const QString& program) {
    const QFileInfo file(program);
    if (file.isFile() && file.isExecutable())
        return {};
    return QCoreApplication::translate("StepProcess", "%1 is not beside this program, in %2, so that nothing can be "
                                                      "measured here.")
        .arg(file.fileName(), file.absolutePath());
}

CommandLine stepCommand(const QString& program, const CommandLine& arguments) {
    CommandLine command{program.toStdString()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--progress", "json"});
    return command;
}

StepOutcome runStep(const QString& program, const CommandLine& arguments, const Progress& progress, int patienceMs) {
    QStringList given;
    const CommandLine command = stepCommand(program, arguments);
    for (std::size_t i = 1; i < command.size(); ++i)
        given << QString::fromStdString(command[i]);
    QProcess process;
    process.setStandardOutputFile(QProcess::nullDevice());
    process.setStandardInputFile(QProcess::nullDevice());
    // If this program is killed, the command stops too and keeps what it has measured.
    process.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGINT); });
    process.start(program, given);
    if (!process.waitForStarted())
        throw Error("cannot be started: " + process.errorString().toStdString(), program.toStdString());
    StepMessages messages;
    try {
        while (!process.waitForFinished(stepPollMs) && process.state() != QProcess::NotRunning) {
            progress.check();
            messages.read(process.readAllStandardError(), progress);
        }
        messages.read(process.readAllStandardError() + '\n', progress);
    } catch (const Cancelled&) {
        interrupt(process, patienceMs);
        throw;
    }
    return outcomeOf(process, messages.sentence());
}

} // namespace secateur
