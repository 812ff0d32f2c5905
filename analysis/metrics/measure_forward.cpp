#include "analysis/metrics/measure_stages.h"

#include "analysis/base/bytes.h"
#include "analysis/base/cluster.h"
#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/metrics/attention_metrics.h"
#include "analysis/metrics/layer_sums.h"
#include "analysis/metrics/metric_wire.h"
#include "analysis/model/kernels.h"
#include "analysis/running/far_plan.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/not_finite.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace secateur {

namespace {

std::int64_t longestOf(std::span<const TokenSequence> sequences) {
    std::size_t longest = 0;
    for (const TokenSequence& sequence : sequences)
        longest = std::max(longest, sequence.ids.size());
    return static_cast<std::int64_t>(longest);
}

/// The columns of a metric's matrix for kept units.
std::vector<std::size_t> columnsOf(const MetricRequest& request, const KeptUnits& kept) {
    switch (request.info->scope) {
    case Scope::head:
        return kept.heads;
    case Scope::neuron:
        return kept.neurons;
    default:
        return {0};
    }
}

/// Computes the sums that the requests need, for each layer of a run. Taps that no request needs are not computed.
class ForwardObserver : public LayerObserver {
public:
    /// All arguments must outlive this object. @param longest number of tokens of the longest sequence
    /// @throws UsageError for options that do not suit the model or the sequences
    ForwardObserver(const Model& model, const Plan& plan, std::span<const MetricRequest> requests, std::int64_t longest,
                    WritingWeights& weights);

    /// To be called before a batch runs through a layer.
    void enter(int layer, const Batch& batch, const at::Tensor& input);
    /// To be called after the batch ran through the layer. Returns its sums.
    LayerSums leave(const at::Tensor& output);

    /// The request's metric of attention probabilities; nullptr if it is another kind of metric.
    const AttentionMetric* attention(std::size_t request) const { return m_watched[request].attention.get(); }
    /// The values of a layer's kept units.
    AttentionValues values(std::size_t request, int layer, const LayerSums& sums) const;
    const KeptUnits& kept(int layer) const { return m_kept[static_cast<std::size_t>(layer)]; }

    bool wants(int layer, Tap tap) const override;
    bool takesPlanType() const override { return true; }
    void see(int layer, Tap tap, const at::Tensor& values) override;
    std::span<const AttentionFeature> attentionFeatures(int layer) const override;
    void seeAttentionFeatures(int layer, const at::Tensor& features) override;

private:
    /// A request, its row's functions and, for metrics of attention, the metric with its options.
    struct Watched {
        const MetricRequest& request;
        const ForwardMetric& metric;
        std::unique_ptr<const AttentionMetric> attention;
        std::vector<std::size_t> features; ///< indices of its features in m_features
    };

    bool reads(SharedSums sums) const;
    std::vector<std::size_t> placesOf(const AttentionMetric& metric);
    bool comparesSums() const;
    std::array<SumNorm, 2> normsOf(int layer) const;

    const Model& m_model;
    const ModelSpec& m_spec;
    WritingWeights& m_weights;
    std::vector<KeptUnits> m_kept;
    std::vector<Watched> m_watched; ///< one for each request
    std::vector<AttentionFeature> m_features;

