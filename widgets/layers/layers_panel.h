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

/// Units that are dropped as a whole.
enum class LayerUnit { attention, mlp, block };

/// A picture over the layers with the legend of its marks. Names the values and cuts of the layer under the pointer,
/// and drops or restores parts of the selected layers from keys and menus.
class LayersPanel : public QWidget {
    Q_OBJECT

public:
    /// "gate-norm = 3.21" for each line at a layer. @param exact with all digits
    using Values = std::function<QStringList(int layer, bool exact)>;

    LayersPanel(MaskEditor* masks, Selection* selection, LayersPlot::Marked marked, Values values);

    LayersPlot* plot() const { return m_plot; }
    LayerMarksLegend* legend() const { return m_legend; }
    /// Drops a unit of the selected layers, or restores it where all of them that may be cut lack it. Layers that have
    /// no such unit are passed over.
    void toggle(LayerUnit unit);
    /// Adds entries that cut or restore the selected layers. @param event that opens the menu
    void addCuts(QMenu& menu, const QContextMenuEvent& event);
    /// Tells the values of the layer under the pointer, else of the one that keys move from.
    void updateHoverText();

signals:
    /// One line on a layer; empty when there is none.
    void hoverText(const QString& text);

private:
    QStringList linesOf(int layer, bool exact) const;
    void showToolTip(const QPoint& globalPosition);

    MaskEditor* m_masks;
    Values m_values;
    LayersPlot* m_plot;
    LayerMarksLegend* m_legend;
};

/// A page in place of a picture. @param text one line
QLabel* emptyPage(const QString& text);

} // namespace secateur
