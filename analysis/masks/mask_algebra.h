#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <span>
#include <string>
#include <string_view>

namespace secateur {

// Masks as sets of cuts. A dropped attention cuts all its heads besides itself, a dropped MLP all its neurons, and a
// dropped block both and all in them; so what is cut in one mask by its head and in another by its block is cut in
// both. What attention does besides is one scale, from keep over bypassing with an ever smaller alpha to drop: of two
// masks that bypass with different alphas, the union takes the smaller, which leaves less, and the intersection the
// greater. All masks are of one structure. @throws Error naming both structures when they are not

/// What either cuts.
PruningMask unionOf(const PruningMask& a, const PruningMask& b);
/// What both cut.
PruningMask intersectionOf(const PruningMask& a, const PruningMask& b);
/// The most that can be cut of what the one cuts without touching anything that the other cuts: a dropped attention of
/// which one head is to stay becomes the cuts of its other heads, a dropped block what of it may still go. A bypass or
/// a drop stays only where the other leaves attention as it is.
PruningMask subtraction(const PruningMask& from, const PruningMask& what);
/// What only one of them cuts: the union of both subtractions.
PruningMask symmetricDifference(const PruningMask& a, const PruningMask& b);

/// Two masks side by side.
struct MaskDifference {
    PruningMask onlyFirst;
    PruningMask onlySecond;
    PruningMask both;
};
MaskDifference differenceOf(const PruningMask& first, const PruningMask& second);

/// What a cut can take as one.
enum class CutUnit { head, kvGroup, neuron, attention, mlp, block };
std::string_view name(CutUnit unit);   ///< "head", "kv_group", ...
std::string_view plural(CutUnit unit); ///< "heads", "KV groups", ..., for sentences
/// How many a layer has; of sublayers and blocks, 1 or 0. A linear attention has no heads that could go by themselves.
int unitsIn(const LayerSpec& layer, CutUnit unit);

/// Cuts of one kind of unit just those that a mask leaves, and nothing else: neither what the mask cuts of other kinds
/// nor, where no head is left, the sublayer. A head, neuron or sublayer inside a dropped one counts as cut, a bypassed
/// attention as cut; a KV group as one that is cut only when all its heads are. @param spec needed for KV groups
PruningMask inversionOf(const PruningMask& mask, CutUnit unit, const ModelSpec& spec);

/// Whether a unit is cut, by itself or with what it lies in. @param index 0 for sublayers and blocks
bool isCut(const PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, int index);

// One edit each. What is restored inside a dropped part brings that part back and leaves the rest of it cut.
// @throws Error as PruningMask::setLayer; std::out_of_range when there is no such unit
void setHeads(PruningMask& mask, std::span<const HeadId> heads, bool kept);
void setNeurons(PruningMask& mask, int layer, std::span<const int> neurons, bool kept);
/// Restoring a sublayer or a block restores all in it.
void setAttention(PruningMask& mask, int layer, bool kept);
void setMlp(PruningMask& mask, int layer, bool kept);
void setBlock(PruningMask& mask, int layer, bool kept);
/// Cuts some units of one kind in one layer. @param indices as isCut
void cutUnits(PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, std::span<const int> indices);
/// Brings a dropped attention back, bypassed.
void bypassAttention(PruningMask& mask, int layer, double alpha);

/// Cuts every head that shares a KV head with a cut one, so that each cut frees its keys and values.
PruningMask grownToKvGroups(const PruningMask& mask, const ModelSpec& spec);

/// A layer's cuts in words: "heads 0, 4", "attention bypassed with alpha 0.2; neurons 0-31, 77", "block dropped"; long
/// lists as a count, "201 of 1536 neurons". Empty where nothing is cut.
std::string description(const LayerMask& layer);

} // namespace secateur
