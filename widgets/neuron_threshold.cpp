#include "widgets/neuron_threshold.h"

#include "analysis/text.h"
#include "widgets/mask_editor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

namespace {

QString counted(std::size_t count, const char* thing) {
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

std::vector<int> firstNeurons(std::span<const double> values, PruneFirst end, std::size_t count) {
    std::vector<double> keys;
    keys.reserve(values.size());
    for (const double value : values)
        if (std::isfinite(value))
            keys.push_back(end == PruneFirst::high ? -value : value);
    count = end == PruneFirst::neither ? 0 : std::min(count, keys.size());
    std::vector<int> chosen;
    if (count == 0)
        return chosen;
    std::ranges::nth_element(keys, keys.begin() + static_cast<std::ptrdiff_t>(count) - 1);
    const double last = keys[count - 1];
    const auto below = static_cast<std::size_t>(std::ranges::count_if(keys, [last](double key) { return key < last; }));
    std::size_t ties = count - below;
    chosen.reserve(count);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double key = end == PruneFirst::high ? -values[i] : values[i];
        if (std::isfinite(key) && (key < last || (key == last && ties > 0 && ties-- > 0)))
            chosen.push_back(static_cast<int>(i));
    }
    return chosen;
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

void NeuronThreshold::setValues(const Matrix* values, PruneFirst end, const std::string& resultId) {
    if (resultId != m_resultId) {
        m_result.reset();
        m_applied.reset();
        if (m_previewed)
            cancel();
    }
    m_values = values;
    m_end = end;
    m_resultId = resultId;
    emit changed();
}

bool NeuronThreshold::isOffered() const {
    return m_end != PruneFirst::neither && m_values && !m_values->empty() &&
           m_values->rows() == m_masks->spec().layers.size();
}

/// Another hand changed the mask: the threshold no longer says what is cut.
void NeuronThreshold::followMask() {
    m_previewed.reset();
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

std::vector<int> NeuronThreshold::neuronsOf(const Wish& wish, int layer) const {
    const std::span<const double> values = valuesOf(layer);
    if (!wish.bound) {
        constexpr double slack = 1e-9; // a share that is meant to be whole loses none to rounding
        const double count = std::floor(wish.percent / 100 * static_cast<double>(values.size()) + slack);
        return firstNeurons(values, m_end, static_cast<std::size_t>(std::max(count, 0.0)));
    }
    std::vector<int> neurons;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (isBeyond(values[i], m_end, *wish.bound))
            neurons.push_back(static_cast<int>(i));
    return neurons;
}

PruningMask NeuronThreshold::masked(const Wish& wish) {
    PruningMask mask = continues(wish) ? m_base : m_masks->mask();
    m_chosen = m_protected = 0;
    const int from = wish.layer.value_or(0);
    const int to = wish.layer.value_or(mask.layerCount() - 1);
    for (int index = from; index <= to; ++index) {
        LayerMask layer = mask.layer(index);
        const bool isAgain = !wish.layer && mask.tiedTo(index).front() != index;
        if (layer.neurons.empty() || isGone(layer) || isAgain)
            continue;
        if (m_masks->isProtected().layers.contains(index)) {
            ++m_protected;
            continue;
        }
        const std::vector<int> neurons = neuronsOf(wish, index);
        m_chosen += neurons.size();
        for (const int neuron : neurons)
            layer.neurons[static_cast<std::size_t>(neuron)] = false;
        if (!neurons.empty())
            mask.setLayer(index, std::move(layer));
    }
    return mask;
}

void NeuronThreshold::preview(const Wish& wish) {
    if (!isOffered())
        return;
    PruningMask mask = masked(wish);
    m_previewed = wish;
    m_masks->setPreview(std::move(mask));
    emit changed();
}

void NeuronThreshold::previewShare(std::optional<int> layer, double percent) {
    preview({layer, percent, {}});
}

void NeuronThreshold::previewBound(int layer, double bound) {
    preview({layer, 0, bound});
}

void NeuronThreshold::apply() {
    if (!m_previewed)
        return;
    const Wish wish = *std::exchange(m_previewed, {});
    PruningMask result = masked(wish);
    if (!continues(wish))
        m_base = m_masks->mask();
    m_result = std::move(result);
    m_applied = wish;
    const QString neurons = counted(m_chosen, "neuron");
    const QString action = wish.layer ? tr("Cut %1 of layer %2").arg(neurons).arg(*wish.layer)
                                      : tr("Cut %1 % of every layer's neurons").arg(wish.percent);
    const std::size_t left = m_protected;
    m_masks->replaceMask(*m_result, action);
    m_masks->setPreview({});
    if (left > 0)
        emit m_masks->refused(wish.layer ? tr("Layer %1 is protected.").arg(*wish.layer)
                                         : tr("%1 left alone.").arg(counted(left, "protected layer")));
    emit changed();
}

void NeuronThreshold::cancel() {
    m_previewed.reset();
    m_masks->setPreview({});
    emit changed();
}

QString NeuronThreshold::text() const {
    if (!m_previewed)
        return {};
    QString text = m_previewed->layer ? counted(m_chosen, "neuron") : tr("%1 in all").arg(counted(m_chosen, "neuron"));
    if (m_protected > 0)
        text = m_previewed->layer ? tr("the layer is protected")
                                  : text + tr(" · %1 left alone").arg(counted(m_protected, "protected layer"));
    return text;
}

std::optional<double> NeuronThreshold::bound(int layer) const {
    if (!wish() || !isOffered() || (wish()->layer && *wish()->layer != layer))
        return {};
    if (wish()->bound)
        return wish()->bound;
    const bool lowFirst = m_end == PruneFirst::low;
    double last = lowFirst ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    for (const int neuron : neuronsOf(*wish(), layer)) {
        const double value = valuesOf(layer)[static_cast<std::size_t>(neuron)];
        last = lowFirst ? std::max(last, value) : std::min(last, value);
    }
    return last;
}

double NeuronThreshold::percent(std::optional<int> layer) const {
    if (!wish() || !isOffered() || wish()->layer != layer)
        return 0;
    if (!wish()->bound)
        return wish()->percent;
    const std::span<const double> values = valuesOf(*layer);
    const auto beyond =
        std::ranges::count_if(values, [&](double value) { return isBeyond(value, m_end, *wish()->bound); });
    return values.empty() ? 0 : 100 * static_cast<double>(beyond) / static_cast<double>(values.size());
}

} // namespace secateur
