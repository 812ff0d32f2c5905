#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace secateur::test {

// Replaces write(), rename(), fsync() and similar functions of the C library in this program and in its libraries. They
// work as usual, except that a flush does not wait for the disk. Successful calls that change files in one chosen folder
// are recorded.

/// A call that changed the file system.
struct FileCall {
    enum class Kind { create, makeFolder, link, write, resize, sync, rename, exchange, remove };

    Kind kind;
    std::string path;    ///< the name that is made, moved or removed; empty for a file that has none yet
    std::string target;  ///< of rename and exchange: the second name
    ino_t file = 0;      ///< inode of the file or folder; 0 for rename, exchange and remove
    off_t offset = 0;    ///< of write: where the bytes begin; of resize: the new size
    std::string bytes{}; ///< of write
};

/// Starts to record the calls on files in a folder. @param folder an absolute path without symbolic links
void recordCalls(const std::string& folder);
/// Ends the recording. Returns the calls in their order.
std::vector<FileCall> stopRecording();

} // namespace secateur::test
