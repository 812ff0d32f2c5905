#include "analysis/training/trainer.h"

#include "analysis/base/error.h"
#include "analysis/running/backward_walk.h"
#include "analysis/running/runner.h"
#include "analysis/training/head_features.h"
#include "analysis/training/teacher.h"
#include "analysis/training/trained_tensors.h"
#include "analysis/training/training_batches.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace secateur {

namespace {

/// Checks that a model can train on sequences. @throws Error
void checkSet(const Model& model, const TrainingSet& set) {
    const bool isEncoder = model.spec().family == Family::encoder;
    if (set.examples.empty())
        throw Error("has no sequence to train on", set.source);
    for (const TrainingExample& example : set.examples) {
        if (isEncoder != (example.label >= 0))
            throw Error(isEncoder ? "An encoder is trained on labelled texts" : "A decoder is not trained on labels",
                        set.source);
        if (isEncoder && example.label >= model.spec().classes)
            throw Error(
                fmt::format("has a label {}, but the model has {} classes", example.label, model.spec().classes),
                set.source);
    }
}

} // namespace

class Trainer::Work {
public:
    Work(const Model& model, const PruningMask& mask, const TrainingSet& set, TrainingSettings settings,
         TeacherStore* store)
        : m_model(model)
        , m_set(set)
        , m_settings(std::move(settings))
        , m_tensors(model, mask, m_settings)
        , m_training(model.runner().planWith(m_tensors.training(), m_tensors.maskFor(mask)))
        , m_scoring(model.runner().planWith(m_tensors.scoring(), m_tensors.maskFor(mask)))
        , m_perEpoch(stepsOfEpoch()) {
        if (m_settings.teacherWeight > 0) {
            m_ownStore = store ? nullptr : teacherInMemory();
            m_teacher.emplace(model, set, m_settings, store ? *store : *m_ownStore);
        }
        if (model.spec().family == Family::encoder && m_tensors.lowestLayer() == model.spec().layerCount())
            m_features.emplace(model, *m_scoring, set, static_cast<std::uint64_t>(m_settings.seed));
        if (m_settings.steps > 0)
            m_steps = m_settings.steps;
        else if (m_settings.minutes == 0)
            m_steps = std::max<std::int64_t>(1, std::llround(m_settings.epochs * static_cast<double>(m_perEpoch)));
        const std::vector<TokenSequence> sequences = sequencesOf(pointersTo(std::span(set.examples)));
        m_batchTokens = fittingTokens(model, tokensAtOnce(model, *m_training, sequences, mostTokens, m_memory));
    }

    StepResult train(const Progress& progress) {
        m_tensors.training()->dropoutSeed =
            static_cast<std::uint64_t>(m_settings.seed) * 1000003 + static_cast<std::uint64_t>(m_step);
        try {
            StepResult result = m_features ? headGradients(progress) : gradients(progress);
            if (!std::isfinite(result.lossNats))
                throw Error(fmt::format("The loss of step {} is not finite", m_step), m_set.source,
                            "Use a lower learning rate");
            result.learningRate = learningRateAt(m_settings, m_step, m_steps > 0 ? m_steps : m_step + manySteps);
            result.gradientNorm = m_tensors.update(m_settings, result.learningRate, m_step);
            ++m_step;
            return result;
        } catch (...) {
            m_tensors.forget();
            throw;
        }
    }

    std::vector<ExampleLoss> losses(std::span<const TrainingExample> examples, const Progress& progress) {
        if (!m_features)
            return exampleLosses(m_model, *m_scoring, examples, progress);
        std::vector<int> labels;
        for (const TrainingExample& example : examples)
            labels.push_back(example.label);
        return classifierLosses(m_model.runner(), *m_scoring, m_features->ofOthers(examples, progress),
                                HeadFeatures::batchOf(pointersTo(examples)), labels);
    }

    void resume(const TrainingState& state) {
        m_tensors.setValues(state.tensors);
        m_step = state.step;
    }

    TrainingState state() const { return {m_step, m_tensors.values()}; }
    std::int64_t step() const { return m_step; }
    std::int64_t steps() const { return m_steps; }
    void setSteps(std::int64_t steps) { m_steps = steps; }
    std::int64_t count() const { return m_tensors.count(); }
    const TrainingSettings& settings() const { return m_settings; }
    const Model& model() const { return m_model; }

private:
    std::int64_t stepsOfEpoch() const {
        const std::int64_t size = m_settings.sequencesOfStep();
        return (std::ssize(m_set.examples) + size - 1) / size;
    }

    /// The sequences of a step. Each epoch has an order of its own; its last step may have fewer sequences.
    std::vector<std::size_t> examplesOf(std::int64_t step) {
        const std::int64_t epoch = step / m_perEpoch;
        if (m_order.empty() || epoch != m_epoch)
            m_order =
                epochOrder(m_set.examples.size(), static_cast<std::uint64_t>(m_settings.seed), static_cast<int>(epoch));
        m_epoch = epoch;
        const auto size = static_cast<std::size_t>(m_settings.sequencesOfStep());
        const std::size_t begin = static_cast<std::size_t>(step % m_perEpoch) * size;
        const std::span order(m_order);
        const auto some = order.subspan(begin, std::min(size, order.size() - begin));
        return {some.begin(), some.end()};
    }

