#pragma once

#include "backends/base/mapped_file.h"
#include "backends/export/weight_cuts.h"

#include <span>
#include <string>
#include <vector>

namespace secateur {

// Weight files whose tensors cannot stay in their places: WeightCut::isWidened makes some of them float32, and
// AddedBias adds others. The list of tensors in the file gets the new types, shapes and places.

/// The pieces of such a GGUF file. @param file a valid GGUF file @param tensors of all files of the checkpoint
/// @param cuts of this file @param added biases for this file
std::vector<FilePiece> relaidGguf(const MappedFile& file, std::span<const TensorEntry> tensors,
                                  std::span<const WeightCut> cuts, std::span<const AddedBias> added);

/// The pieces of such a safetensors file; the arguments are those of relaidGguf(). Tensors are sorted by the size of
/// their numbers, largest first, so that all numbers are aligned.
std::vector<FilePiece> relaidSafetensors(const MappedFile& file, std::span<const TensorEntry> tensors,
                                         std::span<const WeightCut> cuts, std::span<const AddedBias> added);

/// The index of a checkpoint's shards with the added biases. @param index "model.safetensors.index.json"
/// @param bytes size of all tensors of the new checkpoint
std::string indexWithBiases(const MappedFile& index, std::span<const AddedBias> added, std::size_t bytes);

} // namespace secateur
