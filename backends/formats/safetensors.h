#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_weights.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The tensors of one file. @throws Error
std::vector<TensorEntry> safetensorsEntries(const std::shared_ptr<const MappedFile>& file);

inline constexpr HfWeights safetensorsWeights{"model.safetensors.index.json", "model.safetensors", safetensorsEntries};

/// Whether a file begins with the length of a header and a header.
bool looksLikeSafetensors(std::string_view bytes);

/// Opens a Hugging Face directory or a .safetensors file in the folder of its config.json; all shards if it is one of
/// several.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openSafetensors(const std::string& path, const Progress& progress);

} // namespace secateur
