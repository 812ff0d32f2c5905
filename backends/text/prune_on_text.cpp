#include "backends/text/prune_on_text.h"

#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/greedy_gnorm.h"
#include "backends/base/runtime.h"
#include "backends/text/measure_on_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

constexpr double streamShare = 0.25; ///< of the free memory

std::int64_t tokensInTime(const Model& model, const PruneRequest& request, const Progress& progress) {
    constexpr double seconds = 300;
    constexpr std::int64_t least = 512;
    constexpr std::int64_t most = 8192;
    const ModelSpec& spec = model.spec();
    const PruningMask dense(spec);
    const RunSpeed speed = runSpeed(model, *model.runner().plan(dense), progress);
    constexpr int positions = 128;
    const double secondsPerToken =
        runSeconds(speed, spec, dense, {most, positions, most}) / most * calibrationPasses(spec, request);
    const auto tokens = secondsPerToken * most > seconds ? static_cast<std::int64_t>(seconds / secondsPerToken) : most;
    return std::max(least, tokens);
}

} // namespace

CalibrationText calibrationText(const SequenceText& text, std::int64_t batchTokens) {
    return {.sequences = text.set.sequences,
            .labels = text.labels,
            .batchTokens = batchTokens,
            .streamBytes = static_cast<std::int64_t>(streamShare * static_cast<double>(availableMemory())),
            .data = text.data};
}

PruneResult pruneOnChoice(const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                          const Progress& progress) {
    PruneInputs inputs;
    inputs.measure = [&](const MetricRequest& metric, const Progress& part) {
        MeasureChoice dense = choice;
        dense.mask.reset();
        return std::move(measureOnChoice(model, std::array{metric}, dense, part, {}).front());
    };
    SequenceText text;
    if (request.strategy.info->steps) {
        SequenceRequest wanted;
        wanted.path = choice.text;
        wanted.rules.mostTokens = choice.tokens > 0 ? choice.tokens : tokensInTime(model, request, progress.part(0, 0));
        text = readSequenceText(model, wanted, progress.part(0, 0));
        constexpr std::int64_t batchTokens = 4096;
        inputs.text = calibrationText(text, batchTokens);
    }
    PruneResult result = prune(model, request, inputs, progress);
    result.warnings.insert(result.warnings.end(), text.warnings.begin(), text.warnings.end());
    return result;
}

} // namespace secateur
