#include "analysis/metrics/ablation_walk.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/running/not_finite.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace secateur {

namespace {

/// A batch in which the rows of another batch are repeated `times` times.
Batch repeated(const Batch& batch, std::size_t times) {
    Batch all = batch;
    all.rows = batch.rows * static_cast<int>(times);
    for (std::size_t i = 1; i < times; ++i) {
        all.ids.insert(all.ids.end(), batch.ids.begin(), batch.ids.end());
        all.lengths.insert(all.lengths.end(), batch.lengths.begin(), batch.lengths.end());
        all.types.insert(all.types.end(), batch.types.begin(), batch.types.end());
    }
    return all;
}

/// A Progress whose reports state the layer of the removed units, not the layer that runs.
Progress withoutPartsOf(int layer, const Progress& progress) {
    return Progress([text = fmt::format("without parts of layer {}", layer),
                     &progress](double fraction, std::string_view) { progress.report(fraction, text); });
}

void checkHasLoss(const Model& model, const GradientScalars& scalars, std::span<const TokenSequence> sequences) {
    if (sequences.empty())
        throw Error("There is no sequence to measure a model on");
    if (model.spec().family == Family::encoder) {
        if (!model.has(-1, WeightName::classifier))
            throw UsageError("is an encoder without a classifier and has no loss", model.card().path,
                             "Compare pooled outputs under a mask by the verb evaluate");
        if (!scalars.hasTargets())
            throw UsageError("is a classifier, whose loss needs the label of every text", model.card().path,
                             "Name a task of labelled texts: --task FILE --format classification");
        return;
    }
    if (!model.has(-1, WeightName::lmHead))
        throw Error("has no LM head (lm_head): no text can be scored", model.card().path);
    for (std::size_t i = 0; i < sequences.size(); ++i)
        if (scalars.targets(i) > 0)
            return;
    throw Error("No sequence is longer than one token: nothing is predicted");
}

} // namespace

SequenceLosses::SequenceLosses(const Model& model, std::span<const TokenSequence> sequences,
                               std::span<const int> labels)
    : m_model(model)
    , m_sequences(sequences)
    , m_scalars(model, sequences, labels) {
    checkHasLoss(model, m_scalars, sequences);
}

std::int64_t SequenceLosses::tokens() const {
    std::int64_t sum = 0;
    for (const TokenSequence& sequence : m_sequences)
        sum += std::ssize(sequence.ids);
    return sum;
}

std::vector<WindowLoss> SequenceLosses::of(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                           std::span<const std::size_t> rows, const Progress& progress) const {
    if (m_model.spec().family == Family::encoder)
        return ofLabels(plan, x, batch, rows);
    const ScoredRows scored{{rows.begin(), rows.end()}, m_scalars.scalar({}, batch, rows).targets};
    return rowLosses(m_model, plan, x, batch, scored, progress);
}

std::vector<WindowLoss> SequenceLosses::ofLabels(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                                 std::span<const std::size_t> rows) const {
    const std::vector<int> labels = m_scalars.scalar({}, batch, rows).targets;
    const at::Tensor classes = m_model.runner().lmHead(plan, x, batch).to(at::kCPU, at::kDouble).log_softmax(-1);
    std::vector<WindowLoss> losses;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto label = static_cast<std::int64_t>(labels[row]);
        if (label < 0 || label >= classes.size(1))
            throw Error(fmt::format("has no class {}: it has {} of them", label, classes.size(1)), m_model.card().path);
        const double nats = -classes[static_cast<std::int64_t>(row)][label].item<double>();
        if (!std::isfinite(nats))
            throw Error(fmt::format("predicts no finite probabilities: the loss of text {} is {}{}", rows[row], nats,
                                    notFiniteClause(m_model, plan, {&batch, 1})),
                        m_model.card().path);
        losses.push_back({nats, 1, 0, rows[row]});
    }
    return losses;
}

AblationEffect riseOf(const std::vector<WindowLoss>& run, const std::vector<WindowLoss>& reference) {
    const LossDifference rise =
        pairedDifference(perplexityOf(PerplexityRules(), run, {}), perplexityOf(PerplexityRules(), reference, {}));
    return {rise.nats, rise.standardError};
}

