#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// Residual streams of many batches while all of them go through a layer before the next one begins. What exceeds a
/// limit is in a temporary file without a name, in the folder of TMPDIR, else /var/tmp, which is never in memory. For
/// sources only: includes ATen.
class StreamStore {
public:
    static constexpr std::int64_t usualBytes = std::int64_t{1} << 26;

    /// @param most maximum bytes in memory
    explicit StreamStore(std::size_t batches, std::int64_t most = usualBytes)
        : m_slots(batches)
        , m_most(most) {}
    ~StreamStore();
    StreamStore(const StreamStore&) = delete;
    StreamStore& operator=(const StreamStore&) = delete;

    /// Keeps the stream of a batch, float32. Streams of other devices than the CPU stay there.
    /// @throws Error if the file cannot be written
    void put(std::size_t batch, at::Tensor stream);
    /// The stream of a batch, which the store does not keep any longer. @throws Error if the file cannot be read
    at::Tensor take(std::size_t batch);
    std::int64_t bytesInFile() const { return m_end; }

private:
    struct Slot {
        at::Tensor stream;              ///< undefined = in the file, or none
        std::vector<std::int64_t> size; ///< of a stream in the file
        std::int64_t place = -1;        ///< in the file; negative = none yet
        std::int64_t room = 0;          ///< bytes of the place
    };

    void open();
    [[noreturn]] void fail(const std::string& what) const;

    std::vector<Slot> m_slots;
    std::int64_t m_most;
    std::int64_t m_bytes = 0; ///< in memory
    std::int64_t m_end = 0;   ///< of the file
    int m_file = -1;
    std::string m_folder;
};

} // namespace secateur
