// Checks the limit of the address space (ulimit -v) before any library is initialised. OpenBLAS maps buffers of 128 MB
// when it is loaded, and one for each thread that it starts. If it cannot, it tries again for ever.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

/// OpenBLAS's; a constant, which needs no initialisation. Absent if another library provides BLAS.
extern "C" [[gnu::weak]] int openblas_get_parallel();

namespace secateur {

namespace {

constexpr std::size_t megabyte = 1 << 20;
constexpr std::size_t ofLibraries = (2 * 128 + 80) * megabyte; ///< two buffers, and what other libraries allocate
constexpr std::size_t ofThread = (128 + 8) * megabyte;         ///< buffer and stack
constexpr std::size_t mostThreads = 64;                        ///< of OpenBLAS

/// Address space that the libraries need while they are loaded.
std::size_t neededSpace() {
    constexpr int withThreads = 1; // the variant that starts threads of its own, when it is loaded
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (!openblas_get_parallel || openblas_get_parallel() != withThreads ||
        sched_getaffinity(0, sizeof cores, &cores) != 0)
        return ofLibraries;
    return ofLibraries + std::min(static_cast<std::size_t>(CPU_COUNT(&cores)), mostThreads) * ofThread;
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
void checkAddressSpace(int, char** arguments, char**) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const std::size_t needed = neededSpace();
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
    say(" MB are needed to start. Raise the limit (ulimit -v)\n");
    _exit(1);
}

// The loader runs the functions of this section before those of the libraries.
[[gnu::used, gnu::section(".preinit_array")]] void (*const check)(int, char**, char**) = checkAddressSpace;

} // namespace

} // namespace secateur
