#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/strategies/prune.h"

#include <QWidget>

#include <map>
#include <optional>
#include <string>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QPushButton;
class QSlider;
class QToolButton;

namespace secateur {

class Document;
class HeadFilter;
class StillLabel;

/// Cuts the lowest (or highest) N units by a metric. While the slider moves, all views show a preview; the button cuts.
/// Protected and already cut units do not count.
class CutBox : public QWidget {
    Q_OBJECT

public:
    explicit CutBox(Document* document, QWidget* parent = nullptr);

    /// Sets a filter: only heads that pass it are cut, which the box states.
    void setFilter(const HeadFilter* filter);

public slots:
    /// Chooses the result to rank by, if its metric ranks units.
    void showMetric(const QString& resultId);

private:
    /// Lists the metrics that were measured and rank units. The chosen one stays chosen, also while it is measured again.
    void listMetrics();
    void chooseMetric();
    void readRange();
    void preview();
    void cut();
    void buildProtection();
    void showProtection();
    const MetricResult* result() const;
    PruneRequest request() const;
    void say(const QString& text);
    QString action() const;
    /// The strategy that measures the chosen metric again after each step; null if there is none.
    const StrategyInfo* stepwise() const;
    /// Whether to cut with that strategy.
    bool isStepwise() const;
    PruneRequest stepwiseRequest() const;
    void cutStepwise();
    void announceStepwise();
    void showFilter();

    Document* m_document;
    const HeadFilter* m_filter = nullptr;
    QComboBox* m_metric;
    QComboBox* m_end;
    QDoubleSpinBox* m_amount;
    QComboBox* m_counted;
    QSlider* m_slider;
    QCheckBox* m_perLayer;
    QCheckBox* m_again;
    QCheckBox* m_knee;
    StillLabel* m_effect;
    StillLabel* m_filtered;
    StillLabel* m_protected;
    QToolButton* m_protect;
    QPushButton* m_cut;
    bool m_previewing = false; ///< whether the preview on screen is from this box
};

} // namespace secateur
