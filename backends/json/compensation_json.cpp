#include "backends/json/compensation_json.h"

#include "backends/json/json_fields.h"
#include "backends/session/mask_json.h"

#include <utility>

namespace secateur {

std::string compensationJson(const std::string& path, CompensationMode mode, std::span<const FittedPart> parts,
                             const PricedMask& mask, std::span<const std::string> warnings) {
    OrderedJson result{{"compensation", name(mode)}, {"projections", OrderedJson::parse(fitsJson(parts))}};
    result.update(OrderedJson::parse(maskResultJson(path, mask, warnings)));
    return jsonText(result);
}

} // namespace secateur
