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

/// The neurons of one layer in the order of their values or of their indices: index, value and percentile. Cut neurons
/// are struck out.
class NeuronTable : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { neuronColumn, valueColumn, percentileColumn };

    static constexpr int stateRole = Qt::UserRole; ///< a NeuronState as int

    using QAbstractTableModel::QAbstractTableModel;

    /// @param title of the column of values
    /// @param isSameLayer whether the neurons are those of the values before, so that selected ones stay selected
    void setValues(std::span<const double> values, const QString& title, bool isSameLayer);
    /// @param states by neuron
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

    std::vector<double> m_values; ///< by neuron
    std::vector<NeuronState> m_states;
    std::vector<double> m_sorted; ///< finite values
    std::vector<int> m_order;     ///< neuron in each row
    QString m_title;
    bool m_byIndex = false;
    bool m_descending = false;
};

/// Hatches the rows of cut neurons, and lightly those that a preview would cut or restore.
class NeuronDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& cell) const override;
};

/// The histogram of a layer's neurons with its cut part hatched and a threshold to drag.
class NeuronHistogram : public FigureWidget {
    Q_OBJECT

public:
    explicit NeuronHistogram(QWidget* parent = nullptr);

    /// @param values by neuron, which the figure counts
    void setValues(const Figure& figure, std::span<const double> values);
    /// @param states by neuron
    void setStates(const std::vector<NeuronState>& states);
    /// Drawn as ticks along the axis.
    void setSelected(const std::vector<double>& values);
    /// @param end where the threshold stands without a bound; neither = no threshold
    void setThreshold(std::optional<double> bound, PruneFirst end);
    /// Pixel of a value on the axis.
    QPoint position(double value) const;

signals:
    /// The threshold is dragged; infinite beyond the ends.
    void dragged(double bound);
    void released();
    /// Esc pressed, during a drag or not.
    void cancelled();
    /// The threshold is moved with the arrows. @param steps of one per cent of the neurons
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
        std::vector<double> cut;     ///< neurons in each bin
        std::vector<double> preview; ///< neurons that would be cut or restored
        std::vector<double> selected;
        std::optional<double> bound;
        PruneFirst end = PruneFirst::neither;
    };

    void count(const std::vector<NeuronState>& states);
    void replotOverlay();

    Overlay* m_overlay = nullptr; ///< belongs to the plot
    Drawn m_drawn;
    std::vector<double> m_values;
    std::vector<std::size_t> m_bins; ///< of each neuron; past the last = in none
    std::optional<QPoint> m_pressed;
    bool m_dragging = false;
};

} // namespace secateur
