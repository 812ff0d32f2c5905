#pragma once

#include <optional>
#include <vector>

namespace secateur {

/// In which order layers are worth measuring exactly once they have estimates: first the one whose place in the ranking
/// is in doubt against most others, then the one known worst. Layers without estimates come by their numbers.
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
