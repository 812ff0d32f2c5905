#include "analysis/campaigns/sweep_wire.h"

#include "analysis/base/error.h"
#include "analysis/model/far_model.h"

#include <utility>

namespace secateur {

namespace {

FarSweepInputs readInputs(const FarModel& model, const SweepInputs& inputs) {
    if (inputs.recovery)
        throw Error("lies on a server, where no training runs yet", model.card().path,
                    "Sweep without recovery, or with secateur-cli on the server");
    if (inputs.ranks.cluster)
        throw Error("Several processes cannot share a model on a server");
    return {.calibration = inputs.calibration,
            .scored = inputs.scored,
            .pooled = inputs.pooled,
            .tasks = inputs.tasks,
            .latency = inputs.latency,
            .scoresCalibrationText = inputs.scoresCalibrationText,
            .type = inputs.type,
            .batchTokens = inputs.batchTokens,
            .warnings = inputs.warnings};
}

FarSweepKnown valuesOf(const SweepKnown& known) {
    FarSweepKnown values{{known.curves.begin(), known.curves.end()},
                         {known.results.begin(), known.results.end()},
                         {known.evaluations.begin(), known.evaluations.end()},
                         {}};
    for (const std::string& digest : masksOfCurves(values.curves))
        if (const PruningMask* mask = known.mask ? known.mask(digest) : nullptr)
            values.masks.emplace(digest, *mask);
    return values;
}

void keep(FarSweepKnown& known, const SweepNews& news) {
    for (const MetricResult& result : news.results)
        known.results.push_back(result);
    for (const ChosenMask& mask : news.masks)
        known.masks.insert_or_assign(mask.digest, mask.record.mask);
    for (const Evaluation& evaluation : news.evaluations)
        known.evaluations.push_back(evaluation);
    if (news.curves)
        add(known.curves, *news.curves);
}

/// Runs a job whose parts are news. @param more further arguments
template <typename... More>
std::string sweptThere(const FarModel& model, std::string_view job, const SweepRequest& request,
                       const SweepInputs& inputs, const SweepKnown& known, const SweepSink& sink,
                       const Progress& progress, const More&... more) {
    const FarSweepInputs read = readInputs(model, inputs);
    FarSweepKnown found = valuesOf(known);
    const auto part = [&](std::string_view bytes) {
        const auto news = fromWire<SweepNews>(bytes, &model.spec());
        for (const MetricResult& result : news.results)
            checkShape(result, model.spec());
        keep(found, news);
        sink(news);
    };
    return model.call({.job = job, .arguments = [&] { return wireBytes(request, read, found, more...); }, .part = part},
                      progress);
}

} // namespace

SweepKnown FarSweepKnown::view() const {
    return {.curves = curves, .results = results, .evaluations = evaluations, .mask = [this](std::string_view digest) {
                const auto found = masks.find(std::string(digest));
                return found == masks.end() ? nullptr : &found->second;
            }};
}

Curves farSweep(const FarModel& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                const SweepSink& sink, const Progress& progress) {
    return fromWire<Curves>(sweptThere(model, "sweep", request, inputs, known, sink, progress), &model.spec());
}

void farChoiceOnParts(const FarModel& model, const SweepRequest& request, const SweepInputs& inputs,
                      const SweepKnown& known, int parts, const SweepSink& sink, const Progress& progress) {
    sweptThere(model, "choose_on_parts", request, inputs, known, sink, progress, parts);
}

} // namespace secateur
