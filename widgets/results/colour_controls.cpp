#include "widgets/results/colour_controls.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/plot/plot_scale.h"

#include <QCheckBox>
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

QComboBox* addCombo(QHBoxLayout& row, const QString& text, const QString& name, const QString& help) {
    auto* label = new QLabel(text);
    auto* combo = new QComboBox;
    label->setBuddy(combo);
    combo->setAccessibleName(name);
    combo->setToolTip(help);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    row.addWidget(label);
    row.addWidget(combo);
    return combo;
}

QString firstDiverging() {
    const QStringList ids = colourMapIds();
    return *std::ranges::find_if(ids, [](const QString& id) { return isDiverging(id); });
}

} // namespace

void offerLogarithm(QCheckBox& box, std::span<const double> values, const QString& help) {
    box.setEnabled(spreadsWidely(values));
    box.setToolTip(box.isEnabled() ? help
                                   : ColourControls::tr("For positive values that span a factor of 100 or more"));
}

ColourControls::ColourControls(Document* document, std::string name, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_name(std::move(name)) {
    build();
    const auto chosen = [this] {
        keep();
        emit changed();
    };
    connect(m_colours, &QComboBox::activated, this, chosen);
    connect(m_clip, &QComboBox::activated, this, chosen);
    connect(m_logarithmic, &QCheckBox::clicked, this, chosen);
    restore();
}

void ColourControls::build() {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    m_colours = addCombo(*row, tr("&Colour"), tr("Colour map"), tr("Colours, from low to high"));
    m_colours->setIconSize({48, 12});
    for (const QString& id : colourMapIds())
        m_colours->addItem(iconOf(id), id, id);
    row->addSpacing(8);
    m_logarithmic = new QCheckBox(tr("&Log"));
    m_logarithmic->setAccessibleName(tr("Logarithmic colours"));
    row->addWidget(m_logarithmic);
    row->addSpacing(8);
    m_clip = addCombo(*row, tr("&Range"), tr("Range of the colours"),
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
    m_clip->setCurrentIndex(m_clip->findData(kept(".clip", QString::number(defaultClip)).toDouble()));
    if (m_clip->currentIndex() < 0)
        m_clip->setCurrentIndex(m_clip->findData(defaultClip));
    m_logarithmic->setChecked(kept(".log", "false") == "true");
}

void ColourControls::keep() {
    if (!m_document->isOpen())
        return;
    m_document->setView(m_name + ".colours", m_colours->currentData().toString().toStdString());
    m_document->setView(m_name + ".log", m_logarithmic->isChecked() ? "true" : "false");
    m_document->setView(m_name + ".clip", exactly(m_clip->currentData().toDouble()));
}

void ColourControls::offer(std::span<const double> values, bool isDifference) {
    m_isDifference = isDifference;
    m_colours->setEnabled(!isDifference);
    m_colours->setToolTip(isDifference ? tr("A difference is drawn in %1, around zero").arg(firstDiverging())
                                       : tr("Colours, from low to high"));
    offerLogarithm(*m_logarithmic, values, tr("Logarithmic colours"));
    m_offersDiverging = isDifference || isSigned(values);
    const auto* items = qobject_cast<QStandardItemModel*>(m_colours->model());
    for (int i = 0; i < m_colours->count(); ++i)
        if (isDiverging(m_colours->itemData(i).toString()))
            items->item(i)->setEnabled(m_offersDiverging);
}

ColourScale ColourControls::scale() const {
    QString map = m_colours->currentData().toString();
    if (m_isDifference && !isDiverging(map)) // a difference is always drawn in a diverging map
        map = firstDiverging();
    const bool fits = !isDiverging(map) || m_offersDiverging;
    return {fits ? map.toStdString() : ColourScale().map, m_logarithmic->isEnabled() && m_logarithmic->isChecked(),
            m_clip->currentData().toDouble()};
}

} // namespace secateur
