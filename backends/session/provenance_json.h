#pragma once

#include "analysis/masks/mask_record.h"
#include "backends/base/json_object.h"

#include <map>
#include <optional>
#include <string>

namespace secateur {

/// The field "provenance" of a mask file (resources/manual/formats.md, Provenance); empty if it is absent.
/// @throws Error naming the place in the file
std::optional<MaskProvenance> provenanceOf(const JsonObject& file);
/// The provenance as JSON; "null" if it is absent.
std::string provenanceJson(const std::optional<MaskProvenance>& provenance);

/// A text as a JSON string, with invalid UTF-8 replaced.
std::string quoted(const std::string& text);
/// quoted(), or "null" if the text is empty.
std::string quotedOrNull(const std::string& text);
/// Options as a JSON object of texts.
std::string optionsJson(const std::map<std::string, std::string>& options);

} // namespace secateur
