#include "backends/base/atomic_file.h"

#include "analysis/base/error.h"
#include "backends/base/file_output.h"
#include "backends/base/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>

namespace secateur {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = ".secateur-";
constexpr std::string_view suffix = ".tmp";
constexpr std::size_t digits = 16;
/// Temporary files that are younger are never removed: a new file is locked only after its creation, and some file
/// systems do not show locks to other machines.
constexpr auto leastAge = std::chrono::minutes(1);

/// Time of the last write; for a folder, the latest of its files' times.
fs::file_time_type lastWritten(const fs::path& path) {
    fs::file_time_type last = fs::last_write_time(path);
    if (fs::is_directory(path))
        for (const std::string& name : namesIn(path.string()))
            last = std::max(last, fs::last_write_time(path / name));
    return last;
}

void removeIfAbandoned(const fs::path& path) {
    if (fs::is_symlink(path) || fs::file_time_type::clock::now() - lastWritten(path) < leastAge)
        return;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0)
        fs::remove_all(path);
}

/// Removes temporary files that killed processes left behind. Files that cannot be examined or removed are skipped; a
/// later write tries again.
void removeAbandoned(const fs::path& folder) {
    for (const std::string& name : namesIn(folder.string())) {
        if (!isUnfinished(name))
            continue;
        try {
            removeIfAbandoned(folder / name);
        } catch (const fs::filesystem_error&) {
            continue;
        }
    }
}

/// Checks that the target may be written and replaced, because a rename would replace any file, even without
/// permission. @return permissions for the new file
mode_t checkTarget(const std::string& name, const fs::path& target, FileKind kind, bool force) {
    const fs::path folder = target.parent_path();
    if (!folder.empty() && !fs::is_directory(folder))
        throw Error(fmt::format("cannot be written: there is no folder {}", folder.string()), name, "Make it first");
    struct stat there {};
    if (stat(target.c_str(), &there) != 0) {
        if (fs::is_symlink(fs::symlink_status(target)))
            refuseDanglingLink(name);
        return 0;
    }
    if (S_ISDIR(there.st_mode))
        throw Error("cannot be written: it is a folder", name, "Name a file");
    if (!S_ISREG(there.st_mode))
        throw Error("cannot be written: it is not a regular file", name, "Name another file");
    if (access(target.c_str(), W_OK) != 0)
        failWriting(name);
    if (there.st_size > 0)
        checkReplaceable(name, charactersOf(MappedFile::open(target.string())->bytes()), kind, force);
    return there.st_mode & 07777;
}

/// The path to which a symbolic link points, so that a write replaces this file and not the link.
std::string withLinksFollowed(const std::string& target) {
    std::error_code ignored;
    const fs::path real = fs::canonical(target, ignored);
    return ignored ? target : real.string();
}

void checkFolder(const std::string& name, const fs::path& target, bool mayReplace,
                 const std::function<bool(const std::string&)>& isOwn) {
    if (!mayReplace)
        throw Error("exists", name, "Choose another name, or say that it may be replaced (--force)");
    const auto refuse = [&](const char* why) {
        throw Error(fmt::format("is not replaced: {}", why), name, "Remove it yourself or choose another name");
    };
    if (!fs::is_directory(target))
        refuse("it is not a folder");
    if (!fs::is_empty(target) && !isOwn(target.string()))
        refuse("it is a folder that no export wrote");
    if (std::ranges::any_of(fs::directory_iterator(target), [](const auto& item) { return item.is_directory(); }))
        refuse("it holds other folders");
}

/// Whether the locked file still has its name. The previous holder of the lock may have removed the file. A lock on a
/// removed file protects nothing.
bool isStillAt(int file, const std::string& path) {
    struct stat locked {};
    struct stat now {};
    return fstat(file, &locked) == 0 && stat(path.c_str(), &now) == 0 && locked.st_dev == now.st_dev &&
           locked.st_ino == now.st_ino;
}

std::string lockPathFor(const std::string& path) {
    std::error_code ignored;
    const fs::path real = fs::canonical(path, ignored);
    const fs::path guarded = ignored ? fs::path(path) : real;
    return (guarded.parent_path() / ("." + guarded.filename().string() + ".lock")).string();
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
    std::ignore = flock(m_descriptor, LOCK_EX | LOCK_NB); // may fail: not every file system has locks
}

Unfinished::~Unfinished() {
    unlock();
}

void Unfinished::unlock() {
    if (m_descriptor >= 0)
        close(m_descriptor);
    m_descriptor = -1;
}

