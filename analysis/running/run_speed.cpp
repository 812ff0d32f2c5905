#include "analysis/running/run_speed.h"

#include "analysis/masks/price.h"
#include "analysis/running/far_plan.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace secateur {

namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

/// A batch of one sequence, whose tokens are spread over the whole vocabulary.
Batch syntheticBatch(const ModelSpec& spec, int positions) {
    Batch batch{1, positions, {}, {}, {}, {}};
    constexpr std::int64_t stride = 7919;
    for (std::int64_t i = 1; i <= positions; ++i)
        batch.ids.push_back(static_cast<int>(i * stride % spec.vocab));
    return batch;
}

int positionsToTime(const ModelSpec& spec) {
    constexpr int enough = 512;
    return spec.context > 0 ? std::min(enough, spec.context) : enough;
}

/// The layer with the most operations. It is the one to time, because pruned models may have layers without operations.
int heaviestLayer(const ModelSpec& spec, int positions) {
    const PruningMask dense(spec);
    int heaviest = 0;
    double most = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const double operations = layerOperations(spec, layer, dense.layer(layer), positions);
        if (operations > most)
            heaviest = layer;
        most = std::max(most, operations);
    }
    return heaviest;
}

/// Runs a layer and waits for the device by reading one value of the output.
at::Tensor ran(const Runner& runner, const Plan& plan, int layer, const at::Tensor& x, const Batch& batch) {
    const at::Tensor output = runner.runLayer(plan, layer, x, batch);
    if (output.numel() > 0 && !output.is_cpu())
        output.flatten()[0].item<float>();
    return output;
}

/// RunSpeed::processorShare since a time of the processor's clock.
double processorShare(std::clock_t begin, double seconds) {
    const double used = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const double all = seconds * at::get_num_threads();
    return all > 0 ? std::clamp(used / all, 0.0, 1.0) : 1;
}

/// Time of the first run of another layer, whose weights are not converted yet.
double coldSeconds(const Runner& runner, const Plan& plan, int timed, const at::Tensor& x, const Batch& batch) {
    const int layers = plan.mask().layerCount();
    const auto begin = SteadyClock::now();
    ran(runner, plan, (timed + 1) % layers, x, batch);
    return since(begin);
}

} // namespace

RunSpeed runSpeed(const Model& model, const Plan& plan, const Progress& progress) {
    if (const FarModel* far = farModel(model))
        return far->result<RunSpeed>("run_speed", progress, farPlan(plan));
    constexpr double enoughSeconds = 0.2;
    constexpr int mostPasses = 6;
    const ModelSpec& spec = model.spec();
    const Runner& runner = model.runner();
    const Batch batch = syntheticBatch(spec, positionsToTime(spec));
    const int layer = heaviestLayer(spec, batch.positions);
    const at::Tensor x = runner.embed(plan, batch);
    const bool hasLmHead = model.has(-1, WeightName::lmHead);
    double first = 0;
    double best = 0;
    double bestHead = 0;
    const std::clock_t startProcessor = std::clock();
    const auto start = SteadyClock::now();
    for (int pass = 0; pass < 2 || (pass < mostPasses && since(start) < enoughSeconds); ++pass) {
        progress.report(0, "timing a layer");
        auto begin = SteadyClock::now();
        ran(runner, plan, layer, x, batch);
        const double seconds = since(begin);
        begin = SteadyClock::now();
        if (hasLmHead)
            runner.losses(plan, x, batch, batch.ids);
        const double head = hasLmHead ? since(begin) : 0;
        if (pass == 0)
            first = seconds;
        best = pass < 2 ? seconds : std::min(best, seconds);
        bestHead = pass < 2 ? head : std::min(bestHead, head);
    }
    const double share = processorShare(startProcessor, since(start));
    const PruningMask dense(spec);
    const double operations = layerOperations(spec, layer, dense.layer(layer), batch.positions) * batch.positions;
    RunSpeed speed;
    speed.secondsPerOperation = operations > 0 ? best / operations : 0;
    speed.lmHeadSeconds = bestHead / batch.positions;
    speed.processorShare = share;
    // The smaller of two measurements of loading a layer, because the first run has costs that occur only once.
    speed.loadingSeconds =
        std::max(0.0, std::min(first - best, coldSeconds(runner, plan, layer, x, batch) - best)) * spec.layerCount();
    return speed;
}

RunSize sizeOf(const ScoredText& text) {
    RunSize size = sizeOf(text.windows);
    for (std::size_t i = 0; i < text.windows.sequences.size(); ++i)
        size.read += std::ssize(text.windows.sequences[i].ids) - static_cast<std::int64_t>(text.firstScored[i]);
    return size;
}

RunSize sizeOf(const SequenceSet& set) {
    RunSize size{set.tokens, 1, 0};
    for (const TokenSequence& sequence : set.sequences)
        size.positions = std::max(size.positions, static_cast<int>(sequence.ids.size()));
    return size;
}

double runSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const RunSize& size) {
    mask.checkFits(spec);
    double operations = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        operations += layerOperations(spec, layer, mask.layer(layer), size.positions);
    return operations * static_cast<double>(size.tokens) * speed.secondsPerOperation +
           static_cast<double>(size.read) * speed.lmHeadSeconds;
}

double loadingSeconds(const RunSpeed& speed, const Plan& plan, bool isDenseLoaded) {
    const PruningMask& mask = plan.mask();
    int layers = 0;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        layers += isDenseLoaded && plan.isResident() && mask.layer(layer).keepsAll() ? 0 : 1;
    return speed.loadingSeconds * layers / std::max(1, mask.layerCount());
}

double stepSeconds(const Model& model, const Plan& plan, const Progress& progress) {
    if (const FarModel* far = farModel(model))
        return far->result<double>("step_seconds", progress, farPlan(plan));
    const Runner& runner = model.runner();
    const Batch batch = syntheticBatch(model.spec(), 1);
    double seconds = 0;
    if (!model.has(-1, WeightName::lmHead))
        return seconds;
    for (int pass = 0; pass < (plan.isResident() ? 2 : 1); ++pass) {
        const auto begin = SteadyClock::now();
        at::Tensor x = runner.embed(plan, batch);
        for (int layer = 0; layer < model.spec().layerCount(); ++layer) {
            progress.report(0, "timing a token");
            x = runner.runLayer(plan, layer, x, batch);
        }
        runner.losses(plan, x, batch, batch.ids);
        seconds = since(begin);
    }
    return seconds;
}

std::int64_t interactiveTokens(const RunSpeed& speed, const ModelSpec& spec) {
    constexpr double mostSeconds = 180;
    constexpr std::int64_t least = 512;
    constexpr std::int64_t most = 8192;
    const int positions = positionsToTime(spec);
    const double secondsPerToken =
        speed.processorShare * runSeconds(speed, spec, PruningMask(spec), {most, positions, most}) / most;
    std::int64_t tokens = most;
    while (tokens > least && secondsPerToken * static_cast<double>(tokens) > mostSeconds)
        tokens /= 2;
    return tokens;
}

} // namespace secateur
