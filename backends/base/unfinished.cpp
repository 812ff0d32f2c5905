#include "backends/base/unfinished.h"

#include "backends/base/file_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>
#include <tuple>

namespace secateur {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = ".secateur-";
constexpr std::string_view suffix = ".tmp";
constexpr std::size_t digits = 16;
/// Between making and locking a moment passes, and some file systems keep no locks for other machines.
constexpr auto leastAge = std::chrono::minutes(1);

bool isUnfinished(std::string_view name) {
    if (name.size() != prefix.size() + digits + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
        return false;
    return name.substr(prefix.size(), digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Of a folder, that of the latest file in it.
fs::file_time_type lastWritten(const fs::path& path) {
    fs::file_time_type last = fs::last_write_time(path);
    if (fs::is_directory(path))
        for (const fs::directory_entry& item : fs::directory_iterator(path))
            last = std::max(last, item.last_write_time());
    return last;
}

void removeIfAbandoned(const fs::path& path) {
    if (fs::is_symlink(path) || fs::file_time_type::clock::now() - lastWritten(path) < leastAge)
        return;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0)
        fs::remove_all(path);
}

/// Nobody's work depends on it: what cannot be looked at or removed is left to the next one.
void removeAbandoned(const fs::path& folder) {
    std::error_code failure;
    for (fs::directory_iterator item(folder, failure), end; !failure && item != end; item.increment(failure)) {
        if (!isUnfinished(item->path().filename().string()))
            continue;
        try {
            removeIfAbandoned(item->path());
        } catch (const fs::filesystem_error&) {
            continue;
        }
    }
}

} // namespace

Unfinished::Unfinished(const std::string& folder, Kind kind, const std::string& name) {
    removeAbandoned(folder.empty() ? "." : folder);
    std::random_device random;
    do {
        const std::string unique = fmt::format("{}{:08x}{:08x}{}", prefix, random(), random(), suffix);
        m_path = (fs::path(folder) / unique).string();
        if (kind == Kind::file)
            m_descriptor = open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        else if (mkdir(m_path.c_str(), 0777) == 0)
            m_descriptor = open(m_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } while (m_descriptor < 0 && errno == EEXIST);
    if (m_descriptor < 0)
        failWriting(name);
    std::ignore = flock(m_descriptor, LOCK_EX | LOCK_NB); // some file systems cannot: there nothing is swept either
}

Unfinished::~Unfinished() {
    unlock();
}

void Unfinished::unlock() {
    if (m_descriptor >= 0)
        close(m_descriptor);
    m_descriptor = -1;
}

} // namespace secateur
