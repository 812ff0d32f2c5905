#pragma once

#include "widgets/evaluations/extra_items.h"

#include <QWidget>

#include <vector>

class QGridLayout;
class QLabel;

namespace secateur {

class ExtraEvaluation;

/// "41.2 %", or "12.3" of a metric that is no share
QString metricText(const TaskMetric& metric);

/// What tasks, speed and a continued prompt say of the current mask, beside the dense model. Nothing is chosen: no
/// rows.
class ExtraResultsBox : public QWidget {
    Q_OBJECT

public:
    explicit ExtraResultsBox(ExtraEvaluation* extra, QWidget* parent = nullptr);

private:
    struct Row {
        ExtraItem item;
        QLabel* name;
        QLabel* value;
        QLabel* details;    ///< under the name
        QLabel* difference; ///< under the value
    };

    void refresh();
    void build(const std::vector<ExtraItem>& items);
    void fill(const Row& row) const;
    void fillTask(const Row& row, const TaskEvaluation& task) const;
    void fillSpeed(const Row& row, const Latency& latency) const;
    void fillPrompt(const Row& row, const ExtraResult& figure) const;

    ExtraEvaluation* m_extra;
    QGridLayout* m_grid;
    std::vector<Row> m_rows;
};

} // namespace secateur
