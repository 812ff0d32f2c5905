#include "analysis/running/stream_store.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace secateur {

namespace {

/// Calls move(begin, bytes) until all bytes are moved. @returns whether they were
template <typename Move>
bool moveAll(std::int64_t bytes, const Move& move) {
    for (std::int64_t begin = 0; begin < bytes;) {
        const ssize_t count = move(begin, static_cast<std::size_t>(bytes - begin));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        begin += count;
    }
    return true;
}

} // namespace

StreamStore::~StreamStore() {
    if (m_file >= 0)
        ::close(m_file);
}

void StreamStore::open() {
    const char* wanted = std::getenv("TMPDIR");
    m_folder = wanted && *wanted != '\0' ? wanted : "/var/tmp";
    std::string path = m_folder + "/secateur-streams-XXXXXX";
    m_file = ::mkostemp(path.data(), O_CLOEXEC);
    if (m_file < 0)
        fail("cannot hold a temporary file");
    ::unlink(path.c_str());
}

void StreamStore::fail(const std::string& what) const {
    throw Error(fmt::format("{} for the residual streams of a long text: {}", what, std::strerror(errno)), m_folder,
                "Set TMPDIR to a folder with room, or take fewer tokens");
}

void StreamStore::put(std::size_t batch, at::Tensor stream) {
    Slot& slot = m_slots.at(batch);
    const auto bytes = static_cast<std::int64_t>(stream.nbytes());
    if (!stream.device().is_cpu() || m_bytes + bytes <= m_most) {
        m_bytes += bytes;
        slot.stream = std::move(stream);
        return;
    }
    if (m_file < 0)
        open();
    if (slot.room < bytes)
        slot.place = std::exchange(m_end, m_end + bytes), slot.room = bytes;
    slot.size = stream.sizes().vec();
    const at::Tensor whole = stream.contiguous();
    const auto* numbers = reinterpret_cast<const char*>(whole.data_ptr<float>());
    errno = 0;
    if (!moveAll(bytes, [&](std::int64_t begin, std::size_t count) {
            return ::pwrite(m_file, numbers + begin, count, slot.place + begin);
        }))
        fail("has no room");
}

at::Tensor StreamStore::take(std::size_t batch) {
    Slot& slot = m_slots.at(batch);
    if (slot.stream.defined()) {
        m_bytes -= static_cast<std::int64_t>(slot.stream.nbytes());
        return std::exchange(slot.stream, {});
    }
    at::Tensor stream = at::empty(slot.size, at::kFloat);
    auto* numbers = reinterpret_cast<char*>(stream.data_ptr<float>());
    errno = 0;
    if (!moveAll(static_cast<std::int64_t>(stream.nbytes()), [&](std::int64_t begin, std::size_t count) {
            return ::pread(m_file, numbers + begin, count, slot.place + begin);
        }))
        fail("cannot be read");
    return stream;
}

} // namespace secateur