    // State of the layer that runs.
    int m_layer = 0;
    std::vector<int> m_lengths;
    LayerStreams m_streams;
    LayerSums m_sums;
};

ForwardObserver::ForwardObserver(const Model& model, const Plan& plan, std::span<const MetricRequest> requests,
                                 std::int64_t longest, WritingWeights& weights)
    : m_model(model)
    , m_spec(model.spec())
    , m_weights(weights) {
    for (int layer = 0; layer < m_spec.layerCount(); ++layer)
        m_kept.emplace_back(m_spec.layers[static_cast<std::size_t>(layer)], plan.mask().layer(layer));
    for (const MetricRequest& request : requests) {
        const auto& metric = std::get<ForwardMetric>(request.info->computation);
        Watched watched{request, metric, nullptr, {}};
        if (metric.attention) {
            watched.attention = metric.attention(request, longest, m_spec.family == Family::decoder);
            watched.features = placesOf(*watched.attention);
        }
        m_watched.push_back(std::move(watched));
    }
}

/// Adds the features of a metric to m_features, each feature once for all metrics. @returns their indices
std::vector<std::size_t> ForwardObserver::placesOf(const AttentionMetric& metric) {
    std::vector<std::size_t> places;
    for (const AttentionFeature& feature : metric.features()) {
        const auto known = std::ranges::find(m_features, feature);
        places.push_back(static_cast<std::size_t>(known - m_features.begin()));
        if (known == m_features.end())
            m_features.push_back(feature);
    }
    return places;
}

AttentionValues ForwardObserver::values(std::size_t request, int layer, const LayerSums& sums) const {
    const Watched& watched = m_watched[request];
    const KeptUnits& units = kept(layer);
    const std::vector<double> own = request < sums.own.size() ? sums.own[request] : std::vector<double>();
    if (watched.attention)
        return watched.attention->values(own, static_cast<int>(units.heads.size()));
    const PartSums& part = sums.parts[watched.request.flag("exclude_first") ? 1 : 0];
    return {{watched.metric.finish({watched.request, m_spec, layer, units, part, own, m_weights})}, {}};
}

bool ForwardObserver::reads(SharedSums sums) const {
    return std::ranges::any_of(m_watched, [&](const Watched& watched) { return watched.metric.reads == sums; });
}

bool ForwardObserver::comparesSums() const {
    return std::ranges::any_of(m_watched, [](const Watched& watched) { return watched.request.flag("before_norm"); });
}

bool ForwardObserver::wants(int layer, Tap tap) const {
    const auto isTapped = [&](const Watched& watched) {
        return std::ranges::find(watched.metric.taps, tap) != watched.metric.taps.end();
    };
    if (std::ranges::any_of(m_watched, isTapped))
        return true;
    switch (tap) {
    case Tap::attentionUpdate:
        return reads(SharedSums::stream);
    case Tap::mlpUpdate:
        return m_spec.normPlace == NormPlace::after && comparesSums();
    case Tap::context:
        return (reads(SharedSums::context) || reads(SharedSums::contributions)) && !kept(layer).heads.empty();
    case Tap::mlpHidden:
        return reads(SharedSums::neurons) && !kept(layer).neurons.empty();
    default:
        return false;
    }
}

std::span<const AttentionFeature> ForwardObserver::attentionFeatures(int layer) const {
    return kept(layer).heads.empty() ? std::span<const AttentionFeature>() : m_features;
}

void ForwardObserver::enter(int layer, const Batch& batch, const at::Tensor& input) {
    m_layer = layer;
    m_lengths.clear();
    for (int row = 0; row < batch.rows; ++row)
        m_lengths.push_back(batch.length(row));
    m_streams = {input, {}, {}, {}};
    m_sums = {};
    addRows(m_lengths, m_sums);
}

void ForwardObserver::see(int layer, Tap tap, const at::Tensor& values) {
    const TokenKernels& kernels = m_model.kernels().tokens();
    if (tap == Tap::attentionUpdate)
        m_streams.update = values;
    if (tap == Tap::mlpUpdate)
        m_streams.mlpUpdate = values;
    if (tap == Tap::mlpHidden && reads(SharedSums::neurons))
        addColumns(kernels, values, m_lengths, &PartSums::neurons, m_sums);
    for (std::size_t i = 0; i < m_watched.size(); ++i)
        if (const ForwardMetric& own = m_watched[i].metric; std::ranges::find(own.taps, tap) != own.taps.end()) {
            m_sums.own.resize(m_watched.size());
            own.accumulate({m_watched[i].request, m_spec, layer, kept(layer), tap, values, m_lengths}, m_sums.own[i]);
        }
    if (tap != Tap::context || kept(layer).heads.empty())
        return;
    if (reads(SharedSums::context))
        addColumns(kernels, values.flatten(2), m_lengths, &PartSums::context, m_sums);
    if (reads(SharedSums::contributions))
        addContributions(kernels, values, m_weights.ofHeads(layer, kept(layer).heads, values), m_lengths, m_sums);
}

void ForwardObserver::seeAttentionFeatures(int layer, const at::Tensor& features) {
    const at::Tensor own = features.cpu().contiguous(); // [rows, heads, features, positions]
    const auto positions = own.size(3);
    const LayerSpec& spec = m_spec.layers[static_cast<std::size_t>(layer)];
    m_sums.own.resize(m_watched.size());
    for (std::size_t i = 0; i < m_watched.size(); ++i)
        for (std::int64_t row = 0; m_watched[i].attention && row < own.size(0); ++row) {
            const float* numbers = own.data_ptr<float>() + row * own.size(1) * own.size(2) * positions;
            const auto ofHead = [&, numbers](int head, std::size_t feature) {
                const auto place = static_cast<std::int64_t>(m_watched[i].features[feature]);
                return numbers + (head * own.size(2) + place) * positions;
            };
            m_watched[i].attention->add({m_lengths[static_cast<std::size_t>(row)], static_cast<int>(own.size(1)),
                                         m_spec.family == Family::decoder, spec.window, ofHead},
                                        m_sums.own[i]);
        }
}

std::array<SumNorm, 2> ForwardObserver::normsOf(int layer) const {
    if (m_spec.normPlace != NormPlace::after)
        return {};
    const auto norm = [&](WeightName weight, WeightName bias) {
        const auto read = [&](WeightName which) {
            return m_model.has(layer, which) ? m_model.tensor(layer, which).to(m_streams.input.device(), at::kDouble)
                                             : at::Tensor();
        };
        return SumNorm{read(weight), read(bias), m_spec.normEpsilon};
    };
    return {norm(WeightName::attentionPostNorm, WeightName::attentionPostNormBias),
            norm(WeightName::mlpPostNorm, WeightName::mlpPostNormBias)};
}

LayerSums ForwardObserver::leave(const at::Tensor& output) {
    m_streams.output = output;
    const StreamWishes wishes{reads(SharedSums::stream), reads(SharedSums::similarity)};
    if (wishes.cosines || wishes.similarity)
        addStreams(m_model.kernels().tokens(), m_streams, m_lengths, m_spec.normPlace, normsOf(m_layer), wishes,
                   m_sums);
    m_streams = {};
    return std::exchange(m_sums, {});
}

class ForwardWalk {
public:
    ForwardWalk(const Model& model, const ForwardRun& run, std::span<const MetricRequest> requests,
                const LayerSink& layerDone)
        : m_model(model)
        , m_run(run)
        , m_requests(requests)
        , m_layerDone(layerDone)
        , m_batches(paddedBatches(model, run.sequences, run.batchTokens))
        , m_weights(model, run.plan.mask(), run.plan.type(), run.plan.isResident())
        , m_observer(model, run.plan, requests, longestOf(run.sequences), m_weights)
        , m_sums(model.spec().layers.size())
        , m_pending(m_sums.size()) {
        for (const MetricRequest& request : requests)
            m_results.push_back(emptyResult(m_results.size(), request));
    }

