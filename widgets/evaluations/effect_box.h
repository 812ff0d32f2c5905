#pragma once

#include "widgets/evaluations/extra_items.h"

#include <QWidget>

#include <vector>

class QGridLayout;
class QLabel;
class QProgressBar;
class QToolButton;

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

class LiveEvaluation;

/// What the current mask does to the model, as far as it is measured: loss and perplexity beside the dense model's,
/// what was chosen besides, how much of the text they rest on, and a button that stops or goes on.
class EffectBox : public QWidget {
    Q_OBJECT

public:
    explicit EffectBox(LiveEvaluation* live, QWidget* parent = nullptr);

private:
    void refresh();
    void showFigures();
    void showProgress();
    /// Of what follows behind the text.
    QString extraText() const;
    void showAction();

    LiveEvaluation* m_live;
    QLabel* m_loss;
    QLabel* m_perplexity;
    QProgressBar* m_progress;
    QLabel* m_state;
    QToolButton* m_action;
};

} // namespace secateur
