#include "analysis/metrics/measure.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/metrics/ablation.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/model/kernels.h"

#include <array>
#include <utility>

namespace secateur {

namespace {

// Shares of the progress for a faster stage if slower stages follow.
constexpr double weightShare = 0.05;
constexpr double forwardTimeShare = 0.2;
constexpr double gradientShare = 0.1;

/// The requests of one stage, and their indices among all requests.
struct MeasuringStage {
    std::vector<MetricRequest> requests = {};
    std::vector<std::size_t> places = {};

    bool isEmpty() const { return requests.empty(); }

    LayerSink tellingPlaces(const LayerSink& layerDone) const {
        if (!layerDone)
            return {};
        return [this, &layerDone](LayerCells cells) {
            cells.request = places[cells.request];
            layerDone(cells);
        };
    }

    /// Puts the stage's results into the places of their requests.
    /// @param found in the order of the requests; after a stopped run some are missing
    void put(std::vector<MetricResult> found, std::vector<MetricResult>& all) const {
        std::size_t next = 0;
        for (MetricResult& result : found) {
            while (requests[next].resultId() != result.request.resultId())
                ++next;
            all[places[next++]] = std::move(result);
        }
    }
};

/// Runs the stages one after another.
class Measuring {
public:
    Measuring(const Model& model, std::span<const MetricRequest> requests, const LayerSink& layerDone)
        : m_model(model)
        , m_layerDone(layerDone)
        , m_results(requests.size()) {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const MetricInfo& info = *requests[i].info;
            if (std::holds_alternative<std::monostate>(info.computation))
                throw Error("is a metric that this version cannot compute", std::string(info.id));
            MeasuringStage& stage = m_stages[static_cast<std::size_t>(info.needs)];
            stage.requests.push_back(requests[i]);
            stage.places.push_back(i);
        }
    }

    std::vector<MetricResult> measure(const MeasureInputReader& readInput, const Progress& progress) {
        const bool runsModel =
            !stage(Needs::forward).isEmpty() || !stage(Needs::gradient).isEmpty() || !stage(Needs::ablation).isEmpty();
        const MeasuringStage& ofWeights = stage(Needs::weights);
        const double share = !runsModel ? 1 : ofWeights.isEmpty() ? 0 : weightShare;
        if (!ofWeights.isEmpty())
            measureWeightStage(progress.part(0, share));
        if (runsModel) {
            const Progress rest = progress.part(share, 1);
            const MeasureInput input = readInput(rest);
            measureOn(input, input.progress.value_or(rest));
        }
        std::erase_if(m_results, [](const MetricResult& result) { return !result.request.info; });
        return std::move(m_results);
    }

private:
    const MeasuringStage& stage(Needs needs) const { return m_stages[static_cast<std::size_t>(needs)]; }

    void measureWeightStage(const Progress& progress) {
        const MeasuringStage& own = stage(Needs::weights);
        std::vector<MetricResult> found =
            measureWeights(m_model, own.requests, progress, own.tellingPlaces(m_layerDone));
        for (MetricResult& result : found) {
            result.measurement.fingerprint = m_model.fingerprint();
            result.measurement.device = m_model.kernels().device();
            result.measurement.created = utcNow();
        }
        own.put(std::move(found), m_results);
    }

    void measureOn(const MeasureInput& input, const Progress& progress) {
        const double rest = stage(Needs::ablation).isEmpty() ? 1 : gradientShare;
        const double forward = stage(Needs::forward).isEmpty()    ? 0
                               : stage(Needs::gradient).isEmpty() ? rest
                                                                  : forwardTimeShare * rest;
        const double gradient = stage(Needs::gradient).isEmpty() ? forward : rest;
        const std::span<const TokenSequence> sequences = input.text.set.sequences;
        const auto forwardPass = [&](const MeasuringStage& own, const Progress& part) {
            return measureForward(m_model, {*input.plan, sequences, input.batchTokens, input.cluster}, own.requests,
                                  part, own.tellingPlaces(m_layerDone));
        };
        const auto gradientPasses = [&](const MeasuringStage& own, const Progress& part) {
            GradientRun run{*input.plan, sequences, input.text.labels, input.batchTokens};
            run.cluster = input.cluster;
            return measureGradient(m_model, run, own.requests, part, own.tellingPlaces(m_layerDone));
        };
        const auto ablation = [&](const MeasuringStage& own, const Progress& part) {
            AblationRun run{*input.plan, sequences, input.text.labels, input.batchTokens};
            run.cluster = input.cluster;
            run.memory.known = input.memory.known;
            if (input.memory.more)
                run.memory.more = [&](std::vector<MetricResult> results) {
                    describe(results, input);
                    input.memory.more(results);
                };
            return measureAblation(m_model, run, own.requests, part, own.tellingPlaces(m_layerDone));
        };
        const bool isWhole = run(Needs::forward, input, progress.part(0, forward), forwardPass) &&
                             run(Needs::gradient, input, progress.part(forward, gradient), gradientPasses) &&
                             run(Needs::ablation, input, progress.part(gradient, 1), ablation);
        if (!isWhole && !m_hasTextResults)
            throw Cancelled();
    }

    /// Runs a stage, if it has requests. @returns whether the next stage should run
    template <typename Stage>
    bool run(Needs needs, const MeasureInput& input, const Progress& progress, const Stage& measureStage) {
        const MeasuringStage& own = stage(needs);
        if (own.isEmpty())
            return true;
        try {
            std::vector<MetricResult> found = measureStage(own, progress);
            const bool isWhole = found.front().isWhole;
            describe(found, input);
            own.put(std::move(found), m_results);
            m_hasTextResults = true;
            return isWhole;
        } catch (const Cancelled&) {
            return false;
        }
    }

    static void describe(std::vector<MetricResult>& results, const MeasureInput& input) {
        for (MetricResult& result : results) {
            const MeasuredData counted = result.data.value();
            result.data = input.text.data;
            result.data->tokens = counted.tokens;
            result.data->sequences = counted.sequences;
            result.measurement = input.measurement;
            result.measurement.created = utcNow();
        }
    }

    const Model& m_model;
    const LayerSink& m_layerDone;
    std::array<MeasuringStage, 4> m_stages; ///< by Needs
    std::vector<MetricResult> m_results;
    bool m_hasTextResults = false;
};

} // namespace

std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests,
                                  const MeasureInputReader& readInput, const Progress& progress,
                                  const LayerSink& layerDone) {
    return Measuring(model, requests, layerDone).measure(readInput, progress);
}

std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                                  const LayerSink& layerDone) {
    for (const MetricRequest& request : requests)
        if (request.info->needs != Needs::weights)
            throw Error("is not a metric of weights alone: it needs a text for the model to read",
                        std::string(request.info->id));
    return measure(model, requests, MeasureInputReader(), progress, layerDone);
}

} // namespace secateur
