#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// What is being written beside its target: a file or folder of a name that tells what it is, ".secateur-NUMBER.tmp",
/// and locked for as long as its writer lives. A kill leaves it behind; whoever writes in the same folder a minute
/// later or after that takes it away.
class Unfinished {
public:
    enum class Kind { file, folder };

    /// Makes it, empty. @param name what the person calls the target, for errors @throws Error
    Unfinished(const std::string& folder, Kind kind, const std::string& name);
    ~Unfinished(); ///< unlocks, removes nothing
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    const std::string& path() const { return m_path; }
    int descriptor() const { return m_descriptor; }
    void unlock();

private:
    std::string m_path;
    int m_descriptor = -1;
};

/// A file written beside its target and renamed into place by commit(): whoever reads the target sees the old file or
/// the whole new one. Without commit() the target stays as it was and nothing is left beside it.
class AtomicFile {
public:
    /// Makes an empty file in the target's folder, with the target's permissions where there is one.
    /// @throws Error naming the target when there is no such folder, no permission, or something else of that name
    explicit AtomicFile(const std::string& target);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// Where to write until commit().
    const std::string& path() const { return m_aside->path(); }
    /// All that the file is to hold. @throws Error
    void write(std::string_view bytes);
    /// Puts the bytes on the disk, ahead of commit(), which then takes no time. @throws Error
    void sync();
    /// Removes what has the target's name, as far as there is something. @throws Error
    void removeTarget();
    /// Puts the bytes on the disk and takes the target's name. @throws Error
    void commit();

private:
    std::string m_name;                ///< the target as the person called it
    std::string m_target;              ///< the same with links followed
    std::optional<Unfinished> m_aside; ///< empty once committed
};

/// Puts bytes in a file, beside its target, and renames. @throws Error
void writeWhole(const std::string& target, std::string_view bytes);

/// Refuses at once what would only fail after the work: makes a file beside the target and removes it. @throws Error
void checkCanWrite(const std::string& target);

/// A folder filled beside its target and renamed into place by commit(): whoever looks at the target sees the whole new
/// folder, or what was there. Without commit() nothing is left.
class AtomicFolder {
public:
    /// Makes an empty folder beside the target.
    /// @param mayReplace a folder of that name, if it holds a file called `mark` and no folders
    /// @throws Error naming the target when something is there that may not be replaced, or there is no permission
    AtomicFolder(const std::string& target, bool mayReplace, const std::string& mark);
    ~AtomicFolder();
    AtomicFolder(const AtomicFolder&) = delete;
    AtomicFolder& operator=(const AtomicFolder&) = delete;

    /// Where to write until commit().
    const std::string& path() const { return m_aside->path(); }
    /// Puts all files on the disk and takes the target's name. @throws Error
    void commit();

private:
    std::string m_name;                ///< the target as the person called it
    std::string m_target;              ///< the same with links followed
    std::optional<Unfinished> m_aside; ///< removed at the end
};

/// Keeps other Secateurs from changing a file while it lives, also one that does not exist yet. Others wait.
class FileLock {
public:
    /// @param patience how long to wait for another one
    /// @throws Error when the file stays locked, or its folder cannot be written
    explicit FileLock(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(10));
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    std::string m_lockPath; ///< a file beside the one it guards, which is renamed over and cannot carry a lock itself
    int m_file = -1;
};

} // namespace secateur
