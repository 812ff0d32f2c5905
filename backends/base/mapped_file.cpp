#include "backends/base/mapped_file.h"

#include "analysis/base/error.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace secateur {

/// Keeps the program running if a mapped file is truncated. Access to a page beyond the end of a file raises SIGBUS. In
/// a guarded mapping, this page and all later pages are then replaced by zeros, and wasHit() returns true. Any other
/// SIGBUS is passed to the previous handler.
class MappingGuard {
public:
    /// @param mapping memory that begins at a page boundary; must outlive the guard
    explicit MappingGuard(std::span<const std::byte> mapping);
    ~MappingGuard();
    MappingGuard(const MappingGuard&) = delete;
    MappingGuard& operator=(const MappingGuard&) = delete;

    bool wasHit() const;

    struct Slot;

private:
    Slot* m_slot;
};

/// The record of a mapping that the signal handler reads. Slots are reused but never freed, because the handler may
/// read them at any time on any thread and cannot wait for a lock.
struct MappingGuard::Slot {
    std::atomic<std::uintptr_t> begin = 0;
    std::atomic<std::uintptr_t> end = 0;
    std::atomic<unsigned> generation = 0; ///< odd while the slot is free or being reassigned
    std::atomic<bool> hit = false;
    Slot* next = nullptr; ///< constant once the slot is in the list
    bool taken = false;   ///< whether a guard uses the slot; protected by slotsMutex
};

namespace {

Error systemError(const char* what, const std::string& path) {
    return Error(std::string(what) + ": " + std::strerror(errno), path);
}

[[noreturn]] void refuseOther(const std::string& path) {
    throw Error("is not a regular file", path);
}

/// Opens a file without waiting, so that a named pipe can be refused. @return -1 with errno set
int openWithoutWaiting(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/// The state of an open file. @throws Error if it is not a regular file
struct stat stateOf(int descriptor, const std::string& path) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0)
        throw systemError("cannot be examined", path);
    if (!S_ISREG(status.st_mode))
        refuseOther(path);
    return status;
}

/// Size of an open file in bytes. @throws Error
std::size_t sizeOf(int descriptor, const std::string& path) {
    return static_cast<std::size_t>(stateOf(descriptor, path).st_size);
}

template <typename T>
T load(const std::byte* source) {
    T value{};
    std::memcpy(&value, source, sizeof value);
    return value;
}

using Slot = MappingGuard::Slot;

std::atomic<Slot*> slots = nullptr;
std::mutex slotsMutex; // protects taking and returning slots; the signal handler does not lock it
struct sigaction previous;

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<Slot*>::is_always_lock_free);

/// The slot of the mapping that contains an address; null if there is none. @param end set to the end of the mapping
Slot* slotAround(std::uintptr_t address, std::uintptr_t& end) {
    for (Slot* slot = slots.load(); slot; slot = slot->next) {
        const unsigned before = slot->generation.load();
        const std::uintptr_t begin = slot->begin.load();
        end = slot->end.load();
        // A slot that is reassigned while it is read is skipped: it cannot belong to the mapping that this thread is
        // reading.
        if (before % 2 == 0 && slot->generation.load() == before && address >= begin && address < end)
            return slot;
    }
    return nullptr;
}

/// Maps zeros from the page of `address` up to `end`. After a truncation all later pages are missing too, so that a
/// single signal suffices.
bool replaceByZeros(std::uintptr_t address, std::uintptr_t end) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t start = address / page * page;
    // Calls the system directly, because sanitizers replace mmap() by code that must not run in a signal handler.
    const long mapped =
        ::syscall(SYS_mmap, start, end - start, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return mapped != -1;
}

void passOn(int number, siginfo_t* info, void* context) {
    const bool isHandler =
        previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN; // NOLINT: C casts in macros
    if (isHandler && (previous.sa_flags & SA_RESETHAND) == 0) {
        if (previous.sa_flags & SA_SIGINFO)
            previous.sa_sigaction(number, info, context);
        else
            previous.sa_handler(number);
        return;
    }
    // The default action runs when the instruction is repeated or the signal is raised again.
    ::sigaction(number, &previous, nullptr);
    if (info->si_code <= 0)
        ::raise(number);
}

void onBusError(int number, siginfo_t* info, void* context) {
    const int error = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    std::uintptr_t end = 0;
    Slot* slot = info->si_code > 0 ? slotAround(address, end) : nullptr; // by the kernel, not by kill()
    if (slot)
        slot->hit.store(true); // set before any thread can read a zero
    if (!slot || !replaceByZeros(address, end))
        passOn(number, info, context);
    errno = error;
}

void install() {
    struct sigaction ours {};
    ours.sa_sigaction = onBusError;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGBUS, &ours, &previous);
}

Slot* freeSlot() {
    for (Slot* slot = slots.load(); slot; slot = slot->next) {
        if (!slot->taken)
            return slot;
    }
    auto* slot = new Slot;
    slot->generation = 1;
    slot->next = slots.load();
    slots.store(slot);
    return slot;
}

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
    struct stat state {};
    // Opening some devices has effects, and a socket cannot be opened.
    if (::stat(path.c_str(), &state) == 0 && !S_ISREG(state.st_mode))
        refuseOther(path);
    const int descriptor = openWithoutWaiting(path);
    if (descriptor < 0)
        throw systemError("cannot be opened", path);
    const std::shared_ptr<MappedFile> file(new MappedFile(path, descriptor));
    state = stateOf(descriptor, path); // the name may belong to another file by now
    file->m_changed = state.st_mtim;
    const auto size = static_cast<std::size_t>(state.st_size);
    if (size == 0)
        throw Error("is empty", path);
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (start == MAP_FAILED) // NOLINT: the macro is a C cast
        throw systemError("cannot be mapped into memory", path);
    file->m_bytes = {static_cast<const std::byte*>(start), size};
    file->m_guard = std::make_unique<const MappingGuard>(file->m_bytes);
    return file;
}

