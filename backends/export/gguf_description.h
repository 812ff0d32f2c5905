#pragma once

#include "analysis/model/model_spec.h"
#include "backends/export/target_tensor.h"
#include "backends/formats/gguf_fields.h"

#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// The architecture under which llama.cpp runs a decoder: "llama" for Mistral. @throws Error if it has none
std::string ggufNameOf(const ModelSpec& spec);

/// Metadata of a decoder, without its tokenizer and without the sizes that ExportLayout changes.
/// @param name of the architecture in front of the keys
std::vector<GgufField> ggufFieldsOf(const ModelSpec& spec, const std::string& name, const std::string& modelName);

/// The tensor of rotary divisors by which GGUF states Llama 3 scaling; empty if there is none.
std::optional<TargetTensor> rotaryDivisors(const ModelSpec& spec);

/// The pattern by which llama.cpp names a weight of an architecture; null if it has no such weight.
const TensorPattern* ggufPattern(const ModelSpec& spec, WeightName weight);

} // namespace secateur
