#include "backends/base/runtime.h"

#include "analysis/base/error.h"
#include "backends/base/blas_kernels.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace secateur {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::int64_t freeOnMachine() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::int64_t kilobytes = 0;
    std::string unit;
    while (file >> name >> kilobytes >> unit)
        if (name == "MemAvailable:")
            return kilobytes * 1024;
    return unlimited;
}

std::optional<std::int64_t> numberIn(const fs::path& path) {
    std::ifstream file(path);
    std::int64_t number = 0;
    if (file >> number) // fails for the text "max"
        return number;
    return std::nullopt;
}

/// The files that describe a Linux control group; they differ between its versions 1 and 2.
struct GroupFiles {
    const char* root;
    const char* limit;
    std::array<std::string_view, 2> used; ///< lines of memory.stat to add; page cache is not counted
};

constexpr GroupFiles groupsVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", {"total_rss", ""}};
constexpr GroupFiles groupsVersion2{"/sys/fs/cgroup", "memory.max", {"anon", "kernel"}};

/// Number of bytes that a control group may still use; the maximum if it has no limit.
std::int64_t leftInGroup(const fs::path& folder, const GroupFiles& files) {
    const auto limit = numberIn(folder / files.limit);
    if (!limit)
        return unlimited;
    std::ifstream statistics(folder / "memory.stat");
    std::string name;
    std::int64_t value = 0;
    std::int64_t used = 0;
    while (statistics >> name >> value)
        if (std::ranges::find(files.used, name) != files.used.end())
            used += value;
    return std::max<std::int64_t>(0, *limit - used);
}

/// The least number of bytes that a control group or one of its ancestors may still use.
std::int64_t leftInGroups(const std::string& path, const GroupFiles& files) {
    std::int64_t left = leftInGroup(files.root, files);
    fs::path folder = files.root;
    for (const fs::path& part : fs::path(path).relative_path())
        left = std::min(left, leftInGroup(folder /= part, files));
    return left;
}

/// Bytes of this process that a resource limit counts. @param field of /proc/self/statm, from 0; 0 if unknown
std::int64_t usedBytes(int field) {
    std::ifstream file("/proc/self/statm");
    std::int64_t pages = 0;
    for (int i = 0; i <= field; ++i)
        if (!(file >> pages))
            return 0;
    return pages * ::sysconf(_SC_PAGESIZE);
}

/// Number of bytes left of a limit of this process (ulimit).
std::int64_t leftOfLimit(int resource, int field) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return unlimited;
    const auto most = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, unlimited));
    return std::max<std::int64_t>(0, most - usedBytes(field));
}

constexpr int addressSpaceField = 0;
constexpr int dataField = 5;

constexpr unsigned wallSeconds = 60;

constexpr const char* made = "made";
constexpr const char* threw = "threw";

/// Encodes the answer of the child process: `made` and the result, or `threw` and the fields of an Error. Each text
/// follows its length.
std::string joined(const std::vector<std::string>& texts) {
    std::string message;
    for (const std::string& text : texts) {
        const std::uint64_t size = text.size();
        message.append(reinterpret_cast<const char*>(&size), sizeof size);
        message += text;
    }
    return message;
}

/// Decodes an answer of the child process; empty if it is incomplete.
std::optional<std::vector<std::string>> parted(std::string_view message) {
    std::vector<std::string> texts;
    while (!message.empty()) {
        std::uint64_t size = 0;
        if (message.size() < sizeof size)
            return std::nullopt;
        std::memcpy(&size, message.data(), sizeof size);
        message.remove_prefix(sizeof size);
        if (size > message.size())
            return std::nullopt;
        texts.emplace_back(message.substr(0, static_cast<std::size_t>(size)));
        message.remove_prefix(static_cast<std::size_t>(size));
    }
    return texts;
}

void limit(int resource, rlim_t most) {
    rlimit both{};
    if (::getrlimit(resource, &both) == 0 && (both.rlim_max == RLIM_INFINITY || most < both.rlim_max)) {
        both.rlim_cur = both.rlim_max = most;
        ::setrlimit(resource, &both);
    }
}

