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
/// text, and drops or restores parts of the selected layers by keys and menus.
class LayersPanel : public QWidget {
    Q_OBJECT

public:
    /// Returns "gate-norm = 3.21" for each line of the figure at a layer. @param exact whether to give all digits
    using Values = std::function<QStringList(int layer, bool exact)>;

    LayersPanel(MaskEditor* masks, Selection* selection, LayersPlot::Marked marked, Values values);

    LayersPlot* plot() const { return m_plot; }
    LayerMarksLegend* legend() const { return m_legend; }
    /// Drops a unit of the selected layers; if all of them that are not protected have dropped it already, restores it.
    /// Leaves out layers without such a unit.
    void toggle(LayerUnit unit);
    /// Adds entries that cut or restore the selected layers. @param event the event that opens the menu
    void addCuts(QMenu& menu, const QContextMenuEvent& event);
    /// Emits hoverText() for the layer under the pointer, or else the current layer.
    void updateHoverText();

signals:
    /// One line about a layer; empty if there is none.
    void hoverText(const QString& text);

private:
    QStringList linesOf(int layer, bool exact) const;
    void showToolTip(const QPoint& globalPosition);

    MaskEditor* m_masks;
    Values m_values;
    LayersPlot* m_plot;
    LayerMarksLegend* m_legend;
};

/// A page that is shown instead of a figure. @param text one line
QLabel* emptyPage(const QString& text);

} // namespace secateur
