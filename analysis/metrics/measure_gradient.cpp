#include "analysis/metrics/measure_stages.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/metrics/gradient_walk.h"
#include "analysis/metrics/metric_wire.h"
#include "analysis/running/far_plan.h"
#include "analysis/running/not_finite.h"
#include "analysis/running/padded_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

namespace secateur {

namespace {

using SteadyClock = std::chrono::steady_clock;

const GradientMetric& gradientMetric(const MetricRequest& request) {
    return std::get<GradientMetric>(request.info->computation);
}

/// Requests that share their passes, and their indices among all requests.
struct GradientPart {
    BatchRule rule;
    bool hasOwnWork = false;
    std::vector<MetricRequest> requests = {};
    std::vector<std::size_t> places = {};
};

std::vector<GradientPart> gradientParts(std::span<const MetricRequest> requests) {
    std::vector<GradientPart> parts;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const bool hasOwnWork = gradientMetric(requests[i]).work;
        const BatchRule rule = batchRuleOf(requests[i]);
        auto part = std::ranges::find_if(
            parts, [&](const GradientPart& known) { return !hasOwnWork && !known.hasOwnWork && known.rule == rule; });
        if (part == parts.end())
            part = parts.insert(parts.end(), GradientPart{rule, hasOwnWork});
        part->requests.push_back(requests[i]);
        part->places.push_back(i);
    }
    return parts;
}

std::unique_ptr<GradientWork> gradientWork(const Model& model, const GradientRun& run, const GradientScalars& scalars,
                                           const GradientPart& part) {
    if (part.hasOwnWork)
        return gradientMetric(part.requests.front()).work(model, run, scalars, part.requests.front());
    return std::make_unique<GradientWalk>(model, run, scalars, part.rule, part.requests);
}

class GradientMeasuring {
public:
    GradientMeasuring(const Model& model, const GradientRun& run, std::span<const MetricRequest> requests,
                      const LayerSink& layerDone)
        : m_model(model)
        , m_run(run)
        , m_layerDone(layerDone)
        , m_scalars(model, run.sequences, run.labels)
        , m_parts(gradientParts(requests)) {
        for (const MetricRequest& request : requests)
            m_results.push_back(emptyResult(request));
        for (const GradientPart& part : m_parts)
            m_works.push_back(gradientWork(model, run, m_scalars, part));
    }

    std::vector<MetricResult> measure(const Progress& progress) {
        bool isStopped = false;
        for (std::size_t i = 0; i < m_parts.size() && !isStopped; ++i) {
            const auto share = [&](std::size_t part) {
                return static_cast<double>(part) / static_cast<double>(m_parts.size());
            };
            isStopped = !run(i, progress.part(share(i), share(i + 1)));
        }
        if (isStopped && std::ranges::all_of(m_works, [](const auto& work) { return work->tokens() == 0; }))
            throw Cancelled();
        for (std::size_t i = 0; i < m_parts.size(); ++i)
            describe(i);
        if (!isStopped)
            warnOfNoValues(progress.part(1, 1));
        return std::move(m_results);
    }

private:
    MetricResult emptyResult(const MetricRequest& request) const {
        const ModelSpec& spec = m_model.spec();
        MetricResult result;
        result.request = request;
        result.values = Matrix(spec.layers.size(), columnsFor(request.info->scope, spec));
        if (!gradientMetric(request).work && m_scalars.standsIn(request))
            result.warnings.push_back(fmt::format(
                "the texts have no labels: the norm of {} replaces the loss (--task FILE --format classification "
                "brings labels)",
                m_scalars.scalarisation(request) == Scalarisation::logitNorm ? "the logits" : "the pooled output"));
        return result;
    }

    /// @returns false if it was stopped
    bool run(std::size_t part, const Progress& progress) {
        const auto begin = SteadyClock::now();
        bool isWhole = true;
        try {
            m_works[part]->run(progress, [&] { fill(part); });
        } catch (const Cancelled&) {
            isWhole = false;
        }
        const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
        for (const std::size_t place : m_parts[part].places)
            m_results[place].seconds = seconds; // time of the passes that they share
        return isWhole;
    }