/// Collects the outputs of a layer, each computed without one unit. Stacks them into batches, and runs these batches
/// through the layers above. With a resident plan, a batch runs as soon as it is full. Otherwise as many batches as
/// AblationRun::waitingBytes allows run together.
class AblationWalk::Tails {
public:
    Tails(const AblationWalk& walk, const std::vector<AblationPart>& parts, const Progress& progress)
        : m_walk(walk)
        , m_parts(parts)
        , m_progress(progress)
        , m_stacks(static_cast<double>(walk.stacks(parts)))
        , losses(parts.size(), walk.noLosses()) {}

    void add(std::size_t batch, std::size_t part, const at::Tensor& stream) {
        if (m_open && (m_open->batch != batch || m_parts[m_open->parts.front()].request != m_parts[part].request))
            close();
        if (!m_open)
            m_open = Stack{batch, {}, {}};
        m_open->parts.push_back(part);
        m_open->streams.push_back(stream);
        if (m_open->parts.size() == m_walk.variantsAtOnce(batch))
            close();
    }

    /// Runs the remaining batches.
    void finish() {
        close();
        run();
    }

private:
    void close() {
        if (!m_open)
            return;
        for (const at::Tensor& stream : m_open->streams)
            m_bytes += static_cast<std::int64_t>(stream.nbytes());
        m_waiting.push_back(std::move(*m_open));
        m_open.reset();
        if (m_walk.m_run.plan.isResident() || m_bytes >= m_walk.m_run.waitingBytes)
            run();
    }

    void run() {
        if (m_waiting.empty())
            return;
        std::vector<Batch> batches;
        for (const Stack& stack : m_waiting)
            batches.push_back(repeated(m_walk.m_batches.batches[stack.batch], stack.parts.size()));
        LayerWalk walk;
        walk.firstLayer = m_walk.m_layer + 1;
        walk.start = [&](std::size_t i) {
            const std::vector<at::Tensor> streams = std::exchange(m_waiting[i].streams, {});
            return streams.size() == 1 ? streams.front() : at::cat(streams);
        };
        walk.finished = [&](std::size_t i, const at::Tensor& x) { keep(m_waiting[i], x, batches[i]); };
        const auto count = static_cast<double>(m_waiting.size());
        const Progress own = m_progress.part(m_done / m_stacks, (m_done + count) / m_stacks);
        forEachLayer(m_walk.m_model.runner(), m_walk.m_run.plan, batches, walk, withoutPartsOf(m_walk.m_layer, own));
        m_done += count;
        m_waiting.clear();
        m_bytes = 0;
    }

    void keep(const Stack& stack, const at::Tensor& x, const Batch& batch) {
        const std::vector<std::size_t>& own = m_walk.m_batches.sequences[stack.batch];
        std::vector<std::size_t> rows;
        for (std::size_t i = 0; i < stack.parts.size(); ++i)
            rows.insert(rows.end(), own.begin(), own.end());
        const std::vector<WindowLoss> found = m_walk.m_losses.of(m_walk.m_run.plan, x, batch, rows, m_progress);
        for (std::size_t row = 0; row < found.size(); ++row)
            losses[stack.parts[row / own.size()]][found[row].index] = found[row];
    }

    const AblationWalk& m_walk;
    const std::vector<AblationPart>& m_parts;
    const Progress& m_progress;
    double m_stacks;
    double m_done = 0;
    std::optional<Stack> m_open;
    std::vector<Stack> m_waiting; ///< full batches that have not run yet
    std::int64_t m_bytes = 0;

public:
    std::vector<Losses> losses; ///< losses for each part
};

AblationWalk::AblationWalk(const Model& model, const AblationRun& run)
    : m_model(model)
    , m_run(run)
    , m_losses(model, run.sequences, run.labels)
    , m_batches(paddedBatches(run.sequences, run.batchTokens))
    , m_dense(noLosses()) {}

