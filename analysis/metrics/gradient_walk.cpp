#include "analysis/metrics/gradient_walk.h"

#include "analysis/base/bytes.h"
#include "analysis/base/cluster.h"
#include "analysis/running/runner_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace secateur {

PaddedBatches batchesOf(const Model& model, const BatchRule& rule, const GradientRun& run) {
    if (rule.rows > 0)
        return batchesInOrder(run.sequences, rule.rows);
    return paddedBatches(model, run.sequences,
                         tokensAtOnce(model, run.plan, run.sequences, run.batchTokens, run.memory));
}

GradientWalk::GradientWalk(const Model& model, const GradientRun& run, const GradientScalars& scalars,
                           const BatchRule& rule, std::span<const MetricRequest> requests)
    : m_model(model)
    , m_run(run)
    , m_scalars(scalars)
    , m_rule(rule)
    , m_requests(requests)
    , m_batches(batchesOf(model, rule, run)) {
    for (const MetricRequest& request : requests)
        plan(request);
    m_sums = std::make_unique<GradientSums>(model, run.plan, m_batches, scalars, m_passes, rule.mergesRows);
}

std::size_t GradientWalk::passOf(const ScalarChoice& choice) {
    const auto found = std::ranges::find(m_passes, choice, &GradientPass::choice);
    if (found != m_passes.end())
        return static_cast<std::size_t>(found - m_passes.begin());
    m_passes.push_back({choice});
    return m_passes.size() - 1;
}

void GradientWalk::plan(const MetricRequest& request) {
    std::vector<std::size_t>& passes = m_passesOf.emplace_back();
    const Scalarisation of = m_scalars.scalarisation(request);
    const auto& metric = std::get<GradientMetric>(request.info->computation);
    // Random signs tell the targets of a sequence apart. A classifier has one target for each sequence.
    const bool isDrawn = metric.drawings && m_model.spec().family == Family::decoder;
    for (int drawing = 0; isDrawn && drawing < metric.drawings(request); ++drawing)
        passes.push_back(passOf({of, drawing}));
    if (!isDrawn)
        passes.push_back(passOf({of}));
    for (const HeadSum sum : metric.sums(request))
        for (const std::size_t pass : passes)
            m_passes[pass].wishes.insert(sum);
}

void GradientWalk::run(const Progress& progress, const std::function<void()>& more) {
    if (m_run.cluster) {
        runTogether(progress);
        more();
        return;
    }
    runBatches(0, m_batches.batches.size(), progress, [&](std::size_t first, std::size_t end) {
        m_sums->add(m_sums->finish(first, end));
        countBatches(first, end);
        more();
    });
}

/// Shares out the batches that run through the layers together. All ranks get the sums.
void GradientWalk::runTogether(const Progress& progress) {
    const std::span<const Batch> batches = m_batches.batches;
    std::vector<std::size_t> ends{0};
    while (ends.back() < batches.size())
        ends.push_back(ends.back() + batchesTogether(m_model, m_run.plan, batches.subspan(ends.back()), m_run.memory));
    const auto work = [&](std::size_t item, const Progress& own) {
        Packer packer;
        runBatches(ends[item], ends[item + 1], own, [&](std::size_t first, std::size_t end) {
            for (const PassSums& sums : m_sums->finish(first, end))
                put(packer, sums);
        });
        return packer.take();
    };
    const auto add = [&](std::string_view bytes) {
        Unpacker unpacker(bytes);
        std::vector<PassSums> sums(m_passes.size());
        for (PassSums& one : sums)
            get(unpacker, one);
        m_sums->add(sums);
    };
    shareInOrder(
        *m_run.cluster, ends.size() - 1, work, [&](std::size_t, std::string_view bytes) { add(bytes); }, progress);
    Packer packer;
    for (const PassSums& sums : m_sums->all())
        put(packer, sums);
    const std::string all = m_run.cluster->broadcast(packer.take());
    if (m_run.cluster->rank() > 0)
        add(all);
    countBatches(0, batches.size());
}

void GradientWalk::runBatches(std::size_t begin, std::size_t end, const Progress& progress,
                              const std::function<void(std::size_t first, std::size_t end)>& finished) {
    BackwardSteps steps;
    steps.scalars = [&](std::size_t i) {
        const std::size_t batch = begin + i;
        std::vector<BackwardScalar> scalars;
        for (const GradientPass& pass : m_passes)
            scalars.push_back(m_scalars.scalar(pass.choice, m_batches.batches[batch], m_batches.sequences[batch]));
        return scalars;
    };
    if (m_rule.mergesRows)
        steps.begins = [&](std::size_t, std::size_t pass, LossGradient& top) { mergeRows(top, pass); };
    steps.taps = [&](int layer, std::size_t pass) { return m_sums->taps(layer, pass); };
    steps.pulled = [&](const LayerBackward& layer) {
        m_sums->add(
            LayerBackward{layer.layer, begin + layer.batch, layer.pass, layer.input, layer.dOutput, layer.gradients});
    };
    steps.finished = [&](std::size_t first, std::size_t last) { finished(begin + first, begin + last); };
    walkBackward(m_model, m_run.plan, std::span(m_batches.batches).subspan(begin, end - begin), steps, m_run.memory,
                 progress);
}

void GradientWalk::countBatches(std::size_t first, std::size_t end) {
    for (std::size_t batch = first; batch < end; ++batch) {
        m_sequences += m_batches.batches[batch].rows;
        for (const int length : m_batches.batches[batch].lengths)
            m_tokens += length;
    }
}

std::int64_t GradientWalk::allTokens() const {
    std::int64_t tokens = 0;
    for (const TokenSequence& sequence : m_run.sequences)
        tokens += std::ssize(sequence.ids);
    return tokens;
}

/// Changes the gradient of the sum of the rows' scalars into that of one scalar of the batch: for norms, the norm of
/// all rows together; otherwise the mean over rows.
void GradientWalk::mergeRows(LossGradient& top, std::size_t pass) const {
    const Scalarisation of = m_passes[pass].choice.of;
    std::vector<double> factors(top.values.size(), 1 / static_cast<double>(top.values.size()));
    if (of == Scalarisation::logitNorm || of == Scalarisation::pooledNorm) {
        double squares = 0;
        for (const double value : top.values)
            squares += value * value;
        for (std::size_t row = 0; row < factors.size(); ++row)
            factors[row] = squares > 0 ? top.values[row] / std::sqrt(squares) : 0;
    }
    top.stream = top.stream * at::tensor(factors).to(top.stream.options()).view({-1, 1, 1});
}

std::vector<double> GradientWalk::values(std::size_t request, int layer) const {
    const PruningMask& mask = m_run.plan.mask();
    const auto heads = KeptUnits(m_model.spec().layers[static_cast<std::size_t>(layer)], mask.layer(layer)).heads;
    GradientLayer own{m_requests[request], {}, heads, static_cast<std::size_t>(mask.tiedTo(layer).front())};
    for (const std::size_t pass : m_passesOf[request])
        own.passes.push_back(&m_sums->of(pass));
    return std::get<GradientMetric>(m_requests[request].info->computation).finish(own);
}

} // namespace secateur
