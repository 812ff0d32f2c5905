#pragma once

// For sources only: brings the JSON library with it.

#include "analysis/evaluation/evaluation.h"

#include <nlohmann/json.hpp>

namespace secateur {

/// A task's part of evaluationJson(), but for the name of the reference's mask.
nlohmann::ordered_json taskFields(const TaskEvaluation& task, bool answers);

} // namespace secateur
