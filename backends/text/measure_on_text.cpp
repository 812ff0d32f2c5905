#include "backends/text/measure_on_text.h"

#include "analysis/base/text.h"
#include "analysis/model/kernels.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "backends/base/runtime.h"
#include "backends/session/mask_json.h"

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t strategyBatchTokens = 4096;
constexpr double streamShare = 0.25; ///< as a share of the free memory

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

/// Reads the chosen text. @param tokens returns the maximum number of tokens if the choice does not limit it
SequenceText chosenText(const Model& model, const MeasureChoice& choice, const std::function<std::int64_t()>& tokens,
                        const Progress& progress) {
    SequenceRequest request;
    request.path = choice.text;
    request.rules.mostTokens = choice.tokens > 0 ? choice.tokens : tokens();
    return readSequenceText(model, request, progress);
}

SequenceText interactiveText(const Model& model, const Plan& plan, const MeasureChoice& choice,
                             const Progress& progress) {
    const auto tokens = [&] { return interactiveTokens(runSpeed(model, plan, progress), model.spec()); };
    return chosenText(model, choice, tokens, progress);
}

} // namespace

Measurement measurementOf(const Model& model, const Plan& plan, const std::string& dataDigest) {
    return {model.fingerprint(),
            maskDigest(plan.mask()),
            dataDigest,
            std::string(name(plan.type())),
            model.kernels().device(),
            utcNow()};
}

std::vector<MetricResult> measureOnChoice(const Model& model, std::span<const MetricRequest> requests,
                                          const MeasureChoice& choice, const Progress& progress,
                                          const LayerSink& layerDone) {
    std::vector<std::string> warnings;
    const auto readInput = [&](const Progress& rest) {
        MeasureInput input;
        input.plan = model.runner().plan(choice.mask ? *choice.mask : PruningMask(model.spec()));
        input.text = interactiveText(model, *input.plan, choice, rest.part(0, 0));
        input.measurement = measurementOf(model, *input.plan, input.text.digest);
        input.batchTokens = 2048; // small, so that the values on screen become more precise often
        warnings = input.text.warnings;
        return input;
    };
    std::vector<MetricResult> results = measure(model, requests, readInput, progress, layerDone);
    for (MetricResult& result : results)
        if (result.request.info->needs != Needs::weights)
            result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
    return results;
}

GradientChange gradientChangeOnChoice(const Model& model, const GradientChangeRequest& request,
                                      const MeasureChoice& choice, const Progress& progress) {
    const auto plan = model.runner().plan(request.before);
    const SequenceText text = interactiveText(model, *plan, choice, progress.part(0, 0));
    return gradientChange(model, request, {.plan = *plan, .sequences = text.set.sequences, .labels = text.labels},
                          progress);
}

CalibrationText calibrationText(const SequenceText& text, std::int64_t batchTokens) {
    return {.sequences = text.set.sequences,
            .labels = text.labels,
            .batchTokens = batchTokens,
            .streamBytes = static_cast<std::int64_t>(streamShare * static_cast<double>(availableMemory())),
            .data = text.data,
            .digest = text.digest};
}

std::optional<SequenceText> readCorpus(const Model& model, const StrategyRequest& strategy, SequenceRequest like,
                                       const Progress& progress) {
    const std::string path = strategy.option("corpus");
    if (path.empty())
        return std::nullopt;
    (like.task.empty() ? like.path : like.task) = path;
    return readSequenceText(model, like, progress);
}

PruneResult pruneOnChoice(const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                          PruneInputs inputs, const Progress& progress) {
    inputs.measure = [&](const MetricRequest& metric, const Progress& part) {
        MeasureChoice dense = choice;
        dense.mask.reset();
        return std::move(measureOnChoice(model, std::array{metric}, dense, part, {}).front());
    };
    SequenceText text;
    const auto corpus = readCorpus(model, request.strategy, SequenceRequest(), progress.part(0, 0));
    if (corpus)
        inputs.corpus = calibrationText(*corpus, strategyBatchTokens);
    if (request.strategy.readsText()) {
        const Progress reading = progress.part(0, 0);
        text = chosenText(model, choice, [&] { return tokensInTime(model, request, reading); }, reading);
        inputs.text = calibrationText(text, strategyBatchTokens);
    }
    PruneResult result = prune(model, request, inputs, progress);
    result.warnings.insert(result.warnings.end(), text.warnings.begin(), text.warnings.end());
    if (corpus)
        result.warnings.insert(result.warnings.end(), corpus->warnings.begin(), corpus->warnings.end());
    return result;
}

} // namespace secateur
