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

/// Cuts the neurons at the end of a metric that is pruned first: a share of one layer or of each layer, or those beyond
/// a bound. The editor's preview shows the cuts until they are applied. A threshold that is moved starts from the mask
/// before it, as long as nothing else has changed the mask since. A share counts as in by_metric with per_layer=true:
/// it is a share of all neurons of a layer, taken from those that are not cut yet. Protected layers and dropped MLPs
/// stay as they are.
class NeuronThreshold : public QObject {
    Q_OBJECT

public:
    NeuronThreshold(MaskEditor* masks, QObject* parent);

    /// @param values [layers, neurons]; must outlive this or be replaced
    void setValues(const Matrix* values, const MetricRequest& metric);
    bool isOffered() const;
    PruneFirst end() const { return m_metric.info ? m_metric.info->pruneFirst : PruneFirst::neither; }
    bool isPreviewing() const { return m_previewed.has_value(); }
    /// False where a layer has too few neurons left for the share; text() says so.
    bool canApply() const { return m_previewed && m_refusal.isEmpty(); }

    /// @param layer empty = in each layer
    void previewShare(std::optional<int> layer, double percent);
    void previewBound(int layer, double bound);
    /// Makes the previewed cuts, as one step of undo. The editor's refused() names protected layers.
    void apply();
    void cancel();

    /// "153 of 1,536 neurons in each layer"; empty without a preview.
    QString text() const;
    /// The threshold in a layer: the last value that is cut, infinite when none is; empty without a threshold there.
    std::optional<double> bound(int layer) const;
    /// Share that it cuts of a layer, or of each layer; 0 without a threshold there.
    double percent(std::optional<int> layer) const;

signals:
    void changed();

private:
    /// A share, or a bound in one layer.
    struct Choice {
        std::optional<int> layer; ///< empty = each
        double percent = 0;
        std::optional<double> bound;
    };

    void preview(const Choice& choice);
    /// The previewed one, else the one that made the mask.
    const std::optional<Choice>& choice() const { return m_previewed ? m_previewed : m_applied; }
    /// Whether a choice moves the threshold that is already cut, in place of starting another one.
    bool continues(const Choice& choice) const { return m_result && m_applied && m_applied->layer == choice.layer; }
    void followMask();
    std::span<const double> valuesOf(int layer) const;
    /// The mask's protection and, for a choice of one layer, all other layers.
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
    PruningMask m_base;                  ///< before the threshold
    std::optional<PruningMask> m_result; ///< with it
    QString m_refusal;                   ///< why the previewed choice cannot be applied; empty = it can
    std::size_t m_chosen = 0;            ///< neurons that the latest choice cuts
    std::size_t m_protected = 0;         ///< protected layers that it does not cut
};

/// "Cut the lowest 12.5 % of every layer": a preview while the share changes, cut on release, Enter or the button; Esc
/// cancels.
class NeuronCutsRow : public QWidget {
    Q_OBJECT

public:
    explicit NeuronCutsRow(NeuronThreshold* threshold, QWidget* parent = nullptr);

    /// Offers one layer besides every layer, and selects it. Empty = every layer alone.
    void setLayer(std::optional<int> layer);
    /// Changes the share by so many per cent, as the arrows do.
    void step(int percent);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void build();
    void follow();
    void preview(double percent);
    /// Empty = every layer.
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
