#include "analysis/metrics/ablation.h"

#include "analysis/base/bytes.h"
#include "analysis/base/cluster.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/ablation_walk.h"
#include "analysis/metrics/screened_ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace secateur {

namespace {

using SteadyClock = std::chrono::steady_clock;

/// The results of a run, to which values are added one by one. New values are passed on to receivers.
class AblationResults {
public:
    AblationResults(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                    const AblationMemory& memory, const LayerSink& layerDone)
        : m_layers(spec.layerCount())
        , m_mask(mask)
        , m_memory(memory)
        , m_layerDone(layerDone)
        , m_table(spec, mask, requests, memory.known) {
        for (const MetricResult& result : m_table.results())
            m_secondsBefore.push_back(result.seconds);
    }

    AblationTable& table() { return m_table; }

    /// The units of a layer that have no value yet, in the order of the requests.
    std::vector<AblationPart> missing(int layer) const {
        std::vector<AblationPart> parts;
        for (std::size_t request = 0; request < m_table.requests(); ++request)
            for (AblationPart& part : m_table.missing(layer, request))
                parts.push_back(std::move(part));
        return parts;
    }

    std::vector<AblationPart> missing() const {
        std::vector<AblationPart> parts;
        for (int layer = 0; layer < m_layers; ++layer)
            for (AblationPart& part : missing(layer))
                parts.push_back(std::move(part));
        return parts;
    }

    /// The layers that have units without a value.
    std::vector<int> layers() const {
        std::vector<int> layers;
        for (int layer = 0; layer < m_layers; ++layer)
            if (!missing(layer).empty())
                layers.push_back(layer);
        return layers;
    }

    void tell(int layer) {
        describe();
        if (m_layerDone)
            for (std::size_t request = 0; request < m_table.requests(); ++request)
                for (const int tied : m_mask.tiedTo(layer))
                    m_layerDone({request, tied, m_table.row(request, tied), {}});
        if (m_memory.more)
            m_memory.more(m_table.results());
    }

    /// The results. @throws Cancelled if the run was stopped before the first value
    std::vector<MetricResult> finish(bool wasStopped) {
        if (wasStopped && m_table.isEmpty())
            throw Cancelled();
        describe();
        return std::move(m_table.results());
    }

    MeasuredData data = {}; ///< shared by all results

private:
    void describe() {
        const bool isWhole = m_table.isComplete();
        const double seconds = std::chrono::duration<double>(SteadyClock::now() - m_begin).count();
        for (std::size_t i = 0; i < m_table.requests(); ++i) {
            MetricResult& result = m_table.results()[i];
            result.data = data;
            result.isWhole = isWhole;
            result.seconds = m_secondsBefore[i] + seconds; // time of the walk, which all requests share
            result.warnings.clear();
            if (!isWhole)
                result.warnings.push_back(
                    fmt::format("stopped: {} of {} layers are missing", layers().size(), m_layers));
        }
    }

    int m_layers;
    const PruningMask& m_mask;
    AblationMemory m_memory;
    LayerSink m_layerDone;
    AblationTable m_table;
    std::vector<double> m_secondsBefore;
    SteadyClock::time_point m_begin = SteadyClock::now();
};

/// For each layer, the cost in passes of the units without a value.
std::vector<double> passesOf(const AblationResults& results, const AblationCosts& costs,
                             const std::vector<int>& layers) {
    std::vector<double> passes;
    for (const int layer : layers) {
        double& cost = passes.emplace_back(0);
        for (const AblationPart& part : results.missing(layer))
            cost += costs.without(part) + costs.lmHead();
    }
    return passes;
}

/// Shares out the units of each layer. The lowest layers, which cost most, come first. Units of a layer stay together,
/// because those that run in one batch affect each other's rounding.
void shareLayers(AblationWalk& walk, const AblationResults& results, const Cluster& cluster,
                 const std::vector<int>& layers,
                 const std::function<void(std::size_t place, const std::vector<AblationEffect>& effects)>& set,
                 const Progress& progress) {
    const auto work = [&](std::size_t place, const Progress& own) {
        walk.goTo(layers[place], own);
        return packed(walk.without(results.missing(layers[place]), own));
    };
    const auto take = [&](std::size_t place, std::string_view bytes) {
        set(place, unpacked<std::vector<AblationEffect>>(bytes));
    };
    shareWithAll(cluster, layers.size(), work, take, progress);
}

/// Ablates the units without a value, from the first layer to the last. @returns false if it was stopped
bool walkUp(AblationWalk& walk, const AblationRun& run, AblationResults& results, const AblationCosts& costs,
            const Progress& progress) {
    const std::vector<int> layers = results.layers();
    const std::vector<double> passes = passesOf(results, costs, layers);
    double all = 1 + costs.lmHead();
    for (const double cost : passes)
        all += cost;
    double done = 1 + costs.lmHead();
    const auto set = [&](std::size_t place, const std::vector<AblationEffect>& effects) {
        const std::vector<AblationPart> parts = results.missing(layers[place]);
        for (std::size_t part = 0; part < parts.size(); ++part)
            results.table().set(parts[part], effects[part]);
        results.tell(layers[place]);
    };
    try {
        walk.begin(progress.part(0, done / all));
        if (run.cluster) {
            shareLayers(walk, results, *run.cluster, layers, set, progress.part(done / all, 1));
            return true;
        }
        for (std::size_t i = 0; i < layers.size(); ++i) {
            const Progress own = progress.part(done / all, (done + passes[i]) / all);
            walk.goTo(layers[i], own);
            set(i, walk.without(results.missing(layers[i]), own));
            done += passes[i];
        }
    } catch (const Cancelled&) {
        return false;
    }
    return true;
}

/// Shares out the runs without one unit each.
void shareTrials(const Cluster& cluster, std::size_t count,
                 const std::function<AblationEffect(std::size_t part, const Progress& progress)>& tried,
                 const std::function<void(std::size_t part, const AblationEffect& effect)>& set,
                 const Progress& progress) {
    const auto work = [&](std::size_t part, const Progress& own) { return packed(tried(part, own)); };
    const auto take = [&](std::size_t part, std::string_view bytes) { set(part, unpacked<AblationEffect>(bytes)); };
    shareWithAll(cluster, count, work, take, progress);
}

void checkIsOfLoss(std::span<const MetricRequest> requests) {
    for (const MetricRequest& request : requests)
        if (isOfAccuracy(request))
            throw UsageError("of=accuracy runs a task without each unit, which only the verb ablate does",
                             std::string(request.info->id), "secateur-cli ablate MODEL --task FILE");
}

std::vector<MetricResult> measureExactly(const Model& model, const AblationRun& run,
                                         std::span<const MetricRequest> requests, const Progress& progress,
                                         const LayerSink& layerDone) {
    AblationWalk walk(model, run);
    AblationResults results(model.spec(), run.plan.mask(), requests, run.memory, layerDone);
    results.data.sequences = std::ssize(run.sequences);
    results.data.tokens = results.data.allTokens = walk.losses().tokens();
    const AblationCosts costs(model.spec(), run.plan.mask(), run.sequences);
    const bool isDone = results.layers().empty() || walkUp(walk, run, results, costs, progress);
    return results.finish(!isDone);
}

/// Measures requests of which at least one is screened. Each request runs by itself, because they could share little
/// computation.
class OneByOne {
public:
    OneByOne(const Model& model, const AblationRun& run, std::span<const MetricRequest> requests,
             const LayerSink& layerDone)
        : m_model(model)
        , m_run(run)
        , m_requests(requests)
        , m_layerDone(layerDone) {}

