#include "analysis/strategies/gradient_change.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/metrics/gradient_walk.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace secateur {

namespace {

MetricRequest gnormOf(const std::string& scalarisation) {
    return parseMetricRequests("gnorm:scalarisation=" + scalarisation).front();
}

/// A matrix [hidden, columns] float64. The product of a row vector with it gives the means of each `width` consecutive
/// elements of the vector.
at::Tensor poolingOf(std::int64_t hidden, std::int64_t width) {
    const at::Tensor column = at::arange(hidden, at::kLong).floor_divide(width);
    const at::Tensor pooling = at::one_hot(column).to(at::kDouble);
    return pooling / pooling.sum(0, true);
}

/// Sums the gradients of all sequences under one plan.
class QueryGradients {
public:
    QueryGradients(const Model& model, const GradientRun& run, const MetricRequest& metric)
        : m_model(model)
        , m_spec(model.spec())
        , m_run(run)
        , m_scalars(model, run.sequences, run.labels)
        , m_of{m_scalars.scalarisation(metric)}
        , m_batches(batchesOf(model, {}, run))
        , m_sums(m_spec.layers.size()) {}

    /// Runs the walk and returns, for each layer, the pooled mean gradients, [heads, columns].
    std::vector<Matrix> means(const Progress& progress) {
        BackwardSteps steps;
        steps.scalars = [&](std::size_t batch) {
            return std::vector{m_scalars.scalar(m_of, m_batches.batches[batch], m_batches.sequences[batch])};
        };
        steps.taps = [&](int layer, std::size_t) {
            return keptOf(layer).empty() ? std::vector<Tap>() : std::vector{Tap::attentionInput, Tap::query};
        };
        steps.pulled = [&](const LayerBackward& pulled) { add(pulled); };
        walkBackward(m_model, m_run.plan, m_batches.batches, steps, m_run.memory, progress);
        std::vector<Matrix> found;
        for (int layer = 0; layer < m_spec.layerCount(); ++layer)
            found.push_back(meanOf(layer));
        return found;
    }

private:
    const LayerSpec& layerOf(int layer) const { return m_spec.layers[static_cast<std::size_t>(layer)]; }
    std::vector<std::size_t> keptOf(int layer) const {
        return KeptUnits(layerOf(layer), m_run.plan.mask().layer(layer)).heads;
    }

    /// Adds the pooled gradient of a layer. The gradient is a sum of outer products of two vectors. The mean over a
    /// block of an outer product is the product of the means of the two vectors. Therefore the gradient itself is not
    /// computed.
    void add(const LayerBackward& pulled) {
        const auto& taps = pulled.gradients.taps;
        const auto query = taps.find(Tap::query);
        if (query == taps.end() || !query->second.gradient.defined())
            return;
        const at::Tensor& input = taps.at(Tap::attentionInput).value;
        const at::Tensor pooling = poolingOf(input.size(2), layerOf(pulled.layer).headDim).to(input.device());
        const at::Tensor read = input.to(at::kDouble).flatten(0, 1).matmul(pooling);               // [tokens, columns]
        const at::Tensor delta = query->second.gradient.mean(3, false, at::kDouble).flatten(0, 1); // [tokens, heads]
        const at::Tensor gradient = delta.t().matmul(read).to(at::kCPU);
        at::Tensor& sum = m_sums[static_cast<std::size_t>(m_run.plan.mask().tiedTo(pulled.layer).front())];
        sum = sum.defined() ? sum + gradient : gradient;
    }

    Matrix meanOf(int layer) const {
        const LayerSpec& own = layerOf(layer);
        if (own.heads == 0)
            return {};
        Matrix mean(static_cast<std::size_t>(own.heads),
                    static_cast<std::size_t>((m_spec.hidden + own.headDim - 1) / own.headDim), 0);
        const at::Tensor& sum = m_sums[static_cast<std::size_t>(m_run.plan.mask().tiedTo(layer).front())];
        const std::vector<std::size_t> kept = keptOf(layer);
        const bool ofAll = m_of.of == Scalarisation::logitNorm || m_of.of == Scalarisation::pooledNorm;
        double rows = 0;
        for (std::size_t sequence = 0; sequence < m_run.sequences.size(); ++sequence)
            rows += ofAll || m_scalars.targets(sequence) > 0 ? 1 : 0;
        for (std::size_t i = 0; sum.defined() && i < kept.size(); ++i)
            for (std::size_t column = 0; column < mean.columns(); ++column)
                mean(kept[i], column) =
                    sum[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(column)].item<double>() / rows;
        return mean;
    }

    const Model& m_model;
    const ModelSpec& m_spec;
    const GradientRun& m_run;
    GradientScalars m_scalars;
    ScalarChoice m_of;
    PaddedBatches m_batches;
    std::vector<at::Tensor> m_sums; ///< for each layer, [kept heads, columns] float64; tied layers use the first
};

} // namespace

GradientChange gradientChange(const Model& model, const GradientChangeRequest& request, const GradientRun& run,
                              const Progress& progress) {
    if (run.sequences.empty())
        throw Error("There is no sequence to measure a model on");
    const MetricRequest metric = gnormOf(request.scalarisation);
    const auto meansUnder = [&](const PruningMask& mask, const Progress& own) {
        const auto plan = model.runner().plan(mask, run.plan.type());
        const GradientRun under{*plan, run.sequences, run.labels, run.batchTokens, run.memory};
        return QueryGradients(model, under, metric).means(own);
    };
    const std::vector<Matrix> before = meansUnder(request.before, progress.part(0, 0.5));
    GradientChange change{meansUnder(request.after, progress.part(0.5, 1))};
    for (const TokenSequence& sequence : run.sequences)
        change.tokens += std::ssize(sequence.ids);
    for (std::size_t layer = 0; layer < before.size(); ++layer)
        for (std::size_t i = 0; i < before[layer].values().size(); ++i)
            change.layers[layer].values()[i] -= before[layer].values()[i];
    model.checkFiles();
    return change;
}

} // namespace secateur
