#include "backends/text/prune_on_text.h"

#include "analysis/running/runner.h"
#include "analysis/strategies/greedy_gnorm.h"
#include "backends/base/runtime.h"

#include <algorithm>

namespace secateur {

namespace {

constexpr double passesOfStep = 3.5; ///< about half of the way up, and the way down
constexpr double streamShare = 0.25; ///< of the memory that is free

std::int64_t tokensInTime(const Model& model, const PruneRequest& request, const Progress& progress) {
    constexpr double seconds = 300;
    constexpr std::int64_t least = 512;
    constexpr std::int64_t most = 8192;
    const ModelSpec& spec = model.spec();
    const PruningMask dense(spec);
    const RunSpeed speed = runSpeed(model, *model.runner().plan(dense), progress);
    constexpr int positions = 128;
    const double ofToken = runSeconds(speed, spec, dense, {most, positions, most}) / most * greedyPasses(spec, request);
    const auto tokens = ofToken * most > seconds ? static_cast<std::int64_t>(seconds / ofToken) : most;
    return std::max(least, tokens);
}

} // namespace

double greedyPasses(const ModelSpec& spec, const PruneRequest& request) {
    return passesOfStep * static_cast<double>(greedySteps(spec, request));
}

PruneResult pruneOnText(const Model& model, const PruneRequest& request, const SequenceText& text,
                        std::int64_t batchTokens, const Progress& progress) {
    GreedyRun run{text.set.sequences, text.labels, batchTokens};
    run.streamBytes = static_cast<std::int64_t>(streamShare * static_cast<double>(availableMemory()));
    PruneResult result = pruneGreedily(model, request, run, progress);
    result.data = text.data;
    result.warnings.insert(result.warnings.end(), text.warnings.begin(), text.warnings.end());
    return result;
}

PruneResult pruneOnChoice(const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                          const Progress& progress) {
    SequenceRequest text;
    text.path = choice.text;
    text.rules.mostTokens = choice.tokens > 0 ? choice.tokens : tokensInTime(model, request, progress.part(0, 0));
    constexpr std::int64_t batchTokens = 4096;
    return pruneOnText(model, request, readSequenceText(model, text, progress.part(0, 0)), batchTokens, progress);
}

} // namespace secateur
