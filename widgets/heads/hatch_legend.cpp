#include "widgets/heads/hatch_legend.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPixmap>

namespace secateur {

HatchLegend::HatchLegend(QWidget* parent)
    : QWidget(parent)
    , m_here()
    , m_there()
    , m_both() {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 2, 8, 6);
    row->setSpacing(6);
    m_here = addEntry(Hatch::cut);
    m_there = addEntry(Hatch::onlyThere);
    m_both = addEntry(Hatch::both);
    m_both.text->setText(tr("cut in both"));
    row->addStretch();
    draw();
}

HatchLegend::Entry HatchLegend::addEntry(Hatch hatch) {
    const Entry entry{hatch, new QLabel, new QLabel};
    entry.text->setTextFormat(Qt::PlainText);
    auto* row = static_cast<QHBoxLayout*>(layout());
    row->addWidget(entry.picture);
    row->addWidget(entry.text);
    row->addSpacing(12);
    return entry;
}

void HatchLegend::setNames(const QString& here, const QString& there) {
    m_here.text->setText(tr("cut only in “%1”").arg(here));
    m_there.text->setText(tr("cut only in “%1”").arg(there));
}

void HatchLegend::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        draw();
}

void HatchLegend::draw() {
    const PlotTheme theme = themeOf(*this);
    const QSize size(28, 14);
    for (const Entry& entry : {m_here, m_there, m_both}) {
        QPixmap picture(size * devicePixelRatioF());
        picture.setDevicePixelRatio(devicePixelRatioF());
        picture.fill(theme.muted);
        QPainter painter(&picture);
        painter.fillRect(QRect(QPoint(), size), hatchBrush(entry.hatch, size.height(), theme, devicePixelRatioF()));
        painter.end();
        entry.picture->setPixmap(picture);
    }
}

} // namespace secateur
