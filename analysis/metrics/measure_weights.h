#pragma once

#include "analysis/metrics/measure.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// The first stage of measure(): metrics that need nothing but weights, of the whole model. One walk over the layers
/// computes all requests, in float64. The measurement is left empty.
/// @throws Error naming file and tensor; Cancelled
std::vector<MetricResult> measureWeights(const Model& model, std::span<const MetricRequest> requests,
                                         const Progress& progress, const LayerSink& layerDone = {});

/// The order in which layers with estimates are measured exactly: first the layer whose rank is in doubt relative to
/// most others; of equal ones the layer with the largest error. Layers without estimates come in their own order.
class LayerOrder {
public:
    explicit LayerOrder(std::size_t layers);

    void setEstimate(std::size_t layer, double value, double standardError);
    void setExact(std::size_t layer, double value) { setEstimate(layer, value, 0); }
    /// Each layer comes once.
    std::optional<std::size_t> next();

private:
    struct Layer {
        double value = 0;
        double error = 0;
        bool hasValue = false;
        bool isTaken = false;
    };

    std::size_t doubts(const Layer& layer) const;

    std::vector<Layer> m_layers;
};

} // namespace secateur
