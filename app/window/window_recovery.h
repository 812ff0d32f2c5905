#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/session/services.h"
#include "analysis/training/recovery_request.h"

#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// Trains a model under a mask (Services::recover).
std::vector<std::string> recoverModel(const Model& model, const RecoveryRequest& request, const TrainingWatch& watch,
                                      const Progress& progress);

/// Writes the adapter of a run (Services::writeRecovered).
void writeRecovered(const Model& model, const RecoveryRequest& request, const std::string& key,
                    const std::string& folder);

/// The model with the adapter of a run (Services::recoveredModel).
OpenedAdapter recoveredModel(const std::shared_ptr<const Model>& model, const RecoveryRequest& request,
                             const std::string& key);

/// The model with the adapter of a folder (Services::openAdapter).
OpenedAdapter openAdapter(const std::shared_ptr<const Model>& model, const std::string& folder);

/// The size of training data (Services::trainingSize).
TrainingSize trainingSize(const Model& model, const std::string& data, int length, const Progress& progress);

} // namespace secateur
