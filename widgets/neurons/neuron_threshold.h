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

/// Cuts the neurons whose values the metric prunes first: a share of one layer or of each layer, or all neurons beyond
/// a bound. The mask editor shows the cuts as its preview until they are applied. Moving the threshold replaces its
/// previous cuts: it cuts again from the mask before them, unless another action has changed the mask since. As in
/// by_metric with per_layer=true, a share counts all neurons of a layer but cuts only neurons that are not cut yet.
/// Protected layers and dropped MLPs do not change.
class NeuronThreshold : public QObject {
    Q_OBJECT

public:
    NeuronThreshold(MaskEditor* masks, QObject* parent);

    /// Sets the values to compare with the threshold. @param values [layers, neurons]; must stay valid until the next
    /// call or the end of this object
    void setValues(const Matrix* values, const MetricRequest& metric);
    bool isOffered() const;
    PruneFirst end() const { return m_metric.info ? m_metric.info->pruneFirst : PruneFirst::neither; }
    bool isPreviewing() const { return m_previewed.has_value(); }
    /// Whether the preview can be applied. It cannot if a layer has fewer kept neurons than the share; text() then says
    /// so.
    bool canApply() const { return m_previewed && m_refusal.isEmpty(); }

    /// Previews the cut of a share. @param layer empty = in each layer @param percent share of the neurons in per cent
    void previewShare(std::optional<int> layer, double percent);
    void previewBound(int layer, double bound);
    /// Makes the previewed cuts as one undo step. MaskEditor::refused() reports protected layers.
    void apply();
    void cancel();

    /// The previewed cuts as text: "153 of 1,536 neurons in each layer"; empty without a preview.
    QString text() const;
    /// The value of the last neuron that the threshold cuts in a layer, infinite if it cuts none; empty if there is no
    /// threshold.
    std::optional<double> bound(int layer) const;
    /// The share that the threshold cuts of one layer, or of each layer if `layer` is empty. In per cent; 0 without a
    /// threshold.
    double percent(std::optional<int> layer) const;

signals:
    void changed();

private:
    /// The cuts that the user chose: a share, or all neurons beyond a bound in one layer.
    struct Choice {
        std::optional<int> layer; ///< empty = each layer
        double percent = 0;
        std::optional<double> bound;
    };

    void preview(const Choice& choice);
    /// The previewed choice, or the applied choice if there is no preview.
    const std::optional<Choice>& choice() const { return m_previewed ? m_previewed : m_applied; }
    /// Whether a choice moves the applied threshold. Otherwise it begins another one.
    bool continues(const Choice& choice) const { return m_result && m_applied && m_applied->layer == choice.layer; }
    void followMask();
    std::span<const double> valuesOf(int layer) const;
    /// The units that a choice must not cut: the protected units and, for a choice of one layer, all other layers.
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
    QString m_refusal;                   ///< why the previewed choice cannot be applied; empty if it can
    std::size_t m_chosen = 0;            ///< number of neurons that the latest choice cuts
    std::size_t m_protected = 0;         ///< number of protected layers that the latest choice leaves out
};

/// Controls that cut a share of neurons: "Cut the lowest 12.5 % of every layer". A preview is shown while the share
/// changes. Releasing the slider, Enter or the button cuts; Esc cancels.
class NeuronCutsRow : public QWidget {
    Q_OBJECT

public:
    explicit NeuronCutsRow(NeuronThreshold* threshold, QWidget* parent = nullptr);

    /// Offers the choice between one layer and every layer, and selects the one layer. If `layer` is empty, offers only
    /// every layer.
    void setLayer(std::optional<int> layer);
    /// Changes the share by a number of percentage points, as the arrow keys do.
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
