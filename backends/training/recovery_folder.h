#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/model/model.h"
#include "analysis/training/training_run.h"

#include <span>
#include <string>

namespace secateur {

// A training run in a folder: its checkpoint, its record (training.csv), the best state, and the last state in the
// folder `last`. A state is an adapter with its mask or, if only a compensation is trained, the compensated mask.

/// The run in a folder if it has the key of `wanted`, with its TrainingRun::saveSeconds; otherwise `wanted`.
/// @param replaces whether another run in the folder is ignored @param hint what to do about another run
/// @throws Error for another run, unless it is replaced
TrainingRun runInFolder(const std::string& folder, TrainingRun wanted, bool replaces, const std::string& hint);

/// Writes a run into a folder, which is created if it does not exist. Removes the adapter of a replaced run that this
/// one has no place for.
/// @param mask null = none; a run that trains a compensation has one
/// @param source the training data, for the provenance of a trained compensation @throws Error
void writeRunFolder(const std::string& folder, const TrainingRun& run, const Model& model, const MaskRecord* mask,
                    const std::string& source);

/// Writes the result of a run into a folder: its best state, and its record.
/// @param mask, source as for writeRunFolder() @throws Error
void writeResult(const std::string& folder, const TrainingRun& run, const Model& model, const MaskRecord* mask,
                 const std::string& source);

/// The mask of a run's result: with the compensation if the run trains one, otherwise the mask itself.
/// @param mask under which the run trains @param source as for writeRunFolder()
MaskRecord recoveredMask(const TrainingRun& run, const MaskRecord& mask, const std::string& source,
                         const ModelSpec& spec);

/// Writes the names of the classes of a trained classifier beside its adapters, in a folder and its folder `last` if
/// there is one, or removes such files.
/// @param names in the order of the classes; empty = no classifier is trained @throws Error
void writeClassNames(const std::string& folder, std::span<const std::string> names);

/// The adapter with the lowest held-out loss of a run; without scores the last one.
Adapter bestAdapter(const TrainingRun& run, const Model& model);

} // namespace secateur
