#include "app/cli/verbs.h"

#include "analysis/base/usage_error.h"
#include "app/cli/output.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace secateur::cli {

void addVerbs(CLI::App& program, Console& console) {
    addInspect(program, console);
    addMeasure(program, console);
    addAblate(program, console);
    addPrune(program, console);
    addCompensate(program, console);
    addRecover(program, console);
    addEvaluate(program, console);
    addSweep(program, console);
    addReproduce(program, console);
    addMask(program, console);
    addGenerate(program, console);
    addExport(program, console);
    addSession(program, console);
    addPlot(program, console);
    addReport(program, console);
    addServe(program, console);
    addList(program, console);
    addReference(program, console);
}

void runVerb(const CommandLine& arguments, const Console& console) {
    Console own = console;
    own.json = false;
    own.isIncomplete = false;
    CLI::App program("", "secateur-cli");
    program.require_subcommand(1);
    addVerbs(program, own);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend()); // the order in which CLI11 takes them
    const DroppedOutput dropped;
    try {
        program.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what(), arguments.empty() ? std::string() : arguments.front());
    }
    if (own.isIncomplete)
        throw Cancelled();
}

} // namespace secateur::cli
