#include "widgets/neuron_table.h"

#include "analysis/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

void NeuronTable::setValues(std::span<const double> values, const QString& title) {
    beginResetModel();
    m_title = title;
    m_values.assign(values.begin(), values.end());
    m_sorted.clear();
    std::ranges::copy_if(m_values, std::back_inserter(m_sorted), [](double v) { return std::isfinite(v); });
    std::ranges::sort(m_sorted);
    m_order.resize(m_values.size());
    arrange();
    endResetModel();
}

void NeuronTable::sort(int column, Qt::SortOrder order) {
    emit layoutAboutToBeChanged();
    m_byIndex = column == neuronColumn;
    m_descending = order == Qt::DescendingOrder;
    arrange();
    emit layoutChanged();
}

/// Neurons without a value come last, whichever way the others go.
void NeuronTable::arrange() {
    std::iota(m_order.begin(), m_order.end(), 0);
    if (m_byIndex && m_descending)
        std::ranges::reverse(m_order);
    if (m_byIndex)
        return;
    const auto key = [this](int neuron) {
        const double value = m_values[static_cast<std::size_t>(neuron)];
        if (!std::isfinite(value))
            return std::numeric_limits<double>::infinity();
        return m_descending ? -value : value;
    };
    std::ranges::stable_sort(m_order, {}, key);
}

double NeuronTable::percentBelow(double value) const {
    const auto below = std::ranges::lower_bound(m_sorted, value) - m_sorted.begin();
    return 100 * static_cast<double>(below) / static_cast<double>(std::ssize(m_sorted) - 1);
}

int NeuronTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_order.size());
}

int NeuronTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : percentileColumn + 1;
}

QVariant NeuronTable::data(const QModelIndex& cell, int role) const {
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    const double number = valueAt(cell.row());
    if (role == Qt::ToolTipRole && cell.column() == valueColumn)
        return QString::fromStdString(exactly(number));
    if (role != Qt::DisplayRole)
        return {};
    switch (cell.column()) {
    case neuronColumn:
        return QString::number(neuron(cell.row()));
    case valueColumn:
        return QString::fromStdString(significant(number));
    default:
        return std::isfinite(number) && m_sorted.size() > 1 ? QString::number(percentBelow(number), 'f', 1)
                                                            : QStringLiteral("–");
    }
}

QVariant NeuronTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole)
        return section == neuronColumn  ? tr("Neurons count from 0")
               : section == valueColumn ? m_title
                                        : tr("How many percent of the layer's other neurons lie below");
    if (role != Qt::DisplayRole)
        return {};
    return section == neuronColumn ? tr("neuron") : section == valueColumn ? tr("value") : tr("percentile");
}

} // namespace secateur
