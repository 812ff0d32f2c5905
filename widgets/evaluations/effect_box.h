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
class StillLabel;

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
        StillLabel* name;
        StillLabel* value;
        StillLabel* details;    ///< under the name
        StillLabel* difference; ///< under the value
    };

    void refresh();
    void build(const std::vector<ExtraItem>& items);
    void fill(const Row& row) const;
    void fillTask(const Row& row, const TaskEvaluation& task) const;
    void fillSpeed(const Row& row, const Latency& latency) const;
    void fillPrompt(const Row& row, const ExtraResult& figure) const;
    void fillPooled(const Row& row, const PooledEvaluation& pooled) const;

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
    /// State of an encoder, which has no loss.
    QString encoderText() const;
    /// State of the extra measurements.
    QString extraText() const;
    QString warningText() const;
    void showAction();

    LiveEvaluation* m_live;
    StillLabel* m_loss;
    StillLabel* m_perplexity;
    QProgressBar* m_progress;
    StillLabel* m_state;
    QToolButton* m_action;
};

} // namespace secateur
