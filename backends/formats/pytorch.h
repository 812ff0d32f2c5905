#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_weights.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The tensors of a state dict that torch.save wrote, as a zip archive or, before 1.6, as a row of pickles. The dict is
/// the file's only value, or lies in it under "state_dict", "model_state_dict" or "model". Tied weights share bytes.
/// Nothing that the file contains is run. @throws Error
std::vector<TensorEntry> pytorchEntries(const std::shared_ptr<const MappedFile>& file);

inline constexpr HfWeights pytorchWeights{"pytorch_model.bin.index.json", "pytorch_model.bin", pytorchEntries};

/// Whether a file begins as torch.save's do.
bool looksLikePytorch(std::string_view bytes);

/// Opens a Hugging Face directory or a file beside its config.json; all shards when it is one of several.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openPytorch(const std::string& path, const Progress& progress);

} // namespace secateur
