#include "analysis/metrics/variant_walk.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/not_finite.h"

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

/// A Progress whose reports have this text.
Progress saying(std::string_view text, const Progress& progress) {
    return Progress([text, &progress](double fraction, std::string_view) { progress.report(fraction, text); });
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
                               std::span<const int> labels, at::Tensor pooled)
    : m_model(model)
    , m_sequences(sequences)
    , m_scalars(model, sequences, labels)
    , m_pooled(std::move(pooled)) {
    if (!m_pooled.defined())
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
    if (m_pooled.defined())
        return ofPooled(plan, x, batch, rows);
    if (!m_predictions.empty())
        return ofComparison(plan, x, batch, rows);
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
        if (!std::isfinite(nats)) {
            const std::string cause = notFiniteText(m_model, plan, {&batch, 1});
            throw Error(fmt::format("predicts no finite probabilities: the loss of text {} is {}{}{}", rows[row], nats,
                                    cause.empty() ? "" : "; ", cause),
                        m_model.card().path);
        }
        losses.push_back({nats, 1, 0, rows[row]});
    }
    return losses;
}

std::vector<WindowLoss> SequenceLosses::ofPooled(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                                 std::span<const std::size_t> rows) const {
    const at::Tensor outputs = m_model.runner().lmHead(plan, x, batch).to(at::kCPU, at::kDouble);
    std::vector<WindowLoss> losses;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const at::Tensor apart =
            outputs[static_cast<std::int64_t>(row)] - m_pooled[static_cast<std::int64_t>(rows[row])];
        const double half = apart.square().sum().item<double>() / 2;
        if (!std::isfinite(half))
            throw Error(fmt::format("has a pooled output of text {} that is not finite", rows[row]),
                        m_model.card().path);
        losses.push_back({half, 1, 0, rows[row]});
    }
    return losses;
}

void SequenceLosses::compareWith(const Plan& plan, const PaddedBatches& batches, double share) {
    constexpr int topTokens = 256; // of the vocabulary; the others are one class
    std::vector<TopTokens> predictions(m_sequences.size());
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const std::vector<std::size_t>& own = batches.sequences[batch];
        const std::vector<int> targets = m_scalars.scalar({}, batches.batches[batch], own).targets;
        const TopTokens top = m_model.runner().topTokens(plan, x, batches.batches[batch], targets, topTokens);
        auto token = top.tokens.begin();
        auto probability = top.logProbabilities.begin();
        for (const std::size_t sequence : own) {
            const auto count = static_cast<std::ptrdiff_t>(m_scalars.targets(sequence));
            predictions[sequence] = {
                top.count, {token, token + count * top.count}, {probability, probability + count * (top.count + 1)}};
            token += count * top.count;
            probability += count * (top.count + 1);
        }
    };
    forEachLayer(m_model.runner(), plan, batches.batches, walk);
    m_predictions = std::move(predictions);
    m_share = share;
}

std::vector<WindowLoss> SequenceLosses::ofComparison(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                                     std::span<const std::size_t> rows) const {
    TopTokens dense;
    for (const std::size_t row : rows)
        append(dense, m_predictions[row]);
    const DenseComparison found =
        m_model.runner().comparison(plan, x, batch, m_scalars.scalar({}, batch, rows).targets, dense);
    std::vector<WindowLoss> losses;
    std::size_t token = 0;
    for (const std::size_t row : rows) {
        WindowLoss loss{0, static_cast<int>(m_scalars.targets(row)), 0, row};
        for (int i = 0; i < loss.tokens; ++i, ++token)
            loss.nats += m_share * found.divergence[token] + (1 - m_share) * found.nats[token];
        if (!std::isfinite(loss.nats))
            throw Error(fmt::format("predicts no finite probabilities for text {}", row), m_model.card().path);
        losses.push_back(loss);
    }
    return losses;
}

double meanLoss(std::span<const WindowLoss> losses) {
    double nats = 0;
    std::int64_t tokens = 0;
    for (const WindowLoss& loss : losses) {
        nats += loss.nats;
        tokens += loss.tokens;
    }
    return nats / static_cast<double>(tokens);
}

