#include "analysis/metrics/gradient_metrics.h"

#include "analysis/base/bytes.h"
#include "analysis/base/cluster.h"
#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner_results.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

/// Attributes the probability of the right answer to the attention of one layer after another
/// (resources/manual/metrics.md, Self-attention attribution). Scales the attention of all heads of the layer in steps
/// from 0 to nearly 1, and recomputes the layers above. The steps run as rows of one batch, or of several if the
/// sequence is long. A layer costs `steps` backward passes through it and the layers above.
class SelfAttribution : public GradientWork {
public:
    /// All arguments must outlive this object. @throws UsageError for encoders without a classifier
    SelfAttribution(const Model& model, const GradientRun& run, const GradientScalars& scalars,
                    const MetricRequest& request);

    void run(const Progress& progress, const std::function<void()>& more) override;
    std::vector<double> values(std::size_t request, int layer) const override;
    std::int64_t tokens() const override { return m_tokens; }
    std::int64_t sequences() const override { return m_done; }
    std::int64_t allTokens() const override;
    std::vector<std::string> warnings() const override;

private:
    /// A batch of copies of one sequence, each with a different scale of the attention.
    struct Copies {
        Batch batch;
        BackwardScalar scalar;
        std::vector<float> scales;
    };
    Copies copies(std::size_t sequence, std::vector<float> scales, const at::Tensor& top) const;
    void runTogether(const Progress& progress);
    void attributeOrSkip(std::size_t sequence, const Progress& progress);
    void addPending(std::size_t sequence);
    void attribute(std::size_t sequence, const Progress& progress);
    at::Tensor gradientSum(int layer, std::size_t sequence, std::span<const at::Tensor> streams,
                           const Progress& progress) const;
    at::Tensor gradient(int layer, const at::Tensor& x, const Copies& some, const Progress& progress) const;
    at::Tensor gradientAbove(int layer, const at::Tensor& x, const Copies& some, const Progress& progress) const;

    const Model& m_model;
    const Runner& m_runner;
    const GradientRun& m_run;
    const GradientScalars& m_scalars;
    int m_steps;
    std::int64_t m_sequences; ///< number of sequences to process
    bool m_lastOnly;
    Matrix m_sums;    ///< [layers, heads] sums over complete sequences
    Matrix m_pending; ///< [layers, heads] values of the sequence that runs
    std::int64_t m_tokens = 0;
    std::int64_t m_done = 0;
};

SelfAttribution::SelfAttribution(const Model& model, const GradientRun& run, const GradientScalars& scalars,
                                 const MetricRequest& request)
    : m_model(model)
    , m_runner(model.runner())
    , m_run(run)
    , m_scalars(scalars)
    , m_steps(request.whole("steps"))
    , m_sequences(std::min<std::int64_t>(request.whole("sequences"), std::ssize(run.sequences)))
    , m_lastOnly(request.option("position") == "last")
    , m_sums(model.spec().layers.size(), static_cast<std::size_t>(model.spec().maxHeads()), 0) {
    if (model.spec().family == Family::encoder && !model.has(-1, WeightName::classifier))
        throw UsageError("needs a classifier, and this model has none", std::string(request.info->id));
}

std::int64_t SelfAttribution::allTokens() const {
    std::int64_t tokens = 0;
    for (std::int64_t i = 0; i < m_sequences; ++i)
        tokens += std::ssize(m_run.sequences[static_cast<std::size_t>(i)].ids);
    return tokens;
}

std::vector<std::string> SelfAttribution::warnings() const {
    std::vector<std::string> warnings;
    if (m_sequences < std::ssize(m_run.sequences))
        warnings.push_back(
            fmt::format("computed on the first {} of {} sequences", m_sequences, m_run.sequences.size()));
    if (!m_scalars.hasTargets())
        warnings.emplace_back("the texts have no labels: the likeliest class replaces the right one");
    return warnings;
}

