#include "analysis/running/not_finite.h"

#include "analysis/base/text.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace secateur {

namespace {

/// A clause for each weight in [first, last] that holds numbers that are not finite. @param layer -1 = of the model
std::vector<std::string> weightsNotFinite(const Model& model, int layer, WeightName first, WeightName last) {
    std::vector<std::string> clauses;
    for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i) {
        const auto which = static_cast<WeightName>(i);
        if (!model.has(layer, which))
            continue;
        const at::Tensor values = model.tensor(layer, which);
        const auto nan = values.isnan().sum().item<std::int64_t>();
        const auto infinite = values.isinf().sum().item<std::int64_t>();
        if (nan + infinite > 0)
            clauses.push_back(
                fmt::format("{} holds {} NaN and {} infinite numbers", model.place(layer, which), nan, infinite));
    }
    return clauses;
}

std::string sentenceOf(const std::string& place, const std::vector<std::string>& weights) {
    return weights.empty() ? place + ", although its weights are: the numbers become too large"
                           : place + ": " + join(weights, ", ");
}

/// The same for one batch, without the output head.
NotFinite notFiniteStream(const Model& model, const Plan& plan, const Batch& batch, const Progress& progress) {
    if (std::ranges::any_of(batch.firstPosition, [](int first) { return first > 0; }))
        return {}; // it continues texts that are in a cache
    at::Tensor stream = model.runner().embed(plan, batch);
    if (!isFinite(stream))
        return {sentenceOf("the embedding of the text is not finite",
                           weightsNotFinite(model, -1, WeightName::embedding, WeightName::embeddingProjectionBias)),
                -1};
    for (int layer = 0; layer < model.spec().layerCount(); ++layer) {
        progress.check();
        stream = model.runner().runLayer(plan, layer, stream, batch);
        if (!isFinite(stream))
            return {sentenceOf(fmt::format("the output of layer {} is the first that is not finite", layer),
                               weightsNotFinite(model, layer, WeightName::attentionNorm, WeightName::mlpPostNormBias)),
                    layer};
    }
    return {};
}

} // namespace

bool isFinite(const at::Tensor& values) {
    return std::isfinite(values.sum(at::kDouble).item<double>());
}

NotFinite findNotFinite(const Model& model, const Plan& plan, std::span<const Batch> batches,
                        const Progress& progress) {
    for (const Batch& batch : batches)
        if (NotFinite found = notFiniteStream(model, plan, batch, progress); !found.text.empty())
            return found;
    return {join(weightsNotFinite(model, -1, WeightName::finalNorm, WeightName::classifierBias), ", "),
            model.spec().layerCount()};
}

std::string notFiniteClause(const Model& model, const Plan& plan, std::span<const Batch> batches,
                            const Progress& progress) {
    const NotFinite found = findNotFinite(model, plan, batches, progress);
    return found.text.empty() ? std::string() : "; " + found.text;
}

} // namespace secateur
