#include "analysis/base/error.h"
#include "analysis/campaigns/sweep_wire.h"
#include "analysis/campaigns/text_parts.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/masks/mask_wire.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/strategies/gradient_change.h"
#include "backends/export/export_targets.h"
#include "backends/remote/remote_jobs.h"
#include "backends/remote/search_parts.h"
#include "backends/session/mask_json.h"
#include "backends/text/sequence_text.h"
#include "backends/text/task_file.h"

#include <algorithm>
#include <array>

namespace secateur {

namespace {

void checkRequests(std::span<const MetricRequest> requests) {
    for (const MetricRequest& request : requests)
        if (!request.info)
            throw Error("A message asks for no metric");
}

std::vector<MetricResult> measuredJob(JobSide& side, const JobControl& control,
                                      const std::vector<MetricRequest>& requests, const MeasureChoice& choice) {
    checkRequests(requests);
    const auto layerDone = [&](const LayerCells& cells) {
        control.part(wireBytes(CellsPart{cells.request,
                                         cells.layer,
                                         {cells.values.begin(), cells.values.end()},
                                         {cells.standardErrors.begin(), cells.standardErrors.end()}}));
    };
    return side.services().measure(side.model(), requests, choice, control.progress, layerDone);
}

std::vector<MetricResult> forwardJob(JobSide& side, const JobControl& control, const FarPlan& plan,
                                     const std::vector<TokenSequence>& sequences, std::int64_t batchTokens,
                                     const std::vector<MetricRequest>& requests) {
    checkRequests(requests);
    const auto own = side.plan(plan);
    return measureForward(side.model(), {.plan = *own, .sequences = sequences, .batchTokens = batchTokens}, requests,
                          control.progress);
}

std::vector<MetricResult> gradientJob(JobSide& side, const JobControl& control, const FarPlan& plan,
                                      const std::vector<TokenSequence>& sequences, const std::vector<int>& labels,
                                      std::int64_t batchTokens, const std::vector<MetricRequest>& requests) {
    checkRequests(requests);
    const auto own = side.plan(plan);
    return measureGradient(side.model(),
                           {.plan = *own, .sequences = sequences, .labels = labels, .batchTokens = batchTokens},
                           requests, control.progress);
}

PruneResult prunedJob(JobSide& side, const JobControl& control, const PruneRequest& request,
                      const MeasureChoice& choice, const std::vector<StepPrice>& known) {
    const PruneWatch watch{.made =
                               [&](const PruneStep& step) {
                                   control.part(wireBytes(PrunePart{step, {}}));
                               },
                           .isEnough = control.isEnough,
                           .priced =
                               [&](std::span<const StepPrice> prices) {
                                   control.part(wireBytes(PrunePart{std::nullopt, {prices.begin(), prices.end()}}));
                               },
                           .known = known};
    return side.services().prune(side.model(), request, choice, watch, control.progress);
}

FittedMask fittedJob(JobSide& side, const JobControl& control, const PruningMask& mask, CompensationMode mode,
                     const std::vector<TokenSequence>& sequences, std::int64_t batchTokens, ComputeType type) {
    return fitCompensation(side.model(), mask, mode, {sequences, batchTokens, type}, control.progress);
}

GradientChange changedJob(JobSide& side, const JobControl& control, const GradientChangeRequest& request,
                          const MeasureChoice& choice) {
    return side.services().gradientChange(side.model(), request, choice, control.progress);
}

const ExportTarget& targetOf(JobSide& side, const std::string& id) {
    const auto targets = side.services().exportTargets;
    const auto found = std::ranges::find(targets, id, &ExportTarget::id);
    if (found == targets.end())
        throw Error("A message names an unknown target of exports");
    return *found;
}

ExportSize sizeOfExportJob(JobSide& side, const JobControl& /*control*/, FarExport& wanted) {
    wanted.request.path = expanded(wanted.request.path);
    return side.services().exportSize(side.model(), targetOf(side, wanted.target), wanted.request);
}

ExportResult exportedJob(JobSide& side, const JobControl& control, FarExport& wanted) {
    wanted.request.path = expanded(wanted.request.path);
    return side.services().exportModel(side.model(), targetOf(side, wanted.target), wanted.request, control.progress);
}

/// The inputs of a sweep with the functions that belong to the server.
SweepInputs inputsOf(JobSide& side, FarSweepInputs& read) {
    SweepInputs inputs;
    inputs.calibration = std::move(read.calibration);
    inputs.scored = std::move(read.scored);
    inputs.pooled = std::move(read.pooled);
    inputs.tasks = std::move(read.tasks);
    inputs.latency = std::move(read.latency);
    inputs.scoresCalibrationText = read.scoresCalibrationText;
    inputs.type = read.type;
    inputs.batchTokens = read.batchTokens;
    inputs.warnings = std::move(read.warnings);
    constexpr int share = 4;
    inputs.streamBytes = side.services().availableMemory() / share;
    inputs.maskDigest = side.services().maskDigest;
    inputs.taskDigest = [](const AskedTask& asked) { return dataDigest(asked); };
    inputs.textDigest = [](const SequenceText& text) { return dataDigest(text.set, text.labels); };
    inputs.extend = [&side](const PruneRequest& prune, PruneInputs& added) {
        added.fileBytes = fileBytesOf(side.model(), prune.strategy);
    };
    for (AskedTask& asked : inputs.tasks)
        asked.judge = answerJudge(asked.task, asked.path);
    if (inputs.latency)
        inputs.latency->clock = steadyClock();
    if (!inputs.tasks.empty())
        inputs.tokenizer = side.services().openTokenizer(side.model());
    return inputs;
}

Curves sweptJob(JobSide& side, const JobControl& control, const SweepRequest& request, FarSweepInputs& read,
                const FarSweepKnown& known) {
    const SweepInputs inputs = inputsOf(side, read);
    const auto keep = [&](const SweepNews& news) { control.part(wireBytes(news)); };
    const SweepKnown before = known.view();
    const SweepPlan plan = planSweep(side.model(), request, inputs, before);
    const SweepCost cost = costOf(side.model(), request, inputs, plan, control.progress.part(0, 0));
    return runSweep(side.model(), request, inputs, before, plan, cost, keep, control.progress);
}

void chosenOnPartsJob(JobSide& side, const JobControl& control, const SweepRequest& request, FarSweepInputs& read,
                      const FarSweepKnown& known, int parts) {
    const SweepInputs inputs = inputsOf(side, read);
    const auto keep = [&](const SweepNews& news) { control.part(wireBytes(news)); };
    chooseOnParts(side.model(), request, inputs, known.view(), parts, keep, control.progress);
}

constexpr std::array searchRows{
    JobOf<measuredJob>::row("measure", "Measures metrics on a text. Parts: the values of a layer."),
    JobOf<forwardJob>::row("measure_forward", "Metrics from a forward pass over given sequences."),
    JobOf<gradientJob>::row("measure_gradient", "Metrics from gradients on given sequences."),
    JobOf<prunedJob>::row("prune", "Runs a strategy. Parts: steps, and prices of steps."),
    JobOf<fittedJob>::row("fit_compensation", "Fits a compensation to a mask on given sequences."),
    JobOf<changedJob>::row("gradient_change", "How a cut changes the gradients."),
    JobOf<sizeOfExportJob>::row("export_size", "The size of an export."),
    JobOf<exportedJob>::row("export", "Writes an export on the server."),
    JobOf<sweptJob>::row("sweep", "Runs a sweep. Parts: points."),
    JobOf<chosenOnPartsJob>::row("choose_on_parts", "Chooses masks on parts of a text. Parts: points."),
};

} // namespace

std::span<const RemoteJob> searchJobs() {
    return searchRows;
}

} // namespace secateur
