#pragma once

#include "analysis/figure.h"
#include "analysis/metric.h"
#include "analysis/model_card.h"

#include <QWidget>

class QLabel;
class QTableView;

namespace secateur {

class FigureActions;
class FigureWidget;
class NeuronTable;

/// One layer's neurons: how their values are distributed, and all of them in order, the first to be cut first.
class LayerNeurons : public QWidget {
    Q_OBJECT

public:
    explicit LayerNeurons(QWidget* parent = nullptr);

    /// @param result may lack the layer's values as yet
    void showLayer(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic);
    /// The selected rows at full precision, as CSV; a single one as the bare value.
    void copyValues() const;
    void selectAll();
    bool hasRowsInFocus() const;
    QTableView* table() const { return m_rows; }
    /// Copying and saving the histogram, in the context menu.
    FigureActions* figureActions() const { return m_actions; }

signals:
    void closeWanted();

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QLabel* m_title;
    FigureWidget* m_histogram;
    NeuronTable* m_table;
    QTableView* m_rows;
    FigureActions* m_actions;
    Figure m_figure;
    std::string m_resultId;
    int m_layer = -1;
};

} // namespace secateur
