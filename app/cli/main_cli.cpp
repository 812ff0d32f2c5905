#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "backends/json/result_json.h"

#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <thread>

namespace {

using namespace secateur;

enum ExitStatus { ok = 0, failed = 1, wrongUsage = 2 };

/// Makes Ctrl+C and SIGTERM request a stop. A second signal ends the program at once. Files are written under temporary
/// names, so that no incomplete file has its final name. A thread waits for the signals, because a signal handler may
/// call only few functions.
void stopOnInterrupt(std::stop_source stop) {
    sigset_t stopSignals;
    sigemptyset(&stopSignals);
    sigaddset(&stopSignals, SIGINT);
    sigaddset(&stopSignals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stopSignals, nullptr);
    std::thread([stopSignals, stop = std::move(stop)]() mutable {
        int signal = 0;
        while (sigwait(&stopSignals, &signal) == 0)
            if (!stop.request_stop())
                _exit(128 + signal);
    }).detach();
}

int fail(const Error& error, int status, const cli::Console& console) {
    if (console.json)
        fmt::print("{}\n", errorJson(error));
    else
        fmt::print(stderr, "secateur-cli: {}\n", error.what());
    return status;
}

void build(CLI::App& program, cli::Console& console) {
    program.require_subcommand(1);
    program.set_version_flag("--version", "secateur " SECATEUR_VERSION);
    program.footer("Each verb has its own --help. Layers and heads count from 0. "
                   "Exit status: 0 success, 1 failure, 2 wrong usage.");
    cli::addInspect(program, console);
    cli::addMeasure(program, console);
    cli::addAblate(program, console);
    cli::addPrune(program, console);
    cli::addEvaluate(program, console);
    cli::addMask(program, console);
    cli::addGenerate(program, console);
    cli::addExport(program, console);
    cli::addSession(program, console);
    cli::addPlot(program, console);
    cli::addList(program, console);
    program.parse_complete_callback([&console] { spdlog::set_level(spdlog::level::from_str(console.logLevel)); });
}

/// Checks the verb, and lists the known verbs if it is unknown. CLI11 would only report that a verb is missing.
void checkVerb(const CLI::App& program, int count, char** values) {
    if (count < 2 || values[1][0] == '-')
        return;
    std::vector<std::string> known;
    for (const CLI::App* verb : program.get_subcommands(nullptr))
        known.push_back(verb->get_name());
    if (std::find(known.begin(), known.end(), values[1]) == known.end())
        throw UsageError(fmt::format("unknown verb; the known ones are {}", join(known, ", ")), values[1]);
}

} // namespace

int main(int count, char** values) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("secateur"));
    cli::Console console;
    // Searched before parsing. Usage errors are then JSON too, even if parsing stops before this option.
    console.json = std::find(values, values + count, std::string_view("--json")) != values + count;
    stopOnInterrupt(console.stop);
    CLI::App program("Secateur on the command line: study and prune transformers", "secateur-cli");
    build(program, console);
    try {
        checkVerb(program, count, values);
        program.parse(count, values);
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
            return fmt::print(stderr, "secateur-cli: standard output cannot be written\n"), failed;
        return console.isIncomplete ? failed : ok;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0 && console.json)
            return fail(UsageError(error.what(), {}, "Run with --help for more information"), wrongUsage, console);
        return program.exit(error) == 0 ? ok : wrongUsage;
    } catch (const UsageError& error) {
        return fail(error, wrongUsage, console);
    } catch (const Error& error) {
        return fail(error, failed, console);
    } catch (const Cancelled&) {
        return fail(Error("cancelled"), failed, console);
    } catch (const std::exception& error) {
        return fail(Error(error.what()), failed, console);
    }
}
