#pragma once

#include "analysis/base/replaceable.h"

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// A temporary file or folder next to the target of a write. It is named ".secateur-NUMBER.tmp" and locked until its
/// writer ends. If a killed process leaves it behind, the next write to the same folder after at least a minute removes
/// it.
class Unfinished {
public:
    enum class Kind { file, folder };

    /// Creates an empty file or folder. @param name the target as the user named it, for error messages @throws Error
    Unfinished(const std::string& folder, Kind kind, const std::string& name);
    ~Unfinished(); ///< unlocks the file or folder, but does not remove it
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    const std::string& path() const { return m_path; }
    int descriptor() const { return m_descriptor; }
    void unlock();

private:
    std::string m_path;
    int m_descriptor = -1;
};

/// A file that is written under a temporary name next to its target. commit() renames it, so that readers of the target
/// see the old file or the complete new file. Without commit() and removeTarget() the target is unchanged, and the
/// temporary file is removed.
class AtomicFile {
public:
    /// Creates an empty file in the target's folder, with the permissions of an existing target.
    /// @param kind of the new file @param force whether to replace a file of another kind (replaceable.h)
    /// @throws Error naming the target if the folder or the permission is missing, the target is not a regular file, or
    /// it is a file that is not replaced by this kind
    AtomicFile(const std::string& target, FileKind kind, bool force = false);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// The temporary path, which is valid until commit().
    const std::string& path() const { return m_aside->path(); }
    /// Writes the complete content. @throws Error
    void write(std::string_view bytes);
    /// Flushes the bytes to the disk, so that commit() will be quick. @throws Error
    void sync();
    /// Removes the target if it exists, and flushes its folder: after a power failure, no file that is committed later
    /// is there together with the old target. @returns whether it existed @throws Error
    bool removeTarget();
    /// Flushes the bytes to the disk and renames the file to the target. @throws Error
    void commit();

private:
    std::string m_name;                ///< the target as the user named it
    std::string m_target;              ///< m_name as a path with symbolic links followed
    std::optional<Unfinished> m_aside; ///< empty after commit()
};

/// Replaces a file by these bytes with an AtomicFile. @throws Error
void writeWhole(const std::string& target, std::string_view bytes, FileKind kind, bool force = false);

/// Checks before long work that a result can be written to `target`: creates a temporary file next to it and removes
/// it.
/// @throws Error
void checkCanWrite(const std::string& target, FileKind kind, bool force = false);

/// Several files that are written together: none takes its name before all have been written to the disk.
class AtomicFiles {
public:
    /// @throws Error as AtomicFile
    void add(const std::string& target, std::string_view bytes, FileKind kind, bool force = false);
    /// Renames all files to their targets. @throws Error
    void commit();

private:
    std::list<AtomicFile> m_files;
};

/// Whether a file's name is that of an Unfinished.
bool isUnfinished(std::string_view name);

/// A folder that is filled under a temporary name next to its target. commit() renames it, so that readers of the
/// target see the old folder or the complete new folder. Without commit() the temporary folder is removed.
class AtomicFolder {
public:
    /// Creates an empty folder beside the target.
    /// @param mayReplace whether the target may be replaced if it is empty, or `isOwn` is true of it and it contains no
    /// folders
    /// @throws Error naming the target if it exists and may not be replaced, or the permission is missing
    AtomicFolder(const std::string& target, bool mayReplace, const std::function<bool(const std::string&)>& isOwn);
    ~AtomicFolder();
    AtomicFolder(const AtomicFolder&) = delete;
    AtomicFolder& operator=(const AtomicFolder&) = delete;

    /// The temporary path, which is valid until commit().
    const std::string& path() const { return m_aside->path(); }
    /// Flushes all files to the disk and renames the folder to the target. @throws Error
    void commit();

private:
    std::string m_name;                ///< the target as the user named it
    std::string m_target;              ///< m_name as a path with symbolic links followed
    std::optional<Unfinished> m_aside; ///< its destructor removes the temporary folder
};

/// A lock on a file, which need not exist yet. Other processes of Secateur wait for the lock before they change the
/// file.
class FileLock {
public:
    /// Takes the lock. @param patience maximum time to wait for another process
    /// @throws Error if the file stays locked or its folder cannot be written
    explicit FileLock(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(10));
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    std::string m_lockPath; ///< a separate file, because a rename over the guarded file would lose the lock
    int m_file = -1;
};

} // namespace secateur
