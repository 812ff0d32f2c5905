// survey_session FIRST LAST FILE...: reads damaged copies of session files with HDF5, from number FIRST to number LAST.
// libFuzzer would be too slow, and so would a process for each copy. Each copy gets a valid checksum, because the
// program passes only files with one to HDF5 in its own process.
//
// A child process reads the copies in order until HDF5 crashes or hangs, as version 1.10 does on some damaged files.
// Another child continues after that copy. If a crash occurs in Secateur's own code, HDF5 may have corrupted the memory
// before. A new child then reads that copy alone. If it crashes too, the survey ends and the copy is written to
// survey_fault.h5.

#include "backends/base/sha256.h"
#include "backends/session/session_hdf5.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutation.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

using namespace secateur;

namespace {

struct Counts {
    std::uint64_t next = 1;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
};

/// Memory shared by the parent and the child. Only one of them writes at a time.
struct Survey {
    Counts now;
    Counts sound;                ///< the counts when the child last opened an undamaged file without an error
    std::uint64_t carefulTo = 0; ///< up to this copy, an undamaged file is opened after every copy
};

enum Ending : int { done = 0, hdf5Crashed = 40, hdf5Stalled = 41, ourFault = 42, spoilt = 43 };

/// Whether the signal was raised in HDF5: whether the innermost stack frame outside this handler and the system
/// libraries belongs to HDF5.
bool isInHdf5() {
    std::array<void*, 32> frames{};
    const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    for (int i = 2; i < depth; ++i) { // frames 0 and 1 are this function and the handler
        Dl_info place{};
        if (::dladdr(frames[static_cast<std::size_t>(i)], &place) == 0 || !place.dli_fname)
            continue;
        const std::string_view file = place.dli_fname;
        if (file.find("libhdf5") != std::string_view::npos)
            return true;
        if (file.find("/lib/") == std::string_view::npos && file.find("linux-vdso") == std::string_view::npos)
            return false;
    }
    return true; // the stack is unreadable, which only HDF5 can cause
}

void onSignal(int number) {
    if (!isInHdf5())
        ::_exit(ourFault);
    ::_exit(number == SIGVTALRM ? hdf5Stalled : hdf5Crashed);
}

void catchSignals() {
    std::array<void*, 4> warm{};
    // The first call of backtrace() loads a library. It is made here, before a damaged file can corrupt the memory.
    ::backtrace(warm.data(), static_cast<int>(warm.size()));
    static std::array<char, 1 << 16> stack;
    const stack_t own{stack.data(), 0, stack.size()};
    ::sigaltstack(&own, nullptr);
    struct sigaction action {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_ONSTACK;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM})
        ::sigaction(number, &action, nullptr);
}