void SelfAttribution::run(const Progress& progress, const std::function<void()>& more) {
    if (m_run.cluster) {
        runTogether(progress);
        more();
        return;
    }
    for (std::int64_t i = 0; i < m_sequences; ++i) {
        const auto share = [&](std::int64_t done) {
            return static_cast<double>(done) / static_cast<double>(m_sequences);
        };
        attributeOrSkip(static_cast<std::size_t>(i), progress.part(share(i), share(i + 1)));
        addPending(static_cast<std::size_t>(i));
        more();
    }
}

/// Shares out the sequences. All ranks get the sums.
void SelfAttribution::runTogether(const Progress& progress) {
    const auto work = [&](std::size_t sequence, const Progress& own) {
        attributeOrSkip(sequence, own);
        return packed(std::span<const double>(m_pending.values()));
    };
    const auto take = [&](std::size_t sequence, std::string_view bytes) {
        m_pending = Matrix(m_sums.rows(), m_sums.columns(), 0);
        Unpacker(bytes).get(m_pending.values());
        addPending(sequence);
    };
    shareInOrder(*m_run.cluster, static_cast<std::size_t>(m_sequences), work, take, progress);
    const std::string sums = m_run.cluster->broadcast(packed(std::span<const double>(m_sums.values())));
    Unpacker(sums).get(m_sums.values());
    m_tokens = allTokens();
    m_done = m_sequences;
}

/// Sets m_pending to the values of a sequence.
void SelfAttribution::attributeOrSkip(std::size_t sequence, const Progress& progress) {
    m_pending = Matrix(m_sums.rows(), m_sums.columns(), 0);
    if (m_scalars.targets(sequence) > 0)
        attribute(sequence, progress);
}

void SelfAttribution::addPending(std::size_t sequence) {
    for (std::size_t cell = 0; cell < m_sums.values().size(); ++cell)
        m_sums.values()[cell] += m_pending.values()[cell];
    m_tokens += std::ssize(m_run.sequences[sequence].ids);
    ++m_done;
}

std::vector<double> SelfAttribution::values(std::size_t, int layer) const {
    const auto row = static_cast<std::size_t>(layer);
    std::vector<double> values;
    for (const std::size_t head : KeptUnits(m_model.spec().layers[row], m_run.plan.mask().layer(layer)).heads)
        values.push_back(m_sums(row, head) / static_cast<double>(m_done));
    return values;
}

/// Copies of a sequence, one for each scale, and the scalar to differentiate: the probabilities of its targets.
/// @param top output of the last layer; without labels, the class that it makes likeliest takes the label's place
SelfAttribution::Copies SelfAttribution::copies(std::size_t sequence, std::vector<float> scales,
                                                const at::Tensor& top) const {
    const std::vector<TokenSequence> same(scales.size(), m_run.sequences[sequence]);
    Copies copies{batchesInOrder(same, static_cast<int>(same.size())).batches.front(), {}, std::move(scales)};
    const std::vector<std::size_t> sequences(same.size(), sequence);
    if (m_scalars.hasTargets()) {
        copies.scalar = m_scalars.scalar({}, copies.batch, sequences);
    } else {
        const Batch one = batchesInOrder(std::span(same).first(1), 1).batches.front();
        const at::Tensor likeliest = m_runner.lmHead(m_run.plan, top, one).argmax(1);
        copies.scalar.targets.assign(same.size(), static_cast<int>(likeliest.item<std::int64_t>()));
    }
    copies.scalar.of = Scalarisation::goldProbability;
    const auto positions = static_cast<std::size_t>(copies.batch.positions);
    if (m_lastOnly && m_model.spec().family == Family::decoder)
        for (std::size_t at = 0; at < copies.scalar.weights.size(); ++at)
            copies.scalar.weights[at] = at % positions + 2 == positions ? 1.F : 0.F;
    return copies;
}

