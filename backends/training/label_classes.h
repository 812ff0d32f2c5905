#pragma once

#include "analysis/model/model_card.h"
#include "analysis/tasks/task.h"

#include <string>
#include <vector>

namespace secateur {

/// The classes that the labels of texts name.
struct LabelClasses {
    std::vector<std::string> names; ///< in the order of their indices
    bool isOfModel = false;         ///< whether they are the classes of the model's classifier
    bool isUnlikeModel = false;     ///< whether the model has a classifier that does not know all labels

    /// The index of a text's label. @throws Error with the text's line for unknown labels
    int indexOf(const LabelledText& text) const;
};

/// The classes of a model's classifier, if it knows all labels; otherwise the different labels in order: numbers by
/// value, names by their bytes.
LabelClasses classesOf(const std::vector<LabelledText>& texts, const ModelCard& model);

} // namespace secateur
