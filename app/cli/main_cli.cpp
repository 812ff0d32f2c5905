#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "app/cli/output.h"
#include "app/cli/ranks.h"
#include "app/cli/verbs.h"
#include "backends/base/blas_kernels.h"
#include "backends/base/crash_report.h"
#include "backends/base/runtime.h"
#include "backends/json/result_json.h"

#include <fmt/core.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

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

int fail(const Error& error, int status, cli::Console& console) {
    console.failure = error.what();
    if (console.json)
        cli::printJson(errorJson(error));
    if (!console.json || !cli::flushOutput())
        cli::printError(shownLine(std::string("secateur-cli: ") + error.what()) + "\n");
    return status;
}

/// Prints help, version or a usage error.
int explain(const CLI::App& program, const CLI::ParseError& error, cli::Console& console) {
    if (error.get_exit_code() != 0 && console.json)
        return fail(UsageError(error.what(), {}, "Run with --help for more information"), wrongUsage, console);
    std::ostringstream out;
    std::ostringstream failure;
    const int status = program.exit(error, out, failure) == 0 ? ok : wrongUsage;
    cli::printText(out.str());
    cli::printError(shownText(failure.str()));
    return status;
}

/// The message of an exception from a library. libtorch's is followed by a list of the functions that were running.
std::string firstLine(std::string_view message) {
    return std::string(message.substr(0, message.find('\n')));
}

/// Shows log messages as all texts from files are shown.
class ShownPayload : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        const std::string text = shownLine({message.payload.data(), message.payload.size()});
        out.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<ShownPayload>(); }
};

void startLog() {
    spdlog::set_default_logger(spdlog::stderr_color_mt("secateur"));
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<ShownPayload>('*').set_pattern("[%Y-%m-%d %H:%M:%S.%e] [%n] [%^%l%$] %*");
    spdlog::set_formatter(std::move(formatter));
    noteLog();
}

/// Sets the lowest level on standard error. Crash reports also contain what is at least information.
void setLogLevel(spdlog::level::level_enum level) {
    spdlog::default_logger()->sinks().front()->set_level(level);
    spdlog::set_level(std::min(level, spdlog::level::info));
}

void build(CLI::App& program, cli::Console& console) {
    program.require_subcommand(1);
    program.set_version_flag("--version", "secateur " SECATEUR_VERSION);
    program.footer("Each verb has its own --help. Layers and heads count from 0. "
                   "Exit status: 0 success, 1 failure, 2 wrong usage.");
    cli::addVerbs(program, console);
    program.parse_complete_callback(
        [&console] { setLogLevel(console.isFirst ? spdlog::level::from_str(console.logLevel) : spdlog::level::off); });
}

/// Checks the verb, and lists the known verbs if it is unknown. CLI11 would only report that a verb is missing.
void checkVerb(const CLI::App& program, int count, char** values) {
    if (count < 2 || values[1][0] == '-')
        return;
    std::vector<std::string> known;
    bool isHidden = false;
    for (const CLI::App* verb : program.get_subcommands(nullptr))
        if (!verb->get_group().empty())
            known.push_back(verb->get_name());
        else
            isHidden = isHidden || verb->get_name() == values[1];
    if (!isHidden && std::find(known.begin(), known.end(), values[1]) == known.end())
        throw UsageError(fmt::format("unknown verb; the known ones are {}", join(known, ", ")), values[1]);
}

int run(int count, char** values, cli::Console& console) {
    CLI::App program("Secateur on the command line: study and prune transformers", "secateur-cli");
    build(program, console);
    try {
        checkVerb(program, count, values);
        program.parse(count, values);
        return console.isIncomplete ? failed : ok;
    } catch (const CLI::ParseError& error) {
        return explain(program, error, console);
    } catch (const UsageError& error) {
        return fail(error, wrongUsage, console);
    } catch (const Error& error) {
        return fail(error, failed, console);
    } catch (const Cancelled&) {
        const auto elsewhere = cli::cluster() ? cli::cluster()->failure() : std::nullopt;
        return elsewhere ? fail(Error(elsewhere->sentence), elsewhere->status, console)
                         : fail(Error("cancelled"), failed, console);
    } catch (const std::bad_alloc&) {
        return fail(Error(fmt::format("there is not enough memory: {} are available",
                                      shortBytes(static_cast<double>(availableMemory())))),
                    failed, console);
    } catch (const std::exception& error) {
        return fail(Error(firstLine(error.what())), failed, console);
    }
}

/// Runs the verb, together with the other processes that mpirun started.
int runOnRanks(int count, char** values, cli::Console& console) {
    std::unique_ptr<cli::Ranks> ranks;
    try {
        ranks = std::make_unique<cli::Ranks>(count > 1 ? values[1] : "", console);
    } catch (const Error& error) {
        return fail(error, failed, console);
    }
    int status = ok;
    try {
        if (ranks->runsVerb())
            status = run(count, values, console);
    } catch (const cli::OutputFailure&) {
        status = failed; // finishStreams() says why
    }
    return ranks->leave(status, console.failure, console);
}

} // namespace

int main(int count, char** values) {
    reserveStandardStreams();
    chooseBlasKernels(); // sets a variable of the environment: before there are threads
    std::signal(SIGPIPE, SIG_IGN); // a closed pipe is a failed write; NOLINT: the macro is a C cast
    reportCrashes({"secateur-cli", {values + 1, values + count}, {}});
    startLog();
    cli::Console console;
    // Found before parsing, so that usage errors are JSON too, even if parsing stops before this option.
    console.json = std::find(values, values + count, std::string_view("--json")) != values + count;
    stopOnInterrupt(console.stop);
    return cli::finishStreams(runOnRanks(count, values, console), !console.json);
}
