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

/// The value of a metric as text: "41.2 %" for shares, "12.3" for perplexities.
QString metricText(const TaskMetric& metric);

/// Results of the extra measurements of the current mask, compared with the dense model. Each chosen measurement has
/// two lines.
class ExtraResultsBox : public QWidget {
    Q_OBJECT

public:
    explicit ExtraResultsBox(ExtraEvaluation* extra, QWidget* parent = nullptr);

private:
    struct Row {
        ExtraItem item;
        QLabel* name;
        QLabel* value;
        QLabel* details;    ///< shown below the name
        QLabel* difference; ///< shown below the value
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

/// The measured effect of the current mask. Shows the loss and perplexity compared with the dense model, the extra
/// measurements, the state of the evaluation, and a button to stop or continue it.
class EffectBox : public QWidget {
    Q_OBJECT

public:
    explicit EffectBox(LiveEvaluation* live, QWidget* parent = nullptr);

private:
    void refresh();
    void showFigures();
    void showProgress();
    /// The state of the evaluation of the scored text, as a sentence.
    QString stateText() const;
    /// The state of the extra measurements, as a sentence.
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
