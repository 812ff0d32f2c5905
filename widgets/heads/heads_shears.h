#pragma once

#include "analysis/base/head_id.h"

#include <set>

class QCursor;

namespace secateur {

class MaskEditor;

/// Cutting by drag: every head painted gets the state that the first one is given. Shown while it lasts as the editor's
/// preview; one step of undo when it is done.
class HeadsShears {
public:
    explicit HeadsShears(MaskEditor* masks)
        : m_masks(masks) {}

    /// Cuts from here on if one of these is not cut, else restores.
    void begin(const std::set<HeadId>& heads);
    void paint(const std::set<HeadId>& heads);
    void apply();
    void cancel();

private:
    MaskEditor* m_masks;
    std::set<HeadId> m_painted;
    bool m_cut = true;
};

/// An open pair of shears, its point at the pointer's.
const QCursor& shearsCursor();

/// Whether cutting these would do something: one of them is not cut, and not protected unless all such are.
bool wouldCut(const MaskEditor& masks, const std::set<HeadId>& heads);

} // namespace secateur
