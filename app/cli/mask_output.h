#pragma once

#include "analysis/masks/price.h"

#include <string>
#include <vector>

namespace secateur::cli {

/// A mask as a person reads it: its cuts layer by layer, what they save, and which save no KV cache.
/// @param hasModel whether the price knows of weights
void printMask(const PruningMask& mask, const ModelSpec& spec, const Price& price, bool hasModel);
/// The cuts alone.
void printCuts(const PruningMask& mask);

void printNotes(const std::vector<std::string>& notes);

} // namespace secateur::cli
