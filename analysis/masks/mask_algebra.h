#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <span>
#include <string>
#include <string_view>

namespace secateur {

// Operations on masks as sets of cuts. A dropped attention includes cuts of all its heads, a dropped MLP cuts of all
// its neurons, and a dropped block both. So if one mask cuts a head and the other drops its block, both cut the head.
// Attention as a whole is kept, bypassed with some alpha, or dropped; a bypass cuts more the smaller its alpha. Of two
// bypasses the union therefore has the smaller alpha, and the intersection the larger.
// @throws Error naming both structures if the masks have different ones

/// Cuts of either mask.
PruningMask unionOf(const PruningMask& a, const PruningMask& b);
/// Cuts that both masks have.
PruningMask intersectionOf(const PruningMask& a, const PruningMask& b);
/// Cuts of the first mask without those of the second. If the first drops a part and the second cuts some units in it,
/// the result cuts the other units of that part one by one. A bypass or a drop of attention remains only in layers in
/// which the second neither bypasses nor drops it.
PruningMask subtraction(const PruningMask& from, const PruningMask& what);
/// Cuts that exactly one of the masks has: the union of both subtractions.
PruningMask symmetricDifference(const PruningMask& a, const PruningMask& b);

/// Comparison of two masks.
struct MaskDifference {
    PruningMask onlyFirst;
    PruningMask onlySecond;
    PruningMask both;
};
MaskDifference differenceOf(const PruningMask& first, const PruningMask& second);

/// The kinds of units that can be cut.
enum class CutUnit { head, kvGroup, neuron, attention, mlp, block };
std::string_view name(CutUnit unit);   ///< "head", "kv_group", ...
std::string_view plural(CutUnit unit); ///< "heads", "KV groups", ..., for sentences
/// Number of units of a kind in a layer; 1 or 0 for sublayers and blocks, 0 for the heads of a linear attention, which
/// cannot be cut alone.
int unitsIn(const LayerSpec& layer, CutUnit unit);

/// Cuts exactly the units of one kind that a mask keeps, and keeps all units of other kinds. Units inside a dropped
/// part count as cut, a bypassed attention too; a KV group counts as cut only if all its heads are.
/// @param spec needed for KV groups
PruningMask inversionOf(const PruningMask& mask, CutUnit unit, const ModelSpec& spec);

/// Whether a unit is cut, by itself or inside a dropped sublayer or block. @param index 0 for sublayers and blocks
bool isCut(const PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, int index);

// Each function below makes one edit. Restoring a unit inside a dropped part restores the part too, with its other
// units cut. @throws as PruningMask::setLayer(); std::out_of_range for units that the layer does not have
void setHeads(PruningMask& mask, std::span<const HeadId> heads, bool kept);
void setNeurons(PruningMask& mask, int layer, std::span<const int> neurons, bool kept);
/// Restoring a sublayer or a block restores everything in it.
void setAttention(PruningMask& mask, int layer, bool kept);
void setMlp(PruningMask& mask, int layer, bool kept);
void setBlock(PruningMask& mask, int layer, bool kept);
/// Cuts some units of one kind in one layer. @param indices as for isCut()
void cutUnits(PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, std::span<const int> indices);
/// Bypasses queries and keys, also of an attention that was dropped.
void bypassAttention(PruningMask& mask, int layer, double alpha);

/// Cuts all heads of every KV group that has a cut head, so that the group's keys and values are removed.
PruningMask grownToKvGroups(const PruningMask& mask, const ModelSpec& spec);

/// A layer's cuts in words: "heads 0, 4", "attention bypassed with alpha 0.2; neurons 0-31, 77", "block dropped". Long
/// lists are replaced by a count: "201 of 1536 neurons". Empty if nothing is cut.
std::string description(const LayerMask& layer);

} // namespace secateur
