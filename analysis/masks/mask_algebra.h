#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <span>
#include <string>
#include <string_view>

namespace secateur {

// Masks as sets of cuts. A dropped attention also cuts all its heads, a dropped MLP all its neurons, and a dropped
// block both with everything in them. So a head is cut in both masks when one cuts it alone and the other drops its
// block. Apart from heads, attention has one scale, from keep over bypassing with a smaller and smaller alpha to drop:
// of two masks that bypass with different alphas the union takes the smaller, and the intersection the larger. All
// masks have one structure. @throws Error naming both structures when they differ

/// Cuts of either mask.
PruningMask unionOf(const PruningMask& a, const PruningMask& b);
/// Cuts that both masks have.
PruningMask intersectionOf(const PruningMask& a, const PruningMask& b);
/// Cuts of the first mask without those of the second. A dropped part some of whose units the second cuts becomes the
/// cuts of its other units. A bypass or drop stays only where the second keeps attention as it is.
PruningMask subtraction(const PruningMask& from, const PruningMask& what);
/// Cuts of only one mask: the union of both subtractions.
PruningMask symmetricDifference(const PruningMask& a, const PruningMask& b);

/// Comparison of two masks.
struct MaskDifference {
    PruningMask onlyFirst;
    PruningMask onlySecond;
    PruningMask both;
};
MaskDifference differenceOf(const PruningMask& first, const PruningMask& second);

/// A unit that can be cut.
enum class CutUnit { head, kvGroup, neuron, attention, mlp, block };
std::string_view name(CutUnit unit);   ///< "head", "kv_group", ...
std::string_view plural(CutUnit unit); ///< "heads", "KV groups", ..., for sentences
/// Units of a layer; of sublayers and blocks, 1 or 0. A linear attention has no heads that could be cut alone.
int unitsIn(const LayerSpec& layer, CutUnit unit);

/// Cuts exactly the units of one kind that a mask keeps, and nothing else: no units of other kinds and no sublayer.
/// Units inside a dropped part count as cut, a bypassed attention as cut, a KV group as cut only when all its heads
/// are.
/// @param spec needed for KV groups
PruningMask inversionOf(const PruningMask& mask, CutUnit unit, const ModelSpec& spec);

/// Whether a unit is cut, alone or with a part that contains it. @param index 0 for sublayers and blocks
bool isCut(const PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, int index);

// One edit each. Restoring a unit inside a dropped part restores the part and leaves its other units cut.
// @throws Error as PruningMask::setLayer; std::out_of_range when there is no such unit
void setHeads(PruningMask& mask, std::span<const HeadId> heads, bool kept);
void setNeurons(PruningMask& mask, int layer, std::span<const int> neurons, bool kept);
/// Restoring a sublayer or a block restores everything in it.
void setAttention(PruningMask& mask, int layer, bool kept);
void setMlp(PruningMask& mask, int layer, bool kept);
void setBlock(PruningMask& mask, int layer, bool kept);
/// Cuts some units of one kind in one layer. @param indices as isCut
void cutUnits(PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, std::span<const int> indices);
/// Bypasses queries and keys; a dropped attention is restored, bypassed.
void bypassAttention(PruningMask& mask, int layer, double alpha);

/// Cuts all heads of every KV group that has a cut head, so that the group's keys and values are removed.
PruningMask grownToKvGroups(const PruningMask& mask, const ModelSpec& spec);

/// A layer's cuts in words: "heads 0, 4", "attention bypassed with alpha 0.2; neurons 0-31, 77", "block dropped". Long
/// lists are a count: "201 of 1536 neurons". Empty where nothing is cut.
std::string description(const LayerMask& layer);

} // namespace secateur
