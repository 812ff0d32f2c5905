#include "widgets/heads/heads_shears.h"

#include "widgets/document/mask_editor.h"

#include <QCursor>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

#include <algorithm>
#include <utility>

namespace secateur {

bool wouldCut(const MaskEditor& masks, const std::set<HeadId>& heads) {
    const auto isOpen = [&](HeadId head) { return !masks.isCut(head) && !masks.isProtected().has(head); };
    return std::ranges::any_of(heads, isOpen) ||
           std::ranges::none_of(heads, [&](HeadId head) { return masks.isCut(head); });
}

void HeadsShears::begin(const std::set<HeadId>& heads) {
    m_painted.clear();
    m_cut = wouldCut(*m_masks, heads);
    paint(heads);
}

void HeadsShears::paint(const std::set<HeadId>& heads) {
    m_painted.insert(heads.begin(), heads.end());
    m_masks->setPreview(m_masks->withHeads(m_masks->mask(), m_painted, m_cut));
}

void HeadsShears::apply() {
    const std::set<HeadId> painted = std::exchange(m_painted, {});
    m_masks->setPreview({});
    m_masks->setHeadsCut(painted, m_cut);
}

void HeadsShears::cancel() {
    m_painted.clear();
    m_masks->setPreview({});
}

const QCursor& shearsCursor() {
    static const QCursor cursor = [] {
        constexpr int side = 24;
        constexpr int scale = 2;
        QPixmap picture(side * scale, side * scale);
        picture.setDevicePixelRatio(scale);
        picture.fill(Qt::transparent);
        QPainterPath shears;
        shears.moveTo(2, 2);
        shears.lineTo(15, 14);
        shears.moveTo(6, 1);
        shears.lineTo(11, 15);
        shears.addEllipse(QPointF(18, 17), 3.2, 3.2);
        shears.addEllipse(QPointF(12, 19), 3.2, 3.2);
        QPainter painter(&picture);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.strokePath(shears, QPen(Qt::white, 4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.strokePath(shears, QPen(Qt::black, 2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.end();
        return QCursor(picture, 2, 2);
    }();
    return cursor;
}

} // namespace secateur
