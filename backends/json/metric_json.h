#pragma once

// For sources only: brings the JSON library with it.

#include "analysis/metrics/metric.h"

#include <nlohmann/json.hpp>

#include <string>

namespace secateur {

/// A result's part of measureJson().
nlohmann::ordered_json metricFields(const MetricResult& result, const ModelSpec& spec);
/// What a model was measured on.
nlohmann::ordered_json dataFields(const MeasuredData& data, const std::string& digest);

} // namespace secateur