/// Limits the CPU time for one copy to 10 ms. An undamaged session of this size takes less than 1 ms.
void allowTime() {
    const itimerval limit{{0, 0}, {0, 10'000}};
    ::setitimer(ITIMER_VIRTUAL, &limit, nullptr);
}

std::string sealed(const fuzz::Bytes& bytes) {
    std::string text(bytes.begin(), bytes.end());
    return text + sealOf(text);
}

void readOne(Counts& counts, const fuzz::Bytes& bytes) {
    const std::string text = sealed(bytes);
    const auto file = fuzz::fileOf("session.h5", reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    try {
        const Session session = readSession(*file);
        for (const MetricResult& result : session.results)
            if (!result.request.info || result.values.rows() != session.model.spec.layers.size())
                ::_exit(ourFault);
        ++counts.opened;
    } catch (const Error& error) {
        if (error.message().empty())
            ::_exit(ourFault);
        ++counts.refused;
    } catch (const std::bad_alloc&) {
        ::_exit(ourFault);
    }
}

void confine() {
    const rlimit noCore{0, 0};
    ::setrlimit(RLIMIT_CORE, &noCore);
    const rlimit memory{rlim_t{1} << 30, rlim_t{1} << 30}; // 1 GiB, more than reading a session of some kilobytes needs
    ::setrlimit(RLIMIT_AS, &memory);
    catchSignals();
}

/// Ends the child if HDF5 cannot open an undamaged file any more. After some errors HDF5 refuses all files.
void checkSoundness(Survey& survey, const fuzz::Bytes& undamaged) {
    Counts trial;
    readOne(trial, undamaged);
    if (trial.opened == 0)
        ::_exit(spoilt);
    survey.sound = survey.now;
}

/// Returns to the last counts after which HDF5 could still open an undamaged file. The next child reads the copies
/// since then again and opens an undamaged file after each, to find the copy after which HDF5 fails.
void goBack(Survey& survey) {
    if (survey.now.next <= survey.carefulTo) {
        survey.sound = survey.now;
        return;
    }
    survey.carefulTo = survey.now.next;
    survey.now = survey.sound;
}

[[noreturn]] void goThrough(Survey& survey, const std::vector<fuzz::Bytes>& seeds, std::uint64_t last) {
    confine();
    constexpr std::uint64_t often = 100;
    Counts& counts = survey.now;
    while (counts.next <= last) {
        // Counted before reading, so that after a crash the next child continues with the following copy.
        const std::uint64_t i = counts.next++;
        allowTime();
        readOne(counts, fuzz::damaged(seeds, i));
        if (i % often == 0 || counts.next <= survey.carefulTo)
            checkSoundness(survey, seeds.front());
    }
    ::_exit(done);
}

/// Forks a child that runs `work`, which must not return. @returns the exit status of the child
template <typename Work>
int endingOf(Work work) {
    const pid_t child = ::fork();
    if (child == 0)
        work();
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : hdf5Crashed;
}

bool comesAgain(const fuzz::Bytes& bytes) {
    return endingOf([&] {
               confine();
               Counts unused;
               readOne(unused, bytes);
               ::_exit(done);
           }) == ourFault;
}

std::vector<fuzz::Bytes> readAll(int count, char** paths) {
    std::vector<fuzz::Bytes> files;
    for (int i = 0; i < count; ++i) {
        std::ifstream file(paths[i], std::ios::binary);
        files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return files;
}

int keepFault(const fuzz::Bytes& bytes, std::uint64_t i) {
    const std::string text = sealed(bytes);
    std::ofstream("survey_fault.h5", std::ios::binary) << text;
    std::printf("a fault of our own at copy %llu: survey_fault.h5\n", static_cast<unsigned long long>(i));
    return 1;
}

} // namespace

int main(int argumentCount, char** arguments) {
    constexpr int options = 3; // number of arguments before the files: the program's name, FIRST and LAST
    const std::vector<fuzz::Bytes> seeds = readAll(argumentCount - options, arguments + options);
    if (seeds.empty()) {
        std::fprintf(stderr, "survey_session FIRST LAST FILE...\n");
        return 2;
    }
    const std::uint64_t first = std::stoull(arguments[1]);
    const std::uint64_t end = std::stoull(arguments[2]);
    void* shared = ::mmap(nullptr, sizeof(Survey), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    Survey& survey = *new (shared) Survey;
    survey.now.next = survey.sound.next = first;
    std::uint64_t crashes = 0;
    std::uint64_t stalls = 0;
    const auto start = std::chrono::steady_clock::now();
    auto said = start;
    for (bool going = true; going;) {
        const int ending = endingOf([&] { goThrough(survey, seeds, end); });
        if (ending == spoilt)
            goBack(survey);
        else
            survey.sound = survey.now;
        const std::uint64_t last = survey.now.next - 1;
        if (ending == ourFault && comesAgain(fuzz::damaged(seeds, last)))
            return keepFault(fuzz::damaged(seeds, last), last);
        crashes += ending == hdf5Crashed || ending == ourFault ? 1 : 0;
        stalls += ending == hdf5Stalled ? 1 : 0;
        going = ending != done && survey.now.next <= end;
        const auto now = std::chrono::steady_clock::now();
        if (going && now - said < std::chrono::seconds(30))
            continue;
        said = now;
        const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
        std::printf("%llu copies, %.0f per second: %llu open, %llu refused, HDF5 crashed on %llu and stalled on %llu\n",
                    number(last - first + 1),
                    static_cast<double>(last - first + 1) / std::chrono::duration<double>(now - start).count(),
                    number(survey.now.opened), number(survey.now.refused), number(crashes), number(stalls));
        std::fflush(stdout);
    }
    return 0;
}
