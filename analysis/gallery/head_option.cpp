#include "analysis/gallery/head_option.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/core.h>

#include <charconv>
#include <vector>

namespace secateur {

HeadId headOfOption(std::string_view option, const std::string& text) {
    const auto whole = [](const std::string& digits) {
        int value = -1;
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return failure == std::errc() && end == digits.data() + digits.size() ? value : -1;
    };
    const std::vector<std::string> parts = split(text, '.');
    const HeadId head{whole(parts.front()), whole(parts.back())};
    if (parts.size() != 2 || head.layer < 0 || head.head < 0)
        throw UsageError("should name a head: LAYER.HEAD", fmt::format("{}={}", option, text));
    return head;
}

void checkHead(const ModelSpec& spec, HeadId id) {
    const auto [layer, head] = id;
    if (layer < 0 || layer >= spec.layerCount())
        throw UsageError(fmt::format("the model has layers 0 to {}", spec.layerCount() - 1), headName(layer, head));
    if (const int heads = spec.layers[static_cast<std::size_t>(layer)].heads; head < 0 || head >= heads)
        throw UsageError(fmt::format("layer {} has heads 0 to {}", layer, heads - 1), headName(layer, head));
}

} // namespace secateur
