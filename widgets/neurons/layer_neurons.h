#pragma once

#include "analysis/figures/figure.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"

#include <QWidget>

#include <optional>
#include <utility>

class QLabel;
class QTableView;

namespace secateur {

class FigureActions;
class MaskEditor;
class NeuronHistogram;
class NeuronTable;
class NeuronThreshold;

/// The neurons of one layer: the histogram of their values, and a table of all neurons in the order in which they are
/// pruned. Space cuts or restores the selected neurons. A threshold in the histogram cuts all neurons beyond it.
class LayerNeurons : public QWidget {
    Q_OBJECT

public:
    LayerNeurons(MaskEditor* masks, NeuronThreshold* threshold, QWidget* parent = nullptr);

    /// Shows a layer. @param result a result that may have no values for the layer @param command the command that
    /// draws the histogram again
    void showLayer(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic,
                   const std::string& command);
    /// Copies the selected rows at full precision as CSV. For a single row, copies only the value.
    void copyValues() const;
    void selectAll();
    /// Selects one neuron of a layer, now or when the layer is shown.
    void selectNeuron(int layer, int neuron);
    /// Cuts the selected neurons; if all are cut, restores them.
    void cutOrRestore();
    bool hasRowsInFocus() const;
    QTableView* table() const { return m_rows; }
    NeuronHistogram* histogram() const { return m_histogram; }
    QString title() const;
    /// Actions that copy and save the histogram. The context menu has them.
    FigureActions* figureActions() const { return m_actions; }

signals:
    void closeWanted();
    /// Emitted when Left or Right was pressed on the histogram, to move the threshold.
    /// @param steps number of steps of one per cent of the neurons; negative = cut fewer
    void stepped(int steps);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void build();
    void connectAll();
    void followMask();
    void followThreshold();
    void followSelection();
    void selectWanted();
    void updateTitle();
    std::vector<int> selectedRows() const;
    /// Indices of the selected neurons, in the order of the rows.
    std::vector<int> selected() const;
    bool wouldCut(const std::vector<int>& neurons) const;
    bool runTableKey(QKeyEvent* event);
    void escape();

    MaskEditor* m_masks;
    NeuronThreshold* m_threshold;
    QLabel* m_title;
    NeuronHistogram* m_histogram;
    NeuronTable* m_table;
    QTableView* m_rows;
    FigureActions* m_actions;
    Figure m_figure;
    QString m_summary; ///< the first part of the title: a summary of the values
    std::string m_resultId;
    int m_layer = -1;
    std::optional<std::pair<int, int>> m_wanted; ///< layer and neuron that will be selected
};

} // namespace secateur
