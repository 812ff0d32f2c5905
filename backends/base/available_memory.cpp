#include "backends/base/available_memory.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

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
    if (file >> number) // "max" is no number
        return number;
    return std::nullopt;
}

/// Where a version of control groups says things.
struct GroupFiles {
    const char* root;
    const char* limit;
    std::array<std::string_view, 2> used; ///< lines of memory.stat. Pages of files do not count: they are let go.
};

constexpr GroupFiles first{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", {"total_rss", ""}};
constexpr GroupFiles second{"/sys/fs/cgroup", "memory.max", {"anon", "kernel"}};

/// What one group leaves of its limit.
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

/// Of a group and all that it lies in.
std::int64_t leftInGroups(const std::string& path, const GroupFiles& files) {
    std::int64_t left = leftInGroup(files.root, files);
    fs::path folder = files.root;
    for (const fs::path& part : fs::path(path).relative_path())
        left = std::min(left, leftInGroup(folder /= part, files));
    return left;
}

} // namespace

std::int64_t availableMemory() {
    std::int64_t available = freeOnMachine();
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        if (line.starts_with("0::"))
            available = std::min(available, leftInGroups(line.substr(3), second));
        else if (const auto at = line.find(":memory:"); at != std::string::npos)
            available = std::min(available, leftInGroups(line.substr(at + 8), first));
    }
    return available;
}

} // namespace secateur
