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

/// The neurons of one layer with index, value and percentile, in the order of values or of indices. Cut neurons are
/// struck out.
class NeuronTable : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { neuronColumn, valueColumn, percentileColumn };

    static constexpr int stateRole = Qt::UserRole; ///< a NeuronState as int

    using QAbstractTableModel::QAbstractTableModel;

    /// @param title of the column of values
    /// @param isSameLayer whether the values are of the same layer as before, so that selected neurons stay selected
    void setValues(std::span<const double> values, const QString& title, bool isSameLayer);
    /// @param states one for each neuron
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
    /// Sorts again; persistent indices follow their neurons.
    void rearrange();

    std::vector<double> m_values; ///< of each neuron
    std::vector<NeuronState> m_states;
    std::vector<double> m_sorted; ///< the finite values, sorted
    std::vector<int> m_order;     ///< for each row, its neuron
    QString m_title;
    bool m_byIndex = false;
    bool m_descending = false;
};

/// Draws rows of cut neurons hatched, and rows that a preview would cut or restore lightly hatched.
class NeuronDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& cell) const override;
};

/// The histogram of a layer's neurons. Cut neurons are hatched; the threshold can be dragged.
class NeuronHistogram : public FigureWidget {
    Q_OBJECT

public:
    explicit NeuronHistogram(QWidget* parent = nullptr);

    /// @param values one for each neuron, of which the figure is the histogram
    void setValues(const Figure& figure, std::span<const double> values);
    /// @param states one for each neuron
    void setStates(const std::vector<NeuronState>& states);
    /// Sets the values of selected neurons, which are drawn as ticks along the axis.
    void setSelected(const std::vector<double>& values);
    /// @param end the end at which the threshold is drawn without a bound; neither = no threshold
    void setThreshold(std::optional<double> bound, PruneFirst end);
    /// The pixel of a value on the axis.
    QPoint position(double value) const;

signals:
    /// The threshold is being dragged. @param bound infinite beyond the ends
    void dragged(double bound);
    void released();
    /// Esc pressed, during a drag or not.
    void cancelled();
    /// Left or Right pressed: requests a move of the threshold.
    /// @param steps each one per cent of the neurons; negative = cut fewer
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
    std::vector<std::size_t> m_bins; ///< for each neuron, its bin; beyond the last bin = none
    std::optional<QPoint> m_pressed;
    bool m_dragging = false;
};

} // namespace secateur
