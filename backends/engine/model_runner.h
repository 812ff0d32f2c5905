#pragma once

#include "analysis/model.h"
#include "analysis/runner.h"
#include "backends/open_options.h"

#include <memory>

namespace secateur {

/// Runs any model that analysis/model.h describes. @param model must outlive it
std::unique_ptr<const Runner> makeRunner(const Model& model, const OpenOptions& options);

} // namespace secateur
