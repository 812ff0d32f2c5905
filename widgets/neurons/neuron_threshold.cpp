#include "widgets/neurons/neuron_threshold.h"

#include "analysis/strategies/cut_lowest.h"
#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "widgets/document/mask_editor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

namespace {

QString withCount(std::size_t count, const char* thing) {
    return QString::fromStdString(secateur::counted(count, thing));
}

bool isBeyond(double value, PruneFirst end, double bound) {
    return end == PruneFirst::low ? value <= bound : end == PruneFirst::high && value >= bound;
}

bool isGone(const LayerMask& layer) {
    return !layer.block || !layer.mlp;
}

} // namespace

std::vector<NeuronState> neuronStates(const MaskEditor& masks, int layer) {
    const LayerMask& now = masks.mask().layer(layer);
    const LayerMask& then = masks.preview() ? masks.preview()->layer(layer) : now;
    std::vector<NeuronState> states(now.neurons.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
        const bool isCut = isGone(now) || !now.neurons[i];
        const bool willBe = isGone(then) || !then.neurons[i];
        states[i] = isCut ? (willBe ? NeuronState::cut : NeuronState::wouldBeKept)
                          : (willBe ? NeuronState::wouldBeCut : NeuronState::kept);
    }
    return states;
}

NeuronThreshold::NeuronThreshold(MaskEditor* masks, QObject* parent)
    : QObject(parent)
    , m_masks(masks) {
    connect(masks, &MaskEditor::maskChanged, this, &NeuronThreshold::followMask);
    connect(masks, &MaskEditor::protectionChanged, this, &NeuronThreshold::followMask);
    connect(masks, &MaskEditor::previewChanged, this, [this] {
        if (m_previewed && !m_masks->preview()) { // given up elsewhere
            m_previewed.reset();
            emit changed();
        }
    });
}

void NeuronThreshold::setValues(const Matrix* values, const MetricRequest& metric) {
    const std::string resultId = metric.info ? metric.resultId() : std::string();
    if (resultId != m_resultId) {
        m_result.reset();
        m_applied.reset();
        if (m_previewed)
            cancel();
    }
    m_values = values;
    m_metric = metric;
    m_resultId = resultId;
    emit changed();
}

bool NeuronThreshold::isOffered() const {
    return end() != PruneFirst::neither && m_values && !m_values->empty() &&
           m_values->rows() == m_masks->spec().layers.size();
}

/// Another hand changed the mask: the threshold no longer says what is cut.
void NeuronThreshold::followMask() {
    m_previewed.reset();
    m_refusal.clear();
    if (!m_result || *m_result != m_masks->mask()) {
        m_result.reset();
        m_applied.reset();
    }
    emit changed();
}

std::span<const double> NeuronThreshold::valuesOf(int layer) const {
    const auto row = static_cast<std::size_t>(layer);
    const auto neurons = static_cast<std::size_t>(m_masks->spec().layers[row].ffn);
    return m_values->row(row).first(std::min(neurons, m_values->columns()));
}

Protection NeuronThreshold::spared(const Wish& wish) const {
    Protection spared = m_masks->isProtected();
    if (!wish.layer)
        return spared;
    const std::vector<int> own = m_masks->mask().tiedTo(*wish.layer);
    for (int layer = 0; layer < m_masks->spec().layerCount(); ++layer)
        if (std::ranges::find(own, layer) == own.end())
            spared.protectLayer(m_masks->spec(), layer);
    return spared;
}

/// As prune runs it: by_metric in each layer by itself. Of a bound, as many as it takes along.
PruneRequest NeuronThreshold::request(const Wish& wish, std::size_t count) const {
    const Budget budget = wish.bound ? Budget{static_cast<double>(count), false} : Budget{wish.percent, true};
    return {byMetric(m_metric, end() == PruneFirst::high, true), budget, spared(wish).text(m_masks->spec()), 0,
            baseOf(wish)};
}

const PruningMask& NeuronThreshold::baseOf(const Wish& wish) const {
    return continues(wish) ? m_base : m_masks->mask();
}

