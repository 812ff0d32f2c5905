#include "tests/kills/interposed_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <ctime>
#include <mutex>
#include <set>
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

std::string pathOf(int file) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = readlink(link.c_str(), path.data(), path.size());
    return std::string(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

bool isCounted(int file) {
    return isCounted(pathOf(file));
}

/// Whether the chosen call fails, instead of ending the process, and the kind that is counted.
std::atomic<bool> isFailing = false;
std::atomic<bool> isLasting = false;
std::atomic<CallKind> failingKind = CallKind::write;

/// Counts this call if it is of the watched folder. True for the call at which to die.
template <typename Place>
bool isLast(Place place) {
    return isCounting && !isFailing && isCounted(place) && ++calls == lastCall;
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

/// Whether this call must fail. Sets errno.
template <typename Place>
bool fails(CallKind kind, Place place) {
    if (!isCounting || !isFailing || kind != failingKind || !isCounted(place))
        return false;
    const long call = ++calls;
    if (lastCall == 0 || call < lastCall || (call > lastCall && !isLasting))
        return false;
    errno = kind == CallKind::map ? ENOMEM : kind == CallKind::write || kind == CallKind::create ? ENOSPC : EIO;
    return true;
}

std::atomic<bool> isWatching = false;
std::mutex syncsMutex;

/// Files with bytes that were not flushed.
std::set<std::string>& dirtyFiles() {
    static std::set<std::string> files;
    return files;
}

std::vector<std::string>& earlyNames() {
    static std::vector<std::string> names;
    return names;
}

void noteWrite(int file) {
    if (!isWatching || !isCounted(file))
        return;
    const std::lock_guard lock(syncsMutex);
    dirtyFiles().insert(pathOf(file));
}

void noteSync(int file) {
    if (!isWatching)
        return;
    const std::lock_guard lock(syncsMutex);
    dirtyFiles().erase(pathOf(file));
}

/// Takes no texts: rename() is noexcept, and an allocation may be the one that must fail.
void noteRename(const char* from, const char* to) {
    if (!isWatching || !isCounted(to))
        return;
    const std::lock_guard lock(syncsMutex);
    for (const std::string& dirty : dirtyFiles())
        if (dirty == from || dirty.starts_with(std::string(from) + "/"))
            earlyNames().emplace_back(to);
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

void failAtCall(const std::string& folder, CallKind kind, long call, bool lasting) {
    failingKind = kind;
    isLasting = lasting;
    isFailing = true;
    calls = 0;
    dieAtCall(folder, call);
}

long stopFailing() {
    isCounting = isFailing = false;
    return calls;
}

void watchSyncs(const std::string& folder) {
    countedFolder() = folder;
    isWatching = true;
}

std::vector<std::string> renamedBeforeSync() {
    isWatching = false;
    return earlyNames();
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
    if (fails(CallKind::write, file))
        return -1;
    noteWrite(file);
    if (isLast(file)) {
        syscall(SYS_write, file, bytes, count / 2);
        die();
    }
    return syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
    if (fails(CallKind::write, file))
        return -1;
    noteWrite(file);
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
    if (fails(CallKind::write, file))
        return -1;
    noteWrite(file);
    dieIfLast(file);
    return syscall(SYS_writev, file, parts, count);
}

ssize_t copy_file_range(int from, off64_t* fromOffset, int to, off64_t* toOffset, size_t count, unsigned flags) {
    if (fails(CallKind::write, to))
        return -1;
    noteWrite(to);
    if (isLast(to)) {
        syscall(SYS_copy_file_range, from, fromOffset, to, toOffset, count / 2, flags);
        die();
    }
    return syscall(SYS_copy_file_range, from, fromOffset, to, toOffset, count, flags);
}

static int opened(const char* path, int flags, mode_t mode) {
    if ((flags & (O_CREAT | O_TRUNC)) != 0) {
        if (fails(CallKind::create, path))
            return -1;
        dieIfLast(path);
    }
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
    if (fails(CallKind::create, path))
        return -1;
    dieIfLast(path);
    return static_cast<int>(syscall(SYS_mkdir, path, mode));
}

int rename(const char* from, const char* to) noexcept {
    if (fails(CallKind::rename, to))
        return -1;
    noteRename(from, to);
    dieIfLast(to);
    return static_cast<int>(syscall(SYS_rename, from, to));
}

int renameat2(int fromFolder, const char* from, int toFolder, const char* to, unsigned flags) noexcept {
    if (fails(CallKind::rename, to))
        return -1;
    noteRename(from, to);
    dieIfLast(to);
    return static_cast<int>(syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
}

int unlink(const char* path) noexcept {
    if (fails(CallKind::remove, path))
        return -1;
    dieIfLast(path);
    return static_cast<int>(syscall(SYS_unlink, path));
}

int unlinkat(int folder, const char* path, int flags) noexcept {
    const bool isAbsolute = path[0] == '/';
    if (isAbsolute ? fails(CallKind::remove, path) : fails(CallKind::remove, folder))
        return -1;
    if (isAbsolute)
        dieIfLast(path);
    else
        dieIfLast(folder);
    return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}

int fsync(int file) {
    if (fails(CallKind::sync, file))
        return -1;
    noteSync(file);
    dieIfLast(file);
    return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
    if (fails(CallKind::sync, file))
        return -1;
    noteSync(file);
    dieIfLast(file);
    return static_cast<int>(syscall(SYS_fdatasync, file));
}

void* mmap64(void* address, size_t length, int protection, int flags, int file, off64_t offset) noexcept {
    if (file >= 0 && fails(CallKind::map, file))
        return MAP_FAILED;
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) noexcept {
    return mmap64(address, length, protection, flags, file, offset);
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
