#include "analysis/metrics/gradient_walk.h"

#include "analysis/metrics/forward_values.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/running/runner_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

constexpr std::array allNorms{HeadSum::queryNorm, HeadSum::keyNorm, HeadSum::valueNorm};

std::vector<HeadSum> normsOf(const MetricRequest& request) {
    const std::string_view id = request.info->id;
    if (id == "gnorm")
        return {allNorms.begin(), allNorms.end()};
    return {id == "gnorm_q" ? HeadSum::queryNorm : id == "gnorm_k" ? HeadSum::keyNorm : HeadSum::valueNorm};
}

HeadSum magnitudeOf(const MetricRequest& request) {
    if (request.flag("tis_abs"))
        return HeadSum::pairMagnitude;
    const std::string of = request.option("abs");
    return of == "token" ? HeadSum::tokenMagnitude : of == "batch" ? HeadSum::batchMagnitude : HeadSum::gateMagnitude;
}

void divide(std::vector<double>& values, double by) {
    for (double& value : values)
        value /= by;
}

} // namespace

BatchRule batchRuleOf(const MetricRequest& request) {
    if (gradientMetric(request).from == FromGradients::norms) {
        const int rows = wholeOption(request, "code_compat_batch");
        return {rows, rows > 0};
    }
    const bool isOfBatches = request.info->id == "head_mask_gradient" && request.option("abs") == "batch";
    return {isOfBatches ? wholeOption(request, "batch") : 0, false};
}

PaddedBatches batchesOf(const Model& model, const BatchRule& rule, const GradientRun& run) {
    if (rule.rows > 0)
        return batchesInOrder(run.sequences, rule.rows);
    return paddedBatches(run.sequences, tokensAtOnce(model, run.plan, run.sequences, run.batchTokens, run.memory));
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
    const FromGradients from = gradientMetric(request).from;
    // A text that is one target as a whole needs no signs to tell targets apart.
    const bool isDrawn = from == FromGradients::squares && m_model.spec().family == Family::decoder;
    for (int drawing = 0; isDrawn && drawing < wholeOption(request, "passes"); ++drawing)
        passes.push_back(passOf({of, drawing}));
    if (!isDrawn)
        passes.push_back(passOf({of}));
    const auto wish = [&](HeadSum sum) {
        for (const std::size_t pass : passes)
            m_passes[pass].wishes.insert(sum);
    };
    if (from == FromGradients::norms)
        std::ranges::for_each(normsOf(request), wish);
    else
        wish(from == FromGradients::magnitudes ? magnitudeOf(request)
             : from == FromGradients::gates    ? HeadSum::gate
                                               : HeadSum::gateSquare);
}

void GradientWalk::run(const Progress& progress, const std::function<void()>& more) {
    BackwardSteps steps;
    steps.scalars = [&](std::size_t batch) {
        std::vector<BackwardScalar> scalars;
        for (const GradientPass& pass : m_passes)
            scalars.push_back(m_scalars.scalar(pass.choice, m_batches.batches[batch], m_batches.sequences[batch]));
        return scalars;
    };
    if (m_rule.mergesRows)
        steps.begins = [&](std::size_t, std::size_t pass, LossGradient& top) { mergeRows(top, pass); };
    steps.taps = [&](int layer, std::size_t pass) { return m_sums->taps(layer, pass); };
    steps.pulled = [&](const LayerBackward& pulled) { m_sums->add(pulled); };
    steps.finished = [&](std::size_t first, std::size_t end) {
        m_sums->finish(first, end);
        for (std::size_t batch = first; batch < end; ++batch) {
            m_sequences += m_batches.batches[batch].rows;
            for (const int length : m_batches.batches[batch].lengths)
                m_tokens += length;
        }
        more();
    };
    walkBackward(m_model, m_run.plan, m_batches.batches, steps, m_run.memory, progress);
}

std::int64_t GradientWalk::allTokens() const {
    std::int64_t tokens = 0;
    for (const TokenSequence& sequence : m_run.sequences)
        tokens += std::ssize(sequence.ids);
    return tokens;
}

/// From the sum of the rows' scalars to one scalar of the batch: the norm of all rows' vectors, or the mean.
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

std::vector<double> GradientWalk::row(std::size_t pass, HeadSum sum, int layer) const {
    const int first = m_run.plan.mask().tiedTo(layer).front();
    const auto kept =
        KeptUnits(m_model.spec().layers[static_cast<std::size_t>(layer)], m_run.plan.mask().layer(layer)).heads;
    const auto found = m_sums->of(pass).heads.find(sum);
    std::vector<double> values;
    for (const std::size_t head : kept)
        values.push_back(found == m_sums->of(pass).heads.end() ? 0
                                                               : found->second(static_cast<std::size_t>(first), head));
    return values;
}

std::vector<double> GradientWalk::magnitudes(const MetricRequest& request, std::size_t pass, int layer) const {
    const HeadSum sum = magnitudeOf(request);
    const PassSums& all = m_sums->of(pass);
    std::vector<double> values = row(pass, sum, layer);
    divide(values, sum == HeadSum::batchMagnitude ? all.batches : all.rows);
    if (!request.flag("layer_normalised"))
        return values;
    double squares = 0;
    for (const double value : values)
        squares += value * value;
    divide(values, std::sqrt(squares) + 1e-20);
    return values;
}

std::vector<double> GradientWalk::values(std::size_t request, int layer) const {
    const std::size_t pass = m_passesOf[request].front();
    const PassSums& all = m_sums->of(pass);
    switch (gradientMetric(m_requests[request]).from) {
    case FromGradients::magnitudes:
        return magnitudes(m_requests[request], pass, layer);
    case FromGradients::gates: {
        std::vector<double> values = row(pass, HeadSum::gate, layer);
        divide(values, all.targets);
        return values;
    }
    case FromGradients::squares: {
        std::vector<double> values;
        for (const std::size_t own : m_passesOf[request]) {
            const std::vector<double> sums = row(own, HeadSum::gateSquare, layer);
            values.resize(sums.size());
            for (std::size_t i = 0; i < sums.size(); ++i)
                values[i] += sums[i] / (all.targets * static_cast<double>(m_passesOf[request].size()));
        }
        return values;
    }
    default:
        break;
    }
    std::vector<double> product;
    for (const HeadSum sum : normsOf(m_requests[request])) {
        std::vector<double> values = row(pass, sum, layer);
        divide(values, all.rows);
        product.resize(values.size(), 1);
        for (std::size_t i = 0; i < values.size(); ++i)
            product[i] *= values[i];
    }
    return product;
}

} // namespace secateur
