#include "widgets/neurons/neuron_threshold.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/strategies/prune.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr int slidesPerPercent = 10;

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
        if (m_previewed && !m_masks->preview()) { // another action removed the preview
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
    const bool isKnown = m_metric.info && findMetric(m_metric.info->id); // no strategy ranks unknown metrics
    return isKnown && end() != PruneFirst::neither && m_values && !m_values->empty() &&
           m_values->rows() == m_masks->spec().layers.size();
}

/// Removes the threshold if another action changed the mask.
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

Protection NeuronThreshold::spared(const Choice& choice) const {
    Protection spared = m_masks->isProtected();
    if (!choice.layer)
        return spared;
    const std::vector<int> own = m_masks->mask().tiedTo(*choice.layer);
    for (int layer = 0; layer < m_masks->spec().layerCount(); ++layer)
        if (std::ranges::find(own, layer) == own.end())
            spared.protectLayer(m_masks->spec(), layer);
    return spared;
}

/// The request with which the strategy by_metric makes the same mask. For a bound, the budget is a number of neurons.
PruneRequest NeuronThreshold::request(const Choice& choice, std::size_t count) const {
    const Budget budget = choice.bound ? Budget{static_cast<double>(count), false} : Budget{choice.percent, true};
    return {byMetric(m_metric, end() == PruneFirst::high, true), budget, spared(choice).text(m_masks->spec()), 0,
            baseOf(choice)};
}

const PruningMask& NeuronThreshold::baseOf(const Choice& choice) const {
    return continues(choice) ? m_base : m_masks->mask();
}

PruningMask NeuronThreshold::masked(const Choice& choice) {
    const ModelSpec& spec = m_masks->spec();
    const PruningMask& base = baseOf(choice);
    const CutOrder order{CutUnit::neuron, end() == PruneFirst::high, {choice.percent, true}, true};
    PruningMask mask = choice.bound ? cutWithin(spec, *m_values, order, *choice.bound, spared(choice), base)
                                    : cutLowest(spec, *m_values, order, spared(choice), base);
    m_chosen = newlyCut(spec, CutUnit::neuron, base, mask);
    m_protected = 0;
    for (const int layer : m_masks->isProtected().layers) {
        const bool isMeant = choice.layer ? *choice.layer == layer : mask.tiedTo(layer).front() == layer;
        if (isMeant && !isGone(base.layer(layer)) && !base.layer(layer).neurons.empty())
            ++m_protected;
    }
    return mask;
}

void NeuronThreshold::preview(const Choice& choice) {
    if (!isOffered())
        return;
    std::optional<PruningMask> mask;
    m_refusal.clear();
    try {
        mask = masked(choice);
    } catch (const Error& error) { // fewer neurons of a layer are kept than the share asks for
        m_refusal = QString::fromStdString(error.message());
    }
    m_previewed.reset(); // reset first, so that previewChanged() of setPreview() is not taken for a cancellation
    m_masks->setPreview(std::move(mask));
    m_previewed = choice;
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
    const Choice choice = *std::exchange(m_previewed, {});
    PruningMask result = masked(choice);
    std::optional<MaskProvenance> made;
    if (m_chosen > 0)
        made = provenanceOf(request(choice, m_chosen), m_masks->state().edited().name);
    if (made && choice.bound && std::isfinite(*choice.bound))
        made->options.emplace("threshold", exactly(*choice.bound));
    if (!continues(choice))
        m_base = m_masks->mask();
    m_result = std::move(result);
    m_applied = choice;
    const QString neurons = countText(m_chosen, "neuron");
    const QString action = choice.layer ? tr("Cut %1 of layer %2").arg(neurons).arg(*choice.layer)
                                        : tr("Cut %1 % of every layer's neurons").arg(choice.percent);
    const std::size_t spared = m_protected;
    m_masks->replaceMask(*m_result, action, false, std::move(made));
    m_masks->setPreview({});
    if (spared > 0)
        emit m_masks->refused(choice.layer ? tr("Layer %1 is protected.").arg(*choice.layer)
                                           : tr("%1 left alone.").arg(countText(spared, "protected layer")));
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
    QString text =
        m_previewed->layer ? countText(m_chosen, "neuron") : tr("%1 in all").arg(countText(m_chosen, "neuron"));
    if (m_protected > 0)
        text = m_previewed->layer ? tr("the layer is protected")
                                  : text + tr(" · %1 left alone").arg(countText(m_protected, "protected layer"));
    return text;
}

std::optional<double> NeuronThreshold::bound(int layer) const {
    if (!choice() || !isOffered() || (choice()->layer && *choice()->layer != layer))
        return {};
    if (choice()->bound)
        return choice()->bound;
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
    if (!choice() || !isOffered() || choice()->layer != layer)
        return 0;
    if (!choice()->bound)
        return choice()->percent;
    const std::span<const double> values = valuesOf(*layer);
    const auto beyond =
        std::ranges::count_if(values, [&](double value) { return isBeyond(value, end(), *choice()->bound); });
    return values.empty() ? 0 : 100 * static_cast<double>(beyond) / static_cast<double>(values.size());
}

// ---- row of controls