    /// Shares out the batches. All ranks get the sums. @throws Cancelled
    void walkTogether(const Progress& progress) {
        const auto run = [&](std::size_t first, std::size_t count, const Progress& own) {
            return sumsOf(first, count, own);
        };
        const auto take = [&](std::size_t batch, std::string_view bytes) {
            Unpacker unpacker(bytes);
            get(unpacker);
            countBatch(batch);
        };
        const Cluster& cluster = *m_run.cluster;
        shareBatches(cluster, m_batches.batches.size(), m_run.plan.isResident(), run, take, progress);
        Packer packer;
        put(packer, m_sums, m_notFinite);
        const std::string all = cluster.broadcast(packer.take());
        m_sums.assign(m_sums.size(), {});
        Unpacker unpacker(all);
        get(unpacker);
    }

    /// @returns false if it was stopped
    bool walk(const Progress& progress) {
        LayerWalk steps;
        steps.observer = &m_observer;
        steps.enters = [&](int layer, std::size_t batch, const at::Tensor& input) {
            m_observer.enter(layer, m_batches.batches[batch], input);
        };
        steps.passed = [&](int layer, std::size_t batch, const at::Tensor& output) {
            m_pending[static_cast<std::size_t>(layer)].add(m_observer.leave(output));
            if (!m_run.plan.isResident() && batch + 1 == m_batches.batches.size())
                finishLayer(layer);
        };
        steps.finished = [&](std::size_t batch, const at::Tensor& output) {
            // Numbers that are not finite in any layer make those after it so.
            if (m_notFinite.text.empty() && !isFinite(output))
                m_notFinite = findNotFinite(m_model, m_run.plan, {&m_batches.batches[batch], 1}, progress.part(0, 0));
            if (m_run.plan.isResident())
                finishBatch(batch);
        };
        try {
            forEachLayer(m_model.runner(), m_run.plan, m_batches.batches, steps, progress);
        } catch (const Cancelled&) {
            if (!m_hasValues)
                throw;
            return false;
        }
        return true;
    }

