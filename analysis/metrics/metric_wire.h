#pragma once

#include "analysis/base/wire.h"
#include "analysis/masks/mask_wire.h"
#include "analysis/metrics/metric.h"

#include <vector>

namespace secateur {

/// A metric with its options, as its result id.
template <>
struct Wire<MetricRequest> {
    static void write(WireWriter& writer, const MetricRequest& request);
    static MetricRequest read(WireReader& reader);
};

/// Checks that a result of another process has the shape that the model gives it. @throws Error
void checkShape(const MetricResult& result, const ModelSpec& spec);
/// The results, after checkShape() of each.
std::vector<MetricResult> checked(std::vector<MetricResult> results, const ModelSpec& spec);

} // namespace secateur
