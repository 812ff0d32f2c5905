#pragma once

#include "analysis/metrics/metric.h"

#include <QTreeWidget>

#include <map>

namespace secateur {

/// The rows of the metric list: groups of metrics by what they need, which fold; in them the metrics; below these their
/// variants and earlier measurements. The settings keep which groups are folded.
class MetricTree : public QTreeWidget {
    Q_OBJECT

public:
    enum Column { nameColumn, stateColumn };
    static constexpr int idRole = Qt::UserRole; ///< of nameColumn: the key of the row's result; groups have none

    explicit MetricTree(QWidget* parent = nullptr);

    /// Removes all rows but the groups.
    void clearRows();
    QTreeWidgetItem* group(Needs needs) const { return m_groups.at(needs); }
    /// Adds a row. @param key of its result
    QTreeWidgetItem* addRow(QTreeWidgetItem* parent, const QString& text, const QString& key);
    /// Shows the rows whose text or key contains every word, with the rows below them; all rows if there are no words.
    void filter(const QString& words);

private:
    void addGroup(Needs needs);
    bool showMatches(QTreeWidgetItem* row, const QStringList& words, bool isBelowMatch);
    void restoreFolding();
    void keepFolding() const;

    std::map<Needs, QTreeWidgetItem*> m_groups;
    QStringList m_words; ///< of the filter; while there are any, all groups are unfolded
};

} // namespace secateur
