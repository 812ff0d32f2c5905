#pragma once

#include "analysis/figures/figure.h"
#include "analysis/metrics/metric.h"

#include <QWidget>

#include <optional>
#include <string>

class QCheckBox;
class QSplitter;
class QStackedWidget;
class QTimer;

namespace secateur {

class Document;
class FigureActions;
class HeadFilter;
class LayerMarksLegend;
class LayerNeurons;
class LayersPlot;
class NeuronCutsRow;
class NeuronThreshold;
class ResultCombo;
class Selection;

/// How a neuron metric is distributed in every layer, and below it the neurons of the layer that was clicked. What is
/// cut of the MLPs is marked; a share of each layer, or neurons one by one, are cut here.
class NeuronsView : public QWidget {
    Q_OBJECT

public:
    NeuronsView(Document* document, Selection* selection, QWidget* parent = nullptr);

    /// Layers without a head that passes step back.
    void setFilter(const HeadFilter* filter);
    /// What is on screen, as a value to copy, save or draw elsewhere; without series when nothing is measured.
    Figure currentFigure();
    /// Id of the result on screen, measured or not.
    std::string resultId() const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
    FigureActions* figureActions() const { return m_actions; }
    LayersPlot* plot() const { return m_plot; }
    LayerNeurons* layerNeurons() const { return m_layer; }
    NeuronCutsRow* cutsRow() const { return m_cuts; }
    LayerMarksLegend* legend() const { return m_legend; }

public slots:
    void showMetric(const QString& resultId);
    /// Opens the layer's neurons below the picture.
    void openLayer(int layer);
    void closeLayer();
    /// The selected rows of the open layer.
    void copyValues();

signals:
    /// One line on the layer under the pointer, else on the current one; empty when there is neither.
    void hoverText(const QString& text);
    /// The picture is of another result now.
    void resultShown(const QString& resultId);
    /// A person wants what measures these results as a command line.
    void commandWanted(const std::vector<std::string>& keys);
    /// Saving a picture did not work.
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
    /// Takes up layers that changed, for about so long. Returns whether all are taken up.
    bool summarise(int budgetMs);
    void draw();
    void showLayer();
    bool logarithmic() const;
    std::string figureId() const;
    Figure bands() const;
    /// Of what is on screen: what is chosen, or what stands for it while two measurements are compared.
    std::string shownKey() const;
    const MetricResult* result() const;
    /// "p25 = 3.21" for each quantile of a layer.
    QStringList quantilesOf(int layer, std::string (*format)(double)) const;
    /// Says what the hovered layer, or else the current one, has.
    void tellLayer();
    void showToolTip(const QPoint& globalPosition);

    Document* m_document;
    QWidget* m_controls;
    ResultCombo* m_metric;
    QCheckBox* m_logarithmic;
    QStackedWidget* m_stack;
    QSplitter* m_splitter;
    LayersPlot* m_plot;
    LayerMarksLegend* m_legend;
    NeuronThreshold* m_threshold;
    LayerNeurons* m_layer;
    NeuronCutsRow* m_cuts;
    FigureActions* m_actions;
    QTimer* m_refresh;
    std::string m_summarised; ///< key of the result that these are of:
    Matrix m_values;          ///< what was summarised, to know which layers are new
    Matrix m_quantiles;       ///< [layers, bandPercents]
    std::optional<int> m_openLayer;
    bool m_layerIsStale = false; ///< what is shown of the open layer
};

} // namespace secateur
