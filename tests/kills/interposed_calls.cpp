#include "tests/kills/interposed_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <ctime>
#include <string_view>

namespace secateur::test {

namespace {

std::string& countedFolder() {
    static std::string folder;
    return folder;
}

std::atomic<bool> isCounting = false;
std::atomic<long> calls = 0;
std::atomic<long> lastCall = 0;

bool isCounted(std::string_view path) {
    return path.starts_with(countedFolder());
}

bool isCounted(int file) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = readlink(link.c_str(), path.data(), path.size());
    return length > 0 && isCounted(std::string_view(path.data(), static_cast<std::size_t>(length)));
}

/// Counts a call if it concerns a file in the watched folder. Returns true for the call at which the process must end.
template <typename Place>
bool isLast(Place place) {
    return isCounting && isCounted(place) && ++calls == lastCall;
}

[[noreturn]] void die() {
    tell("died " + std::to_string(nanoseconds()));
    for (;;)
        kill(getpid(), SIGKILL);
}

template <typename Place>
void dieIfLast(Place place) {
    if (isLast(place))
        die();
}

} // namespace

void dieAtCall(const std::string& folder, long call) {
    countedFolder() = folder;
    lastCall = call;
    isCounting = true;
}

long countedCalls() {
    return calls;
}

void tell(const std::string& line) {
    const std::string text = line + "\n";
    syscall(SYS_write, STDOUT_FILENO, text.data(), text.size());
}

long long nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

} // namespace secateur::test

// NOLINTBEGIN: names and types are those of the C library

using namespace secateur::test;

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
    if (isLast(file)) {
        syscall(SYS_write, file, bytes, count / 2);
        die();
    }
    return syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
    if (isLast(file)) {
        syscall(SYS_pwrite64, file, bytes, count / 2, offset);
        die();
    }
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
    return pwrite64(file, bytes, count, offset);
}

ssize_t writev(int file, const iovec* parts, int count) {
    dieIfLast(file);
    return syscall(SYS_writev, file, parts, count);
}

ssize_t copy_file_range(int from, off64_t* fromOffset, int to, off64_t* toOffset, size_t count, unsigned flags) {
    if (isLast(to)) {
        syscall(SYS_copy_file_range, from, fromOffset, to, toOffset, count / 2, flags);
        die();
    }
    return syscall(SYS_copy_file_range, from, fromOffset, to, toOffset, count, flags);
}

static int opened(const char* path, int flags, mode_t mode) {
    if ((flags & (O_CREAT | O_TRUNC)) != 0)
        dieIfLast(path);
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, flags, mode);
}

int mkdir(const char* path, mode_t mode) noexcept {
    dieIfLast(path);
    return static_cast<int>(syscall(SYS_mkdir, path, mode));
}

int rename(const char* from, const char* to) noexcept {
    dieIfLast(to);
    return static_cast<int>(syscall(SYS_rename, from, to));
}

int renameat2(int fromFolder, const char* from, int toFolder, const char* to, unsigned flags) noexcept {
    dieIfLast(to);
    return static_cast<int>(syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
}

int unlink(const char* path) noexcept {
    dieIfLast(path);
    return static_cast<int>(syscall(SYS_unlink, path));
}

int unlinkat(int folder, const char* path, int flags) noexcept {
    if (path[0] == '/')
        dieIfLast(path);
    else
        dieIfLast(folder);
    return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}

int fsync(int file) {
    dieIfLast(file);
    return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
    dieIfLast(file);
    return static_cast<int>(syscall(SYS_fdatasync, file));
}

int ftruncate64(int file, off64_t size) noexcept {
    dieIfLast(file);
    return static_cast<int>(syscall(SYS_ftruncate, file, size));
}

int ftruncate(int file, off_t size) noexcept {
    return ftruncate64(file, size);
}

int fchmod(int file, mode_t mode) noexcept {
    dieIfLast(file);
    return static_cast<int>(syscall(SYS_fchmod, file, mode));
}

// flock() is declared under another C++ name, because `flock` is also the name of a struct.
int lockWhole(int file, int operation) noexcept __asm__("flock");
int lockWhole(int file, int operation) noexcept {
    dieIfLast(file);
    return static_cast<int>(syscall(SYS_flock, file, operation));
}
}

// NOLINTEND
