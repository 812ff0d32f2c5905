#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace at {
class Tensor;
}

namespace secateur {

/// Residual streams of many batches while all of them go through a layer before the next one begins. What exceeds a
/// limit is in a temporary file without a name, in the folder of TMPDIR, else /var/tmp, which is never in memory.
class StreamStore {
public:
    static constexpr std::int64_t usualBytes = std::int64_t{1} << 26;

    /// @param most maximum bytes in memory
    explicit StreamStore(std::size_t batches, std::int64_t most = usualBytes);
    ~StreamStore();
    StreamStore(const StreamStore&) = delete;
    StreamStore& operator=(const StreamStore&) = delete;

    /// Keeps the stream of a batch, float32. Streams of other devices than the CPU stay there.
    /// @throws Error if the file cannot be written
    void put(std::size_t batch, at::Tensor stream);
    /// The stream of a batch, which the store does not keep any longer. @throws Error if the file cannot be read
    at::Tensor take(std::size_t batch);
    std::int64_t bytesInFile() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace secateur
