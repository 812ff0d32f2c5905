#pragma once

#include <nlohmann/json.hpp>

#include <QByteArray>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QtTest>

namespace secateur::test {

/// Exit status and output of a run of secateur-cli.
struct Outcome {
    int status;
    QByteArray out;
    QString error;

    nlohmann::json json() const { return nlohmann::json::parse(out.toStdString()); }

    /// Whether the fractions written by --progress json never decreased and ended at 1.
    bool toldRisingProgress() const {
        double last = 0;
        for (const QString& line : error.split('\n', Qt::SkipEmptyParts)) {
            const double fraction = nlohmann::json::parse(line.toStdString()).at("fraction").get<double>();
            if (fraction < last)
                return false;
            last = fraction;
        }
        return last == 1.0;
    }
};

inline Outcome run(const QStringList& arguments) {
    QProcess program;
    program.start(SECATEUR_CLI, arguments);
    if (!program.waitForFinished(60'000) || program.exitStatus() != QProcess::NormalExit)
        qFatal("secateur-cli %s: %s", qPrintable(arguments.join(' ')), qPrintable(program.errorString()));
    return {program.exitCode(), program.readAllStandardOutput(), QString::fromUtf8(program.readAllStandardError())};
}

} // namespace secateur::test
