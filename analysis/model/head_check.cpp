#include "analysis/model/head_check.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/core.h>

namespace secateur {

void checkHead(const ModelSpec& spec, HeadId id) {
    const auto [layer, head] = id;
    if (layer < 0 || layer >= spec.layerCount())
        throw UsageError(fmt::format("the model has layers 0 to {}", spec.layerCount() - 1), headName(layer, head));
    if (const int heads = spec.layers[static_cast<std::size_t>(layer)].heads; head < 0 || head >= heads)
        throw UsageError(fmt::format("layer {} has heads 0 to {}", layer, heads - 1), headName(layer, head));
}

} // namespace secateur
