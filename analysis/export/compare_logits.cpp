#include "analysis/export/compare_logits.h"

#include "analysis/running/runner.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace secateur {

namespace {

/// One row of a batch without padding.
Batch rowOf(const Batch& batch, int row) {
    const auto begin = batch.ids.begin() + std::int64_t{row} * batch.positions;
    return {1, batch.positions, {begin, begin + batch.positions}, {}, {}, {}};
}

void take(LogitDifference& difference, const at::Tensor& expected, const at::Tensor& found) {
    const double most = (expected - found).abs().max().item<double>();
    difference.most = std::max(difference.most, std::isnan(most) ? std::numeric_limits<double>::infinity() : most);
    difference.scale = std::max(difference.scale, expected.abs().max().item<double>());
}

} // namespace

Batch probeTokens(const ModelSpec& spec) {
    constexpr int rows = 4;
    int positions = 64;
    if (spec.context > 0)
        positions = std::min(positions, spec.context);
    if (spec.positions == Positions::learned)
        positions = std::min(positions, std::max(1, spec.learnedPositions - spec.firstPosition));
    Batch batch{rows, positions, {}, {}, {}, {}};
    std::mt19937 random(1);
    for (std::int64_t i = 0; i < batch.tokens(); ++i)
        batch.ids.push_back(static_cast<int>(random() % static_cast<unsigned>(spec.vocab)));
    return batch;
}

LogitDifference compareLogits(const Model& first, const Plan& plan, const Model& second, const Plan& otherPlan,
                              const Batch& batch, const Progress& progress) {
    const Runner& runner = first.runner();
    const Runner& other = second.runner();
    const int layers = first.spec().layerCount();
    at::Tensor x = runner.embed(plan, batch);
    at::Tensor y = other.embed(otherPlan, batch);
    for (int layer = 0; layer < layers; ++layer) {
        progress.report(static_cast<double>(layer) / (layers + 1), fmt::format("comparing layer {}", layer));
        x = runner.runLayer(plan, layer, x, batch);
        y = other.runLayer(otherPlan, layer, y, batch);
    }
    progress.report(static_cast<double>(layers) / (layers + 1), "comparing logits");
    LogitDifference difference;
    difference.tokens = static_cast<int>(batch.tokens());
    const bool reads = first.spec().family == Family::encoder || first.has(-1, WeightName::lmHead);
    for (int row = 0; row < batch.rows; ++row) { // the logits of all rows would take much memory
        const Batch one = rowOf(batch, row);
        const at::Tensor own = x.narrow(0, row, 1);
        const at::Tensor others = y.narrow(0, row, 1);
        if (reads)
            take(difference, runner.lmHead(plan, own, one), other.lmHead(otherPlan, others, one));
        else
            take(difference, own, others);
    }
    return difference;
}

} // namespace secateur
