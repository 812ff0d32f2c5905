#pragma once

#include "analysis/running/plan.h"
#include "backends/engine/plan_layer.h"
#include "backends/engine/weight_store.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace secateur {

/// A plan and where its weights come from. For sources only: pulls in ATen.
class EnginePlan : public Plan {
public:
    /// @param model and store must outlive it
    EnginePlan(const Model& model, WeightStore& store, PruningMask mask, std::string reason,
               const Conversion& conversion);

    using LayerPointer = std::shared_ptr<const PlanLayer>;
    LayerPointer layer(int index) const { return layer(index, mask().layer(index)); }
    /// A layer under another mask than the plan's.
    LayerPointer layer(int index, const LayerMask& mask) const;
    /// As gradients need it: on the processor in float32, packed both ways unless the engine is a plain one.
    LayerPointer gradientLayer(int index) const;
    /// Attention's output projection as stored, with all heads of the model.
    at::Tensor outputWeight(int index) const { return m_model.tensor(index, WeightName::output); }
    std::shared_ptr<const PlanEnds> ends() const;
    std::shared_ptr<const PlanEnds> gradientEnds() const;
    /// Whether the weights of both fit their budget; those that they share count once.
    bool staysBeside(const EnginePlan& other) const;

private:
    std::int64_t bytesWith(const EnginePlan& other) const;
    Conversion gradientConversion() const;
    LayerPointer stored(int index, const LayerMask& mask, const Conversion& conversion) const;
    std::shared_ptr<const PlanEnds> storedEnds(const Conversion& conversion) const;

    const Model& m_model;
    WeightStore& m_store;
    Conversion m_conversion;
    std::int64_t m_keptBytes; ///< of weights, at most, beside the one in use
};

} // namespace secateur
