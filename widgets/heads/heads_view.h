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

/// The heat map of one metric, layers x heads. Shows and changes the shared selection.
class HeadsView : public QWidget {
    Q_OBJECT

public:
    HeadsView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Heads that do not pass are drawn paler, and no threshold cuts them.
    void setFilter(const HeadFilter* filter);
    /// The picture on screen, to copy, save or draw elsewhere; without cells if nothing is measured.
    Figure currentFigure() const;
    /// Key of the chosen result, measured or not.
    std::string resultId() const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
    FigureActions* figureActions() const { return m_actions; }
    HeadsGrid* grid() const { return m_grid; }
    /// Actions on the mask, for the window's menus; also in the context menu.
    MaskActions* maskActions() const { return m_maskActions; }
    QList<QAction*> tools() const;
    /// Adds everything that can be done with the selected heads and the picture.
    void fillMenu(QMenu* menu);

public slots:
    void showMetric(const QString& resultId);
    void selectAll();
    /// Copies the values of the selected cells at full precision, as CSV; for a single cell only the number.
    void copyValues();
    void resetZoom();

signals:
    /// One line about the cell under the pointer, or else the active cell; empty if there is neither.
    void hoverText(const QString& text);
    /// Another result is on screen.
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
    void offerThreshold();
    /// "heads:metric=...": the figure on screen, for a command.
    std::string figureText() const;
    /// Key of the result on screen: the chosen one, or its difference while two measurements are compared.
    std::string shownKey() const;
    /// Updates the line about the hovered head, or else the active one.
    void updateHoverText();
    void showToolTip(const QPoint& globalPosition);

    Document* m_document;
    Selection* m_selection;
    const HeadFilter* m_filter = nullptr;
    QWidget* m_controls;
    ResultCombo* m_metric;
    ColourControls* m_colours;
    QActionGroup* m_tools; ///< none checked = select
    QStackedWidget* m_stack;
    HeadsGrid* m_grid;
    HatchLegend* m_legend;
    MaskActions* m_maskActions;
    FigureActions* m_actions;
    QTimer* m_refresh;
    HeadReadout m_readout; ///< of the result on screen
};

} // namespace secateur
