#pragma once

#include "analysis/figures/figure.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"

#include <QWidget>

class QLabel;
class QTableView;

namespace secateur {

class FigureActions;
class MaskEditor;
class NeuronHistogram;
class NeuronTable;
class NeuronThreshold;

/// One layer's neurons: the histogram of their values, and all of them in order, those that are pruned first on top.
/// Space cuts or restores the selected ones; a threshold on the histogram cuts all beyond it.
class LayerNeurons : public QWidget {
    Q_OBJECT

public:
    LayerNeurons(MaskEditor* masks, NeuronThreshold* threshold, QWidget* parent = nullptr);

    /// @param result may lack the layer's values @param command that draws the histogram again
    void showLayer(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic,
                   const std::string& command);
    /// Copies the selected rows at full precision: as CSV, or the bare value of a single one.
    void copyValues() const;
    void selectAll();
    /// Cuts the selected neurons, or restores them when all are cut.
    void cutOrRestore();
    bool hasRowsInFocus() const;
    QTableView* table() const { return m_rows; }
    NeuronHistogram* histogram() const { return m_histogram; }
    QString title() const;
    /// Copying and saving the histogram, in the context menu.
    FigureActions* figureActions() const { return m_actions; }

signals:
    void closeWanted();
    /// The histogram's threshold is moved with the keys. @param steps of one per cent
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
    void updateTitle();
    std::vector<int> selectedRows() const;
    /// Selected neurons, in the order of the rows.
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
    QString m_summary; ///< of the values; the title begins with it
    std::string m_resultId;
    int m_layer = -1;
};

} // namespace secateur
