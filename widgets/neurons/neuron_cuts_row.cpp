#include "widgets/neurons/neuron_cuts_row.h"

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

namespace secateur {

namespace {

constexpr int slidesPerPercent = 10;

} // namespace

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
    m_slider->setRange(0, 100 * slidesPerPercent);
    m_slider->setSingleStep(slidesPerPercent);
    m_slider->setPageStep(5 * slidesPerPercent);
    m_slider->setMinimumWidth(90);
    m_slider->setMaximumWidth(240);
    m_slider->setAccessibleName(tr("Share of the neurons to cut"));
    m_scope->addItem(tr("every layer"));
    m_scope->setAccessibleName(tr("Layers to cut in"));
    m_scope->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_cut->setToolTip(tr("Cut what is previewed (Enter)"));
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
    m_label->setToolTip(isOffered ? QString() : tr("This metric does not say which neurons to cut first"));
    const double percent = m_threshold->percent(scope());
    const QSignalBlocker quietBox(m_percent);
    const QSignalBlocker quietSlider(m_slider);
    if (std::abs(m_percent->value() - percent) >= 0.05) // a box that is being typed in keeps its text
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
