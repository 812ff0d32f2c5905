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

/// A value's place in a result.
struct MetricCell {
    std::size_t row;
    std::size_t column;
    auto operator<=>(const MetricCell&) const = default;
};

/// Every computed metric of the selected cells, else of those under the pointer: value and place of one, spread of
/// many.
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
    /// Of every cell of a result.
    struct Standing {
        std::vector<int> ranks;
        std::vector<bool> certain; ///< false while estimates may move it
    };
    void addClasses(const std::string& resultId, const MetricResult& result, const std::set<MetricCell>& cells);
    static Words featuresAt(const MetricResult& result, std::size_t row, std::size_t column);
    void refresh();
    void showOne(HeadId head);
    void showMany(const std::set<HeadId>& heads);
    std::set<HeadId> shown() const;
    /// How one value compares.
    std::vector<std::string> allKeys() const;
    Words placeOf(const std::string& resultId, const MetricResult& result, std::size_t row, std::size_t column);
    /// A metric with its value, and below it how that compares.
    void addRow(const std::string& resultId, const Words& value, const Words& place);
    const Standing& standingOf(const std::string& resultId, const MetricResult& result);

    Document* m_document;
    Selection* m_selection;
    QLabel* m_title;
    QLabel* m_hint;
    QTreeWidget* m_table;
    QTimer* m_refresh;
    std::map<std::string, Standing> m_standings; ///< by result id, until the result changes
};

} // namespace secateur
