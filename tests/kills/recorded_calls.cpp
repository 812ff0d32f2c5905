#include "tests/kills/recorded_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace secateur::test {

namespace {

using Kind = FileCall::Kind;

std::mutex recording; ///< held during a call and its recording, so that the order is that of the effects
bool isRecording = false;

std::string& recordedFolder() {
    static std::string folder;
    return folder;
}

std::vector<FileCall>& recordedCalls() {
    static std::vector<FileCall> calls;
    return calls;
}

bool isRecorded(std::string_view path) {
    return isRecording && path.starts_with(recordedFolder());
}

std::string pathOf(int file) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = readlink(link.c_str(), path.data(), path.size());
    return std::string(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

/// The absolute path of a name relative to an open folder.
std::string pathIn(int folder, const char* name) {
    return name[0] == '/' || folder == AT_FDCWD ? name : pathOf(folder) + "/" + name;
}

bool isRecorded(int file) {
    return isRecording && isRecorded(pathOf(file));
}

ino_t inodeOf(int file) {
    struct stat there {};
    return fstat(file, &there) == 0 ? there.st_ino : 0;
}

std::optional<ino_t> inodeAt(const char* path) {
    struct stat there {};
    return lstat(path, &there) == 0 ? std::optional(there.st_ino) : std::nullopt;
}

void record(FileCall call) {
    const int reason = errno;
    recordedCalls().push_back(std::move(call));
    errno = reason;
}

void recordName(Kind kind, const std::string& path, const std::string& target = {}) {
    record({kind, path, target});
}

void recordMade(Kind kind, const std::string& path, ino_t file) {
    record({kind, path, {}, file});
}

void recordWrite(int file, off_t offset, const void* bytes, ssize_t count) {
    record({Kind::write,
            {},
            {},
            inodeOf(file),
            offset,
            std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count))});
}

/// Records bytes that were written at the file's position, which is now behind them.
void recordWritten(int file, const void* bytes, ssize_t count) {
    if (count > 0 && isRecorded(file))
        recordWrite(file, lseek(file, 0, SEEK_CUR) - count, bytes, count);
}

std::string joined(const iovec* parts, int count, ssize_t written) {
    std::string bytes;
    for (int i = 0; i < count; ++i)
        bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    return bytes;
}

/// Bytes of a file that is open for reading, before its position.
std::string bytesBefore(int file, const off64_t* offset, ssize_t count) {
    std::string bytes(static_cast<std::size_t>(count), '\0');
    const off_t end = offset ? *offset : lseek(file, 0, SEEK_CUR);
    if (pread(file, bytes.data(), bytes.size(), end - count) != count)
        std::abort();
    return bytes;
}

int openRecorded(int folder, const char* name, int flags, mode_t mode) {
    const std::lock_guard lock(recording);
    const std::string path = isRecording ? pathIn(folder, name) : std::string();
    const bool isNameless = (flags & O_TMPFILE) == O_TMPFILE;
    const bool mayChange = (isNameless || (flags & (O_CREAT | O_TRUNC)) != 0) && isRecorded(path);
    const bool wasThere = mayChange && inodeAt(path.c_str());
    const int file = static_cast<int>(syscall(SYS_openat, folder, name, flags, mode));
    if (file < 0 || !mayChange)
        return file;
    if (isNameless)
        recordMade(Kind::create, {}, inodeOf(file));
    else if (!wasThere)
        recordMade(Kind::create, path, inodeOf(file));
    else if ((flags & O_TRUNC) != 0)
        record({Kind::resize, {}, {}, inodeOf(file), 0});
    return file;
}

int renameRecorded(int fromFolder, const char* from, int toFolder, const char* to, unsigned flags) {
    const std::lock_guard lock(recording);
    const int result = static_cast<int>(syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
    if (result == 0 && isRecorded(pathIn(toFolder, to)))
        recordName((flags & RENAME_EXCHANGE) != 0 ? Kind::exchange : Kind::rename, pathIn(fromFolder, from),
                   pathIn(toFolder, to));
    return result;
}

int removeRecorded(int folder, const char* name, int flags) {
    const std::lock_guard lock(recording);
    const int result = static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
    if (result == 0 && isRecorded(pathIn(folder, name)))
        recordName(Kind::remove, pathIn(folder, name));
    return result;
}

int linkRecorded(int fromFolder, const char* from, int toFolder, const char* to, int flags) {
    const std::lock_guard lock(recording);
    const int result = static_cast<int>(syscall(SYS_linkat, fromFolder, from, toFolder, to, flags));
    const std::string path = pathIn(toFolder, to);
    if (result == 0 && isRecorded(path))
        recordMade(Kind::link, path, inodeAt(path.c_str()).value_or(0));
    return result;
}

/// Records a flush, but does not wait for the disk: no file of a test need survive a power failure.
int syncRecorded(int file) {
    const std::lock_guard lock(recording);
    if (isRecorded(file))
        record({Kind::sync, {}, {}, inodeOf(file)});
    return 0;
}

} // namespace

