#pragma once

#include "widgets/neurons/neuron_threshold.h"

#include <QAbstractTableModel>

#include <span>
#include <vector>

namespace secateur {

/// The neurons of one layer in order of their values or of their places: index, value, and how many percent of the
/// layer's other neurons lie below. What is cut is struck out.
class NeuronTable : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { neuronColumn, valueColumn, percentileColumn };

    static constexpr int stateRole = Qt::UserRole; ///< a NeuronState as int

    using QAbstractTableModel::QAbstractTableModel;

    /// @param title of the column of values
    /// @param isSameLayer whether rows are of the neurons that they were of, so that what is selected stays so
    void setValues(std::span<const double> values, const QString& title, bool isSameLayer);
    /// @param states of each neuron
    void setStates(std::vector<NeuronState> states);
    NeuronState state(int row) const;
    /// Index and value at full precision.
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
    /// Rows take what refers to them along.
    void rearrange();

    std::vector<double> m_values; ///< by neuron
    std::vector<NeuronState> m_states;
    std::vector<double> m_sorted; ///< the finite ones
    std::vector<int> m_order;     ///< neuron in each row
    QString m_title;
    bool m_byIndex = false;
    bool m_descending = false;
};

} // namespace secateur
