#pragma once

#include "analysis/base/head_id.h"

#include <QKeySequence>
#include <QList>
#include <QObject>

#include <functional>
#include <optional>
#include <set>

class QAction;
class QCursor;
class QMenu;
class QWidget;

namespace secateur {

class MaskEditor;
class Selection;

/// Actions on the mask and the selected heads and layers, for menus, keys and the palette.
class MaskActions : public QObject {
    Q_OBJECT

public:
    /// @param picture the widget in which the keyboard shortcuts work
    MaskActions(MaskEditor* masks, Selection* selection, QWidget* picture);

    const QList<QAction*>& all() const { return m_all; }
    void fill(QMenu* menu) const;
    /// Sets the layer whose label a menu was opened on. Actions on layers apply to this layer
    /// if none of its heads is selected.
    void setLayer(std::optional<int> layer);

private:
    /// @param help for What's This? and the status bar
    QAction* add(const QString& text, const QList<QKeySequence>& keys, const QString& help, std::function<void()> run);
    void addHeadActions();
    void addLayerActions();
    void addBypass();
    void addProtection();
    void update();
    std::set<int> layers() const;
    std::set<HeadId> headsOf(const std::set<int>& layers) const;
    std::set<HeadId> columns() const;
    void cutOrRestore(const std::set<HeadId>& heads);
    void growToGroups();
    void protectHeads();
    void protectLayers();
    void askForAlpha();

    MaskEditor* m_masks;
    Selection* m_selection;
    QWidget* m_picture;
    QMenu* m_bypass;
    QList<QAction*> m_all;
    QList<QAction*> m_ofHeads;  ///< actions that are enabled while heads are selected
    QList<QAction*> m_ofLayers; ///< actions that are enabled while heads are selected or a layer is set
    QList<QAction*> m_ends;     ///< the last action of each group of the menu
    std::optional<int> m_layer;
};

/// Cuts or restores heads by dragging. All heads along the way get the state that the first one gets. During the drag
/// the mask editor shows a preview; afterwards the change is one undo step.
class HeadsShears {
public:
    explicit HeadsShears(MaskEditor* masks)
        : m_masks(masks) {}

    /// Begins a drag with these heads. The drag cuts if at least one of them is not cut; otherwise it restores.
    void begin(const std::set<HeadId>& heads);
    void paint(const std::set<HeadId>& heads);
    void apply();
    void cancel();

private:
    MaskEditor* m_masks;
    std::set<HeadId> m_painted;
    bool m_cut = true;
};

/// The cursor of the shears: an open pair of shears whose tip is at the pointer.
const QCursor& shearsCursor();

/// Whether the action "cut or restore" cuts these heads. It cuts if an unprotected head is not cut, or if no head is
/// cut.
bool wouldCut(const MaskEditor& masks, const std::set<HeadId>& heads);

} // namespace secateur
