#pragma once

#include "analysis/metrics/metric.h"
#include "widgets/neurons/neuron_threshold.h"
#include "widgets/plot/figure_widget.h"

#include <QAbstractTableModel>
#include <QPoint>
#include <QStyledItemDelegate>

#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// The neurons of one layer with their indices, values and percentiles, sorted by value or by index. The text of cut
/// neurons is struck out.
class NeuronTable : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { neuronColumn, valueColumn, percentileColumn };

    static constexpr int stateRole = Qt::UserRole; ///< a NeuronState as int

    using QAbstractTableModel::QAbstractTableModel;

    /// Sets the value of each neuron. @param title title of the column of values
    /// @param isSameLayer whether the values are of the same layer as before, so that the selected neurons stay
    /// selected
    void setValues(std::span<const double> values, const QString& title, bool isSameLayer);
    /// Sets the state of each neuron. @param states one state for each neuron
    void setStates(std::vector<NeuronState> states);
    NeuronState state(int row) const;
    int neuron(int row) const { return m_order[static_cast<std::size_t>(row)]; }
    double valueAt(int row) const { return m_values[static_cast<std::size_t>(neuron(row))]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& cell, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override;

private:
    double percentBelow(double value) const;
    void arrange();
    /// Sorts the rows again. Persistent indices stay with their neurons.
    void rearrange();

    std::vector<double> m_values; ///< value of each neuron
    std::vector<NeuronState> m_states;
    std::vector<double> m_sorted; ///< the finite values, sorted
    std::vector<int> m_order;     ///< index of the neuron in each row
    QString m_title;
    bool m_byIndex = false;
    bool m_descending = false;
};

/// Draws the rows of cut neurons hatched. Rows that a preview would cut or restore are hatched lightly.
class NeuronDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& cell) const override;
};

/// The histogram of the neurons of a layer. Cut neurons are hatched. The threshold can be dragged.
class NeuronHistogram : public FigureWidget {
    Q_OBJECT

public:
    explicit NeuronHistogram(QWidget* parent = nullptr);

    /// Sets the figure, which is the histogram of these values. @param values one value for each neuron
    void setValues(const Figure& figure, std::span<const double> values);
    /// Sets the state of each neuron. @param states one state for each neuron
    void setStates(const std::vector<NeuronState>& states);
    /// Sets the values of selected neurons, which are drawn as ticks along the axis.
    void setSelected(const std::vector<double>& values);
    /// Sets the threshold. @param end the end at which the threshold is drawn if there is no bound; neither = no
    /// threshold
    void setThreshold(std::optional<double> bound, PruneFirst end);
    /// The point of a value on the axis, in the widget's coordinates.
    QPoint position(double value) const;

signals:
    /// Emitted while the threshold is being dragged. @param bound value at the pointer; infinite beyond the ends of the
    /// axis
    void dragged(double bound);
    void released();
    /// Emitted when Esc was pressed, also without a drag.
    void cancelled();
    /// Emitted when Left or Right was pressed, to move the threshold.
    /// @param steps number of steps of one per cent of the neurons; negative = cut fewer
    void stepped(int steps);
    void enterPressed();

protected:
    void painted() override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Overlay;
    struct Drawn {
        std::vector<double> edges;
        std::vector<double> cut;     ///< number of cut neurons in each bin
        std::vector<double> preview; ///< number of neurons in each bin that would be cut or restored
        std::vector<double> selected;
        std::optional<double> bound;
        PruneFirst end = PruneFirst::neither;
    };

    void count(const std::vector<NeuronState>& states);
    void replotOverlay();

    Overlay* m_overlay = nullptr; ///< owned by the plot
    Drawn m_drawn;
    std::vector<double> m_values;
    std::vector<std::size_t> m_bins; ///< for each neuron, the index of its bin; the number of bins or more = no bin
    std::optional<QPoint> m_pressed;
    bool m_dragging = false;
};

} // namespace secateur
