#include "backends/engine/target_scalars.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace secateur {

namespace {

/// Calls fill(begin, count) for all rows. On the CPU each row is processed completely, so that it stays in the cache.
void fillRows(const at::Tensor& rows, const std::function<void(std::int64_t begin, std::int64_t count)>& fill) {
    if (!rows.device().is_cpu()) {
        fill(0, rows.size(0));
        return;
    }
    at::parallel_for(0, rows.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        const c10::NoGradGuard noGraph;
        for (std::int64_t row = begin; row < end; ++row)
            fill(row, 1);
    });
}

/// Numbers as a column on the device.
template <typename Number>
at::Tensor asColumn(const std::vector<Number>& numbers, const at::Device& device) {
    return at::tensor(numbers).to(device).unsqueeze(1);
}

} // namespace

TargetScalars::TargetScalars(const LossTargets& targets, const at::Device& device)
    : m_targets(targets.targets)
    , m_weights(targets.weights)
    , m_teacher(targets.teacher) {
    if (!m_teacher)
        return;
    std::int64_t rows = 0;
    for (const int target : m_targets)
        m_teacherRows.push_back(target >= 0 ? rows++ : -1);
    const TopTokens& top = m_teacher->top;
    if (top.count < 1 || std::ssize(top.tokens) != rows * top.count ||
        std::ssize(top.logProbabilities) != rows * (top.count + 1))
        throw Error(fmt::format("The probabilities of a teacher do not fit {} targets", rows));
    m_topTokens = at::tensor(top.tokens, at::kLong).view({rows, top.count}).to(device);
    m_topLogs = at::tensor(top.logProbabilities, at::kFloat).view({rows, top.count + 1}).to(device);
}

Scalars TargetScalars::of(const at::Tensor& logits, const std::vector<std::size_t>& places, Scalarisation kind) const {
    if (!m_teacher)
        return withoutTeacher(logits, places, kind);
    if (kind != Scalarisation::taskLoss)
        throw Error("Only a loss can have a teacher");
    return withTeacher(logits, places);
}

// The gradient of log p_t is 1_t - p, that of p_t is p_t (1_t - p).
Scalars TargetScalars::withoutTeacher(const at::Tensor& logits, const std::vector<std::size_t>& places,
                                      Scalarisation kind) const {
    std::vector<std::int64_t> targets;
    std::vector<float> weights;
    for (const std::size_t at : places) {
        targets.push_back(m_targets[at]);
        weights.push_back(kind == Scalarisation::taskLoss ? -weight(at) : weight(at));
    }
    const at::Tensor chosen = asColumn(targets, logits.device());
    const at::Tensor factors = asColumn(weights, logits.device());
    const bool ofProbability = kind == Scalarisation::goldProbability;
    const Scalars result{at::empty({logits.size(0)}, logits.options()), at::empty_like(logits)};
    fillRows(logits, [&](std::int64_t begin, std::int64_t count) {
        const at::Tensor own = logits.narrow(0, begin, count);
        const at::Tensor target = chosen.narrow(0, begin, count);
        const at::Tensor factor = factors.narrow(0, begin, count);
        at::Tensor gradients = result.gradients.narrow(0, begin, count); // also scratch memory of the softmax
        at::sub_out(gradients, own, own.amax(1, true));
        const at::Tensor below = gradients.gather(1, target);
        gradients.exp_();
        const at::Tensor sum = gradients.sum(1, true);
        const at::Tensor value = factor * (ofProbability ? gradients.gather(1, target) / sum : below - sum.log());
        const at::Tensor outer = ofProbability ? value : factor;
        gradients.mul_(-outer / sum).scatter_add_(1, target, outer);
        result.values.narrow(0, begin, count).copy_(value.squeeze(1));
    });
    return result;
}

// Let p be the probabilities of the teacher and q those of the model. The gradient of KL(p || q) with respect to the
// logit of a token of the teacher is q - p. The tokens of the class of all others share the p of their class in
// proportion to their q.
Scalars TargetScalars::withTeacher(const at::Tensor& logits, const std::vector<std::size_t>& places) const {
    constexpr double none = -std::numeric_limits<double>::infinity();
    std::vector<std::int64_t> targets;
    std::vector<std::int64_t> rows;
    std::vector<float> weights;
    for (const std::size_t at : places) {
        targets.push_back(m_targets[at]);
        rows.push_back(m_teacherRows[at]);
        weights.push_back(weight(at));
    }
    const at::Tensor chosen = asColumn(targets, logits.device());
    const at::Tensor factors = asColumn(weights, logits.device());
    const at::Tensor ofTeacher = at::tensor(rows).to(logits.device());
    const at::Tensor tokens = m_topTokens.index_select(0, ofTeacher);
    const at::Tensor logs = m_topLogs.index_select(0, ofTeacher);
    const double share = m_teacher->weight;
    const Scalars result{at::empty({logits.size(0)}, logits.options()), at::empty_like(logits)};
    fillRows(logits, [&](std::int64_t begin, std::int64_t count) {
        const at::Tensor own = logits.narrow(0, begin, count);
        const at::Tensor target = chosen.narrow(0, begin, count);
        const at::Tensor factor = factors.narrow(0, begin, count);
        const at::Tensor top = tokens.narrow(0, begin, count);
        const at::Tensor logP = logs.narrow(0, begin, count);
        const at::Tensor sum = own.logsumexp(1, true);
        const at::Tensor others = own.scatter(1, top, none).logsumexp(1, true);
        const at::Tensor logQ = at::cat({own.gather(1, top), others}, 1) - sum;
        const at::Tensor p = logP.exp();
        const at::Tensor terms = at::where(p.gt(0), p * (logP - logQ), at::zeros_like(p)); // 0 log 0 = 0
        const at::Tensor value = (1 - share) * (sum - own.gather(1, target)) + share * terms.sum(1, true);
        result.values.narrow(0, begin, count).copy_((factor * value).squeeze(1));
        const at::Tensor ofOthers = (own - others).exp(); // their probabilities among themselves
        ofOthers.scatter_(1, top, 0).mul_(p.narrow(1, top.size(1), 1) * share);
        const at::Tensor gradients = result.gradients.narrow(0, begin, count);
        gradients.copy_((own - sum).exp()).sub_(ofOthers);
        gradients.scatter_add_(1, top, p.narrow(1, 0, top.size(1)) * -share);
        gradients.scatter_add_(1, target, at::full_like(factor, share - 1)).mul_(factor);
    });
    return result;
}

} // namespace secateur
