#pragma once

#include "analysis/masks/price.h"

#include <string>
#include <vector>

namespace secateur::cli {

/// Prints the cuts of a mask layer by layer, what they save, and the KV heads that they leave in the cache.
/// @param hasModel whether the price knows the weights
void printMask(const PruningMask& mask, const ModelSpec& spec, const Price& price, bool hasModel);
/// Prints the cuts alone.
void printCuts(const PruningMask& mask);

void printNotes(const std::vector<std::string>& notes);

} // namespace secateur::cli
