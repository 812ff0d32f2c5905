#include "analysis/training/teacher.h"

#include "analysis/base/error.h"
#include "analysis/running/plan_adapters.h"
#include "analysis/training/training_batches.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <utility>

namespace secateur {

namespace {

class TeacherMemory : public TeacherStore {
public:
    std::optional<TopTokens> find(std::size_t example) const override {
        const auto found = m_values.find(example);
        return found == m_values.end() ? std::nullopt : std::optional(found->second);
    }
    void keep(std::size_t example, TopTokens values) override { m_values[example] = std::move(values); }

private:
    std::map<std::size_t, TopTokens> m_values;
};

} // namespace

std::unique_ptr<TeacherStore> teacherInMemory() {
    return std::make_unique<TeacherMemory>();
}

Teacher::Teacher(const Model& model, const TrainingSet& set, const TrainingSettings& settings, TeacherStore& store)
    : m_model(model)
    , m_set(set)
    , m_weight(settings.teacherWeight)
    , m_top(settings.teacherTop)
    , m_store(store) {
    if (model.spec().family == Family::encoder)
        throw Error("is an encoder: only decoders are trained with a teacher", model.card().path);
}

std::vector<std::shared_ptr<const TeacherTargets>>
Teacher::targets(std::span<const std::size_t> examples, const PaddedBatches& batches, const Progress& progress) {
    std::vector<std::size_t> missing;
    for (const std::size_t example : examples)
        if (!m_store.find(example))
            missing.push_back(example);
    if (!missing.empty())
        compute(missing, progress);
    std::vector<std::shared_ptr<const TeacherTargets>> all;
    for (const std::vector<std::size_t>& rows : batches.sequences) {
        TeacherTargets own;
        own.weight = m_weight;
        for (const std::size_t row : rows)
            append(own.top, m_store.find(examples[row]).value());
        all.push_back(std::make_shared<const TeacherTargets>(std::move(own)));
    }
    return all;
}

void Teacher::compute(std::span<const std::size_t> examples, const Progress& progress) {
    // A plan as for training, so that kept layers are converted only once for both.
    if (!m_plan)
        m_plan = m_model.runner().planWith(std::make_shared<const PlanAdapters>(), PruningMask(m_model.spec()));
    const PaddedBatches alone = batchesInOrder(sequencesOf(pointersTo(m_set, examples)), 1);
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const std::size_t example = examples[alone.sequences[batch].front()];
        m_store.keep(example, m_model.runner().topTokens(*m_plan, x, alone.batches[batch],
                                                         m_set.examples[example].targets, m_top));
    };
    forEachLayer(m_model.runner(), *m_plan, alone.batches, walk, progress);
}

} // namespace secateur
