#include "analysis/training/example_losses.h"

#include "analysis/running/plan_adapters.h"
#include "analysis/training/training_batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>

namespace secateur {

namespace {

constexpr std::int64_t scoringTokens = 2048; ///< maximum tokens of a batch that is scored

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

} // namespace

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

std::vector<ExampleLoss> exampleLosses(const Model& model, const Plan& plan, std::span<const TrainingExample> examples,
                                       const Progress& progress) {
    const TrainingBatches set = trainingBatches(pointersTo(examples), fittingTokens(model, scoringTokens));
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

std::vector<ExampleLoss> exampleLosses(const Model& model, const PruningMask& mask,
                                       std::span<const TrainingExample> examples, const Progress& progress) {
    // A plan for training, even without trained tensors, so that the weights are converted only once.
    const auto plan = model.runner().planWith(std::make_shared<const PlanAdapters>(), mask);
    return exampleLosses(model, *plan, examples, progress);
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

} // namespace secateur