/// Collects the outputs of a layer under variants. Stacks them into batches, and runs these batches through the layers
/// above. With a resident plan, a batch runs as soon as it is full. Otherwise as many batches as
/// VariantText::waitingBytes allows run together.
class VariantWalk::Tails {
public:
    Tails(const VariantWalk& walk, std::span<const LayerVariant> variants, std::string_view text,
          const Progress& progress)
        : m_walk(walk)
        , m_variants(variants)
        , m_text(text)
        , m_progress(progress)
        , m_stacks(static_cast<double>(walk.stacks(variants)))
        , losses(variants.size(), walk.noLosses()) {}

    void add(std::size_t batch, std::size_t variant, const at::Tensor& stream) {
        if (m_open &&
            (m_open->batch != batch || m_variants[m_open->variants.front()].group != m_variants[variant].group))
            close();
        if (!m_open)
            m_open = Stack{batch, {}, {}};
        m_open->variants.push_back(variant);
        m_open->streams.push_back(stream);
        if (m_open->variants.size() == m_walk.variantsAtOnce(batch))
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
        if (m_walk.m_plan->isResident() || m_bytes >= m_walk.m_text.waitingBytes)
            run();
    }

    void run() {
        if (m_waiting.empty())
            return;
        std::vector<Batch> batches;
        for (const Stack& stack : m_waiting)
            batches.push_back(repeated(m_walk.batches().batches[stack.batch], stack.variants.size()));
        LayerWalk walk;
        walk.firstLayer = m_walk.m_inputs.layer() + 1;
        walk.start = [&](std::size_t i) {
            const std::vector<at::Tensor> streams = std::exchange(m_waiting[i].streams, {});
            return streams.size() == 1 ? streams.front() : at::cat(streams);
        };
        walk.finished = [&](std::size_t i, const at::Tensor& x) { keep(m_waiting[i], x, batches[i]); };
        const auto count = static_cast<double>(m_waiting.size());
        const Progress own = m_progress.part(m_done / m_stacks, (m_done + count) / m_stacks);
        forEachLayer(m_walk.m_model.runner(), *m_walk.m_plan, batches, walk, saying(m_text, own));
        m_done += count;
        m_waiting.clear();
        m_bytes = 0;
    }

    void keep(const Stack& stack, const at::Tensor& x, const Batch& batch) {
        const std::vector<std::size_t>& own = m_walk.batches().sequences[stack.batch];
        std::vector<std::size_t> rows;
        for (std::size_t i = 0; i < stack.variants.size(); ++i)
            rows.insert(rows.end(), own.begin(), own.end());
        const std::vector<WindowLoss> found = m_walk.m_losses.of(*m_walk.m_plan, x, batch, rows, m_progress);
        for (std::size_t row = 0; row < found.size(); ++row)
            losses[stack.variants[row / own.size()]][found[row].index] = found[row];
    }

    const VariantWalk& m_walk;
    std::span<const LayerVariant> m_variants;
    std::string_view m_text;
    const Progress& m_progress;
    double m_stacks;
    double m_done = 0;
    std::optional<Stack> m_open;
    std::vector<Stack> m_waiting; ///< full batches that have not run yet
    std::int64_t m_bytes = 0;

public:
    std::vector<Losses> losses; ///< losses for each variant
};

VariantWalk::VariantWalk(const Model& model, const Plan& plan, const VariantText& text)
    : m_model(model)
    , m_plan(&plan)
    , m_text(text)
    , m_losses(model, text.sequences, text.labels, text.pooled)
    , m_inputs(model.runner(), plan, paddedBatches(model, text.sequences, text.batchTokens)) {
    if (text.divergenceShare > 0)
        m_losses.compareWith(*model.runner().plan(PruningMask(model.spec()), plan.type()), batches(),
                             text.divergenceShare);
}

std::int64_t VariantWalk::streamBytes() const {
    return batches().tokens() * m_model.spec().hidden * static_cast<std::int64_t>(sizeof(float));
}

