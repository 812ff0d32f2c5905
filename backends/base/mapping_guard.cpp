#include "backends/base/mapping_guard.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace secateur {

/// What the signal handler knows of a mapping. Slots are reused but never freed: the handler may walk over them at any
/// time, on any thread, and cannot wait for a lock.
struct MappingGuard::Slot {
    std::atomic<std::uintptr_t> begin = 0;
    std::atomic<std::uintptr_t> end = 0;
    std::atomic<unsigned> generation = 0; ///< odd while the slot is free or changes hands
    std::atomic<bool> hit = false;
    Slot* next = nullptr; ///< fixed once the slot can be seen
    bool taken = false;   ///< under the mutex
};

namespace {

using Slot = MappingGuard::Slot;

std::atomic<Slot*> slots = nullptr;
std::mutex slotsMutex; // of those who take and give back, never of the handler
struct sigaction previous;

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<Slot*>::is_always_lock_free);

/// The mapping that the address lies in, with its end.
Slot* slotAround(std::uintptr_t address, std::uintptr_t& end) {
    for (Slot* slot = slots.load(); slot; slot = slot->next) {
        const unsigned before = slot->generation.load();
        const std::uintptr_t begin = slot->begin.load();
        end = slot->end.load();
        // A slot that changes hands meanwhile is not of the mapping that this thread is reading.
        if (before % 2 == 0 && slot->generation.load() == before && address >= begin && address < end)
            return slot;
    }
    return nullptr;
}

/// Zeros from the page of the address to the end of the mapping: a file that ends before a page ends before all that
/// follow, and one large hole costs one signal.
bool replaceByZeros(std::uintptr_t address, std::uintptr_t end) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t start = address / page * page;
    // The system call itself: sanitizers put code that must not run in a signal handler around mmap.
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
    // What was there comes back, and is met when the instruction runs again, or with a signal sent anew.
    ::sigaction(number, &previous, nullptr);
    if (info->si_code <= 0)
        ::raise(number);
}

void onBusError(int number, siginfo_t* info, void* context) {
    const int error = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    std::uintptr_t end = 0;
    Slot* slot = info->si_code > 0 ? slotAround(address, end) : nullptr; // raised by the kernel, not by kill()
    if (slot)
        slot->hit.store(true); // before any thread can see a zero
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
