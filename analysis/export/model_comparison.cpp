#include "analysis/export/model_comparison.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace secateur {

namespace {

/// A row of a batch as a batch without padding.
Batch rowOf(const Batch& batch, int row) {
    const auto begin = batch.ids.begin() + std::int64_t{row} * batch.positions;
    return {1, batch.positions, {begin, begin + batch.positions}, {}, {}, {}};
}

/// The logits of one row. Those of all rows at once would take much memory.
at::Tensor rowLogits(const Model& model, const Plan& plan, const at::Tensor& x, const Batch& batch, int row) {
    return model.runner().lmHead(plan, x.narrow(0, row, 1), rowOf(batch, row));
}

void take(LogitDifference& difference, const at::Tensor& expected, const at::Tensor& found) {
    const double most = (expected - found).abs().max().item<double>();
    difference.most = std::max(difference.most, std::isnan(most) ? std::numeric_limits<double>::infinity() : most);
    difference.scale = std::max(difference.scale, expected.abs().max().item<double>());
}

/// Whether residual streams differ by more than the order of sums explains.
bool differ(const at::Tensor& expected, const at::Tensor& found) {
    constexpr double tolerance = 1e-3;
    return !((expected - found).abs().max().item<double>() <= tolerance * expected.abs().max().item<double>());
}

/// The largest ratio of errors to scales of the same shape; of 0 and 0 it is 0. Infinite if an error is NaN.
double largestRatio(const at::Tensor& errors, const at::Tensor& scales) {
    const double most = (errors / scales.clamp_min(std::numeric_limits<float>::min())).max().item<double>();
    return std::isnan(most) ? std::numeric_limits<double>::infinity() : most;
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

RecordedRun recordRun(const Model& model, const Plan& plan, const Batch& batch, const Progress& progress) {
    const Runner& runner = model.runner();
    const int count = model.spec().layerCount();
    RecordedRun run;
    run.streams.push_back(runner.embed(plan, batch));
    for (int layer = 0; layer < count; ++layer) {
        progress.report(static_cast<double>(layer) / (count + 1), fmt::format("running layer {}", layer));
        run.streams.push_back(runner.runLayer(plan, layer, run.streams.back(), batch));
    }
    progress.report(static_cast<double>(count) / (count + 1), "computing logits");
    if (model.spec().family != Family::encoder && !model.has(-1, WeightName::lmHead))
        return run;
    for (int row = 0; row < batch.rows; ++row)
        run.logits.push_back(rowLogits(model, plan, run.streams.back(), batch, row));
    return run;
}

StepDifference stepDifference(const RecordedRun& first, const Model& second, const Plan& plan,
                              std::span<const int> layers, const Batch& batch) {
    StepDifference most;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const at::Tensor& input = first.streams[static_cast<std::size_t>(layers[i])];
        const at::Tensor& expected = first.streams[static_cast<std::size_t>(layers[i]) + 1];
        const at::Tensor found = second.runner().runLayer(plan, static_cast<int>(i), input.clone(), batch);
        const at::Tensor update = (expected - input).abs();
        const at::Tensor error = (expected - found).abs();
        most.layer = std::max(most.layer, largestRatio(error.max(), update.max()));
        most.position = std::max(most.position, largestRatio(error.amax(-1), update.amax(-1)));
    }
    for (int row = 0; row < std::ssize(first.logits); ++row) {
        const at::Tensor& expected = first.logits[static_cast<std::size_t>(row)];
        const at::Tensor error = (expected - rowLogits(second, plan, first.streams.back(), batch, row)).abs();
        most.position = std::max(most.position, largestRatio(error.amax(-1), expected.abs().amax(-1)));
    }
    return most;
}

LogitDifference compareLogits(const RecordedRun& first, const Model& second, const Plan& plan,
                              std::span<const int> layers, const Batch& batch, const Progress& progress) {
    LogitDifference difference;
    difference.tokens = static_cast<int>(batch.tokens());
    at::Tensor x = second.runner().embed(plan, batch);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        progress.report(static_cast<double>(layer) / static_cast<double>(layers.size() + 1),
                        fmt::format("comparing layer {}", layer));
        x = second.runner().runLayer(plan, static_cast<int>(layer), x, batch);
        const at::Tensor& expected = first.streams[static_cast<std::size_t>(layers[layer]) + 1];
        if (difference.layer < 0 && differ(expected, x))
            difference.layer = static_cast<int>(layer);
    }
    progress.report(static_cast<double>(layers.size()) / static_cast<double>(layers.size() + 1), "comparing logits");
    if (first.logits.empty())
        take(difference, first.streams.back(), x);
    for (int row = 0; row < std::ssize(first.logits); ++row)
        take(difference, first.logits[static_cast<std::size_t>(row)], rowLogits(second, plan, x, batch, row));
    return difference;
}

} // namespace secateur
