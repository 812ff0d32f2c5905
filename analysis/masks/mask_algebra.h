#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

// Operations on masks as sets of cuts. A dropped attention includes cuts of all its heads, a dropped MLP cuts of all
// its neurons, and a dropped block includes both. If one mask cuts a head and the other drops its block, both masks
// therefore cut the head. Attention as a whole is kept, bypassed with some alpha, or dropped. The smaller alpha is, the
// more a bypass cuts. Of two bypasses, the union therefore has the smaller alpha and the intersection the larger one.
// A compensation was fitted to the cuts of a sublayer. The result of an operation has it only if it has these cuts.
// If both masks compensate the same cuts differently, the union and the intersection have no compensation of them.
// @throws Error naming both structures if the masks have different structures

/// The cuts that at least one of the masks has.
PruningMask unionOf(const PruningMask& a, const PruningMask& b);
/// The cuts that both masks have.
PruningMask intersectionOf(const PruningMask& a, const PruningMask& b);
/// The cuts of the first mask that the second does not have. If the first drops a sublayer or a block in which the
/// second cuts some units, the result cuts the other units one by one. A bypassed or dropped attention of the first
/// remains only in layers in which the second neither bypasses nor drops attention.
PruningMask subtraction(const PruningMask& from, const PruningMask& what);
/// The cuts that exactly one of the masks has: the union of both subtractions.
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
std::string_view name(CutUnit unit);   ///< "head", "kv_group" and so on, for requests and files
std::optional<CutUnit> cutUnitOf(std::string_view name); ///< the unit with this name(); empty if there is none
std::string_view plural(CutUnit unit); ///< "heads", "KV groups" and so on, for sentences
/// Number of units of a kind in a layer: 1 or 0 for sublayers and blocks, 0 for the heads of a linear attention, which
/// cannot be cut one by one.
int unitsIn(const LayerSpec& layer, CutUnit unit);

/// A mask that cuts exactly the units of one kind that `mask` keeps, and keeps all units of other kinds. Units in a
/// dropped sublayer or block count as cut, as does a bypassed attention. A KV group counts as cut only if all its heads
/// are.
/// @param spec needed for KV groups
PruningMask inversionOf(const PruningMask& mask, CutUnit unit, const ModelSpec& spec);

/// Whether a unit is cut: the unit itself, its sublayer or its block. @param index 0 for sublayers and blocks
bool isCut(const PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, int index);

/// Replaces the mask of a layer by an edited copy of it. If the edit changes the cuts of a sublayer, its compensation is
/// removed, because it was fitted to other cuts. All edits do so, by hand and by strategies. @throws as
/// PruningMask::setLayer()
void setEdited(PruningMask& mask, int layer, LayerMask edited);

// Each of the next functions makes one edit with setEdited(). Restoring a unit in a dropped sublayer or block restores this too, with
// all other units cut. @throws as PruningMask::setLayer(); std::out_of_range for units that the layer does not have
void setHeads(PruningMask& mask, std::span<const HeadId> heads, bool kept);
void setNeurons(PruningMask& mask, int layer, std::span<const int> neurons, bool kept);
/// Restoring a sublayer or a block restores all units in it.
void setAttention(PruningMask& mask, int layer, bool kept);
void setMlp(PruningMask& mask, int layer, bool kept);
void setBlock(PruningMask& mask, int layer, bool kept);
/// Cuts some units of one kind in a layer. @param indices as the argument of isCut()
void cutUnits(PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, std::span<const int> indices);
/// Bypasses queries and keys, also if the attention was dropped.
void bypassAttention(PruningMask& mask, int layer, double alpha);

/// Cuts all heads of every KV group that has a cut head, so that the keys and values of the group can be removed.
PruningMask grownToKvGroups(const PruningMask& mask, const ModelSpec& spec);

/// The cuts of a layer as text: "heads 0, 4", "attention bypassed with alpha 0.2; neurons 0-31, 77", "block dropped".
/// Long lists are replaced by counts: "201 of 1536 neurons". "compensated" comes last. Empty if the layer keeps all.
std::string description(const LayerMask& layer);

} // namespace secateur
