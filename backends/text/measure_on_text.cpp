#include "backends/text/measure_on_text.h"

#include "analysis/model/kernels.h"
#include "analysis/metrics/measure_gradient.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "analysis/base/text.h"
#include "backends/session/mask_digest.h"

#include <utility>

namespace secateur {

namespace {

/// Some of the requests, and where they stand among all.
struct TextPart {
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

// Of the time, beside what takes longer.
constexpr double forwardShare = 0.2;
constexpr double gradientShare = 0.1;

/// Says of results on a text what they were made of.
void describe(std::vector<MetricResult>& results, const Model& model, const Plan& plan, const SequenceText& text) {
    for (MetricResult& result : results) {
        const MeasuredData counted = *result.data;
        result.data = text.data;
        result.data->tokens = counted.tokens;
        result.data->sequences = counted.sequences;
        result.measurement = measurementOf(model, plan, text.digest);
    }
}

/// Requests on a text by what they need, in the order in which they are measured.
class TextParts {
public:
    TextParts(const Model& model, const Plan& plan, const SequenceText& text, std::int64_t batchTokens,
              std::span<const MetricRequest> requests)
        : m_model(model)
        , m_plan(plan)
        , m_text(text)
        , m_batchTokens(batchTokens)
        , m_results(requests.size()) {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const Needs needs = requests[i].info->needs;
            TextPart& part = needs == Needs::ablation   ? m_ofAblation
                         : needs == Needs::gradient ? m_ofGradient
                                                    : m_ofForward;
            part.add(requests[i], i);
        }
    }

    std::vector<MetricResult> measure(const Progress& progress, const LayerSink& layerDone) {
        const double rest = m_ofAblation.requests.empty() ? 1 : gradientShare;
        const double forward = m_ofForward.requests.empty()    ? 0
                               : m_ofGradient.requests.empty() ? rest
                                                               : forwardShare * rest;
        const double gradient = m_ofGradient.requests.empty() ? forward : rest;
        const bool goesOn = run(m_ofForward, forwardMetrics(progress.part(0, forward), layerDone)) &&
                            run(m_ofGradient, gradientMetrics(progress.part(forward, gradient), layerDone)) &&
                            run(m_ofAblation, ablationMetrics(progress.part(gradient, 1), layerDone));
        dropMissing(m_results);
        if (!goesOn && m_results.empty())
            throw Cancelled();
        describe(m_results, m_model, m_plan, m_text);
        return std::move(m_results);
    }

private:
    using Measuring = std::function<std::vector<MetricResult>(const TextPart& part)>;

    /// @returns whether the next part is to follow
    bool run(const TextPart& part, const Measuring& measuring) {
        if (part.requests.empty())
            return true;
        try {
            std::vector<MetricResult> found = measuring(part);
            const bool isWhole = found.front().isWhole;
            part.put(std::move(found), m_results);
            return isWhole;
        } catch (const Cancelled&) {
            return false;
        }
    }

    Measuring forwardMetrics(const Progress& progress, const LayerSink& layerDone) const {
        return [=, this, &layerDone](const TextPart& part) {
            return measureForward(m_model, {m_plan, m_text.set.sequences, m_batchTokens}, part.requests, progress,
                                  part.tellingPlaces(layerDone));
        };
    }
    Measuring gradientMetrics(const Progress& progress, const LayerSink& layerDone) const {
        return [=, this, &layerDone](const TextPart& part) {
            return measureGradient(m_model, {m_plan, m_text.set.sequences, m_text.labels, m_batchTokens}, part.requests,
                                   progress, part.tellingPlaces(layerDone));
        };
    }
    Measuring ablationMetrics(const Progress& progress, const LayerSink& layerDone) const {
        return [=, this, &layerDone](const TextPart& part) {
            return measureAblation(m_model, {m_plan, m_text.set.sequences, m_text.labels, m_batchTokens}, part.requests,
                                   progress, part.tellingPlaces(layerDone));
        };
    }

    const Model& m_model;
    const Plan& m_plan;
    const SequenceText& m_text;
    std::int64_t m_batchTokens;
    TextPart m_ofForward;
    TextPart m_ofGradient;
    TextPart m_ofAblation;
    std::vector<MetricResult> m_results;
};

} // namespace

std::vector<MetricResult> measureOnText(const Model& model, const Plan& plan, const SequenceText& text,
                                        std::span<const MetricRequest> requests, std::int64_t batchTokens,
                                        const Progress& progress, const LayerSink& layerDone) {
    return TextParts(model, plan, text, batchTokens, requests).measure(progress, layerDone);
}

std::vector<MetricResult> ablateOnText(const Model& model, const Plan& plan, const SequenceText& text,
                                       std::span<const MetricRequest> requests, std::int64_t batchTokens,
                                       const AblationMemory& memory, const Progress& progress,
                                       const LayerSink& layerDone) {
    AblationRun run{plan, text.set.sequences, text.labels, batchTokens};
    run.memory.known = memory.known;
    if (memory.more)
        run.memory.more = [&](std::vector<MetricResult> results) {
            describe(results, model, plan, text);
            memory.more(results);
        };
    std::vector<MetricResult> results = measureAblation(model, run, requests, progress, layerDone);
    describe(results, model, plan, text);
    return results;
}

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
    TextPart ofWeights;
    TextPart ofText;
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
