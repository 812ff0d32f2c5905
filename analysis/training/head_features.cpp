#include "analysis/training/head_features.h"

#include "analysis/training/training_batches.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

namespace {

constexpr std::size_t textsTogether = 256;
constexpr std::int64_t featureTokens = 2048; ///< maximum tokens of a batch

} // namespace

HeadFeatures::HeadFeatures(const Model& model, const Plan& plan, const TrainingSet& set, std::uint64_t seed)
    : m_model(model)
    , m_plan(plan)
    , m_set(set)
    , m_order(epochOrder(set.examples.size(), seed, 0))
    , m_places(m_order.size())
    , m_together((m_order.size() + textsTogether - 1) / textsTogether) {
    for (std::size_t place = 0; place < m_order.size(); ++place)
        m_places[m_order[place]] = place;
}

at::Tensor HeadFeatures::of(std::span<const std::size_t> examples, const Progress& progress) {
    std::vector<at::Tensor> vectors;
    for (const std::size_t example : examples) {
        const std::size_t place = m_places[example];
        at::Tensor& together = m_together[place / textsTogether];
        if (!together.defined()) {
            const std::size_t begin = place / textsTogether * textsTogether;
            const std::size_t count = std::min(textsTogether, m_order.size() - begin);
            together = compute(pointersTo(m_set, std::span(m_order).subspan(begin, count)), progress);
        }
        vectors.push_back(together[static_cast<std::int64_t>(place % textsTogether)]);
    }
    return at::stack(vectors).unsqueeze(1);
}

at::Tensor HeadFeatures::ofOthers(std::span<const TrainingExample> texts, const Progress& progress) {
    if (!m_ofOthers.defined() || !std::ranges::equal(m_others, texts)) {
        m_ofOthers = compute(pointersTo(texts), progress).unsqueeze(1);
        m_others.assign(texts.begin(), texts.end());
    }
    return m_ofOthers;
}

Batch HeadFeatures::batchOf(std::span<const TrainingExample* const> examples) {
    Batch batch;
    batch.rows = static_cast<int>(examples.size());
    batch.positions = 1;
    for (const TrainingExample* example : examples)
        batch.ids.push_back(example->ids.front());
    return batch;
}

/// The vectors of texts, [texts, hidden].
at::Tensor HeadFeatures::compute(std::span<const TrainingExample* const> examples, const Progress& progress) const {
    const PaddedBatches set = paddedBatches(m_model, sequencesOf(examples), featureTokens);
    std::vector<at::Tensor> vectors(examples.size());
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const at::Tensor first = x.select(1, 0).clone();
        for (std::size_t row = 0; row < set.sequences[batch].size(); ++row)
            vectors[set.sequences[batch][row]] = first[static_cast<std::int64_t>(row)];
    };
    forEachLayer(m_model.runner(), m_plan, set.batches, walk, progress);
    return at::stack(vectors);
}

} // namespace secateur
