#pragma once

#include "analysis/metric.h"
#include "analysis/model_card.h"

#include <map>
#include <string>
#include <vector>

namespace secateur {

/// What a person keeps of their work on one model. Stands without the checkpoint.
struct Session {
    ModelCard model;
    std::vector<MetricResult> results;       ///< in the order they were made; the last of a result id is the latest
    std::map<std::string, std::string> view; ///< window state, by name
    std::string created;                     ///< ISO 8601, UTC

    const MetricResult* latest(std::string_view resultId) const;
};

/// Adds a result as the latest; one with the same id, measured in the same way at whatever time, is replaced.
void add(Session& session, MetricResult result);

} // namespace secateur
