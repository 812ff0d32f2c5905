#include "widgets/heads/heads_cuts.h"

#include "widgets/document/mask_editor.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPixmap>

namespace secateur {

namespace {

Hatch hatchOf(const MaskEditor& masks, HeadId head) {
    const bool here = masks.isCut(head);
    if (masks.preview()) {
        const bool then = isHeadCut(*masks.preview(), head);
        return !then ? Hatch::none : here ? Hatch::cut : Hatch::preview;
    }
    const bool there = masks.compared() && isHeadCut(*masks.compared(), head);
    return here && there ? Hatch::both : here ? Hatch::cut : there ? Hatch::onlyThere : Hatch::none;
}

} // namespace

std::vector<LayerCuts> cutsOf(const MaskEditor& masks) {
    std::vector<LayerCuts> layers;
    for (int index = 0; index < masks.mask().layerCount(); ++index) {
        const LayerMask& mask = masks.mask().layer(index);
        LayerCuts cuts{{},       {},         mask.attention,        mask.alpha,
                       mask.mlp, mask.block, !mask.neurons.empty(), masks.isProtected().layers.contains(index)};
        for (int head = 0; head < static_cast<int>(mask.heads.size()); ++head) {
            cuts.cells.push_back(hatchOf(masks, {index, head}));
            cuts.locked.push_back(masks.isProtected().heads.contains({index, head}));
        }
        layers.push_back(std::move(cuts));
    }
    return layers;
}

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