AtomicFile::AtomicFile(const std::string& target, FileKind kind, bool force)
    : m_name(target)
    , m_target(withLinksFollowed(target)) {
    const fs::path path(m_target);
    const mode_t mode = checkTarget(m_name, path, kind, force);
    m_aside.emplace(path.parent_path().string(), Unfinished::Kind::file, m_name);
    if (mode != 0)
        std::ignore = fchmod(m_aside->descriptor(), mode);
}

AtomicFile::~AtomicFile() {
    if (m_aside)
        unlink(path().c_str());
}

void AtomicFile::write(std::string_view bytes) {
    FileOutput(path(), m_name).write(std::as_bytes(std::span(bytes)));
}

void AtomicFile::sync() {
    syncFile(path(), m_name);
}

bool AtomicFile::removeTarget() {
    if (unlink(m_target.c_str()) != 0) {
        if (errno != ENOENT)
            failWriting(m_name);
        return false;
    }
    syncFolder(fs::path(m_target).parent_path().string());
    return true;
}

void AtomicFile::commit() {
    sync();
    if (std::rename(path().c_str(), m_target.c_str()) != 0)
        failWriting(m_name);
    m_aside.reset();
    syncFolder(fs::path(m_target).parent_path().string());
}

void writeWhole(const std::string& target, std::string_view bytes, FileKind kind, bool force) {
    AtomicFile aside(target, kind, force);
    aside.write(bytes);
    aside.commit();
}

void checkCanWrite(const std::string& target, FileKind kind, bool force) {
    const AtomicFile trial(target, kind, force);
}

void AtomicFiles::add(const std::string& target, std::string_view bytes, FileKind kind, bool force) {
    AtomicFile& file = m_files.emplace_back(target, kind, force);
    file.write(bytes);
    file.sync();
}

void AtomicFiles::commit() {
    for (AtomicFile& file : m_files)
        file.commit();
    m_files.clear();
}

bool isUnfinished(std::string_view name) {
    if (name.size() != prefix.size() + digits + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
        return false;
    return name.substr(prefix.size(), digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

AtomicFolder::AtomicFolder(const std::string& target, bool mayReplace,
                           const std::function<bool(const std::string&)>& isOwn)
    : m_name(target) {
    fs::path path = fs::absolute(target).lexically_normal();
    if (!path.has_filename()) // the path ends with a slash
        path = path.parent_path();
    std::error_code ignored;
    if (const fs::path real = fs::canonical(path, ignored); !ignored)
        path = real;
    m_target = path.string();
    if (fs::exists(fs::symlink_status(path)))
        checkFolder(m_name, path, mayReplace, isOwn);
    if (!fs::is_directory(path.parent_path()))
        throw Error(fmt::format("cannot be written: there is no folder {}", path.parent_path().string()), m_name,
                    "Make it first");
    m_aside.emplace(path.parent_path().string(), Unfinished::Kind::folder, m_name);
}

AtomicFolder::~AtomicFolder() {
    std::error_code ignored;
    fs::remove_all(path(), ignored);
}

void AtomicFolder::commit() {
    for (const std::string& name : namesIn(path()))
        syncFile((fs::path(path()) / name).string(), m_name);
    syncFolder(path());
    // rename() succeeds if the target does not exist or is an empty folder. A folder with files is exchanged with the
    // new folder and then removed under the temporary name.
    if (std::rename(path().c_str(), m_target.c_str()) != 0 &&
        ((errno != ENOTEMPTY && errno != EEXIST) ||
         renameat2(AT_FDCWD, path().c_str(), AT_FDCWD, m_target.c_str(), RENAME_EXCHANGE) != 0))
        failWriting(m_name);
    syncFolder(fs::path(m_target).parent_path().string());
}

FileLock::FileLock(const std::string& path, std::chrono::milliseconds patience)
    : m_lockPath(lockPathFor(path)) {
    const auto until = std::chrono::steady_clock::now() + patience;
    do {
        m_file = open(m_lockPath.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (m_file < 0)
            throw Error("cannot be written: " + std::system_category().message(errno), path, "Nothing was changed");
        const bool locked = flock(m_file, LOCK_EX | LOCK_NB) == 0;
        // Some network file systems have no locks. The work continues without a lock then.
        const bool cannotLock = !locked && errno != EWOULDBLOCK && errno != EINTR;
        if (cannotLock || (locked && isStillAt(m_file, m_lockPath)))
            return;
        close(m_file);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } while (std::chrono::steady_clock::now() < until);
    throw Error("is being written by another Secateur", path, "Try again when it is done");
}

FileLock::~FileLock() {
    unlink(m_lockPath.c_str());
    close(m_file);
}

} // namespace secateur
