#include "analysis/running/stream_store.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

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

struct StreamStore::State {
    struct Slot {
        at::Tensor stream;              ///< undefined = in the file, or none
        std::vector<std::int64_t> size; ///< of a stream in the file
        std::int64_t place = -1;        ///< in the file; negative = none yet
        std::int64_t room = 0;          ///< bytes of the place
    };

    ~State() {
        if (file >= 0)
            ::close(file);
    }
    void open();
    [[noreturn]] void fail(const std::string& what) const;

    std::vector<Slot> slots;
    std::int64_t most = 0;
    std::int64_t bytes = 0; ///< in memory
    std::int64_t end = 0;   ///< of the file
    int file = -1;
    std::string folder;
};

StreamStore::StreamStore(std::size_t batches, std::int64_t most)
    : m_state(std::make_unique<State>()) {
    m_state->slots.resize(batches);
    m_state->most = most;
}

StreamStore::~StreamStore() = default;

std::int64_t StreamStore::bytesInFile() const {
    return m_state->end;
}

void StreamStore::State::open() {
    const char* wanted = std::getenv("TMPDIR");
    folder = wanted && *wanted != '\0' ? wanted : "/var/tmp";
    std::string path = folder + "/secateur-streams-XXXXXX";
    file = ::mkostemp(path.data(), O_CLOEXEC);
    if (file < 0)
        fail("cannot hold a temporary file");
    ::unlink(path.c_str());
}

void StreamStore::State::fail(const std::string& what) const {
    throw Error(fmt::format("{} for the residual streams of a long text: {}", what, std::strerror(errno)), folder,
                "Set TMPDIR to a folder with room, or take fewer tokens");
}

void StreamStore::put(std::size_t batch, at::Tensor stream) {
    State& own = *m_state;
    State::Slot& slot = own.slots.at(batch);
    const auto bytes = static_cast<std::int64_t>(stream.nbytes());
    if (!stream.device().is_cpu() || own.bytes + bytes <= own.most) {
        own.bytes += bytes;
        slot.stream = std::move(stream);
        return;
    }
    if (own.file < 0)
        own.open();
    if (slot.room < bytes) {
        slot.place = std::exchange(own.end, own.end + bytes);
        slot.room = bytes;
    }
    slot.size = stream.sizes().vec();
    const at::Tensor whole = stream.contiguous();
    const auto* numbers = reinterpret_cast<const char*>(whole.data_ptr<float>());
    errno = 0;
    if (!moveAll(bytes, [&](std::int64_t begin, std::size_t count) {
            return ::pwrite(own.file, numbers + begin, count, slot.place + begin);
        }))
        own.fail("has no room");
}

at::Tensor StreamStore::take(std::size_t batch) {
    State& own = *m_state;
    State::Slot& slot = own.slots.at(batch);
    if (slot.stream.defined()) {
        own.bytes -= static_cast<std::int64_t>(slot.stream.nbytes());
        return std::exchange(slot.stream, {});
    }
    at::Tensor stream = at::empty(slot.size, at::kFloat);
    auto* numbers = reinterpret_cast<char*>(stream.data_ptr<float>());
    errno = 0;
    if (!moveAll(static_cast<std::int64_t>(stream.nbytes()), [&](std::int64_t begin, std::size_t count) {
            return ::pread(own.file, numbers + begin, count, slot.place + begin);
        }))
        own.fail("cannot be read");
    return stream;
}

} // namespace secateur
