#pragma once

#include "analysis/base/head_id.h"
#include "analysis/metrics/metric.h"

#include <QWidget>

#include <map>
#include <set>
#include <string>
#include <vector>

class QLabel;
class QTimer;
class QTreeWidget;

namespace secateur {

class Document;
class Selection;

/// Row and column of a value in a result.
struct MetricCell {
    std::size_t row;
    std::size_t column;
    auto operator<=>(const MetricCell&) const = default;
};

/// Shows all measurements of the selected heads. If no head is selected, those of the head or layer under the pointer.
/// For one head: value and rank; for several heads: mean and range.
class SelectionInspector : public QWidget {
    Q_OBJECT

public:
    SelectionInspector(Document* document, Selection* selection, QWidget* parent = nullptr);

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Words {
        QString text;
        QString tip;
    };
    /// Ranks of the cells of a result.
    struct Standing {
        std::vector<int> ranks;
        std::vector<bool> certain; ///< false if the rank may change, because values are estimates
    };
    void addClasses(const std::string& resultId, const MetricResult& result, const std::set<MetricCell>& cells);
    static Words featuresAt(const MetricResult& result, std::size_t row, std::size_t column);
    void build();
    void refresh();
    void showOne(HeadId head);
    void showMany(const std::set<HeadId>& heads);
    std::set<HeadId> shown() const;
    std::vector<std::string> allKeys() const;
    /// Rank and percentile of a value.
    Words placeOf(const std::string& resultId, const MetricResult& result, std::size_t row, std::size_t column);
    /// Adds a row with a metric and its value. The line below it shows the rank.
    void addRow(const std::string& resultId, const Words& value, const Words& place);
    const Standing& standingOf(const std::string& resultId, const MetricResult& result);

    Document* m_document;
    Selection* m_selection;
    QLabel* m_title;
    QLabel* m_hint;
    QTreeWidget* m_table;
    QTimer* m_refresh;
    std::map<std::string, Standing> m_standings; ///< ranks by key; removed when the result changes
};

} // namespace secateur
