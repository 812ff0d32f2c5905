#pragma once

#include <QPoint>
#include <QRect>
#include <QSize>

namespace secateur {

/// The place of a balloon beside the rectangle that it points at.
struct TourPlace {
    QRect body;            ///< the balloon without its arrow
    QPoint tip;            ///< end of the arrow
    bool hasArrow = false; ///< false if there is no room beside the rectangle, or no rectangle
};

/// Places a balloon in the room: on that side of the target which it covers least of, or in the lower right corner if
/// the target is empty. Both rectangles are in the same coordinates.
/// @param body size of the balloon without its arrow @param arrow length of the arrow
TourPlace placeBalloon(const QRect& room, const QRect& target, const QSize& body, int arrow);

} // namespace secateur
