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

/// Cuts the N units with the lowest (or highest) values of a metric. While the slider moves, all views show a preview;
/// releasing it or the button cuts. Protected units and units that are cut already are not counted.
class CutBox : public QWidget {
    Q_OBJECT

public:
    explicit CutBox(Document* document, QWidget* parent = nullptr);

    /// Sets a filter. Only heads that pass it are cut; the box says so.
    void setFilter(const HeadFilter* filter);

public slots:
    /// Selects the result by which units are ranked, if its metric ranks units.
    void showMetric(const QString& resultId);

private:
    /// Lists the metrics that were measured and rank units. The chosen one stays chosen, also while it is measured
    /// again.
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
    /// The strategy that measures the chosen metric again after each step; null if the metric has none.
    const StrategyInfo* stepwise() const;
    /// Whether the user chose the strategy of stepwise().
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
    bool m_previewing = false; ///< whether this box has set the editor's preview
};

} // namespace secateur
