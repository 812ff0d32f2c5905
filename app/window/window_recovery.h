#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/training/recovery_request.h"

#include <string>
#include <vector>

namespace secateur {

/// Trains a model under a mask (Services::recover).
std::vector<std::string> recoverModel(const Model& model, const RecoveryRequest& request, const TrainingWatch& watch,
                                      const Progress& progress);

/// Writes the adapter of a run (Services::writeRecovered).
void writeRecovered(const Model& model, const RecoveryRequest& request, const std::string& key,
                    const std::string& folder);

} // namespace secateur
