#pragma once

#include "analysis/campaigns/campaign.h"
#include "analysis/campaigns/recovery_choice.h"
#include "backends/engine/open_model.h"

#include <memory>
#include <string>

namespace secateur {

/// The folder of the trainings of a session's sweeps: "SESSION.adapters".
std::string adaptersFolder(const std::string& session);

/// The trainings of a sweep. Reads the training data. Each training writes to FOLDER/DIGEST-NAME-KEY: the digest of
/// the mask, the name of the choice, and the first digits of the training's key, which also depends on the model and
/// the data. It continues from there, and is read from there when it is done.
/// @param open options with which the model was opened @throws Error if the data cannot be read
SweepRecovery sweepRecovery(std::shared_ptr<const Model> model, const RecoveryChoice& choice, const std::string& folder,
                            const OpenOptions& open, const Progress& progress);

} // namespace secateur
