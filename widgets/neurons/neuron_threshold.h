#pragma once

#include "analysis/base/matrix.h"
#include "analysis/masks/protection.h"
#include "analysis/metrics/metric.h"
#include "analysis/strategies/prune.h"

#include <QObject>
#include <QString>
#include <QWidget>

#include <optional>
#include <span>
#include <string>
#include <vector>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QSlider;

namespace secateur {

class MaskEditor;

/// State of a neuron in the mask and in its preview.
enum class NeuronState { kept, cut, wouldBeCut, wouldBeKept };

std::vector<NeuronState> neuronStates(const MaskEditor& masks, int layer);

/// Cuts the neurons whose values the metric prunes first: a share of one layer or of each layer, or all beyond a bound.
/// The editor's preview shows the cuts until they are applied. When the threshold is moved, its cuts are made again
/// from the mask before it, unless another action has changed the mask since. As in by_metric with per_layer=true, a
/// share is of all neurons of a layer, and is taken from those that are not cut yet. Protected layers and dropped MLPs
/// do not change.
class NeuronThreshold : public QObject {
    Q_OBJECT

public:
    NeuronThreshold(MaskEditor* masks, QObject* parent);

    /// @param values [layers, neurons]; must live until the next call, or outlive this object
    void setValues(const Matrix* values, const MetricRequest& metric);
    bool isOffered() const;
    PruneFirst end() const { return m_metric.info ? m_metric.info->pruneFirst : PruneFirst::neither; }
    bool isPreviewing() const { return m_previewed.has_value(); }
    /// Whether the preview can be applied: not if a layer has too few neurons left for the share, which text() states.
    bool canApply() const { return m_previewed && m_refusal.isEmpty(); }

    /// @param layer empty = in each layer
    void previewShare(std::optional<int> layer, double percent);
    void previewBound(int layer, double bound);
    /// Makes the previewed cuts as one undo step. The editor's refused() reports protected layers.
    void apply();
    void cancel();

    /// "153 of 1,536 neurons in each layer"; empty without a preview.
    QString text() const;
    /// The threshold in a layer: the last value that is cut, infinite if none is; empty if there is no threshold.
    std::optional<double> bound(int layer) const;
    /// The share of a layer, or of each layer, that the threshold cuts, in per cent; 0 if there is no threshold.
    double percent(std::optional<int> layer) const;

signals:
    void changed();

private:
    /// The chosen cuts: a share, or a bound in one layer.
    struct Choice {
        std::optional<int> layer; ///< empty = each
        double percent = 0;
        std::optional<double> bound;
    };

    void preview(const Choice& choice);
    /// The previewed choice, or else the applied one.
    const std::optional<Choice>& choice() const { return m_previewed ? m_previewed : m_applied; }
    /// Whether a choice moves the applied threshold, instead of starting another one.
    bool continues(const Choice& choice) const { return m_result && m_applied && m_applied->layer == choice.layer; }
    void followMask();
    std::span<const double> valuesOf(int layer) const;
    /// The protected units and, for a choice of one layer, all other layers: where a choice must not cut.
    Protection spared(const Choice& choice) const;
    PruneRequest request(const Choice& choice, std::size_t count) const;
    const PruningMask& baseOf(const Choice& choice) const;
    PruningMask masked(const Choice& choice);

    MaskEditor* m_masks;
    const Matrix* m_values = nullptr;
    MetricRequest m_metric;
    std::string m_resultId;
    std::optional<Choice> m_previewed;
    std::optional<Choice> m_applied;
    PruningMask m_base;                  ///< the mask before the threshold's cuts
    std::optional<PruningMask> m_result; ///< the mask with the threshold's cuts
    QString m_refusal;                   ///< why the previewed choice cannot be applied; empty = it can
    std::size_t m_chosen = 0;            ///< number of neurons that the latest choice cuts
    std::size_t m_protected = 0;         ///< number of protected layers that the latest choice leaves out
};

/// Controls to cut a share of neurons: "Cut the lowest 12.5 % of every layer". Shows a preview while the share changes;
/// releasing the slider, Enter or the button cuts, Esc cancels.
class NeuronCutsRow : public QWidget {
    Q_OBJECT

public:
    explicit NeuronCutsRow(NeuronThreshold* threshold, QWidget* parent = nullptr);

    /// Offers the choice between one layer and every layer, and chooses the one. Empty = only every layer.
    void setLayer(std::optional<int> layer);
    /// Changes the share, as the arrow keys do.
    void step(int percent);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void build();
    void follow();
    void preview(double percent);
    /// The chosen layer; empty = every layer.
    std::optional<int> scope() const;

    NeuronThreshold* m_threshold;
    QLabel* m_label;
    QDoubleSpinBox* m_percent;
    QSlider* m_slider;
    QComboBox* m_scope;
    QPushButton* m_cut;
    QLabel* m_text;
};

} // namespace secateur
