#pragma once

#include "analysis/figures/figure.h"
#include "analysis/metrics/metric.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/results/result_combo.h"

#include <QWidget>

#include <string>

class QAction;
class QActionGroup;
class QHBoxLayout;
class QMenu;
class QStackedWidget;
class QTimer;

namespace secateur {

class ColourControls;
class Document;
class FigureActions;
class HatchLegend;
class HeadFilter;
class MaskActions;
class ResultCombo;
class Selection;
class UnmeasuredPage;

/// The heat map of one metric (layers x heads). It shows and changes the selection that all views share.
class HeadsView : public QWidget {
    Q_OBJECT

public:
    HeadsView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Sets the filter. Heads that do not pass it are drawn paler and are not cut by a threshold.
    void setFilter(const HeadFilter* filter);
    /// The picture on screen, for copying and saving. It has no cells if nothing is measured.
    Figure currentFigure() const;
    /// Key of the chosen result. The result need not be measured.
    std::string resultId() const;
    /// Actions that copy and save the picture, for the window's menus. The context menu has them too.
    FigureActions* figureActions() const { return m_actions; }
    HeadsGrid* grid() const { return m_grid; }
    /// Actions on the mask, for the window's menus. The context menu has them too.
    MaskActions* maskActions() const { return m_maskActions; }
    QList<QAction*> tools() const;
    /// Adds everything that can be done with the selected heads and the picture.
    void fillMenu(QMenu* menu);

public slots:
    void showMetric(const QString& resultId);
    void selectAll();
    /// Copies the values of the selected cells at full precision as CSV. For a single cell, copies only the number.
    void copyValues();
    void resetZoom();

signals:
    /// Emitted with one line about the cell under the pointer, or about the active cell if there is none; empty if
    /// there is neither.
    void hoverText(const QString& text);
    /// Emitted when another result is on screen.
    void resultShown(const QString& resultId);
    /// The user wants to copy the command of this figure, which needs the current mask in a file.
    void maskedFigureWanted(const std::string& figure);
    /// The user wants to copy the command that measures these results.
    void commandWanted(const std::vector<std::string>& keys);
    /// The user wants to filter the heads by this condition.
    void filterWanted(const QString& condition);
    /// A picture could not be saved.
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void buildControls(QHBoxLayout& row);
    void addTool(QHBoxLayout& row, const QString& text, const QKeySequence& keys, HeadsGrid::Tool tool,
                 const QString& help);
    void addHeadActions(QMenu* menu);
    void showLegend();
    void connectAll();
    void restore();
    void keep();
    void refresh();
    void showPage();
    void offerThreshold();
    /// "heads:metric=...": the figure on screen, for a command.
    std::string figureText() const;
    /// Key of the result on screen: the chosen one, or its difference while two measurements are compared.
    std::string shownKey() const;
    /// Updates the line about the hovered head, or about the active head if none is hovered.
    void updateHoverText();
    void showToolTip(const QPoint& globalPosition);

    Document* m_document;
    Selection* m_selection;
    const HeadFilter* m_filter = nullptr;
    QWidget* m_controls;
    ResultCombo* m_metric;
    ColourControls* m_colours;
    QActionGroup* m_tools; ///< if none is checked, dragging selects
    QStackedWidget* m_stack;
    UnmeasuredPage* m_unmeasured;
    HeadsGrid* m_grid;
    HatchLegend* m_legend;
    MaskActions* m_maskActions;
    FigureActions* m_actions;
    QTimer* m_refresh;
    HeadReadout m_readout; ///< makes texts about the result on screen
};

} // namespace secateur
