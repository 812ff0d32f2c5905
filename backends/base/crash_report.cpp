#include "backends/base/crash_report.h"

#include "backends/base/signal_text.h"

#include <fmt/core.h>
#include <hdf5.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <torch/version.h>

#include <execinfo.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

namespace secateur {

namespace {

// A signal handler may interrupt any function, malloc() among them. It therefore calls only functions of the system and
// reads only memory that exists already: texts that never change once the handlers are set, and arrays that other
// threads may change meanwhile, so that at worst a line of the report is mixed from two.

constexpr std::size_t linesKept = 200;
constexpr std::size_t longestLine = 480;
constexpr std::size_t longestPath = 1024;
constexpr int deepest = 96; ///< calls of the backtrace
constexpr unsigned patienceSeconds = 20;

/// Text of limited length.
template <std::size_t most>
struct KeptText {
    std::array<char, most> characters{};
    std::atomic<std::size_t> size = 0;

    void set(std::string_view text) {
        size = 0;
        const std::size_t count = std::min(text.size(), most);
        std::memcpy(characters.data(), text.data(), count);
        size = count;
    }
    std::string_view view() const { return {characters.data(), std::min(size.load(), most)}; }
};

struct LoggedLine {
    std::time_t time = 0;
    KeptText<16> level;
    KeptText<longestLine> text;
};

struct CrashState {
    std::string facts;  ///< lines of the report that are known at the start
    std::string folder; ///< empty = unknown
    std::string program;
    pid_t process = 0;
    std::array<struct sigaction, 5> previous{};
    std::terminate_handler previousTerminate = nullptr;
};

constexpr std::array crashSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// Never destroyed: a crash may come after the end of main().
CrashState* crashState = nullptr;
std::mutex logMutex; // protects adding a line; the handler does not lock it
std::array<LoggedLine, linesKept> loggedLines;
std::atomic<std::size_t> linesLogged = 0;
std::mutex openedMutex;
KeptText<longestPath> openedPath;
KeptText<2048> uncaught; ///< message of an exception that nothing caught
std::atomic<pid_t> reportingThread = 0;
std::array<char, 1 << 17> signalStack; // of the main thread, which may have none left

/// The path of a report, which is named after the program, the time and the process.
SignalText<longestPath> reportPath(std::time_t now) {
    SignalText<longestPath> path;
    path.add(crashState->folder).add("/").add(crashState->program).add("-");
    path.addTime(now, TimeForm::name).add("-").addNumber(static_cast<std::uint64_t>(::getpid())).add(".txt");
    return path;
}

/// Creates a file and the folders above it. @returns -1 if that fails
int createReport(SignalText<longestPath>& path) {
    char* const text = path.terminated();
    for (char* at = text + 1; *at != '\0'; ++at)
        if (*at == '/') {
            *at = '\0';
            ::mkdir(text, S_IRWXU);
            *at = '/';
        }
    return ::open(text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
}

void writeCause(int file, int number, const siginfo_t* info) {
    SignalText<256> line;
    line.add("signal: ").add(signalName(number));
    if (info->si_code <= 0) {
        if (info->si_pid != crashState->process) // abort() sends the signal from here
            line.add(", sent by process ").addNumber(static_cast<std::uint64_t>(info->si_pid));
    } else if (number != SIGABRT && info->si_code != SI_KERNEL) // the kernel states no address then
        line.add(", at address ").addHex(reinterpret_cast<std::uintptr_t>(info->si_addr));
    line.add("\n").write(file);
    if (uncaught.view().empty())
        return;
    writeAll(file, "exception: ");
    writeAll(file, uncaught.view());
    writeAll(file, "\n");
}

void writeLog(int file) {
    const std::size_t end = linesLogged.load();
    writeAll(file, "\nLog, in UTC, the oldest line first\n");
    for (std::size_t index = end - std::min(end, linesKept); index < end; ++index) {
        const LoggedLine& line = loggedLines[index % linesKept];
        SignalText<64> begin;
        begin.addTime(line.time, TimeForm::clock).add("  ").add(line.level.view()).add("  ").write(file);
        writeAll(file, line.text.view());
        writeAll(file, "\n");
    }
}

void writeReport(int file, std::time_t now, int number, const siginfo_t* info) {
    SignalText<128> begin;
    begin.add("Secateur crash report\ntime: ").addTime(now, TimeForm::date).add(" UTC\n").write(file);
    writeCause(file, number, info);
    writeAll(file, crashState->facts);
    if (!openedPath.view().empty()) {
        writeAll(file, "open: ");
        writeAll(file, openedPath.view());
        writeAll(file, "\n");
    }
    writeLog(file);
    // Last, because it may fail where the stack is damaged.
    SignalText<64> title;
    title.add("\nBacktrace of thread ").addNumber(static_cast<std::uint64_t>(::gettid())).add("\n").write(file);
    std::array<void*, deepest> calls{};
    const int depth = ::backtrace(calls.data(), deepest);
    ::backtrace_symbols_fd(calls.data(), depth, file);
}

/// Tells the user on standard error. @param path empty = no report could be written
void tellCrash(int number, std::string_view path) {
    SignalText<longestPath + 256> line;
    line.add(crashState->program).add(": crashed (").add(signalName(number));
    if (path.empty())
        line.add("). No crash report could be written\n");
    else
        line.add("). The crash report is ").add(path).add("\n");
    line.write(STDERR_FILENO);
}

/// Lets the signal do what it did before the handlers were set.
void repeatSignal(int number, const siginfo_t* info) {
    const auto place = std::find(crashSignals.begin(), crashSignals.end(), number) - crashSignals.begin();
    ::sigaction(number, &crashState->previous[static_cast<std::size_t>(place)], nullptr);
    if (info->si_code <= 0) // otherwise the instruction is repeated
        ::raise(number);
}

void onCrash(int number, siginfo_t* info, void*) {
    const pid_t thread = ::gettid();
    pid_t none = 0;
    if (::getpid() != crashState->process)
        return repeatSignal(number, info);
    if (!reportingThread.compare_exchange_strong(none, thread)) {
        if (none == thread) // crashed while it wrote the report
            return repeatSignal(number, info);
        for (;;)
            ::pause(); // the other thread ends the program
    }
    const int error = errno;
    ::signal(SIGALRM, SIG_DFL); // NOLINT: the macro is a C cast
    ::alarm(patienceSeconds);   // a backtrace may wait for ever for a lock of the loader
    const std::time_t now = ::time(nullptr);
    SignalText<longestPath> path = reportPath(now);
    const int file = crashState->folder.empty() || path.isCut() ? -1 : createReport(path);
    if (file >= 0) {
        tellCrash(number, path.view());
        writeReport(file, now, number, info);
        ::close(file);
    } else {
        tellCrash(number, {});
    }
    ::alarm(0);
    errno = error;
    repeatSignal(number, info);
}

[[noreturn]] void onTerminate() {
    if (const std::exception_ptr current = std::current_exception()) {
        try {
            std::rethrow_exception(current);
        } catch (const std::exception& error) {
            uncaught.set(error.what());
        } catch (...) {
            uncaught.set("of an unknown type");
        }
    }
    if (crashState->previousTerminate)
        crashState->previousTerminate(); // prints the message and aborts
    std::abort();
}

std::string processorName() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name") && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "unknown";
}

std::string libraryVersions() {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    H5get_libversion(&major, &minor, &release);
    return fmt::format("libtorch: {}\nHDF5: {}.{}.{}\n", TORCH_VERSION, major, minor, release);
}

std::string factsText(const CrashFacts& facts) {
    std::string text = fmt::format("program: {} {}\ncommand line:", facts.program, SECATEUR_VERSION);
    for (const std::string& argument : facts.arguments)
        text += " " + argument;
    text += fmt::format("\ncompiler: {}\n{}", compilerName(), libraryVersions());
    for (const std::string& version : facts.versions)
        text += version + "\n";
    utsname system{};
    ::uname(&system);
    return text + fmt::format("system: {} {} {}\nprocessor: {}, {} threads\n", system.sysname, system.release,
                              system.machine, processorName(), ::sysconf(_SC_NPROCESSORS_ONLN));
}

/// Records every message of the logger.
class CrashLogSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        const auto level = spdlog::level::to_string_view(message.level);
        noteLogLine({level.data(), level.size()}, {message.payload.data(), message.payload.size()});
    }
    void flush_() override {}
};

} // namespace

