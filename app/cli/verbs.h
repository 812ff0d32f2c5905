#pragma once

#include "analysis/session/command_line.h"
#include "app/cli/cli_common.h"

#include <CLI/CLI.hpp>

namespace secateur::cli {

/// Adds all verbs. @param console must outlive the program
void addVerbs(CLI::App& program, Console& console);

/// Runs a verb in this process, as the program would. What it prints on standard output is dropped; progress and notes
/// are printed.
/// @param arguments beginning with the verb @param console options that the arguments do not name, and the request to
/// stop
/// @throws Error of the verb, UsageError for wrong arguments; Cancelled, also if the verb kept partial results
void runVerb(const CommandLine& arguments, const Console& console);

} // namespace secateur::cli
