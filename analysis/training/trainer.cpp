#include "analysis/training/trainer.h"

#include "analysis/base/error.h"
#include "analysis/running/backward_walk.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/training/trained_tensors.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace secateur {

namespace {

constexpr std::int64_t scoringTokens = 2048; ///< maximum tokens of a batch that is scored

/// Sequences of a step or of a scored set in padded batches, with their targets.
struct TrainingBatches {
    PaddedBatches padded;
    std::vector<std::vector<int>> targets; ///< for each batch, as arguments of Runner::lossGradient()
};

std::vector<TokenSequence> sequencesOf(std::span<const TrainingExample* const> examples) {
    std::vector<TokenSequence> sequences;
    for (const TrainingExample* example : examples) {
        sequences.push_back({example->ids, example->types, sequences.size()});
        sequences.back().types.resize(example->ids.size());
    }
    return sequences;
}

TrainingBatches batchesOf(std::span<const TrainingExample* const> examples, std::int64_t batchTokens) {
    TrainingBatches made;
    made.padded = paddedBatches(sequencesOf(examples), batchTokens);
    for (std::size_t batch = 0; batch < made.padded.batches.size(); ++batch) {
        const auto positions = static_cast<std::size_t>(made.padded.batches[batch].positions);
        std::vector<int>& targets = made.targets.emplace_back();
        for (const std::size_t index : made.padded.sequences[batch]) {
            const TrainingExample& example = *examples[index];
            if (example.label >= 0) {
                targets.push_back(example.label);
                continue;
            }
            targets.insert(targets.end(), example.targets.begin(), example.targets.end());
            targets.resize((targets.size() + positions - 1) / positions * positions, -1);
        }
    }
    return made;
}

std::vector<const TrainingExample*> pointersTo(std::span<const TrainingExample> examples) {
    std::vector<const TrainingExample*> all;
    for (const TrainingExample& example : examples)
        all.push_back(&example);
    return all;
}

/// The losses of a batch of a decoder, in the order of its rows.
std::vector<ExampleLoss> decoderLosses(const Runner& runner, const Plan& plan, const at::Tensor& x, const Batch& batch,
                                       std::span<const int> targets) {
    const TokenLosses losses = runner.losses(plan, x, batch, targets);
    std::vector<ExampleLoss> rows(static_cast<std::size_t>(batch.rows));
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] < 0)
            continue;
        ExampleLoss& row = rows[i / static_cast<std::size_t>(batch.positions)];
        row.nats += losses.nats[i];
        ++row.targets;
    }
    return rows;
}

/// The losses of a batch of a classifier.
std::vector<ExampleLoss> classifierLosses(const Runner& runner, const Plan& plan, const at::Tensor& x,
                                          const Batch& batch, std::span<const int> labels) {
    const at::Tensor logits = runner.lmHead(plan, x, batch).to(at::kCPU, at::kDouble);
    const at::Tensor nats = logits.logsumexp(1, true) - logits;
    std::vector<ExampleLoss> rows;
    for (std::size_t row = 0; row < labels.size(); ++row) {
        const auto at = static_cast<std::int64_t>(row);
        const at::Tensor own = nats.select(0, at);
        rows.push_back(
            {own[labels[row]].item<double>(), 1, own.argmin().item<std::int64_t>() == std::int64_t{labels[row]}});
    }
    return rows;
}