    void fill(std::size_t part) {
        const ModelSpec& spec = m_model.spec();
        for (std::size_t i = 0; i < m_parts[part].places.size(); ++i)
            for (int layer = 0; layer < spec.layerCount(); ++layer) {
                const auto row = static_cast<std::size_t>(layer);
                const std::size_t place = m_parts[part].places[i];
                const auto kept = KeptUnits(spec.layers[row], m_run.plan.mask().layer(layer)).heads;
                const std::vector<double> values = m_works[part]->values(i, layer);
                const std::span<double> cells = m_results[place].values.row(row);
                for (std::size_t head = 0; head < kept.size(); ++head)
                    cells[kept[head]] =
                        std::isfinite(values[head]) ? values[head] : std::numeric_limits<double>::quiet_NaN();
                if (m_layerDone)
                    m_layerDone({place, layer, cells, {}});
            }
    }

    void describe(std::size_t part) {
        const GradientWork& work = *m_works[part];
        MeasuredData data;
        data.tokens = work.tokens();
        data.allTokens = work.allTokens();
        data.sequences = work.sequences();
        const std::vector<std::string> warnings = work.warnings();
        for (const std::size_t place : m_parts[part].places) {
            MetricResult& result = m_results[place];
            result.data = data;
            result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
            result.isWhole = data.tokens == data.allTokens;
            if (!result.isWhole)
                result.warnings.push_back(fmt::format("stopped after {} of {} tokens",
                                                      grouped(static_cast<std::uint64_t>(data.tokens)),
                                                      grouped(static_cast<std::uint64_t>(data.allTokens))));
        }
    }

    bool keepsHeads() const {
        const ModelSpec& spec = m_model.spec();
        for (int layer = 0; layer < spec.layerCount(); ++layer)
            if (!KeptUnits(spec.layers[static_cast<std::size_t>(layer)], m_run.plan.mask().layer(layer)).heads.empty())
                return true;
        return false;
    }

    /// Where the numbers begin that make gradients NaN. One such number makes all gradients so.
    std::string causeOfNoValues(const Progress& progress) const {
        const PaddedBatches batches = paddedBatches(m_model, m_run.sequences, m_run.batchTokens);
        try {
            if (std::string text = notFiniteText(m_model, m_run.plan, batches.batches, progress); !text.empty())
                return text;
            return "there is no value: the outputs of all layers are finite, but not the gradients";
        } catch (const Cancelled&) {
            return "there is no value: the gradients are not finite";
        }
    }

    void warnOfNoValues(const Progress& progress) {
        const auto isEmpty = [](const MetricResult& result) {
            return std::ranges::all_of(result.values.values(), [](double value) { return std::isnan(value); });
        };
        if (!keepsHeads() || std::ranges::none_of(m_results, isEmpty))
            return;
        const std::string text = causeOfNoValues(progress);
        for (MetricResult& result : m_results)
            if (isEmpty(result))
                result.warnings.push_back(text);
    }

    const Model& m_model;
    const GradientRun& m_run;
    const LayerSink& m_layerDone;
    GradientScalars m_scalars;
    std::vector<GradientPart> m_parts;
    std::vector<std::unique_ptr<GradientWork>> m_works; ///< one for each part
    std::vector<MetricResult> m_results;
};

} // namespace

double backwardPasses(const Model& model, const GradientRun& run, std::span<const MetricRequest> requests) {
    const GradientScalars scalars(model, run.sequences, run.labels);
    double passes = 0;
    for (const GradientPart& part : gradientParts(requests)) {
        const MetricRequest& first = part.requests.front();
        passes += part.hasOwnWork
                      ? gradientMetric(first).passes(model, run, first)
                      : static_cast<double>(GradientWalk(model, run, scalars, part.rule, part.requests).passes());
    }
    return passes;
}

std::vector<MetricResult> measureGradient(const Model& model, const GradientRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone) {
    if (run.sequences.empty())
        throw Error("There is no sequence to measure a model on");
    if (const FarModel* far = farModel(model)) {
        using Sequences = std::vector<TokenSequence>;
        return checked(far->result<std::vector<MetricResult>>(
                           "measure_gradient", progress, farPlan(run.plan),
                           Sequences(run.sequences.begin(), run.sequences.end()),
                           std::vector<int>(run.labels.begin(), run.labels.end()), run.batchTokens,
                           std::vector<MetricRequest>(requests.begin(), requests.end())),
                       model.spec());
    }
    GradientMeasuring measuring(model, run, requests, layerDone);
    std::vector<MetricResult> results = measuring.measure(progress);
    model.checkFiles();
    return results;
}

} // namespace secateur
