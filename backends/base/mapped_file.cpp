#include "backends/base/mapped_file.h"

#include "analysis/base/error.h"
#include "backends/base/mapping_guard.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace secateur {

namespace {

Error systemError(const char* what, const std::string& path) {
    return Error(std::string(what) + ": " + std::strerror(errno), path);
}

/// Bytes of an open file. @throws Error
std::size_t sizeOf(int descriptor, const std::string& path) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0)
        throw systemError("cannot be examined", path);
    if (!S_ISREG(status.st_mode))
        throw Error("is not a regular file", path);
    return static_cast<std::size_t>(status.st_size);
}

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
    // Not blocking: a named pipe is refused below instead of waiting for its writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        throw systemError("cannot be opened", path);
    const std::shared_ptr<MappedFile> file(new MappedFile(path, descriptor));
    const std::size_t size = sizeOf(descriptor, path);
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
    // The open file is asked, not the path: another file may bear its name by now, and this one lives on.
    if (const std::size_t size = sizeOf(m_descriptor, m_path); size < m_bytes.size())
        throw Error(fmt::format("was cut short while it was open: it had {} bytes and has {}", m_bytes.size(), size),
                    m_path, "Open it again when it is whole");
    if (m_guard->wasHit())
        throw Error("could not be read everywhere: it changed, or its disk failed, while it was open", m_path,
                    "Open it again");
}

std::ptrdiff_t MappedFile::copyTo(int file, std::span<const std::byte> part) const {
    if (m_descriptor >= 0) {
        auto from = static_cast<off_t>(part.data() - m_bytes.data());
        const ssize_t copied = ::copy_file_range(m_descriptor, &from, file, nullptr, part.size(), 0);
        if (copied > 0)
            return copied;
    }
    // Not every pair of file systems can, and a full disk says so again here.
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

/// Advice is about whole pages: those inside the part, or all that it touches. That the system may not take it is no
/// failure.
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

} // namespace secateur
