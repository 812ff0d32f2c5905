#include "backends/formats/fingerprint.h"

#include "backends/base/sha256.h"

#include <array>
#include <memory>

namespace secateur {

namespace {

void addSample(Sha256& hash, std::span<const std::byte> data) {
    constexpr std::size_t pieces = 16;
    constexpr std::size_t pieceBytes = 256;
    if (data.size() <= pieces * pieceBytes) {
        hash.add(data.data(), data.size());
        return;
    }
    const std::size_t last = data.size() - pieceBytes;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        // last * piece / (pieces - 1), without leaving 64 bits
        const std::size_t start = last / (pieces - 1) * piece + last % (pieces - 1) * piece / (pieces - 1);
        hash.add(data.data() + start, pieceBytes);
    }
}

} // namespace

std::string fingerprintOf(const Checkpoint& checkpoint) {
    Sha256 hash;
    for (const TensorEntry& entry : checkpoint.tensors()) {
        hash.add(entry.name.c_str(), entry.name.size() + 1);
        hash.add(static_cast<std::int64_t>(entry.shape.size()));
        for (const std::int64_t size : entry.shape)
            hash.add(size);
        // Else the system reads and keeps half a gigabyte around the samples of a large model.
        entry.file->expectScattered(entry.data);
        addSample(hash, entry.data);
        entry.file->release(entry.data);
    }
    return "sha256:" + hash.hexadecimal();
}

} // namespace secateur