/// Sets the child's limits, and makes a crash end it at once, without messages or core dumps.
void confine(unsigned processorSeconds, std::size_t moreMemory) {
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU, SIGPIPE})
        ::signal(number, SIG_DFL); // NOLINT: the macro is a C cast
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0)
        ::dup2(nowhere, STDERR_FILENO);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, processorSeconds);
    if (const std::int64_t bytes = usedBytes(addressSpaceField); bytes > 0)
        limit(RLIMIT_AS, static_cast<std::size_t>(bytes) + moreMemory);
    ::alarm(wallSeconds);
}

[[noreturn]] void serve(const std::function<std::string()>& work, unsigned processorSeconds, std::size_t moreMemory,
                        int answers) {
    std::string message;
    try {
        confine(processorSeconds, moreMemory);
        message = joined({made, work()});
    } catch (const Error& error) {
        message = joined({threw, error.message(), error.subject(), error.hint()});
    } catch (...) {
        ::_exit(1);
    }
    for (std::string_view left = message; !left.empty();) {
        const ssize_t written = ::write(answers, left.data(), left.size());
        if (written < 0 && errno != EINTR)
            ::_exit(1);
        left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    ::_exit(0);
}

/// Reads the answer of the child process until the child ends, which closes the pipe, or its time is over.
std::string readAll(int answers) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(wallSeconds);
    std::string message;
    std::vector<char> block(1 << 16);
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd waiting{answers, POLLIN, 0};
        const int ready = left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        const ssize_t count = ready > 0 ? ::read(answers, block.data(), block.size()) : 0;
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return message;
        message.append(block.data(), static_cast<std::size_t>(count));
    }
}

[[noreturn]] void failForking() {
    throw Error("cannot be checked for damage: " + std::system_category().message(errno));
}

} // namespace

void initialiseRuntime(int threads) {
    if (::access("/proc/cpuinfo", R_OK) != 0)
        throw Error("cannot be read, and the number of processor cores is unknown without it", "/proc/cpuinfo",
                    "Mount /proc");
    chooseBlasKernels();
    // The first ATen call sets OpenMP to one thread, unless the number of threads is set before.
    at::set_num_threads(threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    at::globalContext().setAllowTF32CuBLAS(false);
    // Keeps large temporary tensors in the heap. Otherwise each operation would map new memory.
    constexpr int keptBytes = 1 << 28;
    mallopt(M_MMAP_THRESHOLD, keptBytes);
    mallopt(M_TRIM_THRESHOLD, keptBytes);
}

void returnFreedMemory() {
    malloc_trim(0);
}

void reserveStandardStreams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            static_cast<void>(::open("/", O_RDONLY | O_DIRECTORY)); // gets the lowest free number, which is this one
}

std::int64_t addressSpaceLeft() {
    return leftOfLimit(RLIMIT_AS, addressSpaceField);
}

std::int64_t availableMemory() {
    std::int64_t available = std::min({freeOnMachine(), addressSpaceLeft(), leftOfLimit(RLIMIT_DATA, dataField)});
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        if (line.starts_with("0::"))
            available = std::min(available, leftInGroups(line.substr(3), groupsVersion2));
        else if (const auto at = line.find(":memory:"); at != std::string::npos)
            available = std::min(available, leftInGroups(line.substr(at + 8), groupsVersion1));
    }
    return available;
}

std::optional<std::string> runIsolated(const std::function<std::string()>& work, unsigned processorSeconds,
                                       std::size_t moreMemory) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        failForking();
    const pid_t child = ::fork();
    if (child == 0)
        serve(work, processorSeconds, moreMemory, ends[1]);
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        failForking();
    }
    const std::string message = readAll(ends[0]);
    ::close(ends[0]);
    ::kill(child, SIGKILL); // the child may hang; its process id stays valid until waitpid()
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    auto texts = parted(message);
    if (texts && texts->size() == 4 && texts->front() == threw)
        throw Error((*texts)[1], (*texts)[2], (*texts)[3]);
    if (texts && texts->size() == 2 && texts->front() == made)
        return std::move(texts->back());
    return std::nullopt;
}

} // namespace secateur
