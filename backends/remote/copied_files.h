#pragma once

#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// A file that is sent to a server.
struct CopiedFile {
    std::string name; ///< relative to the folder of the copies, with '/'
    std::string bytes;
};

/// A text of this machine, a file or a folder, for a job that reads it on the server.
struct CopiedFiles {
    std::string name; ///< of the file or the folder
    bool isFolder = false;
    std::vector<CopiedFile> files;
};

/// Reads a file or the files of a folder. @throws Error if it cannot be read, or has more than 256 MiB
CopiedFiles filesAt(const std::string& path);

/// Path, sizes and times of change: equal as long as a file is.
std::string stateOf(const std::string& path);

/// Writes a file, and the folders to it. @throws Error
void writeFile(const std::string& path, const std::string& bytes);

/// A folder of its own in that of temporary files, removed with all files in it at the end.
class TemporaryFolder {
public:
    TemporaryFolder(); ///< @throws Error if it cannot be made
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

/// Files that a server keeps until it ends.
class KeptFiles {
public:
    /// Writes files into a folder of their own. @returns the path of the file or folder
    /// @throws Error for names that lead elsewhere, and if they cannot be written
    std::string keep(const CopiedFiles& files);

private:
    std::optional<TemporaryFolder> m_folder; ///< empty = not made yet
    int m_count = 0;
};

} // namespace secateur
