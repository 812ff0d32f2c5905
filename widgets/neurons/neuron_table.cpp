#include "widgets/neurons/neuron_table.h"

#include "analysis/base/text.h"

#include <QFont>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

void NeuronTable::setValues(std::span<const double> values, const QString& title, bool isSameLayer) {
    const bool staysInPlace = isSameLayer && values.size() == m_values.size();
    if (!staysInPlace)
        beginResetModel();
    m_title = title;
    m_values.assign(values.begin(), values.end());
    m_sorted.clear();
    std::ranges::copy_if(m_values, std::back_inserter(m_sorted), [](double v) { return std::isfinite(v); });
    std::ranges::sort(m_sorted);
    if (staysInPlace) {
        rearrange();
        return;
    }
    m_order.resize(m_values.size());
    m_states.assign(m_values.size(), NeuronState::kept);
    arrange();
    endResetModel();
}

void NeuronTable::setStates(std::vector<NeuronState> states) {
    states.resize(m_values.size(), NeuronState::kept);
    if (states == m_states)
        return;
    m_states = std::move(states);
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

NeuronState NeuronTable::state(int row) const {
    return m_states[static_cast<std::size_t>(neuron(row))];
}

void NeuronTable::sort(int column, Qt::SortOrder order) {
    m_byIndex = column == neuronColumn;
    m_descending = order == Qt::DescendingOrder;
    rearrange();
}

void NeuronTable::rearrange() {
    emit layoutAboutToBeChanged();
    const std::vector<int> before = m_order;
    arrange();
    std::vector<int> rows(m_order.size());
    for (std::size_t row = 0; row < m_order.size(); ++row)
        rows[static_cast<std::size_t>(m_order[row])] = static_cast<int>(row);
    const QModelIndexList from = persistentIndexList();
    QModelIndexList to;
    to.reserve(from.size());
    for (const QModelIndex& cell : from)
        to << index(rows[static_cast<std::size_t>(before[static_cast<std::size_t>(cell.row())])], cell.column());
    changePersistentIndexList(from, to);
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
    const NeuronState own = state(cell.row());
    if (role == stateRole)
        return static_cast<int>(own);
    if (role == Qt::FontRole && own == NeuronState::cut) {
        QFont font;
        font.setStrikeOut(true);
        return font;
    }
    if (role == Qt::AccessibleDescriptionRole)
        return own == NeuronState::cut ? tr("cut") : own == NeuronState::wouldBeCut ? tr("would be cut") : QString();
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
