#pragma once

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

/// Cuts what lies beyond a threshold on the metric that is shown: heads, or KV groups where it is of those. A threshold
/// that is moved starts from the mask that was there before it, as long as nothing else was cut since.
class HeadsThreshold : public QObject {
    Q_OBJECT

public:
    HeadsThreshold(MaskEditor* masks, QObject* parent);

    /// @param result of a metric of heads or KV groups; null = there is none. Its values are copied
    /// @param filter that left some of them out; empty = none did
    void setResult(const MetricResult* result, const std::string& filter = {});
    bool isOffered() const;
    /// Neither = no threshold makes sense.
    PruneFirst end() const { return m_metric.info ? m_metric.info->pruneFirst : PruneFirst::neither; }

    /// Shows what the threshold would cut.
    void preview(double threshold);
    /// Cuts what is previewed, as one step of undo.
    void apply();
    void cancel();
    /// Moves the threshold past so many heads (or KV groups) at once, and cuts.
    void step(int units);

    /// Where it stands; empty when the mask is not what a threshold made of it.
    std::optional<double> marker() const { return m_dragged ? m_dragged : m_applied; }
    /// "37 heads below 0.0123"; empty without a threshold.
    QString text() const;

signals:
    void changed();

private:
    using Place = std::pair<int, int>; ///< layer, head or KV group

    void followMask();
    CutUnit unit() const { return m_metric.info->scope == Scope::kvGroup ? CutUnit::kvGroup : CutUnit::head; }
    double valueAt(Place place) const;
    /// Whatever is cut or protected there.
    std::vector<Place> beyond(double threshold) const;
    std::vector<double> levels() const;
    PruningMask masked(const PruningMask& base, double threshold) const;
    /// Cutting as many of the lowest comes to the same.
    std::optional<MaskProvenance> provenance(double threshold) const;
    QString counted(std::size_t units) const;
    void cut(double threshold, const QString& action, bool repeats);

    MaskEditor* m_masks;
    Matrix m_values; ///< [layers, heads or KV groups]
    MetricRequest m_metric;
    std::string m_resultId;
    std::string m_filter;
    std::optional<double> m_dragged;
    std::optional<double> m_applied;
    PruningMask m_base;                  ///< before the threshold
    std::optional<PruningMask> m_result; ///< with it
};

} // namespace secateur
