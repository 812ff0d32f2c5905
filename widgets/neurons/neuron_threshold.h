#pragma once

#include "analysis/base/matrix.h"
#include "analysis/metrics/metric.h"
#include "analysis/masks/protection.h"
#include "analysis/strategies/prune.h"

#include <QObject>
#include <QString>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

class MaskEditor;

/// What a mask does to one neuron, and what its preview would do.
enum class NeuronState { kept, cut, wouldBeCut, wouldBeKept };

/// Of each neuron of a layer.
std::vector<NeuronState> neuronStates(const MaskEditor& masks, int layer);

/// Cuts the neurons at the end of a metric that goes first: a share of one layer or of each, or those beyond a bound.
/// Shown as the editor's preview until it is applied. One that is moved on starts from the mask that was there before
/// it, as long as nothing else was cut since. A share is what prune takes it for, by_metric with per_layer=true: of all
/// neurons of a layer, taken from those that are not cut yet. Protected layers, and MLPs that are dropped already, are
/// left alone.
class NeuronThreshold : public QObject {
    Q_OBJECT

public:
    NeuronThreshold(MaskEditor* masks, QObject* parent);

    /// @param values [layers, neurons]; must outlive this or be replaced
    void setValues(const Matrix* values, const MetricRequest& metric);
    bool isOffered() const;
    PruneFirst end() const { return m_metric.info ? m_metric.info->pruneFirst : PruneFirst::neither; }
    bool isPreviewing() const { return m_previewed.has_value(); }
    /// Whether there is as much to cut as is asked for; text() says so where there is not.
    bool canApply() const { return m_previewed && m_refusal.isEmpty(); }

    /// @param layer absent = in each layer
    void previewShare(std::optional<int> layer, double percent);
    void previewBound(int layer, double bound);
    /// Cuts what is previewed, as one step of undo. What was left alone is said.
    void apply();
    void cancel();

    /// "153 of 1,536 neurons in each layer"; empty without a preview.
    QString text() const;
    /// Where it stands in a layer: the last value that goes, infinite when none does; empty where it says nothing.
    std::optional<double> bound(int layer) const;
    /// What it cuts of a layer, or of each; 0 where it says nothing.
    double percent(std::optional<int> layer) const;

signals:
    void changed();

private:
    /// What a person asked for.
    struct Wish {
        std::optional<int> layer; ///< absent = each
        double percent = 0;
        std::optional<double> bound;
    };

    void preview(const Wish& wish);
    /// What is asked for now, else what the mask was made by.
    const std::optional<Wish>& wish() const { return m_previewed ? m_previewed : m_applied; }
    /// Whether the applied one is moved on.
    bool continues(const Wish& wish) const { return m_result && m_applied && m_applied->layer == wish.layer; }
    void followMask();
    std::span<const double> valuesOf(int layer) const;
    /// What is protected, and of a single layer's wish all other layers.
    Protection spared(const Wish& wish) const;
    PruneRequest request(const Wish& wish, std::size_t count) const;
    const PruningMask& baseOf(const Wish& wish) const;
    PruningMask masked(const Wish& wish);

    MaskEditor* m_masks;
    const Matrix* m_values = nullptr;
    MetricRequest m_metric;
    std::string m_resultId;
    std::optional<Wish> m_previewed;
    std::optional<Wish> m_applied;
    PruningMask m_base;                  ///< before the threshold
    std::optional<PruningMask> m_result; ///< with it
    QString m_refusal;                   ///< of what is asked for now
    std::size_t m_chosen = 0;            ///< neurons that the latest wish is about
    std::size_t m_protected = 0;         ///< layers that it left alone
};

} // namespace secateur
