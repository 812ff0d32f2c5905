#pragma once

#include "widgets/layers/layers_plot.h"

#include <QStringList>
#include <QWidget>

#include <functional>
#include <set>

class QCheckBox;
class QContextMenuEvent;
class QLabel;
class QMenu;

namespace secateur {

class LayerMarksLegend;
class MaskEditor;
class Selection;

/// Units of a layer that can be dropped as a whole.
enum class LayerUnit { attention, mlp, block };

/// A figure over the layers with the legend of its marks. Shows the values and cuts of the layer under the pointer as
/// text. Keys and menus drop or restore units of the selected layers.
class LayersPanel : public QWidget {
    Q_OBJECT

public:
    /// Returns a text such as "gate-norm = 3.21" for each line of the figure at a layer. @param exact whether to show
    /// all digits
    using Values = std::function<QStringList(int layer, bool exact)>;

    LayersPanel(MaskEditor* masks, Selection* selection, LayersPlot::Marked marked, Values values);

    LayersPlot* plot() const { return m_plot; }
    LayerMarksLegend* legend() const { return m_legend; }
    /// Drops a unit of the selected layers. If it is dropped already in all of them that are not protected, restores
    /// it. Layers without such a unit are left out.
    void toggle(LayerUnit unit);
    /// Adds menu entries that cut or restore the selected layers. @param event the event that opens the menu
    void addCuts(QMenu& menu, const QContextMenuEvent& event);
    /// Emits hoverText() for the layer under the pointer, or for the current layer if there is none.
    void updateHoverText();

signals:
    /// Emitted with one line about a layer; empty if there is none.
    void hoverText(const QString& text);

private:
    QStringList linesOf(int layer, bool exact) const;
    void showToolTip(const QPoint& globalPosition);

    MaskEditor* m_masks;
    Values m_values;
    LayersPlot* m_plot;
    LayerMarksLegend* m_legend;
};

/// A page that is shown when there is no figure. @param text one line of text on the page
QLabel* emptyPage(const QString& text);

} // namespace secateur