std::shared_ptr<const MappedFile> MappedFile::inMemory(std::string path, std::vector<std::byte> bytes) {
    if (bytes.empty())
        throw Error("is empty", path);
    const std::shared_ptr<MappedFile> file(new MappedFile(std::move(path), -1));
    file->m_owned = std::move(bytes);
    file->m_bytes = file->m_owned;
    return file;
}

MappedFile::MappedFile(std::string path, int descriptor)
    : m_path(std::move(path))
    , m_descriptor(descriptor) {}

MappedFile::~MappedFile() {
    m_guard.reset();
    if (m_descriptor < 0)
        return;
    if (!m_bytes.empty())
        ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
    ::close(m_descriptor);
}

void MappedFile::checkWhole() const {
    if (m_descriptor < 0)
        return;
    // Examines the open file. The path may belong to another file by now.
    if (const std::size_t size = sizeOf(m_descriptor, m_path); size < m_bytes.size())
        throw Error(fmt::format("was cut short while it was open: it had {} bytes and has {}", m_bytes.size(), size),
                    m_path, "Open it again when it is complete");
    if (m_guard->wasHit())
        throw Error("could not be read completely: it changed, or its disk failed, while it was open", m_path,
                    "Open it again");
}

bool MappedFile::isOverwritten() const {
    if (m_descriptor < 0)
        return false;
    const struct stat now = stateOf(m_descriptor, m_path);
    return static_cast<std::size_t>(now.st_size) != m_bytes.size() || now.st_mtim.tv_sec != m_changed.tv_sec ||
           now.st_mtim.tv_nsec != m_changed.tv_nsec;
}

std::ptrdiff_t MappedFile::copyTo(int file, std::span<const std::byte> part) const {
    if (m_descriptor >= 0) {
        auto from = static_cast<off_t>(part.data() - m_bytes.data());
        const ssize_t copied = ::copy_file_range(m_descriptor, &from, file, nullptr, part.size(), 0);
        if (copied > 0)
            return copied;
    }
    // The kernel cannot copy between every two file systems, so write() is used instead. If the disk is full, write()
    // fails with the same error.
    return ::write(file, part.data(), part.size());
}

void MappedFile::expect(std::span<const std::byte> part) const {
    advise(part, MADV_WILLNEED, false);
}

void MappedFile::expectScattered(std::span<const std::byte> part) const {
    advise(part, MADV_RANDOM, true);
}

void MappedFile::release(std::span<const std::byte> part) const {
    advise(part, MADV_DONTNEED, true);
    advise(part, MADV_NORMAL, true);
}

/// Gives the system advice about the pages of a part of the file. The system may ignore it.
/// @param inside true = only pages that lie completely inside the part; false = all pages that it touches
void MappedFile::advise(std::span<const std::byte> part, int advice, bool inside) const {
    if (m_descriptor < 0)
        return;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = static_cast<std::size_t>(part.data() - m_bytes.data());
    const std::size_t end = begin + part.size();
    const std::size_t first = (inside ? begin + page - 1 : begin) / page * page;
    const std::size_t last = inside ? end / page * page : end;
    if (first < last)
        ::madvise(const_cast<std::byte*>(m_bytes.data()) + first, last - first, advice);
}

std::string beginningOf(const std::string& path, std::size_t count) {
    struct stat state {};
    if (::stat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode))
        return {};
    const int descriptor = openWithoutWaiting(path);
    if (descriptor < 0)
        return {};
    std::string bytes(count, '\0');
    const bool isFile = ::fstat(descriptor, &state) == 0 && S_ISREG(state.st_mode);
    const ssize_t found = isFile ? ::read(descriptor, bytes.data(), bytes.size()) : 0;
    ::close(descriptor);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(found, 0)));
    return bytes;
}

std::string_view charactersOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> ByteReader::take(std::uint64_t count, std::string_view what) {
    if (count > left())
        throw Error(fmt::format("ends inside {}: {} bytes are needed, {} are left", what, count, left()), m_subject,
                    "The file is cut short or damaged");
    const auto taken = m_bytes.subspan(m_position, static_cast<std::size_t>(count));
    m_position += taken.size();
    return taken;
}

std::uint8_t ByteReader::u8(std::string_view what) {
    return load<std::uint8_t>(take(1, what).data());
}

std::uint16_t ByteReader::u16(std::string_view what) {
    return load<std::uint16_t>(take(2, what).data());
}

std::uint32_t ByteReader::u32(std::string_view what) {
    return load<std::uint32_t>(take(4, what).data());
}

std::uint64_t ByteReader::u64(std::string_view what) {
    return load<std::uint64_t>(take(8, what).data());
}

std::string_view ByteReader::text(std::string_view what) {
    return charactersOf(take(u64(what), what));
}

MappingGuard::MappingGuard(std::span<const std::byte> mapping) {
    static std::once_flag installed;
    std::call_once(installed, install);
    const std::lock_guard guard(slotsMutex);
    m_slot = freeSlot();
    m_slot->taken = true;
    m_slot->hit = false;
    m_slot->begin = reinterpret_cast<std::uintptr_t>(mapping.data());
    m_slot->end = m_slot->begin + mapping.size();
    ++m_slot->generation;
}

MappingGuard::~MappingGuard() {
    const std::lock_guard guard(slotsMutex);
    ++m_slot->generation;
    m_slot->taken = false;
}

bool MappingGuard::wasHit() const {
    return m_slot->hit.load();
}

} // namespace secateur
