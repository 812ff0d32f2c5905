#pragma once

#include "widgets/evaluations/further_items.h"

#include <QWidget>

#include <vector>

class QGridLayout;
class QLabel;

namespace secateur {

class FurtherEvaluation;

/// "41.2 %", or "12.3" of a metric that is no share
QString metricText(const TaskMetric& metric);

/// What tasks, speed and a continued prompt say of the current mask, beside the dense model. Nothing is chosen: no
/// rows.
class FurtherBox : public QWidget {
    Q_OBJECT

public:
    explicit FurtherBox(FurtherEvaluation* further, QWidget* parent = nullptr);

private:
    struct Row {
        FurtherItem item;
        QLabel* name;
        QLabel* value;
        QLabel* details;    ///< under the name
        QLabel* difference; ///< under the value
    };

    void refresh();
    void build(const std::vector<FurtherItem>& items);
    void fill(const Row& row) const;
    void fillTask(const Row& row, const TaskEvaluation& task) const;
    void fillSpeed(const Row& row, const Latency& latency) const;
    void fillPrompt(const Row& row, const FurtherFigure& figure) const;

    FurtherEvaluation* m_further;
    QGridLayout* m_grid;
    std::vector<Row> m_rows;
};

} // namespace secateur
