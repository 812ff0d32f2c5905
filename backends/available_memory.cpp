#include "backends/available_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

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

/// What one group leaves of its limit. Pages of files do not count: they are let go when there is need.
std::int64_t leftInGroup(const fs::path& folder) {
    const auto limit = numberIn(folder / "memory.max");
    if (!limit)
        return unlimited;
    std::ifstream statistics(folder / "memory.stat");
    std::string name;
    std::int64_t value = 0;
    std::int64_t used = 0;
    while (statistics >> name >> value)
        if (name == "anon" || name == "kernel")
            used += value;
    return std::max<std::int64_t>(0, *limit - used);
}

} // namespace

std::int64_t availableMemory() {
    std::int64_t available = freeOnMachine();
    std::ifstream groups("/proc/self/cgroup");
    std::string line;
    while (std::getline(groups, line)) {
        if (!line.starts_with("0::"))
            continue;
        const fs::path root = "/sys/fs/cgroup";
        for (fs::path folder = root / line.substr(4); folder != root && folder.has_relative_path();
             folder = folder.parent_path())
            available = std::min(available, leftInGroup(folder));
    }
    return available;
}

} // namespace secateur
