#include "widgets/results/colour_controls.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/plot/plot_scale.h"
#include "widgets/results/scale_combo.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QPixmap>
#include <QStandardItemModel>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr double defaultClip = 1;

QIcon iconOf(const QString& map) {
    QImage image(256, 1, QImage::Format_RGB32);
    for (int i = 0; i < image.width(); ++i)
        image.setPixel(i, 0, colourMap(map)[static_cast<std::size_t>(i)]);
    return QPixmap::fromImage(image.scaled(96, 32));
}

/// @param text of the label; empty = none
void addLabelled(QHBoxLayout& row, const QString& text, QComboBox* combo, const QString& name, const QString& help) {
    if (!text.isEmpty()) {
        auto* label = new QLabel(text);
        label->setBuddy(combo);
        row.addWidget(label);
    }
    combo->setAccessibleName(name);
    combo->setToolTip(help);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    row.addWidget(combo);
}

QString firstDiverging() {
    const QStringList ids = colourMapIds();
    return *std::ranges::find_if(ids, [](const QString& id) { return isDiverging(id); });
}

} // namespace

ColourControls::ColourControls(Document* document, std::string name, const std::vector<ScaleKind>& scales,
                               QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_name(std::move(name))
    , m_colours(new QComboBox)
    , m_clip(new QComboBox) {
    build(scales);
    const auto chosen = [this] {
        keep();
        emit changed();
    };
    connect(m_colours, &QComboBox::activated, this, [this, chosen] {
        m_chosen = m_colours->currentData().toString();
        chosen();
    });
    connect(m_clip, &QComboBox::activated, this, chosen);
    if (m_scale)
        connect(m_scale, &QComboBox::activated, this, chosen);
    restore();
}

void ColourControls::build(const std::vector<ScaleKind>& scales) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    addLabelled(*row, {}, m_colours, tr("Colour map"), tr("Colours, from low to high")); // its icons need no label
    m_colours->setIconSize({48, 12});
    for (const QString& id : colourMapIds())
        m_colours->addItem(iconOf(id), id, id);
    row->addSpacing(8);
    if (!scales.empty()) {
        m_scale = new ScaleCombo(scales);
        addLabelled(*row, tr("Sca&le"), m_scale, tr("Scale of the colours"), m_scale->toolTip());
        row->addSpacing(8);
    }
    addLabelled(*row, tr("&Range"), m_clip, tr("Range of the colours"),
                tr("Percentiles between which values have colours of their own;\nthose beyond take the end's"));
    for (const double percent : {0.0, 0.5, 1.0, 2.0, 5.0})
        m_clip->addItem(percent == 0 ? tr("all") : tr("%1–%2 %").arg(percent).arg(100 - percent), percent);
}

void ColourControls::restore() {
    const auto& view = m_document->session().view;
    const auto kept = [&](const char* what, const QString& otherwise) {
        const auto found = view.find(m_name + what);
        return found == view.end() ? otherwise : QString::fromStdString(found->second);
    };
    m_colours->setCurrentIndex(std::max(0, m_colours->findData(kept(".colours", "viridis"))));
    m_chosen = m_colours->currentData().toString();
    if (m_isDifference)
        showMapInUse();
    m_clip->setCurrentIndex(m_clip->findData(kept(".clip", QString::number(defaultClip)).toDouble()));
    if (m_clip->currentIndex() < 0)
        m_clip->setCurrentIndex(m_clip->findData(defaultClip));
    if (m_scale)
        m_scale->restore(view, m_name);
}

void ColourControls::keep() {
    if (!m_document->isOpen())
        return;
    m_document->setView(m_name + ".colours", m_chosen.toStdString());
    if (m_scale)
        m_document->setView(m_name + ".scale", m_scale->text());
    m_document->setView(m_name + ".clip", exactly(m_clip->currentData().toDouble()));
}

void ColourControls::offer(std::span<const double> values, bool isDifference) {
    m_isDifference = isDifference;
    m_colours->setEnabled(!isDifference);
    m_colours->setToolTip(isDifference ? tr("Values around zero are drawn in %1").arg(firstDiverging())
                                       : tr("Colours, from low to high"));
    if (m_scale) {
        m_scale->setEnabled(!isDifference);
        m_scale->offer(values, m_clip->currentData().toDouble());
    }
    m_offersDiverging = isDifference || isSigned(values);
    const auto* items = qobject_cast<QStandardItemModel*>(m_colours->model());
    for (int i = 0; i < m_colours->count(); ++i)
        if (isDiverging(m_colours->itemData(i).toString()))
            items->item(i)->setEnabled(m_offersDiverging);
    showMapInUse();
}

void ColourControls::showMapInUse() {
    m_colours->setCurrentIndex(std::max(0, m_colours->findData(QString::fromStdString(scale().map))));
}

ColourScale ColourControls::scale() const {
    QString map = m_chosen;
    if (m_isDifference && !isDiverging(map)) // a difference is always drawn in a diverging map
        map = firstDiverging();
    const bool fits = !isDiverging(map) || m_offersDiverging;
    return {fits ? map.toStdString() : ColourScale().map,
            m_scale && !m_isDifference ? m_scale->scale() : ScaleKind::linear, m_clip->currentData().toDouble()};
}

} // namespace secateur
