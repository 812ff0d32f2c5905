#include "analysis/evaluation/pooled_distance.h"

#include "analysis/base/error.h"
#include "analysis/running/for_each_layer.h"
#include "analysis/running/padded_batches.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace secateur {

namespace {

/// [sequences, hidden] in float64, in the order of the batches.
at::Tensor pooled(const Model& model, const Plan& plan, const PaddedBatches& all, const Progress& progress) {
    std::vector<at::Tensor> outputs(all.batches.size());
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        outputs[batch] = model.runner().lmHead(plan, x, all.batches[batch]).to(at::kCPU, at::kDouble);
    };
    forEachLayer(model.runner(), plan, all.batches, walk, progress);
    return at::cat(outputs);
}

MeanDistance meanOf(const at::Tensor& distances) {
    const auto count = static_cast<double>(distances.numel());
    const double mean = distances.mean().item<double>();
    const double squares = (distances - mean).square().sum().item<double>();
    return {mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : std::numeric_limits<double>::quiet_NaN()};
}

} // namespace

bool givesPooledOutput(const Model& model) {
    return model.spec().family == Family::encoder && !model.has(-1, WeightName::classifier);
}

PooledDistance pooledDistance(const Model& model, const Plan& run, const Plan& reference, const SequenceSet& set,
                              std::int64_t batchTokens, const Progress& progress) {
    if (!givesPooledOutput(model))
        throw Error("is no encoder without a head: it has no pooled output to compare", model.card().path);
    if (set.sequences.empty())
        throw Error("There is no sequence to compare pooled outputs on");
    const PaddedBatches all = paddedBatches(set.sequences, batchTokens);
    const at::Tensor before = pooled(model, reference, all, progress.part(0, 0.5));
    const at::Tensor after = pooled(model, run, all, progress.part(0.5, 1));
    const at::Tensor lengths = before.norm(2, 1);
    const at::Tensor otherLengths = after.norm(2, 1);
    const at::Tensor relative = (after - before).norm(2, 1) / lengths;
    const at::Tensor cosine = 1 - (after * before).sum(1) / (lengths * otherLengths);
    if (!relative.isfinite().all().item<bool>() || !cosine.isfinite().all().item<bool>())
        throw Error("The pooled output of a sequence is zero or not finite: distances cannot be told", {},
                    "The weights, or the mask, leave nothing to go by");
    return {meanOf(relative), meanOf(cosine), model.has(-1, WeightName::pooler), set.sequences.size(), set.tokens};
}

} // namespace secateur
