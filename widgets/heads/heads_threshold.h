#pragma once

#include "analysis/figures/value_scale.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/metrics/metric.h"
#include "analysis/strategies/prune.h"

#include <QObject>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

class MaskEditor;

/// Cuts the heads or KV groups whose value of the metric on screen lies beyond a threshold. Moving the threshold
/// replaces its previous cuts: it cuts again from the mask before them. If another action has changed the mask since, a
/// new threshold starts from the current mask.
class HeadsThreshold : public QObject {
    Q_OBJECT

public:
    HeadsThreshold(MaskEditor* masks, QObject* parent);

    /// Sets the result to compare with the threshold.
    /// @param result of a metric of heads or KV groups, which is copied; null = none
    /// @param filter text of the filter that excluded heads from the result; empty = none
    void setResult(const MetricResult* result, const std::string& filter = {});
    /// Sets the scale of the colour bar, on which a threshold is shown and dragged. No threshold is offered for shares
    /// of a layer, which are not values. @param values all values on screen
    void setScale(ScaleKind scale, const Matrix& values);
    bool isOffered() const;
    /// The metric's pruning direction. If it is `neither`, no threshold is offered.
    PruneFirst end() const { return m_metric.info ? m_metric.info->pruneFirst : PruneFirst::neither; }

    /// The value at a place on the colour bar's axis.
    double fromBar(double place) const;
    /// The place of marker() on the colour bar's axis.
    std::optional<double> markerOnBar() const;

    /// Shows the cuts of a threshold as the editor's preview.
    void preview(double threshold);
    /// Makes the previewed cuts as one undo step.
    void apply();
    void cancel();
    /// Moves the threshold past a number of values and cuts. @param units number of values; negative = cut fewer units
    void step(int units);

    /// The value at which the threshold is drawn; empty if there is none, or another action has changed the mask since.
    std::optional<double> marker() const { return m_dragged ? m_dragged : m_applied; }
    /// The cut units as text: "37 heads below 0.0123"; empty without a threshold.
    QString text() const;

signals:
    void changed();

private:
    using Place = std::pair<int, int>; ///< layer, and head or KV group

    void followMask();
    CutUnit unit() const { return m_metric.info->scope == Scope::kvGroup ? CutUnit::kvGroup : CutUnit::head; }
    double valueAt(Place place) const;
    /// Heads or KV groups whose values are beyond the threshold, including cut and protected ones.
    std::vector<Place> beyond(double threshold) const;
    std::vector<double> levels() const;
    PruningMask masked(const PruningMask& base, double threshold) const;
    /// Provenance that makes the same mask again: the strategy by_metric with the same number of units as the budget.
    std::optional<MaskProvenance> provenance(double threshold) const;
    QString counted(std::size_t units) const;
    void cut(double threshold, const QString& action, bool repeats);

    MaskEditor* m_masks;
    Matrix m_values; ///< [layers, heads or KV groups]
    MetricRequest m_metric;
    std::string m_resultId;
    std::string m_filter;
    ScaleKind m_scale = ScaleKind::linear;
    Matrix m_shown; ///< values on screen, whatever the filter
    std::optional<double> m_dragged;
    std::optional<double> m_applied;
    PruningMask m_base;                  ///< the mask before the threshold's cuts
    std::optional<PruningMask> m_result; ///< the mask with the threshold's cuts
};

} // namespace secateur
