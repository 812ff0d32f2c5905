#include "analysis/campaigns/text_parts.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/campaigns/sweep_wire.h"
#include "analysis/model/far_model.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// @param part from 1
SequenceText partOfText(const SweepInputs& inputs, int part, int parts) {
    const SequenceText& whole = inputs.calibration;
    const std::size_t all = whole.set.sequences.size();
    const std::size_t begin = all * static_cast<std::size_t>(part - 1) / static_cast<std::size_t>(parts);
    const std::size_t end = all * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts);
    SequenceText text{.set = {}, .labels = {}, .data = whole.data, .digest = {}, .warnings = {}};
    for (std::size_t i = begin; i < end; ++i) {
        text.set.sequences.push_back(whole.set.sequences[i]);
        text.set.tokens += std::ssize(whole.set.sequences[i].ids);
        if (!whole.labels.empty())
            text.labels.push_back(whole.labels[i]);
    }
    text.data.sequences = std::ssize(text.set.sequences);
    text.data.tokens = text.data.allTokens = text.set.tokens;
    text.data.part = part;
    text.data.parts = parts;
    text.digest = inputs.textDigest(text);
    return text;
}

/// Inputs with another calibration text and nothing to score.
SweepInputs unscored(const SweepInputs& inputs, SequenceText calibration) {
    SweepInputs own;
    own.calibration = std::move(calibration);
    own.type = inputs.type;
    own.batchTokens = inputs.batchTokens;
    own.streamBytes = inputs.streamBytes;
    own.maskDigest = inputs.maskDigest;
    own.taskDigest = inputs.taskDigest;
    own.textDigest = inputs.textDigest;
    own.ranks = inputs.ranks;
    return own;
}

/// A sweep on one part.
struct PartSweep {
    SweepInputs inputs;
    SweepPlan plan;
};

/// Only the strategies whose masks depend on the text.
SweepRequest choosingRequest(const SweepRequest& request) {
    SweepRequest own = request;
    std::erase_if(own.series, [](const SweepSeries& series) { return !isCalibrated(series.strategy); });
    own.choosesOnly = true;
    return own;
}

std::vector<PartSweep> partSweeps(const Model& model, const SweepRequest& own, const SweepInputs& inputs,
                                  const SweepKnown& known, int parts) {
    if (std::ssize(inputs.calibration.set.sequences) < parts)
        throw UsageError(fmt::format("the calibration text has {}, fewer than {} parts",
                                     counted(inputs.calibration.set.sequences.size(), "sequence"), parts),
                         "--stability", "Read more tokens (--max-tokens), or shorter sequences (--seq-len)");
    std::vector<PartSweep> sweeps;
    for (int part = 1; part <= parts && !own.series.empty(); ++part) {
        SweepInputs read = unscored(inputs, partOfText(inputs, part, parts));
        SweepPlan plan = planSweep(model, own, read, known);
        if (!plan.isDone())
            sweeps.push_back({std::move(read), std::move(plan)});
    }
    return sweeps;
}

} // namespace

SweepCost costOnParts(const Model& model, const SweepRequest& request, const SweepInputs& inputs,
                      const SweepKnown& known, int parts, const Progress& progress) {
    const SweepRequest own = choosingRequest(request);
    const std::vector<PartSweep> sweeps = partSweeps(model, own, inputs, known, parts);
    if (sweeps.empty())
        return {};
    // The parts are alike, so that one of them is timed.
    SweepCost cost = costOf(model, own, sweeps.front().inputs, sweeps.front().plan, progress);
    cost.choosingPasses = 0; // passes over a part are no passes over the text
    cost.choosingSeconds *= static_cast<double>(sweeps.size());
    return cost;
}

void chooseOnParts(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                   int parts, const SweepSink& sink, const Progress& progress) {
    if (const FarModel* far = farModel(model))
        return farChoiceOnParts(*far, request, inputs, known, parts, sink, progress);
    const SweepRequest own = choosingRequest(request);
    const std::vector<PartSweep> sweeps = partSweeps(model, own, inputs, known, parts);
    const auto count = static_cast<double>(sweeps.size());
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
        const auto done = static_cast<double>(i);
        const int part = sweeps[i].inputs.calibration.data.part;
        const Progress step = progress.part(done / count, (done + 1) / count)
                                  .named(fmt::format("part {} of {} of the text", part, parts));
        runSweep(model, own, sweeps[i].inputs, known, sweeps[i].plan, {}, sink, step);
    }
}

} // namespace secateur
