#include "analysis/metrics/layer_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

LayerOrder::LayerOrder(std::size_t layers)
    : m_layers(layers) {}

void LayerOrder::setEstimate(std::size_t layer, double value, double standardError) {
    m_layers[layer].value = value;
    m_layers[layer].error = standardError;
    m_layers[layer].hasValue = true;
}

/// How many others are not separated from it (methods.md 1.4).
std::size_t LayerOrder::doubts(const Layer& layer) const {
    return static_cast<std::size_t>(std::ranges::count_if(m_layers, [&](const Layer& other) {
        return other.hasValue && layer.hasValue &&
               std::abs(layer.value - other.value) < 2 * std::hypot(layer.error, other.error);
    }));
}

std::optional<std::size_t> LayerOrder::next() {
    std::optional<std::size_t> best;
    std::pair<std::size_t, double> most;
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        if (m_layers[i].isTaken)
            continue;
        const std::pair need{doubts(m_layers[i]), m_layers[i].error};
        if (!best || need > most) {
            best = i;
            most = need;
        }
    }
    if (best)
        m_layers[*best].isTaken = true;
    return best;
}

} // namespace secateur
