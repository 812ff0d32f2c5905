#pragma once

// For sources only: brings the JSON library with it.

#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"

#include <nlohmann/json.hpp>

namespace secateur {

/// Parts of evaluationJson(). @param reference what the mask of the reference is
nlohmann::ordered_json latencyFields(const Latency& latency, const nlohmann::ordered_json& reference);
nlohmann::ordered_json prefillFields(const Prefill& prefill, const nlohmann::ordered_json& reference);

} // namespace secateur
