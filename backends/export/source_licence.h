#pragma once

#include "analysis/model/model_card.h"

#include <string>

namespace secateur {

/// The licence that a checkpoint states: `license` in the metadata of a folder's README.md, or `general.license` of a
/// GGUF file. Empty if it states none.
std::string licenceOf(const ModelCard& card);

} // namespace secateur
