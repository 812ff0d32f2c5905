#pragma once

#include "analysis/base/progress.h"
#include "analysis/session/command_line.h"

#include <QString>

namespace secateur {

/// How a command of secateur-cli ended.
struct StepOutcome {
    int status = 0;   ///< exit status; 0 = all that it measures is in the session
    QString sentence; ///< the reason of another status
};

/// The program secateur-cli beside this program. @returns its path, whether it exists or not
QString usualCommandLineProgram();
/// Why a program cannot be run, as a sentence; empty = it can.
QString whyNotRun(const QString& program);

/// The command that a step runs: with the program in front, and with its progress as JSON.
CommandLine stepCommand(const QString& program, const CommandLine& arguments);

/// Runs a command and waits for its end. Passes its progress on. Asked to stop, it interrupts the command as Ctrl+C
/// does, and kills it if it does not end within `patienceMs`.
/// @param arguments as RecipeStep::arguments
/// @throws Error if the program cannot be started; Cancelled when the command has ended
StepOutcome runStep(const QString& program, const CommandLine& arguments, const Progress& progress,
                    int patienceMs = 10'000);

} // namespace secateur