void SelfAttribution::attribute(std::size_t sequence, const Progress& progress) {
    const int layers = m_model.spec().layerCount();
    const Batch one = batchesInOrder(m_run.sequences.subspan(sequence, 1), 1).batches.front();
    std::vector<at::Tensor> streams{m_runner.embed(m_run.plan, one)};
    for (int layer = 0; layer < layers; ++layer)
        streams.push_back(m_runner.runLayer(m_run.plan, layer, streams.back(), one));
    for (int layer = 0; layer < layers; ++layer) {
        progress.report(static_cast<double>(layer) / layers, fmt::format("attention of layer {}", layer));
        const auto row = static_cast<std::size_t>(layer);
        const auto kept = KeptUnits(m_model.spec().layers[row], m_run.plan.mask().layer(layer)).heads;
        if (kept.empty())
            continue;
        const at::Tensor sum = gradientSum(layer, sequence, streams, progress);
        const at::Tensor& x = streams[row];
        const std::array wanted{Tap::attention};
        const LayerGradients whole = m_runner.backward(m_run.plan, layer, x, one, at::zeros_like(x), wanted);
        const at::Tensor links = whole.taps.at(Tap::attention).value[0] * sum / m_steps;
        const at::Tensor strongest = links.flatten(1).amax(1).to(at::kCPU, at::kDouble).contiguous();
        for (std::size_t i = 0; i < kept.size(); ++i)
            m_pending(row, kept[i]) = strongest.data_ptr<double>()[i];
    }
}

/// The sum over all steps of the gradients with respect to a layer's attention: [heads, queries, keys].
at::Tensor SelfAttribution::gradientSum(int layer, std::size_t sequence, std::span<const at::Tensor> streams,
                                        const Progress& progress) const {
    const std::int64_t length = std::ssize(m_run.sequences[sequence].ids);
    const auto most = static_cast<int>(std::clamp<std::int64_t>(m_run.batchTokens / length, 1, m_steps));
    at::Tensor sum;
    for (int first = 0; first < m_steps; first += most) {
        std::vector<float> scales;
        for (int step = first; step < std::min(first + most, m_steps); ++step)
            scales.push_back(static_cast<float>(step) / static_cast<float>(m_steps));
        const Copies some = copies(sequence, std::move(scales), streams.back());
        const at::Tensor own = gradient(layer, streams[static_cast<std::size_t>(layer)], some, progress);
        sum = sum.defined() ? sum + own : own;
    }
    return sum;
}

at::Tensor SelfAttribution::gradient(int layer, const at::Tensor& x, const Copies& some,
                                     const Progress& progress) const {
    const at::Tensor same = x.expand({some.batch.rows, -1, -1}).contiguous();
    const auto backward = [&](const at::Tensor& dOutput, Tap wanted) {
        const std::array taps{wanted};
        return m_runner.backward(m_run.plan, layer, same, some.batch, dOutput, taps, some.scales).taps.at(wanted);
    };
    const at::Tensor above = gradientAbove(layer, backward(at::zeros_like(same), Tap::output).value, some, progress);
    return backward(above, Tap::attention).gradient.sum(0);
}

/// The gradients of the scalars with respect to a layer's output. @param x the output
at::Tensor SelfAttribution::gradientAbove(int layer, const at::Tensor& x, const Copies& some,
                                          const Progress& progress) const {
    const int layers = m_model.spec().layerCount();
    std::vector<at::Tensor> streams{x};
    for (int next = layer + 1; next < layers; ++next) {
        progress.check();
        streams.push_back(m_runner.runLayer(m_run.plan, next, streams.back(), some.batch));
    }
    at::Tensor gradient = m_runner
                              .lossGradient(m_run.plan, streams.back(), some.batch, some.scalar.of, some.scalar.targets,
                                            some.scalar.weights)
                              .stream;
    for (int next = layers - 1; next > layer; --next) {
        progress.check();
        streams.pop_back();
        gradient = m_runner.backward(m_run.plan, next, streams.back(), some.batch, gradient, {}).input;
    }
    return gradient;
}

} // namespace

std::unique_ptr<GradientWork> selfAttribution(const Model& model, const GradientRun& run,
                                              const GradientScalars& scalars, const MetricRequest& request) {
    return std::make_unique<SelfAttribution>(model, run, scalars, request);
}

/// On average, half of the layers run for a step: those above the layer whose attention is scaled.
double selfAttributionPasses(const Model& model, const GradientRun& run, const MetricRequest& request) {
    const double share = std::min(1.0, request.whole("sequences") / static_cast<double>(run.sequences.size()));
    return share * request.whole("steps") * model.spec().layerCount() / 2;
}

} // namespace secateur