    std::vector<MetricResult> measure(const Progress& progress) {
        const auto share = [&](std::size_t done) {
            return static_cast<double>(done) / static_cast<double>(m_requests.size());
        };
        for (std::size_t i = 0; i < m_requests.size(); ++i)
            try {
                m_results.push_back(one(i, progress.part(share(i), share(i + 1))));
                if (!m_results.back().isWhole)
                    break;
            } catch (const Cancelled&) {
                if (m_results.empty())
                    throw;
                break;
            }
        return std::move(m_results);
    }

private:
    MetricResult one(std::size_t place, const Progress& progress) const {
        AblationRun run = m_run;
        if (m_run.memory.more)
            run.memory.more = [&](const std::vector<MetricResult>& part) {
                std::vector<MetricResult> all = m_results;
                all.push_back(part.front());
                m_run.memory.more(all);
            };
        const LayerSink told = [&](LayerCells cells) {
            cells.request = place;
            if (m_layerDone)
                m_layerDone(cells);
        };
        if (isScreened(m_requests[place]))
            return screenedAblation(m_model, run, m_requests[place], progress, told);
        return measureExactly(m_model, run, m_requests.subspan(place, 1), progress, told).front();
    }

    const Model& m_model;
    const AblationRun& m_run;
    std::span<const MetricRequest> m_requests;
    const LayerSink& m_layerDone;
    std::vector<MetricResult> m_results;
};

} // namespace

AblationPasses ablationPasses(const Model& model, const AblationRun& run, std::span<const MetricRequest> requests) {
    const AblationResults results(model.spec(), run.plan.mask(), requests, run.memory, {});
    const AblationCosts costs(model.spec(), run.plan.mask(), run.sequences);
    AblationPasses passes;
    for (const AblationPart& part : results.missing()) {
        const double share = exactShare(requests[part.request]);
        passes.parts += 1;
        passes.layers += share * costs.without(part);
        passes.lmHeads += share;
    }
    passes.layers += static_cast<double>(std::ranges::count_if(requests, isScreened)) * screeningPasses;
    if (passes.parts > 0) {
        passes.layers += 2; // the whole model runs once for its loss and once for its streams
        passes.lmHeads += 1;
    }
    return passes;
}

std::vector<MetricResult> measureAblation(const Model& model, const AblationRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone) {
    checkIsOfLoss(requests);
    if (std::ranges::none_of(requests, isScreened))
        return measureExactly(model, run, requests, progress, layerDone);
    return OneByOne(model, run, requests, layerDone).measure(progress);
}

std::int64_t partsToTry(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                        std::span<const MetricResult> known) {
    return std::ssize(AblationResults(spec, mask, requests, {known, {}}, {}).missing());
}

std::vector<MetricResult> ablateEach(const ModelSpec& spec, const PruningMask& mask,
                                     std::span<const MetricRequest> requests, const AblationTrial& trial,
                                     const AblationMemory& memory, const Progress& progress, const LayerSink& layerDone,
                                     const Cluster* cluster) {
    AblationResults results(spec, mask, requests, memory, layerDone);
    const std::vector<AblationPart> parts = results.missing();
    const auto tried = [&](std::size_t i, const Progress& part) {
        PruningMask cut = mask;
        cut.setLayer(parts[i].layer, parts[i].without);
        return trial(cut, part);
    };
    const auto set = [&](std::size_t i, const AblationEffect& effect) {
        results.table().set(parts[i], effect);
        results.tell(parts[i].layer);
    };
    try {
        if (cluster) {
            shareTrials(*cluster, parts.size(), tried, set, progress);
            return results.finish(false);
        }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto share = [&](std::size_t done) {
                return static_cast<double>(done) / static_cast<double>(parts.size());
            };
            set(i, tried(i, progress.part(share(i), share(i + 1))));
        }
    } catch (const Cancelled&) {
        return results.finish(true);
    }
    return results.finish(false);
}

} // namespace secateur
