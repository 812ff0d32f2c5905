#pragma once

#include "analysis/metrics/metric.h"
#include "backends/session/hdf5_io.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// A result and where it lies: /metrics/<group>/<number>.
struct StoredResult {
    MetricResult result;
    std::string group;
    int number = 0;
    std::int64_t order = 0; ///< counts all results of the session as they were made
};

/// Everything under /metrics in the order it was made. A metric that this version does not know is described by what
/// the file says of it, so that nothing is lost and it can be looked at. @throws Error naming the place
std::vector<StoredResult> readResults(const hdf5::Handle& file, const ModelSpec& spec);

/// Adds a result as the latest of its id, over the same measurement made earlier, unless that saw more. `stored` grows
/// with it.
void writeResult(const hdf5::Handle& metrics, const MetricResult& result, std::vector<StoredResult>& stored);

} // namespace secateur
