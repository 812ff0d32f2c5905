#pragma once

#include "analysis/training/training_set.h"
#include "analysis/training/training_settings.h"
#include "backends/engine/open_model.h"

#include <memory>

namespace secateur {

/// Whether a training needs a new classifier: it trains the classifier of an encoder that has none with the classes of
/// the data.
bool needsClassifier(const Model& model, const TrainingSet& set, const TrainingSettings& settings);

/// What a training with a new classifier says of it.
inline constexpr const char* newClassifierNote =
    "the classifier is new: the losses of the dense and the pruned model are those of a classifier of zeros";

/// The model with a classifier of zeros if needsClassifier(); otherwise the model itself.
std::shared_ptr<const Model> withNewClassifier(std::shared_ptr<const Model> model, const TrainingSet& set,
                                               const TrainingSettings& settings, const OpenOptions& open);

} // namespace secateur
