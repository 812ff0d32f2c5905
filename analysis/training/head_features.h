#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/training/training_set.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// The vectors of texts that an encoder's head reads: the final states of their first tokens. While only the head is
/// trained they do not change, so they are computed once for each text and kept. For sources only: includes ATen.
class HeadFeatures {
public:
    /// @param plan a plan without dropout @param set whose order in the first epoch determines which texts run together
    /// @param seed of the order
    HeadFeatures(const Model& model, const Plan& plan, const TrainingSet& set, std::uint64_t seed);

    /// The vectors of examples of the set, [examples, 1, hidden]. Examples that run together are always the same ones,
    /// so that vectors are equal in every run.
    at::Tensor of(std::span<const std::size_t> examples, const Progress& progress);
    /// The vectors of other texts, [texts, 1, hidden]. Those of the last call are kept.
    at::Tensor ofOthers(std::span<const TrainingExample> texts, const Progress& progress);

    /// A batch of texts whose stream has one position: that of the first token.
    static Batch batchOf(std::span<const TrainingExample* const> examples);

private:
    at::Tensor compute(std::span<const TrainingExample* const> examples, const Progress& progress) const;

    const Model& m_model;
    const Plan& m_plan;
    const TrainingSet& m_set;
    std::vector<std::size_t> m_order;   ///< of the first epoch
    std::vector<std::size_t> m_places;  ///< for each example, its place in m_order
    std::vector<at::Tensor> m_together; ///< vectors of the examples that run together; undefined = not computed
    std::vector<TrainingExample> m_others;
    at::Tensor m_ofOthers;
};

} // namespace secateur
