#include "analysis/metrics/ablation_losses.h"

#include "analysis/base/error.h"
#include "analysis/running/runner.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/base/usage_error.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

void checkCanLose(const Model& model, const GradientScalars& scalars, std::span<const TokenSequence> sequences) {
    if (sequences.empty())
        throw Error("There is no sequence to measure a model on");
    if (model.spec().family == Family::encoder) {
        if (!model.has(-1, WeightName::classifier))
            throw UsageError("is an encoder without a classifier: it has no loss that could rise", model.card().path,
                             "Compare pooled outputs under a mask by the verb evaluate");
        if (!scalars.hasTargets())
            throw UsageError("is a classifier, whose loss needs the label of every text", model.card().path,
                             "Name a task of labelled texts: --task FILE --format classification");
        return;
    }
    if (!model.has(-1, WeightName::lmHead))
        throw Error("has no read-out (lm_head): no text can be scored", model.card().path);
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
    checkCanLose(model, m_scalars, sequences);
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
            throw Error(fmt::format("predicts no finite probabilities: the loss of text {} is {}", rows[row], nats),
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

} // namespace secateur
