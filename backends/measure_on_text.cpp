#include "backends/measure_on_text.h"

#include "analysis/kernels.h"
#include "analysis/measure_gradient.h"
#include "analysis/run_speed.h"
#include "analysis/runner.h"
#include "analysis/text.h"
#include "backends/mask_digest.h"

#include <utility>

namespace secateur {

namespace {

/// Some of the requests, and where they stand among all.
struct Part {
    std::vector<MetricRequest> requests;
    std::vector<std::size_t> places;

    void add(const MetricRequest& request, std::size_t place) {
        requests.push_back(request);
        places.push_back(place);
    }

    LayerSink tellingPlaces(const LayerSink& layerDone) const {
        if (!layerDone)
            return {};
        return [this, &layerDone](LayerCells cells) {
            cells.request = places[cells.request];
            layerDone(cells);
        };
    }

    /// @param results in the order of the requests; of a run that was stopped some may be missing
    void put(std::vector<MetricResult> results, std::vector<MetricResult>& all) const {
        std::size_t next = 0;
        for (MetricResult& result : results) {
            while (requests[next].resultId() != result.request.resultId())
                ++next;
            all[places[next++]] = std::move(result);
        }
    }
};

void dropMissing(std::vector<MetricResult>& results) {
    std::erase_if(results, [](const MetricResult& result) { return !result.request.info; });
}

constexpr double forwardShare = 0.2; ///< of the time, beside gradients

} // namespace

std::vector<MetricResult> measureOnText(const Model& model, const Plan& plan, const SequenceText& text,
                                        std::span<const MetricRequest> requests, std::int64_t batchTokens,
                                        const Progress& progress, const LayerSink& layerDone) {
    Part ofForward;
    Part ofGradient;
    for (std::size_t i = 0; i < requests.size(); ++i)
        (requests[i].info->needs == Needs::gradient ? ofGradient : ofForward).add(requests[i], i);
    std::vector<MetricResult> results(requests.size());
    const double share = ofGradient.requests.empty() ? 1 : ofForward.requests.empty() ? 0 : forwardShare;
    bool isStopped = false;
    if (!ofForward.requests.empty()) {
        auto found = measureForward(model, {plan, text.set.sequences, batchTokens}, ofForward.requests,
                                    progress.part(0, share), ofForward.tellingPlaces(layerDone));
        isStopped = !found.front().isWhole;
        ofForward.put(std::move(found), results);
    }
    if (!ofGradient.requests.empty() && !isStopped)
        try {
            ofGradient.put(measureGradient(model, {plan, text.set.sequences, text.labels, batchTokens},
                                           ofGradient.requests, progress.part(share, 1),
                                           ofGradient.tellingPlaces(layerDone)),
                           results);
        } catch (const Cancelled&) {
            if (ofForward.requests.empty())
                throw;
        }
    dropMissing(results);
    for (MetricResult& result : results) {
        const MeasuredData counted = *result.data;
        result.data = text.data;
        result.data->tokens = counted.tokens;
        result.data->sequences = counted.sequences;
        result.measurement = {model.fingerprint(),
                              maskDigest(plan.mask()),
                              text.digest,
                              std::string(name(plan.type())),
                              model.kernels().device(),
                              utcNow()};
    }
    return results;
}

std::vector<MetricResult> measureOnChoice(const Model& model, std::span<const MetricRequest> requests,
                                          const MeasureChoice& choice, const Progress& progress,
                                          const LayerSink& layerDone) {
    Part ofWeights;
    Part ofText;
    for (std::size_t i = 0; i < requests.size(); ++i)
        (requests[i].info->needs == Needs::weights ? ofWeights : ofText).add(requests[i], i);
    std::vector<MetricResult> all(requests.size());
    const double share = ofText.requests.empty() ? 1 : 0.1;
    if (!ofWeights.requests.empty())
        ofWeights.put(measure(model, ofWeights.requests, progress.part(0, share), ofWeights.tellingPlaces(layerDone)),
                      all);
    if (ofText.requests.empty())
        return all;
    const auto plan = model.runner().plan(choice.mask ? *choice.mask : PruningMask(model.spec()));
    SequenceRequest request;
    request.path = choice.text;
    request.rules.mostTokens =
        choice.tokens > 0 ? choice.tokens
                          : interactiveTokens(runSpeed(model, *plan, progress.part(share, share)), model.spec());
    const SequenceText text = readSequenceText(model, request, progress.part(share, share));
    constexpr std::int64_t batchTokens = 2048; // values sharpen while one looks on
    ofText.put(measureOnText(model, *plan, text, ofText.requests, batchTokens, progress.part(share, 1),
                             ofText.tellingPlaces(layerDone)),
               all);
    for (const std::size_t place : ofText.places)
        all[place].warnings.insert(all[place].warnings.end(), text.warnings.begin(), text.warnings.end());
    dropMissing(all);
    return all;
}

GradientChange gradientChangeOnChoice(const Model& model, const GradientChangeRequest& request,
                                      const MeasureChoice& choice, const Progress& progress) {
    const auto plan = model.runner().plan(request.before);
    SequenceRequest asked;
    asked.path = choice.text;
    asked.rules.mostTokens = choice.tokens > 0
                                 ? choice.tokens
                                 : interactiveTokens(runSpeed(model, *plan, progress.part(0, 0)), model.spec());
    const SequenceText text = readSequenceText(model, asked, progress.part(0, 0));
    return gradientChange(model, request, {.plan = *plan, .sequences = text.set.sequences, .labels = text.labels},
                          progress);
}

} // namespace secateur
