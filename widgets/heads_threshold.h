#pragma once

#include "analysis/head_id.h"
#include "analysis/matrix.h"
#include "analysis/metric.h"
#include "analysis/pruning_mask.h"

#include <QObject>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace secateur {

class MaskEditor;

/// Heads whose value lies at the end to cut first, up to a threshold; NaN lies nowhere.
/// @param values [layers, heads]
std::set<HeadId> headsUpTo(const Matrix& values, double threshold, PruneFirst end);

/// Cuts what lies beyond a threshold on the metric that is shown. A threshold that is moved starts from the mask that
/// was there before it, as long as nothing else was cut since.
class HeadsThreshold : public QObject {
    Q_OBJECT

public:
    HeadsThreshold(MaskEditor* masks, QObject* parent);

    /// @param values [layers, heads]
    /// @param end neither = no threshold makes sense
    void setValues(const Matrix& values, PruneFirst end, const std::string& resultId);
    bool isOffered() const { return m_end != PruneFirst::neither && !m_values.empty(); }
    PruneFirst end() const { return m_end; }

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
    void followMask();
    std::set<HeadId> beyond(double threshold) const;
    std::vector<double> levels() const;
    void cut(double threshold, const QString& action, bool repeats);

    MaskEditor* m_masks;
    Matrix m_values;
    PruneFirst m_end = PruneFirst::neither;
    std::string m_resultId;
    std::optional<double> m_dragged;
    std::optional<double> m_applied;
    PruningMask m_base;                  ///< before the threshold
    std::optional<PruningMask> m_result; ///< with it
};

} // namespace secateur
