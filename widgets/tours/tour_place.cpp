#include "widgets/tours/tour_place.h"

#include <algorithm>
#include <array>

namespace secateur {

namespace {

constexpr int edgeGap = 8; ///< distance from the edges of the window

QRect within(QRect rectangle, const QRect& room) {
    rectangle.moveRight(std::min(rectangle.right(), room.right() - edgeGap));
    rectangle.moveBottom(std::min(rectangle.bottom(), room.bottom() - edgeGap));
    rectangle.moveLeft(std::max(rectangle.left(), room.left() + edgeGap));
    rectangle.moveTop(std::max(rectangle.top(), room.top() + edgeGap));
    return rectangle;
}

int areaOf(const QRect& rectangle) {
    return rectangle.isEmpty() ? 0 : rectangle.width() * rectangle.height();
}

/// A place along the target's edge: near its middle, if possible where the arrow meets the balloon at a right angle.
int alongEdge(int middle, int targetLow, int targetHigh, int bodyLow, int bodyHigh) {
    return std::clamp(std::clamp(middle, bodyLow, std::max(bodyLow, bodyHigh)), targetLow, targetHigh);
}

/// The end of the arrow on the target's edge that faces the balloon.
QPoint tipOf(const QRect& target, const QRect& body, int arrow) {
    const QPoint middle = target.center();
    if (body.left() > target.right() || body.right() < target.left()) {
        const int y =
            alongEdge(middle.y(), target.top(), target.bottom(), body.top() + 2 * arrow, body.bottom() - 2 * arrow);
        return {body.left() > target.right() ? target.right() + 1 : target.left() - 1, y};
    }
    const int x =
        alongEdge(middle.x(), target.left(), target.right(), body.left() + 2 * arrow, body.right() - 2 * arrow);
    return {x, body.top() > target.bottom() ? target.bottom() + 1 : target.top() - 1};
}

} // namespace

TourPlace placeBalloon(const QRect& room, const QRect& target, const QSize& body, int arrow) {
    TourPlace place;
    place.body = QRect(QPoint(0, 0), body);
    if (target.isEmpty()) {
        place.body.moveBottomRight(room.bottomRight());
        place.body = within(place.body, room);
        return place;
    }
    std::array<QRect, 4> sides;
    sides.fill(place.body);
    for (QRect& side : sides)
        side.moveCenter(target.center());
    // Of sides that cover equally much, the first is taken. Beside a menu the balloon would hide the menu bar.
    const bool isAtTop = target.center().y() < room.top() + body.height() / 2;
    const std::size_t below = isAtTop ? 0 : 2;
    sides[below].moveTop(target.bottom() + 1 + arrow);
    sides[isAtTop ? 1 : 0].moveLeft(target.right() + 1 + arrow);
    sides[isAtTop ? 2 : 1].moveRight(target.left() - 1 - arrow);
    sides[3].moveBottom(target.top() - 1 - arrow);
    for (QRect& side : sides)
        side = within(side, room);
    const QRect around = target.adjusted(-arrow, -arrow, arrow, arrow);
    place.body = *std::ranges::min_element(sides, {}, [&](const QRect& side) { return areaOf(side & around); });
    place.hasArrow = !place.body.intersects(target);
    if (place.hasArrow)
        place.tip = tipOf(target, place.body, arrow);
    return place;
}

} // namespace secateur
