#include "analysis/masks/mask_wire.h"

namespace secateur {

void Wire<PruningMask>::write(WireWriter& writer, const PruningMask& mask) {
    std::vector<LayerMask> layers;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        layers.push_back(mask.layer(layer));
    writer.put(layers);
}

PruningMask Wire<PruningMask>::read(WireReader& reader) {
    const auto layers = reader.get<std::vector<LayerMask>>();
    if (layers.empty())
        return {};
    PruningMask mask(reader.spec());
    if (static_cast<int>(layers.size()) != mask.layerCount())
        throw Error("A message has a mask of another model");
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        mask.setLayer(layer, layers[static_cast<std::size_t>(layer)]);
    mask.checkFits(reader.spec());
    return mask;
}

} // namespace secateur
