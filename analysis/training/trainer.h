#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/training/adapter.h"
#include "analysis/training/example_losses.h"
#include "analysis/training/training_set.h"
#include "analysis/training/training_settings.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace secateur {

class TeacherStore; // teacher.h

/// The part of an adapter or of a compensation that a trained tensor is. Factors and bias are those of a compensation,
/// at the output or the down projection.
enum class TrainedPart { a, b, weight, factors, bias };

/// A trained tensor with the moments of its gradients (AdamW). All have the same size.
struct TrainedTensor {
    WeightPlace place;
    TrainedPart part = TrainedPart::a;
    std::vector<float> values = {};
    std::vector<float> firstMoment = {};
    std::vector<float> secondMoment = {};
    bool operator==(const TrainedTensor&) const = default;
};

/// All that a step of training depends on, besides the model, the mask, the settings and the training set.
struct TrainingState {
    std::int64_t step = 0; ///< number of steps done
    std::vector<TrainedTensor> tensors;
    bool operator==(const TrainingState&) const = default;
};

/// The result of a step. The loss is that before the update.
struct StepResult {
    double lossNats = 0; ///< mean over the targets of the step's sequences, with dropout and the teacher's part
    double learningRate = 0;
    double gradientNorm = 0; ///< Euclidean norm of all gradients, before they are clipped
    std::int64_t tokens = 0; ///< of the step's sequences
    bool operator==(const StepResult&) const = default;
};

/// Trains an adapter of a model under a mask, or the compensation of the mask, by AdamW, on one layer's graph at a time
/// where memory is short (walkBackward()). If only the classifier is trained, the layers run once for each sequence.
/// Not thread-safe.
class Trainer {
public:
    /// Begins with new numbers: A Kaiming-uniform, B zero (Hu et al. 2021), 0 at cut units; norms and classifier as in
    /// the model; the compensation of the mask, or factors 1 and biases 0. @param model, set must outlive this object
    /// @param teacher keeps the values of the teacher, must outlive this object; null = in memory
    /// @throws UsageError for impossible settings; Error if the model has nothing of what is to be trained, or the
    /// sequences do not fit it
    Trainer(const Model& model, const PruningMask& mask, const TrainingSet& set, TrainingSettings settings,
            TeacherStore* teacher = nullptr);
    ~Trainer();

    /// Continues from a state. @throws Error if its tensors are not those of this trainer
    void resume(const TrainingState& state);

    std::int64_t step() const;  ///< number of steps done
    std::int64_t steps() const; ///< number of all steps; 0 while it is not known (TrainingSettings::minutes)
    /// Sets the number of all steps, on which the learning rate depends.
    void setSteps(std::int64_t steps);
    std::int64_t trainedNumbers() const; ///< number of trained parameters

    /// Does one step. @throws Error if the loss is not finite: the numbers are then those before the step; Cancelled
    StepResult train(const Progress& progress = {});

    /// The losses of sequences with the trained numbers, without dropout and teacher.
    std::vector<ExampleLoss> losses(std::span<const TrainingExample> examples, const Progress& progress = {}) const;

    TrainingState state() const;
    Adapter adapter() const; ///< empty if only a compensation is trained

private:
    class Work;
    std::unique_ptr<Work> m_work;
};

/// The adapter of a state, without its compensation (trained_compensation.h). @param model whose name and fingerprint
/// are noted
Adapter adapterOf(const TrainingState& state, const AdapterSettings& settings, const Model& model);

} // namespace secateur
