#pragma once

#include "analysis/head_id.h"
#include "analysis/metric.h"

#include <QWidget>

#include <map>
#include <string>
#include <vector>

class QLabel;
class QTimer;
class QTreeWidget;

namespace secateur {

class Document;
class Selection;

/// Every computed metric of the selected cells: value and place of one, spread of many.
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
    void refresh();
    void showOne(HeadId head);
    void showMany();
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