void recordCalls(const std::string& folder) {
    const std::lock_guard lock(recording);
    recordedFolder() = folder;
    recordedCalls().clear();
    isRecording = true;
}

std::vector<FileCall> stopRecording() {
    const std::lock_guard lock(recording);
    isRecording = false;
    return std::exchange(recordedCalls(), {});
}

} // namespace secateur::test

// NOLINTBEGIN: names and types are those of the C library

using namespace secateur::test;

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
    const std::lock_guard lock(recording);
    const ssize_t written = syscall(SYS_write, file, bytes, count);
    recordWritten(file, bytes, written);
    return written;
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
    const std::lock_guard lock(recording);
    const ssize_t written = syscall(SYS_pwrite64, file, bytes, count, offset);
    if (written > 0 && isRecorded(file))
        recordWrite(file, offset, bytes, written);
    return written;
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
    return pwrite64(file, bytes, count, offset);
}

ssize_t writev(int file, const iovec* parts, int count) {
    const std::lock_guard lock(recording);
    const ssize_t written = syscall(SYS_writev, file, parts, count);
    if (written > 0 && isRecorded(file))
        recordWritten(file, joined(parts, count, written).data(), written);
    return written;
}

ssize_t copy_file_range(int from, off64_t* fromOffset, int to, off64_t* toOffset, size_t count, unsigned flags) {
    const std::lock_guard lock(recording);
    const ssize_t copied = syscall(SYS_copy_file_range, from, fromOffset, to, toOffset, count, flags);
    if (copied > 0 && isRecorded(to)) {
        const std::string bytes = bytesBefore(from, fromOffset, copied);
        const off_t end = toOffset ? *toOffset : lseek(to, 0, SEEK_CUR);
        recordWrite(to, end - copied, bytes.data(), copied);
    }
    return copied;
}

int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return openRecorded(folder, path, flags, mode);
}

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return openRecorded(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return openRecorded(AT_FDCWD, path, flags, mode);
}

int mkdir(const char* path, mode_t mode) noexcept {
    const std::lock_guard lock(recording);
    const int result = static_cast<int>(syscall(SYS_mkdir, path, mode));
    if (result == 0 && isRecorded(path))
        recordMade(Kind::makeFolder, path, inodeAt(path).value_or(0));
    return result;
}

int linkat(int fromFolder, const char* from, int toFolder, const char* to, int flags) noexcept {
    return linkRecorded(fromFolder, from, toFolder, to, flags);
}

int link(const char* from, const char* to) noexcept {
    return linkRecorded(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int rename(const char* from, const char* to) noexcept {
    return renameRecorded(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int fromFolder, const char* from, int toFolder, const char* to) noexcept {
    return renameRecorded(fromFolder, from, toFolder, to, 0);
}

int renameat2(int fromFolder, const char* from, int toFolder, const char* to, unsigned flags) noexcept {
    return renameRecorded(fromFolder, from, toFolder, to, flags);
}

int unlink(const char* path) noexcept {
    return removeRecorded(AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
    return removeRecorded(folder, path, flags);
}

int rmdir(const char* path) noexcept {
    return removeRecorded(AT_FDCWD, path, AT_REMOVEDIR);
}

int remove(const char* path) noexcept {
    const int result = removeRecorded(AT_FDCWD, path, 0);
    return result != 0 && errno == EISDIR ? removeRecorded(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

int fsync(int file) {
    return syncRecorded(file);
}

int fdatasync(int file) {
    return syncRecorded(file);
}

int ftruncate64(int file, off64_t size) noexcept {
    const std::lock_guard lock(recording);
    const int result = static_cast<int>(syscall(SYS_ftruncate, file, size));
    if (result == 0 && isRecorded(file))
        record({Kind::resize, {}, {}, inodeOf(file), size});
    return result;
}

int ftruncate(int file, off_t size) noexcept {
    return ftruncate64(file, size);
}
}

// NOLINTEND
