#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/training/training_set.h"
#include "analysis/training/training_settings.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// Keeps the values of a teacher at the targets of the sequences of a training set.
class TeacherStore {
public:
    virtual ~TeacherStore() = default;
    /// The values at the targets of a sequence; empty if they are not known. @param example index in the training set
    virtual std::optional<TopTokens> find(std::size_t example) const = 0;
    virtual void keep(std::size_t example, TopTokens values) = 0;
};

/// A store in memory. It takes (2 K + 1) x 4 bytes for each target, where K is TrainingSettings::teacherTop.
std::unique_ptr<TeacherStore> teacherInMemory();

/// The dense model as the teacher of its pruned form: the most probable tokens at the targets of sequences. Each
/// sequence is run once and alone, so that its values do not depend on other sequences.
class Teacher {
public:
    /// The arguments must outlive this object. @throws Error if the model is an encoder
    Teacher(const Model& model, const TrainingSet& set, const TrainingSettings& settings, TeacherStore& store);

    /// The teacher's values for batches of examples. @param examples indices in the set
    /// @param batches of these examples @throws Cancelled
    std::vector<std::shared_ptr<const TeacherTargets>> targets(std::span<const std::size_t> examples,
                                                               const PaddedBatches& batches, const Progress& progress);

private:
    void compute(std::span<const std::size_t> examples, const Progress& progress);

    const Model& m_model;
    const TrainingSet& m_set;
    double m_weight;
    int m_top;
    TeacherStore& m_store;
    std::shared_ptr<const Plan> m_plan; ///< null while it was not needed
};

} // namespace secateur