void AblationWalk::begin(const Progress& progress) {
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        for (const WindowLoss& loss :
             m_losses.of(m_run.plan, x, m_batches.batches[batch], m_batches.sequences[batch], progress))
            m_dense[loss.index] = loss;
    };
    forEachLayer(m_model.runner(), m_run.plan, m_batches.batches, walk, progress);
    for (const Batch& batch : m_batches.batches)
        m_streams.push_back(m_model.runner().embed(m_run.plan, batch));
}

void AblationWalk::goTo(int layer, const Progress& progress) {
    for (; m_layer < layer; ++m_layer)
        for (std::size_t batch = 0; batch < m_streams.size(); ++batch) {
            progress.report(0, fmt::format("layer {}", m_layer));
            m_streams[batch] =
                m_model.runner().runLayer(m_run.plan, m_layer, m_streams[batch], m_batches.batches[batch]);
        }
}

std::vector<AblationEffect> AblationWalk::without(const std::vector<AblationPart>& parts, const Progress& progress) {
    std::vector<Losses> losses;
    if (m_run.plan.mask().tiedTo(m_layer).size() == 1)
        losses = sideBySide(parts, progress);
    else
        for (const AblationPart& part : parts) {
            const auto share = [&](std::size_t done) {
                return static_cast<double>(done) / static_cast<double>(parts.size());
            };
            losses.push_back(underOwnPlan(part, progress.part(share(losses.size()), share(losses.size() + 1))));
        }
    m_model.checkFiles(); // checked before results are stored
    std::vector<AblationEffect> effects;
    for (const Losses& own : losses)
        effects.push_back(riseOf(own, m_dense));
    return effects;
}

std::vector<AblationWalk::Losses> AblationWalk::sideBySide(const std::vector<AblationPart>& parts,
                                                           const Progress& progress) {
    std::vector<LayerMask> variants;
    for (const AblationPart& part : parts)
        variants.push_back(part.without);
    Tails tails(*this, parts, progress);
    for (std::size_t batch = 0; batch < m_streams.size(); ++batch) {
        progress.check();
        m_model.runner().runVariants(
            m_run.plan, m_layer, m_streams[batch], m_batches.batches[batch], variants,
            [&](std::size_t part, const at::Tensor& stream) { tails.add(batch, part, stream); });
    }
    tails.finish();
    return std::move(tails.losses);
}

/// The losses without a unit of a layer that shares its weights. The other layers that share them run without the unit
/// too. Therefore a plan is made for the mask in which this unit is cut.
AblationWalk::Losses AblationWalk::underOwnPlan(const AblationPart& part, const Progress& progress) const {
    PruningMask mask = m_run.plan.mask();
    mask.setLayer(part.layer, part.without);
    const auto plan = m_model.runner().plan(mask, m_run.plan.type());
    Losses losses = noLosses();
    LayerWalk walk;
    walk.firstLayer = m_layer;
    walk.start = [&](std::size_t batch) { return m_streams[batch]; };
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        for (const WindowLoss& loss :
             m_losses.of(*plan, x, m_batches.batches[batch], m_batches.sequences[batch], progress))
            losses[loss.index] = loss;
    };
    forEachLayer(m_model.runner(), *plan, m_batches.batches, walk, withoutPartsOf(m_layer, progress));
    return losses;
}

/// Number of variants of a batch that run as one batch. Small batches are slow; batches above batchTokens gain nothing.
std::size_t AblationWalk::variantsAtOnce(std::size_t batch) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, m_run.batchTokens / m_batches.batches[batch].tokens()));
}

std::size_t AblationWalk::stacks(const std::vector<AblationPart>& parts) const {
    std::size_t count = 0;
    for (std::size_t batch = 0; batch < m_batches.batches.size(); ++batch)
        for (auto part = parts.begin(); part != parts.end();) {
            const auto end = std::find_if(part, parts.end(),
                                          [&](const AblationPart& other) { return other.request != part->request; });
            count += (static_cast<std::size_t>(end - part) + variantsAtOnce(batch) - 1) / variantsAtOnce(batch);
            part = end;
        }
    return count;
}

} // namespace secateur