std::string crashFolder() {
    if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state == '/') // others are ignored, by its rules
        return std::string(state) + "/secateur/crashes";
    const char* home = std::getenv("HOME");
    return home ? std::string(home) + "/.local/state/secateur/crashes" : std::string();
}

void reportCrashes(const CrashFacts& facts) {
    auto* state = new CrashState{factsText(facts), crashFolder(), facts.program, ::getpid(), {}, nullptr};
    crashState = state;
    std::array<void*, 2> calls{};
    ::backtrace(calls.data(), static_cast<int>(calls.size())); // loads the library that it needs
    stack_t stack{};
    stack.ss_sp = signalStack.data();
    stack.ss_size = signalStack.size();
    stack_t present{};
    if (::sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0)
        ::sigaltstack(&stack, nullptr);
    struct sigaction ours{};
    ours.sa_sigaction = onCrash;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    for (std::size_t index = 0; index < crashSignals.size(); ++index)
        ::sigaction(crashSignals[index], &ours, &state->previous[index]);
    state->previousTerminate = std::set_terminate(onTerminate);
}

void noteOpened(std::string_view path) {
    const std::lock_guard lock(openedMutex);
    openedPath.set(path);
}

void noteLogLine(std::string_view level, std::string_view text) {
    const std::lock_guard lock(logMutex);
    LoggedLine& line = loggedLines[linesLogged.load() % linesKept];
    line.time = ::time(nullptr);
    line.level.set(level);
    line.text.set(text);
    ++linesLogged;
}

void noteLog() {
    spdlog::default_logger()->sinks().push_back(std::make_shared<CrashLogSink>());
}

} // namespace secateur
