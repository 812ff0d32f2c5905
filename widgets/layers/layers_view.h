#pragma once

#include "analysis/figures/figure.h"

#include <QStringList>
#include <QWidget>

#include <optional>
#include <string>
#include <vector>

class QLabel;
class QMenu;
class QStackedWidget;
class QTimer;
class QToolButton;

namespace secateur {

class Document;
class FigureActions;
class HeadFilter;
class LayerMarksLegend;
class LayersPanel;
class LayersPlot;
class ScaleCombo;
class Selection;
class UnmeasuredPage;

/// A plot of several metrics over the layers. A click on a layer selects its heads. Cuts are marked. Space and the
/// context menu cut and restore.
class LayersView : public QWidget {
    Q_OBJECT

public:
    LayersView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Sets the filter. Means are taken over the heads that pass it; layers without such a head are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The picture on screen, for copying and saving. It has no series if nothing is measured.
    Figure currentFigure() const;
    /// Actions that copy and save the picture, for the window's menus. The context menu has them too.
    FigureActions* figureActions() const { return m_actions; }
    /// Result ids of the chosen metrics.
    const QStringList& chosenMetrics() const { return m_chosen; }
    /// Keys of the chosen results that have values.
    std::vector<std::string> shownIds() const;
    LayersPlot* plot() const { return m_plot; }
    LayerMarksLegend* legend() const;

public slots:
    void chooseMetrics(const QStringList& resultIds);

signals:
    /// Emitted with one line about the layer under the pointer, or about the current layer if there is none; empty if
    /// there is neither.
    void hoverText(const QString& text);
    /// The user wants to copy the command of this figure, which needs the current mask in a file.
    void maskedFigureWanted(const std::string& figure);
    /// The user wants to copy the command that measures these results.
    void commandWanted(const std::vector<std::string>& keys);
    /// Emitted when a picture could not be saved.
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void connectAll();
    void restore();
    void keep();
    void listMetrics();
    /// Draws the picture with axes that are fitted to the values.
    void refresh();
    /// Draws new values. Changes the axes only if the values require it (see steadyRange()).
    void follow();
    void keepAxesSteady(Figure& figure);
    /// "layers:metrics=...": the figure on screen, for a command.
    std::string figureText() const;
    /// "gate-norm = 3.21" for each line at a layer. @param exact whether to give all digits
    QStringList valuesAt(int layer, bool exact) const;
    /// Drops or restores the unit that the first metric on screen measures.
    void cutOrRestore();

    Document* m_document;
    const HeadFilter* m_filter = nullptr;
    QWidget* m_controls;
    QToolButton* m_metrics;
    QMenu* m_menu;
    ScaleCombo* m_scale;
    QLabel* m_estimates;
    QStackedWidget* m_stack;
    UnmeasuredPage* m_unmeasured;
    LayersPanel* m_panel;
    LayersPlot* m_plot;
    FigureActions* m_actions;
    QTimer* m_refresh;
    QStringList m_chosen;
    std::optional<FigureAxis> m_left; ///< the drawn left axis; empty = must be fitted
    std::optional<FigureAxis> m_right;
};

} // namespace secateur
