// Checks the limit of the address space (ulimit -v) before any library is initialised. OpenBLAS maps a buffer of 128 MB
// for each of its threads when it is loaded. If it cannot, it tries again for ever.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <tuple>

namespace secateur {

namespace {

constexpr std::size_t megabyte = 1 << 20;
constexpr std::size_t ofThread = 128 * megabyte + 8 * megabyte; ///< buffer and stack
constexpr std::size_t ofLibraries = 64 * megabyte;              ///< what the other libraries allocate when loaded
constexpr std::size_t mostThreads = 64;                         ///< of OpenBLAS

/// The number in an environment variable; 0 if there is none. The C library's own environment is not set up yet.
std::size_t numberOf(std::string_view name, char** environment) {
    for (; *environment; ++environment) {
        const std::string_view entry = *environment;
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
            return static_cast<std::size_t>(std::max(0, std::atoi(entry.data() + name.size() + 1)));
    }
    return 0;
}

std::size_t threadsOfOpenBlas(char** environment) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    const bool isKnown = sched_getaffinity(0, sizeof cores, &cores) == 0;
    std::size_t threads = isKnown ? static_cast<std::size_t>(CPU_COUNT(&cores)) : 1;
    for (const std::string_view name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"})
        if (const std::size_t wanted = numberOf(name, environment); wanted > 0) {
            threads = std::min(threads, wanted);
            break;
        }
    return std::clamp<std::size_t>(threads, 1, mostThreads);
}

void say(std::string_view text) {
    std::ignore = write(STDERR_FILENO, text.data(), text.size());
}

void say(std::size_t number) {
    std::array<char, 20> digits{};
    std::size_t begin = digits.size();
    do
        digits[--begin] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    say(std::string_view(digits.data() + begin, digits.size() - begin));
}

/// Ends the program with a sentence if the address space is too small.
void checkAddressSpace(int, char** arguments, char** environment) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const std::size_t needed = threadsOfOpenBlas(environment) * ofThread + ofLibraries;
    void* trial = mmap(nullptr, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (trial != MAP_FAILED) { // NOLINT: the macro is a C cast
        munmap(trial, needed);
        return;
    }
    say(arguments[0]);
    say(": the address space is limited to ");
    say(limit.rlim_cur / megabyte);
    say(" MB, and another ");
    say(needed / megabyte);
    say(" MB are needed to start. Raise the limit (ulimit -v), or set OPENBLAS_NUM_THREADS=1\n");
    _exit(1);
}

// The loader runs the functions of this section before those of the libraries.
[[gnu::used, gnu::section(".preinit_array")]] void (*const check)(int, char**, char**) = checkAddressSpace;

} // namespace

} // namespace secateur
