#pragma once

#include "analysis/base/head_id.h"

#include <QKeySequence>
#include <QList>
#include <QObject>

#include <functional>
#include <optional>
#include <set>

class QAction;
class QMenu;
class QWidget;

namespace secateur {

class MaskEditor;
class Selection;

/// What can be done to the mask with what is selected, for menus, keys and the palette. The keys work in one picture.
class MaskActions : public QObject {
    Q_OBJECT

public:
    /// @param picture where the keys work
    MaskActions(MaskEditor* masks, Selection* selection, QWidget* picture);

    const QList<QAction*>& all() const { return m_all; }
    void fill(QMenu* menu) const;
    /// Whole layers are acted on in this one instead of those of the selection, for a menu about a layer's label.
    void setLayer(std::optional<int> layer);

private:
    QAction* add(const QString& text, const QList<QKeySequence>& keys, std::function<void()> run);
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
    QList<QAction*> m_ofHeads;  ///< enabled while heads are selected
    QList<QAction*> m_ofLayers; ///< enabled while there are layers to act on
    QList<QAction*> m_ends;     ///< a group of the menu ends with these
    std::optional<int> m_layer;
};

} // namespace secateur
