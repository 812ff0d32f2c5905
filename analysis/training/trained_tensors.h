#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/running/plan_adapters.h"
#include "analysis/running/runner_results.h"
#include "analysis/training/trainer.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace secateur {

/// The trained tensors of a model, their gradients and their moments. For sources only: includes ATen.
class TrainedTensors {
public:
    /// Makes the tensors with their first numbers. @throws Error if there are none
    TrainedTensors(const Model& model, const PruningMask& mask, const TrainingSettings& settings);

    /// The tensors as plans use them: those of training, with gradients and dropout, and those of scoring, without.
    const std::shared_ptr<PlanAdapters>& training() const { return m_training; }
    std::shared_ptr<const PlanAdapters> scoring() const { return m_scoring; }

    /// Adds gradients to the sums. @param layer -1 = outside of the layers
    void add(int layer, const AdapterGradients& gradients);
    /// Clips the gradients, does one step of AdamW and sets the sums to 0.
    /// @param step counted from 0 @returns the norm of the gradients
    double update(const TrainingSettings& settings, double learningRate, std::int64_t step);
    /// Sets the sums to 0.
    void forget();

    std::vector<TrainedTensor> values() const;
    /// @throws Error if the tensors are not those that this object has
    void setValues(const std::vector<TrainedTensor>& tensors);
    /// The mask for plans that use the tensors: without the compensation that is trained.
    PruningMask maskFor(PruningMask mask) const;
    std::int64_t count() const; ///< number of trained numbers
    int lowestLayer() const;    ///< the lowest layer with trained tensors; the number of layers if there is none

private:
    struct Entry {
        WeightPlace place;
        TrainedPart part;
        at::Tensor values; ///< a leaf that requires a gradient
        at::Tensor gradient;
        at::Tensor firstMoment;
        at::Tensor secondMoment;
        bool decays;
    };

    void addUpdates(const Model& model, const PruningMask& mask, const TrainingSettings& settings);
    void addWeights(const Model& model, const PruningMask& mask, const TrainingSettings& settings);
    void addCompensation(const Model& model, const PruningMask& mask);
    void addCompensation(const WeightPlace& place, std::size_t units, const std::vector<float>& factors,
                         const std::vector<float>& bias, int hidden);
    at::Tensor addTensor(const WeightPlace& place, TrainedPart part, const at::Tensor& values, bool decays);
    double gradientNorm() const;

    at::TensorOptions m_options;
    std::vector<int> m_first; ///< for each layer, the first that shares its weights
    std::vector<Entry> m_entries;
    std::shared_ptr<PlanAdapters> m_training = std::make_shared<PlanAdapters>();
    std::shared_ptr<PlanAdapters> m_scoring = std::make_shared<PlanAdapters>();
};

} // namespace secateur
