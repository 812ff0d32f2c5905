#include "analysis/strategies/projection_sums.h"

#include "analysis/metrics/metric.h"
#include "analysis/model/kernels.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <variant>

namespace secateur {

ProjectionSums::ProjectionSums(const Model& model, const PruningMask& mask, CutComponents components)
    : m_model(model)
    , m_components(components) {
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        m_layers.push_back({KeptUnits(model.spec().layers[static_cast<std::size_t>(layer)], mask.layer(layer)), {}});
}

void ProjectionSums::enter(int layer, const Batch& batch) {
    m_lengths.clear();
    for (int row = 0; row < batch.rows; ++row)
        m_lengths.push_back(batch.length(row));
    addRows(m_lengths, m_layers[static_cast<std::size_t>(layer)].sums);
}

bool ProjectionSums::wants(int layer, Tap tap) const {
    return (tap == Tap::context && m_components.heads && !kept(layer).heads.empty()) ||
           (tap == Tap::mlpHidden && m_components.neurons && !kept(layer).neurons.empty());
}

void ProjectionSums::see(int layer, Tap tap, const at::Tensor& values) {
    if (!wants(layer, tap))
        return;
    const bool isContext = tap == Tap::context;
    addColumns(m_model.kernels().tokens(), isContext ? values.flatten(2) : values, m_lengths,
               isContext ? &PartSums::context : &PartSums::neurons, m_layers[static_cast<std::size_t>(layer)].sums);
}

void addValues(std::string_view metric, const ProjectionSums& sums, const ModelSpec& spec, int layer,
               WritingWeights& weights, Matrix& values) {
    const MetricRequest request{findMetric(metric), {}};
    const KeptUnits& kept = sums.kept(layer);
    const LayerSums& own = sums.of(layer);
    const std::vector<double> found = std::get<ForwardMetric>(request.info->computation)
                                          .finish({request, spec, layer, kept, own.parts[0], {}, weights});
    const std::vector<std::size_t>& units = request.info->scope == Scope::head ? kept.heads : kept.neurons;
    for (std::size_t i = 0; i < found.size(); ++i)
        values(static_cast<std::size_t>(layer), units[i]) =
            std::isfinite(found[i]) ? found[i] : std::numeric_limits<double>::quiet_NaN();
}

} // namespace secateur
