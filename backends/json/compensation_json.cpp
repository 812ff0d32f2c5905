#include "backends/json/compensation_json.h"

#include "backends/json/json_fields.h"

#include <utility>

namespace secateur {

std::string compensationJson(const std::string& path, CompensationMode mode, std::span<const FittedPart> parts,
                             const PricedMask& mask, std::span<const std::string> warnings) {
    OrderedJson projections = OrderedJson::array();
    for (const FittedPart& part : parts)
        projections.push_back({{"layer", part.layer},
                               {"projection", part.isAttention ? "output" : "down"},
                               {"mu", part.mu > 0 ? OrderedJson(part.mu) : OrderedJson()},
                               {"error_before", part.errorBefore},
                               {"error_after", part.errorAfter}});
    OrderedJson result{{"compensation", name(mode)}, {"projections", std::move(projections)}};
    result.update(OrderedJson::parse(maskResultJson(path, mask, warnings)));
    return jsonText(result);
}

} // namespace secateur