NeuronCutsRow::NeuronCutsRow(NeuronThreshold* threshold, QWidget* parent)
    : QWidget(parent)
    , m_threshold(threshold)
    , m_label(new QLabel(tr("C&ut the lowest")))
    , m_percent(new QDoubleSpinBox)
    , m_slider(new QSlider(Qt::Horizontal))
    , m_scope(new QComboBox)
    , m_cut(new QPushButton(tr("Cu&t")))
    , m_text(new QLabel) {
    build();
    connect(m_percent, &QDoubleSpinBox::valueChanged, this, &NeuronCutsRow::preview);
    connect(m_slider, &QSlider::valueChanged, this,
            [this](int slides) { preview(static_cast<double>(slides) / slidesPerPercent); });
    connect(m_slider, &QSlider::sliderReleased, m_threshold, &NeuronThreshold::apply);
    connect(m_scope, &QComboBox::currentIndexChanged, this, [this] {
        if (m_threshold->isPreviewing())
            preview(m_percent->value());
        else
            follow();
    });
    connect(m_cut, &QPushButton::clicked, m_threshold, &NeuronThreshold::apply);
    connect(m_threshold, &NeuronThreshold::changed, this, &NeuronCutsRow::follow);
    follow();
}

void NeuronCutsRow::build() {
    m_percent->setRange(0, 100);
    m_percent->setDecimals(1);
    m_percent->setSuffix(tr(" %"));
    m_percent->setAccessibleName(tr("Share of the neurons to cut"));
    m_percent->setToolTip(tr("Previews the cut of this share; Enter cuts"));
    m_slider->setRange(0, 100 * slidesPerPercent);
    m_slider->setSingleStep(slidesPerPercent);
    m_slider->setPageStep(5 * slidesPerPercent);
    m_slider->setMinimumWidth(90);
    m_slider->setMaximumWidth(240);
    m_slider->setAccessibleName(tr("Share of the neurons to cut"));
    m_slider->setToolTip(tr("Drag for a preview; release to cut"));
    m_scope->addItem(tr("every layer"));
    m_scope->setAccessibleName(tr("Layers to cut in"));
    m_scope->setToolTip(tr("Cuts this share in each layer, or in the open layer only"));
    m_scope->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_cut->setToolTip(tr("Apply the preview (Enter)"));
    m_label->setBuddy(m_percent);
    m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 4, 8, 6);
    row->setSpacing(6);
    row->addWidget(m_label);
    row->addWidget(m_percent);
    row->addWidget(m_slider, 1);
    row->addWidget(new QLabel(tr("of")));
    row->addWidget(m_scope);
    row->addWidget(m_cut);
    row->addSpacing(6);
    row->addWidget(m_text, 2);
}

std::optional<int> NeuronCutsRow::scope() const {
    const QVariant layer = m_scope->currentData();
    return layer.isValid() ? std::optional(layer.toInt()) : std::nullopt;
}

void NeuronCutsRow::setLayer(std::optional<int> layer) {
    const bool wasOffered = m_scope->count() > 1;
    if (wasOffered == layer.has_value() && (!layer || m_scope->itemData(1) == *layer))
        return;
    {
        const QSignalBlocker quiet(m_scope);
        if (layer && wasOffered) {
            m_scope->setItemText(1, tr("layer %1").arg(*layer));
            m_scope->setItemData(1, *layer);
        } else if (layer) {
            m_scope->addItem(tr("layer %1").arg(*layer), *layer);
            m_scope->setCurrentIndex(1);
        } else if (wasOffered) {
            m_scope->removeItem(1);
        }
    }
    if (m_threshold->isPreviewing())
        m_threshold->cancel();
    else
        follow();
}

void NeuronCutsRow::step(int percent) {
    m_percent->setValue(m_percent->value() + percent);
}

void NeuronCutsRow::preview(double percent) {
    m_threshold->previewShare(scope(), percent);
}

void NeuronCutsRow::follow() {
    const bool isOffered = m_threshold->isOffered();
    for (QWidget* part :
         {static_cast<QWidget*>(m_percent), static_cast<QWidget*>(m_slider), static_cast<QWidget*>(m_scope)})
        part->setEnabled(isOffered);
    m_cut->setEnabled(m_threshold->canApply());
    m_label->setText(m_threshold->end() == PruneFirst::high ? tr("C&ut the highest") : tr("C&ut the lowest"));
    m_label->setToolTip(isOffered ? QString() : tr("This metric has no pruning direction"));
    const double percent = m_threshold->percent(scope());
    const QSignalBlocker quietBox(m_percent);
    const QSignalBlocker quietSlider(m_slider);
    if (std::abs(m_percent->value() - percent) >= 0.05) // unchanged if it is only rounding, so that typed text stays
        m_percent->setValue(percent);
    if (!m_slider->isSliderDown())
        m_slider->setValue(static_cast<int>(std::lround(percent * slidesPerPercent)));
    m_text->setText(m_threshold->text());
    m_text->setToolTip(m_text->text());
}

void NeuronCutsRow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
        m_threshold->apply();
    else if (event->key() == Qt::Key_Escape && m_threshold->isPreviewing())
        m_threshold->cancel();
    else
        QWidget::keyPressEvent(event);
}

} // namespace secateur
