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

/// The distribution of a neuron metric in every layer, and below it the neurons of the clicked layer. Marks cuts of
/// MLPs and neurons, and makes them: a share of each layer, or neurons one by one.
class NeuronsView : public QWidget {
    Q_OBJECT

public:
    NeuronsView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Layers without a head that passes are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The picture on screen, to copy, save or draw elsewhere; without series if nothing is measured.
    Figure currentFigure();
    /// Key of the chosen result, measured or not.
    std::string resultId() const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
    FigureActions* figureActions() const { return m_actions; }
    LayersPlot* plot() const { return m_plot; }
    LayerNeurons* layerNeurons() const { return m_layer; }
    NeuronCutsRow* cutsRow() const { return m_cuts; }
    LayerMarksLegend* legend() const;

public slots:
    void showMetric(const QString& resultId);
    /// Opens the layer's neurons below the picture.
    void openLayer(int layer);
    void closeLayer();
    /// Copies the selected rows of the open layer.
    void copyValues();

signals:
    /// One line about the layer under the pointer, or else the current layer; empty if there is neither.
    void hoverText(const QString& text);
    /// Another result is on screen.
    void resultShown(const QString& resultId);
    /// The user wants to copy the command of this figure, which needs the current mask in a file.
    void maskedFigureWanted(const std::string& figure);
    /// The user wants to copy the command that measures these results.
    void commandWanted(const std::vector<std::string>& keys);
    /// A picture could not be saved.
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
    /// Computes the quantiles of changed layers for about `budgetMs`. Returns whether all are up to date.
    bool summarise(int budgetMs);
    void draw();
    void showLayer();
    bool logarithmic() const;
    std::string figureId() const;
    Figure bands() const;
    /// Key of the result on screen: the chosen one, or its difference while two measurements are compared.
    std::string shownKey() const;
    const MetricResult* result() const;
    /// "p25 = 3.21" for each quantile of a layer. @param exact whether to give all digits
    QStringList quantilesOf(int layer, bool exact) const;

    Document* m_document;
    QWidget* m_controls;
    ResultCombo* m_metric;
    ScaleCombo* m_scale;
    QStackedWidget* m_stack;
    QSplitter* m_splitter;
    LayersPanel* m_panel;
    LayersPlot* m_plot;
    NeuronThreshold* m_threshold;
    LayerNeurons* m_layer;
    NeuronCutsRow* m_cuts;
    FigureActions* m_actions;
    QTimer* m_refresh;
    std::string m_summarised; ///< key of the result of m_values and m_quantiles
    Matrix m_values;          ///< copy of the values, to find layers with new ones
    Matrix m_quantiles;       ///< [layers, bandPercents]
    std::optional<int> m_openLayer;
    bool m_layerIsStale = false; ///< whether the open layer has to be shown again
};

} // namespace secateur