    std::vector<MetricResult> take(bool isWhole) {
        // Layers that were filled one by one did not know of numbers that are not finite below them.
        const bool isFilled = !m_run.plan.isResident() && m_notFinite.text.empty() && !m_run.cluster;
        for (int layer = 0; !isFilled && layer < m_model.spec().layerCount(); ++layer)
            fill(layer);
        warn();
        MeasuredData data;
        for (const TokenSequence& sequence : m_run.sequences)
            data.allTokens += std::ssize(sequence.ids);
        data.tokens = m_run.plan.isResident() ? m_tokens : data.allTokens;
        data.sequences = m_run.plan.isResident() ? m_sequences : std::ssize(m_run.sequences);
        for (MetricResult& result : m_results) {
            result.data = data;
            result.isWhole = isWhole;
            if (!isWhole)
                result.warnings.push_back(stopText(data));
        }
        return std::move(m_results);
    }

private:
    MetricResult emptyResult(std::size_t request, const MetricRequest& asked) const {
        const ModelSpec& spec = m_model.spec();
        MetricResult result;
        result.request = asked;
        result.values = Matrix(spec.layers.size(), columnsFor(asked.info->scope, spec));
        if (const AttentionMetric* metric = m_observer.attention(request)) {
            result.lengths = metric->lengths();
            result.overLengths.assign(result.lengths.size(), result.values);
            result.warnings = metric->warnings();
            for (const std::string_view name : metric->featureNames())
                result.features.push_back({std::string(name), result.values});
        }
        return result;
    }

    /// The sums of batches, and where their numbers stop being finite.
    std::vector<std::string> sumsOf(std::size_t first, std::size_t count, const Progress& progress) {
        const std::span<const Batch> batches = std::span(m_batches.batches).subspan(first, count);
        std::vector<std::vector<LayerSums>> sums(count, std::vector<LayerSums>(m_sums.size()));
        std::vector<NotFinite> notFinite(count);
        LayerWalk steps;
        steps.observer = &m_observer;
        steps.enters = [&](int layer, std::size_t i, const at::Tensor& input) {
            m_observer.enter(layer, batches[i], input);
        };
        steps.passed = [&](int layer, std::size_t i, const at::Tensor& output) {
            sums[i][static_cast<std::size_t>(layer)] = m_observer.leave(output);
        };
        steps.finished = [&](std::size_t i, const at::Tensor& output) {
            if (!isFinite(output))
                notFinite[i] = findNotFinite(m_model, m_run.plan, batches.subspan(i, 1), progress.part(0, 0));
        };
        forEachLayer(m_model.runner(), m_run.plan, batches, steps, progress);
        std::vector<std::string> bytes;
        for (std::size_t i = 0; i < count; ++i) {
            Packer packer;
            put(packer, sums[i], notFinite[i]);
            bytes.push_back(packer.take());
        }
        return bytes;
    }

    static void put(Packer& packer, const std::vector<LayerSums>& sums, const NotFinite& notFinite) {
        for (const LayerSums& layer : sums)
            secateur::put(packer, layer);
        packer.put(notFinite.text);
        packer.put(notFinite.layer);
    }

    /// Adds sums. The first place at which numbers are not finite counts.
    void get(Unpacker& unpacker) {
        for (LayerSums& layer : m_sums) {
            LayerSums more;
            secateur::get(unpacker, more);
            layer.add(more);
        }
        NotFinite notFinite;
        unpacker.get(notFinite.text);
        unpacker.get(notFinite.layer);
        if (m_notFinite.text.empty())
            m_notFinite = std::move(notFinite);
    }

    void countBatch(std::size_t batch) {
        for (const int length : m_batches.batches[batch].lengths)
            m_tokens += length;
        m_sequences += m_batches.batches[batch].rows;
    }

    void finishLayer(int layer) {
        m_sums[static_cast<std::size_t>(layer)] = std::exchange(m_pending[static_cast<std::size_t>(layer)], {});
        m_hasValues = true;
        ++m_layersDone;
        fill(layer);
        tell(layer);
    }

    /// Adds the sums of a batch after the last layer, so that a batch counts for all layers or for none.
    void finishBatch(std::size_t batch) {
        countBatch(batch);
        for (std::size_t layer = 0; layer < m_sums.size(); ++layer)
            m_sums[layer].add(std::exchange(m_pending[layer], {}));
        m_hasValues = true;
        for (int layer = 0; m_layerDone && layer < m_model.spec().layerCount(); ++layer) {
            fill(layer);
            tell(layer);
        }
    }

