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
class LayersPanel;
class LayersPlot;
class Selection;

/// Values per layer of several metrics in one plot; a click on a layer selects its heads. Cuts are marked; Space and
/// the context menu cut and restore.
class LayersView : public QWidget {
    Q_OBJECT

public:
    LayersView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Means are over the heads that pass; layers without any are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The picture on screen, to copy, save or draw elsewhere; without series when nothing is measured.
    Figure currentFigure() const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
    FigureActions* figureActions() const { return m_actions; }
    /// Result ids.
    const QStringList& chosenMetrics() const { return m_chosen; }
    /// Keys of those that have values.
    std::vector<std::string> shownIds() const;
    LayersPlot* plot() const { return m_plot; }
    LayerMarksLegend* legend() const;

public slots:
    void chooseMetrics(const QStringList& resultIds);

signals:
    /// One line on the layer under the pointer, else on the current one; empty when there is neither.
    void hoverText(const QString& text);
    /// The command line that measures these results is to be copied.
    void commandWanted(const std::vector<std::string>& keys);
    /// A picture could not be saved.
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
    /// Draws with axes that change only where new values need it.
    void follow();
    void keepAxesSteady(Figure& figure);
    bool logarithmic() const;
    /// "gate-norm = 3.21" for each line at a layer. @param exact with all digits
    QStringList valuesAt(int layer, bool exact) const;
    /// Drops or restores the unit that the first metric on screen measures.
    void cutOrRestore();

    Document* m_document;
    const HeadFilter* m_filter = nullptr;
    QWidget* m_controls;
    QToolButton* m_metrics;
    QMenu* m_menu;
    QCheckBox* m_logarithmic;
    QLabel* m_estimates;
    QStackedWidget* m_stack;
    LayersPanel* m_panel;
    LayersPlot* m_plot;
    FigureActions* m_actions;
    QTimer* m_refresh;
    QStringList m_chosen;
    std::optional<FigureAxis> m_left; ///< as drawn; empty = to be fitted
    std::optional<FigureAxis> m_right;
};

} // namespace secateur
