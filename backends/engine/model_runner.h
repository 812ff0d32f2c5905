#pragma once

#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "backends/engine/open_model.h"

#include <memory>

namespace secateur {

/// The runner of a model. @param model must outlive it
std::unique_ptr<const Runner> makeRunner(const Model& model, const OpenOptions& options);

} // namespace secateur
