#pragma once

#include <set>

class QMenu;

namespace secateur {

class MaskEditor;

/// What can be cut of layers as wholes.
enum class Sublayer { attention, mlp, block };

/// Drops a part of some layers, or restores it where all of them that may be cut lack it. Layers that have no such part
/// are passed over.
void toggle(MaskEditor& masks, const std::set<int>& layers, Sublayer part);

/// Whether toggle() would restore.
bool isDropped(const MaskEditor& masks, const std::set<int>& layers, Sublayer part);

/// Everything that can be cut of some layers, and brought back. @param masks outlives the menu
void addLayerCuts(QMenu& menu, MaskEditor& masks, const std::set<int>& layers);

} // namespace secateur
