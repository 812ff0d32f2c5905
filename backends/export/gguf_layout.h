#pragma once

#include "backends/export/weight_cuts.h"

#include <span>
#include <vector>

namespace secateur {

/// A GGUF file whose tensors take other room: those that cuts widen become float32, the others keep type and bytes but
/// for what cuts change of them, and the directory says where each lies now.
/// @param file read as GGUF before @param cuts of its tensors, in order of their place
/// @throws Error
std::vector<FilePiece> relaidGguf(const MappedFile& file, std::span<const TensorEntry> tensors,
                                  std::span<const WeightCut> cuts);

} // namespace secateur
