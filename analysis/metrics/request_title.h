#pragma once

#include "analysis/metrics/metric.h"

#include <string>

namespace secateur {

/// The title of a metric with its options that are not default: "gate-norm per head, fold_norm".
inline std::string titleOf(const MetricRequest& request) {
    std::string title(request.info->title);
    for (const auto& [name, value] : request.options)
        title += ", " + name + (value == "true" ? "" : "=" + value);
    return title;
}

} // namespace secateur