std::vector<ExampleLoss> lossesUnder(const Model& model, const Plan& plan, std::span<const TrainingExample> examples,
                                     const Progress& progress) {
    const TrainingBatches set = batchesOf(pointersTo(examples), scoringTokens);
    const Runner& runner = model.runner();
    std::vector<ExampleLoss> losses(examples.size());
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const auto of = model.spec().family == Family::encoder ? classifierLosses : decoderLosses;
        const std::vector<ExampleLoss> rows = of(runner, plan, x, set.padded.batches[batch], set.targets[batch]);
        for (std::size_t row = 0; row < rows.size(); ++row)
            losses[set.padded.sequences[batch][row]] = rows[row];
    };
    forEachLayer(runner, plan, set.padded.batches, walk, progress);
    return losses;
}

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
    Work(const Model& model, const PruningMask& mask, const TrainingSet& set, TrainingSettings settings)
        : m_model(model)
        , m_set(set)
        , m_settings(std::move(settings))
        , m_tensors(model, mask, m_settings)
        , m_training(model.runner().planWith(m_tensors.training(), mask))
        , m_scoring(model.runner().planWith(m_tensors.scoring(), mask))
        , m_perEpoch(stepsOfEpoch()) {
        if (m_settings.steps > 0)
            m_steps = m_settings.steps;
        else if (m_settings.minutes == 0)
            m_steps = std::max<std::int64_t>(1, std::llround(m_settings.epochs * static_cast<double>(m_perEpoch)));
        const std::vector<TokenSequence> sequences = sequencesOf(pointersTo(set.examples));
        m_batchTokens = tokensAtOnce(model, *m_training, sequences, mostTokens, m_memory);
    }

    StepResult train(const Progress& progress) {
        m_tensors.training()->dropoutSeed =
            static_cast<std::uint64_t>(m_settings.seed) * 1000003 + static_cast<std::uint64_t>(m_step);
        try {
            StepResult result = gradients(progress);
            result.learningRate = learningRateAt(m_settings, m_step, m_steps > 0 ? m_steps : m_step + manySteps);
            result.gradientNorm = m_tensors.update(m_settings, result.learningRate, m_step);
            ++m_step;
            return result;
        } catch (...) {
            m_tensors.forget();
            throw;
        }
    }

    std::vector<ExampleLoss> losses(std::span<const TrainingExample> examples, const Progress& progress) const {
        return lossesUnder(m_model, *m_scoring, examples, progress);
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
    std::vector<const TrainingExample*> examplesOf(std::int64_t step) {
        const std::int64_t epoch = step / m_perEpoch;
        if (m_order.empty() || epoch != m_epoch)
            m_order =
                epochOrder(m_set.examples.size(), static_cast<std::uint64_t>(m_settings.seed), static_cast<int>(epoch));
        m_epoch = epoch;
        const auto size = static_cast<std::size_t>(m_settings.sequencesOfStep());
        const std::size_t begin = static_cast<std::size_t>(step % m_perEpoch) * size;
        std::vector<const TrainingExample*> all;
        for (std::size_t i = begin; i < std::min(begin + size, m_order.size()); ++i)
            all.push_back(&m_set.examples[m_order[i]]);
        return all;
    }

    /// Sums the gradients of the mean loss over the targets of a step.
    StepResult gradients(const Progress& progress) {
        const std::vector<const TrainingExample*> examples = examplesOf(m_step);
        const TrainingBatches set = batchesOf(examples, m_batchTokens);
        StepResult result;
        std::int64_t targets = 0;
        for (const TrainingExample* example : examples) {
            result.tokens += std::ssize(example->ids);
            targets += example->targetCount();
        }
        const float weight = 1.F / static_cast<float>(std::max<std::int64_t>(1, targets));
        BackwardSteps steps;
        steps.scalars = [&](std::size_t batch) {
            return std::vector<BackwardScalar>{
                {Scalarisation::taskLoss, set.targets[batch], std::vector<float>(set.targets[batch].size(), weight)}};
        };
        steps.lowestLayer = m_tensors.lowestLayer();
        steps.taps = [](int, std::size_t) { return std::vector<Tap>(); };
        steps.begins = [&](std::size_t, std::size_t, LossGradient& top) {
            result.lossNats += std::accumulate(top.values.begin(), top.values.end(), 0.0);
            m_tensors.add(-1, top.adapters);
        };
        steps.pulled = [&](const LayerBackward& layer) { m_tensors.add(layer.layer, layer.gradients.adapters); };
        walkBackward(m_model, *m_training, set.padded.batches, steps, m_memory, progress);
        if (!std::isfinite(result.lossNats))
            throw Error(fmt::format("The loss of step {} is not finite", m_step), m_set.source,
                        "Use a lower learning rate");
        return result;
    }

    static constexpr std::int64_t manySteps = 1000; ///< left while the number of steps is not known: no decay yet
    static constexpr std::int64_t mostTokens = 2048; ///< maximum tokens of a batch, but at least one sequence

    const Model& m_model;
    const TrainingSet& m_set;
    TrainingSettings m_settings;
    TrainedTensors m_tensors;
    std::shared_ptr<const Plan> m_training;
    std::shared_ptr<const Plan> m_scoring;
    BackwardMemory m_memory{.graphBytes = std::int64_t{1} << 29};
    std::int64_t m_perEpoch;
    std::int64_t m_steps = 0;
    std::int64_t m_step = 0;
    std::int64_t m_batchTokens = mostTokens;
    std::int64_t m_epoch = -1; ///< whose order m_order is
    std::vector<std::size_t> m_order;
};

Trainer::Trainer(const Model& model, const PruningMask& mask, const TrainingSet& set, TrainingSettings settings) {
    checkSettings(settings);
    checkSet(model, set);
    m_work = std::make_unique<Work>(model, mask, set, std::move(settings));
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

std::vector<ExampleLoss> exampleLosses(const Model& model, const PruningMask& mask,
                                       std::span<const TrainingExample> examples, const Progress& progress) {
    // A plan for training, even without trained tensors, so that the weights are converted only once.
    const auto plan = model.runner().planWith(std::make_shared<const PlanAdapters>(), mask);
    return lossesUnder(model, *plan, examples, progress);
}

double meanNats(std::span<const ExampleLoss> losses) {
    double nats = 0;
    std::int64_t targets = 0;
    for (const ExampleLoss& loss : losses) {
        nats += loss.nats;
        targets += loss.targets;
    }
    return nats / static_cast<double>(targets);
}

double accuracyOf(std::span<const ExampleLoss> losses) {
    const auto right = std::ranges::count_if(losses, [](const ExampleLoss& loss) { return loss.isRight; });
    return static_cast<double>(right) / static_cast<double>(losses.size());
}

Adapter adapterOf(const TrainingState& state, const AdapterSettings& settings, const Model& model) {
    Adapter adapter;
    adapter.settings = settings;
    adapter.modelName = model.card().name;
    adapter.fingerprint = model.fingerprint();
    for (const TrainedTensor& tensor : state.tensors) {
        if (tensor.part == TrainedPart::weight) {
            adapter.weights[tensor.place] = tensor.values;
            continue;
        }
        LowRankUpdate& update = adapter.updates[tensor.place];
        update.rank = settings.rank;
        update.scale = settings.alpha / settings.rank;
        (tensor.part == TrainedPart::a ? update.a : update.b) = tensor.values;
    }
    return adapter;
}

} // namespace secateur