    void fill(int layer) {
        const auto row = static_cast<std::size_t>(layer);
        const bool isDefined = m_notFinite.text.empty() || layer <= m_notFinite.layer;
        for (std::size_t request = 0; request < m_requests.size(); ++request) {
            MetricResult& result = m_results[request];
            const AttentionValues found = m_observer.values(request, layer, m_sums[row]);
            const std::vector<std::size_t> columns = columnsOf(m_requests[request], m_observer.kept(layer));
            for (std::size_t i = 0; i < result.overLengths.size(); ++i)
                place(found.values[i], columns, result.overLengths[i].row(row), isDefined);
            place(found.values.back(), columns, result.values.row(row), isDefined);
            for (std::size_t i = 0; i < result.features.size(); ++i)
                place(found.features[i], columns, result.features[i].values.row(row), isDefined);
        }
    }

    void tell(int layer) const {
        for (std::size_t request = 0; m_layerDone && request < m_requests.size(); ++request)
            m_layerDone({request, layer, m_results[request].values.row(static_cast<std::size_t>(layer)), {}});
    }

    /// @param isDefined whether the layer's input was finite
    static void place(const std::vector<double>& values, const std::vector<std::size_t>& columns, std::span<double> row,
                      bool isDefined) {
        for (std::size_t i = 0; i < std::min(values.size(), columns.size()); ++i)
            row[columns[i]] =
                isDefined && std::isfinite(values[i]) ? values[i] : std::numeric_limits<double>::quiet_NaN();
    }

    std::string stopText(const MeasuredData& data) const {
        if (m_run.plan.isResident())
            return fmt::format("stopped after {} of {} tokens", grouped(static_cast<std::uint64_t>(data.tokens)),
                               grouped(static_cast<std::uint64_t>(data.allTokens)));
        return fmt::format("stopped after {} of {} layers", m_layersDone, m_sums.size());
    }

    void warn();

    const Model& m_model;
    const ForwardRun& m_run;
    std::span<const MetricRequest> m_requests;
    const LayerSink& m_layerDone;
    PaddedBatches m_batches;
    WritingWeights m_weights;
    ForwardObserver m_observer;
    std::vector<LayerSums> m_sums;    ///< for each layer, of batches that passed the last layer
    std::vector<LayerSums> m_pending; ///< for each layer, of batches that have not passed the last layer yet
    std::vector<MetricResult> m_results;
    std::int64_t m_tokens = 0;
    std::int64_t m_sequences = 0;
    bool m_hasValues = false;
    int m_layersDone = 0;
    NotFinite m_notFinite; ///< where numbers that are not finite begin
};

void ForwardWalk::warn() {
    const std::int64_t longest = longestOf(m_run.sequences);
    ForwardPass pass{m_model.spec()};
    for (std::size_t layer = 0; layer < m_sums.size(); ++layer) {
        const int window = pass.spec.layers[layer].window;
        pass.narrowLayers += window > 0 && window < longest ? 1 : 0;
        pass.undirected += m_sums[layer].parts[0].at(TokenSum::undirected);
    }
    for (MetricResult& result : m_results) {
        if (!m_notFinite.text.empty())
            result.warnings.push_back(m_notFinite.text);
        if (const auto& metric = std::get<ForwardMetric>(result.request.info->computation); metric.notes)
            for (std::string& note : metric.notes(pass, result.request))
                result.warnings.push_back(std::move(note));
    }
}

} // namespace

std::vector<MetricResult> measureForward(const Model& model, const ForwardRun& run,
                                         std::span<const MetricRequest> requests, const Progress& progress,
                                         const LayerSink& layerDone) {
    if (run.sequences.empty())
        throw Error("There is no sequence to measure a model on");
    if (const FarModel* far = farModel(model)) {
        using Sequences = std::vector<TokenSequence>;
        return checked(far->result<std::vector<MetricResult>>(
                           "measure_forward", progress, farPlan(run.plan),
                           Sequences(run.sequences.begin(), run.sequences.end()), run.batchTokens,
                           std::vector<MetricRequest>(requests.begin(), requests.end())),
                       model.spec());
    }
    const auto begin = std::chrono::steady_clock::now();
    ForwardWalk walk(model, run, requests, layerDone);
    bool isWhole = true;
    if (run.cluster)
        walk.walkTogether(progress);
    else
        isWhole = walk.walk(progress);
    model.checkFiles();
    std::vector<MetricResult> results = walk.take(isWhole);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (MetricResult& result : results)
        result.seconds = seconds; // time of the pass that all of them share
    return results;
}

} // namespace secateur
