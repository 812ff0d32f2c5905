#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/layer_sums.h"
#include "analysis/running/batch.h"
#include "analysis/strategies/unit_ranking.h"

#include <string_view>
#include <vector>

namespace secateur {

/// Sums over a text of the inputs of the output and down projections (LayerSums), for each layer of a run. For sources
/// only: includes ATen.
class ProjectionSums : public LayerObserver {
public:
    /// @param mask mask of the run: cut units have no sums
    ProjectionSums(const Model& model, const PruningMask& mask, CutComponents components);

    /// To be called before a batch runs through a layer.
    void enter(int layer, const Batch& batch);
    const LayerSums& of(int layer) const { return m_layers[static_cast<std::size_t>(layer)].sums; }
    const KeptUnits& kept(int layer) const { return m_layers[static_cast<std::size_t>(layer)].kept; }

    bool wants(int layer, Tap tap) const override;
    bool takesPlanType() const override { return true; }
    void see(int layer, Tap tap, const at::Tensor& values) override;

private:
    struct Layer {
        KeptUnits kept;
        LayerSums sums;
    };

    const Model& m_model;
    CutComponents m_components;
    std::vector<Layer> m_layers;
    std::vector<int> m_lengths; ///< of the batch that runs
};

/// Writes the values of a metric of heads or neurons for one layer into a row of a matrix, as measureForward() has
/// them. @param metric id of a metric that reads the inputs of projections
void addValues(std::string_view metric, const ProjectionSums& sums, const ModelSpec& spec, int layer,
               WritingWeights& weights, Matrix& values);

} // namespace secateur
