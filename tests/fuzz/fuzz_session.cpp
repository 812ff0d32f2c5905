// A session, through the door that the program uses: what has no checksum reaches HDF5 in a child process only.

#include "backends/session_hdf5.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        const auto file = fuzz::fileOf("session.h5", data, size);
        const Session session = readSession(*file);
        for (const MetricResult& result : session.results) {
            if (!result.request.info || result.values.rows() != session.model.spec.layers.size())
                std::abort();
        }
    });
}
