#pragma once

#include "tests/kills/recorded_calls.h"

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace secateur::test {

/// Contents by path relative to the folder. Paths of folders end with a slash.
using DiskFiles = std::map<std::string, std::string>;

/// The contents of a folder, without its links.
DiskFiles diskFilesIn(const std::string& folder);
/// Writes files and folders into an empty folder. Their times are two minutes back, so that temporary files count as
/// abandoned.
void putDiskFiles(const DiskFiles& files, const std::string& folder);

/// A recorded run as changes of a disk, from which the states that a power failure may leave are built.
///
/// The model is that of POSIX. fsync() of a file makes its earlier writes durable, fsync() of a folder the names that
/// were made, moved or removed in it before. Of changes that are not durable, any part may be on the disk. A rename is
/// on the disk completely or not at all. A write may be there in part. Bytes that were not written, in a file that is
/// longer, are 0.
class RecordedRun {
public:
    /// Takes the state of a folder and begins to record. @param folder an absolute path without symbolic links
    explicit RecordedRun(const std::string& folder);
    /// Ends the recording. @throws Error if the recorded calls do not lead to the files that are there: a call changed
    /// them that is not recorded
    void end();

    /// Number of recorded calls. State 0 is that before the first call, state calls() that after the last.
    std::size_t calls() const { return m_changes.size(); }
    /// Indices of the changes that are not durable if the power fails after the first `done` calls.
    std::vector<std::size_t> pending(std::size_t done) const;

    /// A part of the pending changes: for each one, the fraction that is on the disk, from 0 to 1. Changes that are not
    /// writes are there with any fraction above 0.
    using Part = std::vector<double>;
    /// The files after a power failure behind the first `done` calls. @param part as long as pending(done)
    DiskFiles after(std::size_t done, const Part& part) const;

    /// Parts to try: nothing, everything, each beginning, each change alone, all but one change, and drawn ones, in
    /// which writes may be torn.
    static std::vector<Part> parts(std::size_t pending, int drawn, std::mt19937& random);

    /// The calls as lines, for a message.
    std::string described(std::size_t done, const Part& part) const;

private:
    struct Node {
        bool isFolder = false;
        std::string bytes;
        std::map<std::string, std::size_t> names; ///< of a folder
    };
    using Nodes = std::vector<Node>; ///< the first is the folder itself

    /// A recorded call on numbered files and folders.
    struct Change {
        FileCall call;
        std::size_t node = 0; ///< the file or folder whose fsync() makes the change durable
        std::vector<std::string> removed;
        std::map<std::string, std::size_t> added;
    };

    std::size_t addNode(ino_t file, bool isFolder);
    std::size_t addTree(const std::string& path);
    std::size_t folderOf(const std::string& path) const;
    std::size_t nodeAt(const std::string& path) const;
    std::size_t numberOf(ino_t file) const;
    Change changeOf(const FileCall& call);
    Change naming(const FileCall& call, std::size_t node) const;
    Change renaming(const FileCall& call) const;
    static void apply(Nodes& nodes, const Change& change, double fraction);
    static void list(const Nodes& nodes, std::size_t folder, const std::string& path, DiskFiles& files);

    std::string m_folder;
    std::map<ino_t, std::size_t> m_numbers; ///< of the files that are there now: inodes are used again
    Nodes m_first;                          ///< before the first call
    Nodes m_now;                            ///< after the calls seen so far
    std::vector<Change> m_changes;
};

} // namespace secateur::test
