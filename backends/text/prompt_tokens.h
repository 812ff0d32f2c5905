#pragma once

#include "analysis/model/model.h"
#include "analysis/text/tokenizer.h"

#include <string>

namespace secateur {

/// @throws Error when the model has no tokenizer that can be read
PromptTokens promptTokens(const Model& model, const std::string& text);

} // namespace secateur