PruningMask NeuronThreshold::masked(const Wish& wish) {
    const ModelSpec& spec = m_masks->spec();
    const PruningMask& base = baseOf(wish);
    const CutOrder order{CutUnit::neuron, end() == PruneFirst::high, {wish.percent, true}, true};
    PruningMask mask = wish.bound ? cutWithin(spec, *m_values, order, *wish.bound, spared(wish), base)
                                  : cutLowest(spec, *m_values, order, spared(wish), base);
    m_chosen = newlyCut(spec, CutUnit::neuron, base, mask);
    m_protected = 0;
    for (const int layer : m_masks->isProtected().layers) {
        const bool isMeant = wish.layer ? *wish.layer == layer : mask.tiedTo(layer).front() == layer;
        if (isMeant && !isGone(base.layer(layer)) && !base.layer(layer).neurons.empty())
            ++m_protected;
    }
    return mask;
}

void NeuronThreshold::preview(const Wish& wish) {
    if (!isOffered())
        return;
    std::optional<PruningMask> mask;
    m_refusal.clear();
    try {
        mask = masked(wish);
    } catch (const Error& error) { // more than there is to cut
        m_refusal = QString::fromStdString(error.message());
    }
    m_previewed.reset(); // what the editor says of the preview before is no news
    m_masks->setPreview(std::move(mask));
    m_previewed = wish;
    emit changed();
}

void NeuronThreshold::previewShare(std::optional<int> layer, double percent) {
    preview({layer, percent, {}});
}

void NeuronThreshold::previewBound(int layer, double bound) {
    preview({layer, 0, bound});
}

void NeuronThreshold::apply() {
    if (!canApply())
        return;
    const Wish wish = *std::exchange(m_previewed, {});
    PruningMask result = masked(wish);
    std::optional<MaskProvenance> made;
    if (m_chosen > 0)
        made = provenanceOf(request(wish, m_chosen), m_masks->state().edited().name);
    if (made && wish.bound && std::isfinite(*wish.bound))
        made->options.emplace("threshold", exactly(*wish.bound));
    if (!continues(wish))
        m_base = m_masks->mask();
    m_result = std::move(result);
    m_applied = wish;
    const QString neurons = withCount(m_chosen, "neuron");
    const QString action = wish.layer ? tr("Cut %1 of layer %2").arg(neurons).arg(*wish.layer)
                                      : tr("Cut %1 % of every layer's neurons").arg(wish.percent);
    const std::size_t left = m_protected;
    m_masks->replaceMask(*m_result, action, false, std::move(made));
    m_masks->setPreview({});
    if (left > 0)
        emit m_masks->refused(wish.layer ? tr("Layer %1 is protected.").arg(*wish.layer)
                                         : tr("%1 left alone.").arg(withCount(left, "protected layer")));
    emit changed();
}

void NeuronThreshold::cancel() {
    m_previewed.reset();
    m_refusal.clear();
    m_masks->setPreview({});
    emit changed();
}

QString NeuronThreshold::text() const {
    if (!m_previewed || !m_refusal.isEmpty())
        return m_refusal;
    QString text = m_previewed->layer ? withCount(m_chosen, "neuron") : tr("%1 in all").arg(withCount(m_chosen, "neuron"));
    if (m_protected > 0)
        text = m_previewed->layer ? tr("the layer is protected")
                                  : text + tr(" · %1 left alone").arg(withCount(m_protected, "protected layer"));
    return text;
}

std::optional<double> NeuronThreshold::bound(int layer) const {
    if (!wish() || !isOffered() || (wish()->layer && *wish()->layer != layer))
        return {};
    if (wish()->bound)
        return wish()->bound;
    const std::optional<PruningMask>& after = m_previewed ? m_masks->preview() : m_result;
    if (!after)
        return {};
    const PruningMask& before = m_previewed ? baseOf(*m_previewed) : m_base;
    const bool lowFirst = end() == PruneFirst::low;
    double last = lowFirst ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    const std::span<const double> values = valuesOf(layer);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (before.layer(layer).neurons[i] && !after->layer(layer).neurons[i])
            last = lowFirst ? std::max(last, values[i]) : std::min(last, values[i]);
    return last;
}

double NeuronThreshold::percent(std::optional<int> layer) const {
    if (!wish() || !isOffered() || wish()->layer != layer)
        return 0;
    if (!wish()->bound)
        return wish()->percent;
    const std::span<const double> values = valuesOf(*layer);
    const auto beyond =
        std::ranges::count_if(values, [&](double value) { return isBeyond(value, end(), *wish()->bound); });
    return values.empty() ? 0 : 100 * static_cast<double>(beyond) / static_cast<double>(values.size());
}

} // namespace secateur
