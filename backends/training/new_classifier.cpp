#include "backends/training/new_classifier.h"

#include "backends/engine/adapted_model.h"

#include <utility>

namespace secateur {

bool needsClassifier(const Model& model, const TrainingSet& set, const TrainingSettings& settings) {
    return settings.trainsHead && model.spec().family == Family::encoder &&
           !(model.has(-1, WeightName::classifier) && std::cmp_equal(model.spec().classes, set.classes.size()));
}

std::shared_ptr<const Model> withNewClassifier(std::shared_ptr<const Model> model, const TrainingSet& set,
                                               const TrainingSettings& settings, const OpenOptions& open) {
    if (!needsClassifier(*model, set, settings))
        return model;
    auto classifier =
        std::make_shared<const Adapter>(newClassifier(model->spec(), static_cast<int>(set.classes.size())));
    return withAdapter(std::move(model), std::move(classifier), open);
}

} // namespace secateur
