#pragma once

#include "analysis/figures/figure.h"

#include <QStringList>
#include <QWidget>

#include <optional>
#include <string>
#include <vector>

class QCheckBox;
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
class LayersPlot;
class Selection;

/// Values per layer, several metrics over one another; a click on a layer selects its heads. What is cut of a layer is
/// marked, and cut or restored with Space or from the context menu.
class LayersView : public QWidget {
    Q_OBJECT

public:
    LayersView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Means are over the heads that pass; layers without any step back.
    void setFilter(const HeadFilter* filter);
    /// What is on screen, as a value to copy, save or draw elsewhere; without series when nothing is measured.
    Figure currentFigure() const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
    FigureActions* figureActions() const { return m_actions; }
    /// Result ids.
    const QStringList& chosenMetrics() const { return m_chosen; }
    /// Of those, the ones that there are values of.
    std::vector<std::string> shownIds() const;
    LayersPlot* plot() const { return m_plot; }
    LayerMarksLegend* legend() const { return m_legend; }

public slots:
    void chooseMetrics(const QStringList& resultIds);

signals:
    /// One line on the layer under the pointer, else on the current one; empty when there is neither.
    void hoverText(const QString& text);
    /// A person wants what measures these results as a command line.
    void commandWanted(const std::vector<std::string>& keys);
    /// Saving a picture did not work.
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void connectAll();
    void restore();
    void keep();
    void listMetrics();
    /// Draws with axes that fit the values.
    void refresh();
    /// Draws with axes that move no more than new values make them.
    void follow();
    void keepAxesSteady(Figure& figure);
    void tellLayer();
    /// "gate-norm = 3.21" for each line at the hovered layer.
    QStringList valuesAt(int layer, std::string (*format)(double value, double error)) const;
    void showToolTip(const QPoint& globalPosition);
    /// Drops or restores what the first metric on screen is about.
    void cutOrRestore();

    Document* m_document;
    const HeadFilter* m_filter = nullptr;
    QWidget* m_controls;
    QToolButton* m_metrics;
    QMenu* m_menu;
    QCheckBox* m_logarithmic;
    QLabel* m_estimates;
    QStackedWidget* m_stack;
    LayersPlot* m_plot;
    LayerMarksLegend* m_legend;
    FigureActions* m_actions;
    QTimer* m_refresh;
    QStringList m_chosen;
    std::optional<FigureAxis> m_left; ///< as drawn; absent = to be fitted
    std::optional<FigureAxis> m_right;
};

} // namespace secateur
