#include "tests/kills/failing_allocations.h"

#include <cerrno>
#include <cstdlib>
#include <new>

namespace secateur::test {

namespace {

thread_local bool isCounting = false;
thread_local long counted = 0;
thread_local long failing = 0;

bool fails() {
    return isCounting && ++counted == failing;
}

} // namespace

void failAtAllocation(long number) {
    counted = 0;
    failing = number;
    isCounting = true;
}

long stopFailingAllocations() {
    isCounting = false;
    return counted;
}

} // namespace secateur::test

// NOLINTBEGIN: these are the functions of the language and of the C library

void* operator new(std::size_t size) {
    void* memory = secateur::test::fails() ? nullptr : std::malloc(size > 0 ? size : 1);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto multiple = static_cast<std::size_t>(alignment);
    void* memory =
        secateur::test::fails() ? nullptr : std::aligned_alloc(multiple, (size + multiple - 1) / multiple * multiple);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
    void* made = secateur::test::fails() ? nullptr : __libc_memalign(alignment, size);
    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

// NOLINTEND
