#include "analysis/strategies/greedy_quality.h"

#include "analysis/evaluation/evaluation.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>

namespace secateur {

GreedyQuality::GreedyQuality(const Model& model, const PaddedBatches& batches, std::span<const int> labels,
                             const GradientScalars& scalars, Scalarisation scalar)
    : m_model(model)
    , m_batches(batches)
    , m_scalars(scalars)
    , m_scalar(scalar)
    , m_kind(model.spec().family == Family::decoder ? Kind::loss
             : givesPooledOutput(model)             ? Kind::distance
             : labels.empty()                       ? Kind::agreement
                                                    : Kind::accuracy) {
    if (m_kind != Kind::accuracy)
        return;
    std::vector<std::int64_t> ordered;
    for (const std::vector<std::size_t>& rows : batches.sequences)
        for (const std::size_t sequence : rows)
            ordered.push_back(labels[sequence]);
    m_labels = at::tensor(ordered, at::kLong);
}

std::string_view GreedyQuality::id() const {
    switch (m_kind) {
    case Kind::loss:
        return "loss_nats";
    case Kind::accuracy:
        return "acc";
    case Kind::agreement:
        return "agreement";
    case Kind::distance:
        return "pooled_distance";
    }
    return "";
}

double GreedyQuality::measure(const Plan& plan, const BackwardTrace& trace) {
    switch (m_kind) {
    case Kind::loss:
        return loss(plan, trace);
    case Kind::distance:
        return distance(outputs(plan, trace));
    default:
        return share(outputs(plan, trace));
    }
}

double GreedyQuality::worsening(double before, double after) const {
    const bool isBetterLow = m_kind == Kind::loss || m_kind == Kind::distance;
    return isBetterLow ? after - before : before - after;
}

/// Of the walk's own scalar where that is the loss: nothing is read out twice.
double GreedyQuality::loss(const Plan& plan, const BackwardTrace& trace) const {
    double nats = 0;
    double targets = 0;
    for (std::size_t batch = 0; batch < m_batches.batches.size(); ++batch) {
        const std::vector<std::size_t>& rows = m_batches.sequences[batch];
        const std::vector<double>& values = trace.values[batch];
        for (const std::size_t sequence : rows)
            targets += m_scalars.targets(sequence);
        if (m_scalar == Scalarisation::taskLoss && !values.empty()) {
            for (std::size_t row = 0; row < rows.size(); ++row)
                nats += values[row] * m_scalars.targets(rows[row]);
            continue;
        }
        const BackwardScalar scalar = m_scalars.scalar({}, m_batches.batches[batch], rows);
        const TokenLosses losses =
            m_model.runner().losses(plan, trace.tops[batch], m_batches.batches[batch], scalar.targets);
        for (const float one : losses.nats)
            nats += one;
    }
    return nats / targets;
}

at::Tensor GreedyQuality::outputs(const Plan& plan, const BackwardTrace& trace) const {
    std::vector<at::Tensor> all;
    for (std::size_t batch = 0; batch < m_batches.batches.size(); ++batch)
        all.push_back(
            m_model.runner().lmHead(plan, trace.tops[batch], m_batches.batches[batch]).to(at::kCPU, at::kDouble));
    return at::cat(all);
}

double GreedyQuality::share(const at::Tensor& logits) {
    const at::Tensor answers = logits.argmax(1);
    if (!m_labels.defined())
        m_labels = answers;
    return answers.eq(m_labels).to(at::kDouble).mean().item<double>();
}

double GreedyQuality::distance(const at::Tensor& pooled) {
    if (!m_before.defined())
        m_before = pooled;
    const at::Tensor lengths = pooled.norm(2, 1) * m_before.norm(2, 1);
    return (1 - (pooled * m_before).sum(1) / lengths).mean().item<double>();
}

} // namespace secateur