    /// Sums the gradients of the mean loss over the targets of a step.
    StepResult gradients(const Progress& progress) {
        const std::vector<std::size_t> indices = examplesOf(m_step);
        const std::vector<const TrainingExample*> examples = pointersTo(m_set, indices);
        const TrainingBatches set = trainingBatches(examples, m_batchTokens);
        std::vector<std::shared_ptr<const TeacherTargets>> teachers(set.targets.size());
        if (m_teacher)
            teachers = m_teacher->targets(indices, set.padded, progress.part(0, 0));
        StepResult result = beginStep(examples);
        const float weight = weightOf(examples);
        BackwardSteps steps;
        steps.scalars = [&](std::size_t batch) {
            return std::vector<BackwardScalar>{{Scalarisation::taskLoss, set.targets[batch],
                                                std::vector<float>(set.targets[batch].size(), weight),
                                                teachers[batch]}};
        };
        steps.lowestLayer = m_tensors.lowestLayer();
        steps.taps = [](int, std::size_t) { return std::vector<Tap>(); };
        steps.begins = [&](std::size_t, std::size_t, LossGradient& top) {
            result.lossNats += std::accumulate(top.values.begin(), top.values.end(), 0.0);
            m_tensors.add(-1, top.adapters);
        };
        steps.pulled = [&](const LayerBackward& layer) { m_tensors.add(layer.layer, layer.gradients.adapters); };
        walkBackward(m_model, *m_training, set.padded.batches, steps, m_memory, progress);
        return result;
    }

    /// gradients() of the classifier alone: the sequences do not run again.
    StepResult headGradients(const Progress& progress) {
        const std::vector<std::size_t> indices = examplesOf(m_step);
        const std::vector<const TrainingExample*> examples = pointersTo(m_set, indices);
        const at::Tensor x = m_features->of(indices, progress);
        std::vector<int> labels;
        for (const TrainingExample* example : examples)
            labels.push_back(example->label);
        const std::vector<float> weights(labels.size(), weightOf(examples));
        const LossGradient top = m_model.runner().lossGradient(*m_training, x, HeadFeatures::batchOf(examples),
                                                               Scalarisation::taskLoss, labels, weights);
        m_tensors.add(-1, top.adapters);
        StepResult result = beginStep(examples);
        result.lossNats = std::accumulate(top.values.begin(), top.values.end(), 0.0);
        return result;
    }

    /// The result of a step without its loss.
    static StepResult beginStep(std::span<const TrainingExample* const> examples) {
        StepResult result;
        for (const TrainingExample* example : examples)
            result.tokens += std::ssize(example->ids);
        return result;
    }

    /// The weight of a target in the mean loss of a step.
    static float weightOf(std::span<const TrainingExample* const> examples) {
        std::int64_t targets = 0;
        for (const TrainingExample* example : examples)
            targets += example->targetCount();
        return 1.F / static_cast<float>(std::max<std::int64_t>(1, targets));
    }

    static constexpr std::int64_t manySteps = 1000;  ///< left while the number of steps is not known: no decay yet
    static constexpr std::int64_t mostTokens = 2048; ///< maximum tokens of a batch, but at least one sequence

    const Model& m_model;
    const TrainingSet& m_set;
    TrainingSettings m_settings;
    TrainedTensors m_tensors;
    std::shared_ptr<const Plan> m_training;
    std::shared_ptr<const Plan> m_scoring;
    std::unique_ptr<TeacherStore> m_ownStore;
    std::optional<Teacher> m_teacher;
    std::optional<HeadFeatures> m_features; ///< only if the head alone is trained
    BackwardMemory m_memory{.graphBytes = std::int64_t{1} << 29};
    std::int64_t m_perEpoch;
    std::int64_t m_steps = 0;
    std::int64_t m_step = 0;
    std::int64_t m_batchTokens = mostTokens;
    std::int64_t m_epoch = -1; ///< whose order m_order is
    std::vector<std::size_t> m_order;
};

Trainer::Trainer(const Model& model, const PruningMask& mask, const TrainingSet& set, TrainingSettings settings,
                 TeacherStore* teacher) {
    checkSettings(settings);
    checkSet(model, set);
    m_work = std::make_unique<Work>(model, mask, set, std::move(settings), teacher);
}

Trainer::~Trainer() = default;

void Trainer::resume(const TrainingState& state) {
    m_work->resume(state);
}

std::int64_t Trainer::step() const {
    return m_work->step();
}

std::int64_t Trainer::steps() const {
    return m_work->steps();
}

void Trainer::setSteps(std::int64_t steps) {
    m_work->setSteps(steps);
}

std::int64_t Trainer::trainedNumbers() const {
    return m_work->count();
}

StepResult Trainer::train(const Progress& progress) {
    return m_work->train(progress);
}

std::vector<ExampleLoss> Trainer::losses(std::span<const TrainingExample> examples, const Progress& progress) const {
    return m_work->losses(examples, progress);
}

TrainingState Trainer::state() const {
    return m_work->state();
}

Adapter Trainer::adapter() const {
    return adapterOf(m_work->state(), m_work->settings().adapter, m_work->model());
}

Adapter adapterOf(const TrainingState& state, const AdapterSettings& settings, const Model& model) {
    Adapter adapter;
    adapter.settings = settings;
    adapter.modelName = model.card().name;
    adapter.fingerprint = model.fingerprint();
    for (const TrainedTensor& tensor : state.tensors) {
        if (tensor.part == TrainedPart::weight)
            adapter.weights[tensor.place] = tensor.values;
        if (tensor.part != TrainedPart::a && tensor.part != TrainedPart::b)
            continue;
        LowRankUpdate& update = adapter.updates[tensor.place];
        update.rank = settings.rank;
        update.scale = settings.alpha / settings.rank;
        (tensor.part == TrainedPart::a ? update.a : update.b) = tensor.values;
    }
    return adapter;
}

} // namespace secateur
