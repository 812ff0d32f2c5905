#pragma once

#include "analysis/figures/figure.h"
#include "analysis/metrics/metric.h"

#include <QWidget>

#include <optional>
#include <string>

class QSplitter;
class QStackedWidget;
class QTimer;

namespace secateur {

class Document;
class FigureActions;
class HeadFilter;
class LayerMarksLegend;
class LayerNeurons;
class LayersPanel;
class LayersPlot;
class NeuronCutsRow;
class NeuronThreshold;
class ResultCombo;
class ScaleCombo;
class Selection;
class UnmeasuredPage;

/// The distribution of a neuron metric in every layer, and below it the neurons of the clicked layer. Marks the cuts of
/// MLPs and neurons. Cuts a share of the neurons of each layer, or single neurons.
class NeuronsView : public QWidget {
    Q_OBJECT

public:
    NeuronsView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Sets the filter. Layers without a head that passes it are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The picture on screen, for copying and saving. It has no series if nothing is measured.
    Figure currentFigure();
    /// Key of the chosen result. The result need not be measured.
    std::string resultId() const;
    /// Actions that copy and save the picture, for the window's menus. The context menu has them too.
    FigureActions* figureActions() const { return m_actions; }
    LayersPlot* plot() const { return m_plot; }
    LayerNeurons* layerNeurons() const { return m_layer; }
    NeuronCutsRow* cutsRow() const { return m_cuts; }
    LayerMarksLegend* legend() const;

public slots:
    void showMetric(const QString& resultId);
    /// Shows the neurons of a layer below the picture.
    void openLayer(int layer);
    void closeLayer();
    /// Opens a layer and selects a neuron in its list.
    void showNeuron(int layer, int neuron);
    /// Copies the selected rows of the open layer's table.
    void copyValues();

signals:
    /// Emitted with one line about the layer under the pointer, or about the current layer if there is none; empty if
    /// there is neither.
    void hoverText(const QString& text);
    /// Emitted when another result is on screen.
    void resultShown(const QString& resultId);
    /// The user wants to copy the command of this figure, which needs the current mask in a file.
    void maskedFigureWanted(const std::string& figure);
    /// The user wants to copy the command that measures these results.
    void commandWanted(const std::vector<std::string>& keys);
    /// Emitted when a picture could not be saved.
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void connectAll();
    void restore();
    void keep();
    void refresh();
    /// Computes the quantiles of changed layers, for about `budgetMs` milliseconds. Returns whether all quantiles are
    /// up to date.
    bool summarise(int budgetMs);
    void draw();
    void showLayer();
    bool logarithmic() const;
    std::string figureId() const;
    Figure bands() const;
    /// Key of the result on screen: the chosen result, or a difference while two measurements are compared.
    std::string shownKey() const;
    const MetricResult* result() const;
    /// A text such as "p25 = 3.21" for each quantile of a layer. @param exact whether to show all digits
    QStringList quantilesOf(int layer, bool exact) const;

    Document* m_document;
    QWidget* m_controls;
    ResultCombo* m_metric;
    ScaleCombo* m_scale;
    QStackedWidget* m_stack;
    UnmeasuredPage* m_unmeasured;
    QSplitter* m_splitter;
    LayersPanel* m_panel;
    LayersPlot* m_plot;
    NeuronThreshold* m_threshold;
    LayerNeurons* m_layer;
    NeuronCutsRow* m_cuts;
    FigureActions* m_actions;
    QTimer* m_refresh;
    std::string m_summarised; ///< key of the result that m_values and m_quantiles belong to
    Matrix m_values;          ///< the values from which m_quantiles was computed, to find layers that changed
    Matrix m_quantiles;       ///< [layers, bandPercents]
    std::optional<int> m_openLayer;
    bool m_layerIsStale = false; ///< whether the open layer must be shown again
};

} // namespace secateur