void VariantWalk::setPlan(const Plan& plan) {
    m_inputs.setPlan(plan);
    m_plan = &plan;
}

void VariantWalk::keepInputs(int firstLayer, int lastLayer, std::int64_t bytes) {
    m_inputs.keep(firstLayer, lastLayer, bytes, streamBytes());
}

VariantWalk::Losses VariantWalk::whole(const Plan& plan, const Progress& progress) const {
    Losses losses = noLosses();
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        for (const WindowLoss& loss :
             m_losses.of(plan, x, batches().batches[batch], batches().sequences[batch], progress))
            losses[loss.index] = loss;
    };
    forEachLayer(m_model.runner(), plan, batches().batches, walk, progress);
    return losses;
}

void VariantWalk::goTo(int layer, const Progress& progress) {
    m_inputs.goTo(layer, progress);
}

std::vector<VariantWalk::Losses> VariantWalk::under(std::span<const LayerVariant> variants, std::string_view text,
                                                    const Progress& progress) const {
    std::vector<Losses> losses;
    if (m_plan->mask().tiedTo(m_inputs.layer()).size() == 1)
        losses = sideBySide(variants, text, progress);
    else
        for (const LayerVariant& variant : variants) {
            const auto share = [&](std::size_t done) {
                return static_cast<double>(done) / static_cast<double>(variants.size());
            };
            const Progress own = progress.part(share(losses.size()), share(losses.size() + 1));
            losses.push_back(underOwnPlan(variant, saying(text, own)));
        }
    m_model.checkFiles(); // checked before results are stored
    return losses;
}

std::vector<VariantWalk::Losses> VariantWalk::sideBySide(std::span<const LayerVariant> variants, std::string_view text,
                                                         const Progress& progress) const {
    std::vector<LayerMask> masks;
    for (const LayerVariant& variant : variants)
        masks.push_back(variant.mask);
    Tails tails(*this, variants, text, progress);
    for (std::size_t batch = 0; batch < m_inputs.streams().size(); ++batch) {
        progress.check();
        m_model.runner().runVariants(
            *m_plan, m_inputs.layer(), m_inputs.streams()[batch], batches().batches[batch], masks,
            [&](std::size_t variant, const at::Tensor& stream) { tails.add(batch, variant, stream); });
    }
    tails.finish();
    return std::move(tails.losses);
}

/// The losses under a variant of a layer that shares its weights. The other layers that share them run under it too.
/// Therefore a plan is made for the mask with this variant.
VariantWalk::Losses VariantWalk::underOwnPlan(const LayerVariant& variant, const Progress& progress) const {
    PruningMask mask = m_plan->mask();
    mask.setLayer(m_inputs.layer(), variant.mask);
    const auto plan = m_model.runner().plan(mask, m_plan->type());
    Losses losses = noLosses();
    LayerWalk walk;
    walk.firstLayer = m_inputs.layer();
    walk.start = [&](std::size_t batch) { return m_inputs.streams()[batch]; };
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        for (const WindowLoss& loss :
             m_losses.of(*plan, x, batches().batches[batch], batches().sequences[batch], progress))
            losses[loss.index] = loss;
    };
    forEachLayer(m_model.runner(), *plan, batches().batches, walk, progress);
    return losses;
}

/// Number of variants of a batch that run as one batch. Small batches are slow; batches above batchTokens gain nothing.
std::size_t VariantWalk::variantsAtOnce(std::size_t batch) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, m_text.batchTokens / batches().batches[batch].tokens()));
}

std::size_t VariantWalk::stacks(std::span<const LayerVariant> variants) const {
    std::size_t count = 0;
    for (std::size_t batch = 0; batch < batches().batches.size(); ++batch)
        for (auto variant = variants.begin(); variant != variants.end();) {
            const auto end = std::find_if(variant, variants.end(),
                                          [&](const LayerVariant& other) { return other.group != variant->group; });
            count += (static_cast<std::size_t>(end - variant) + variantsAtOnce(batch) - 1) / variantsAtOnce(batch);
            variant = end;
        }
    return count;
}

} // namespace secateur
