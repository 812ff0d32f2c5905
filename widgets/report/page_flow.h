#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

class QCPPainter;

namespace secateur {

/// What is drawn on a page in one piece: a line, a row of a table, or a figure. Lengths are in units of 1/300 inch.
struct PageBox {
    double height = 0;
    double spaceAbove = 0;      ///< left out at the top of a page
    bool staysWithNext = false; ///< whether the next box is on the same page
    /// Draws the box. @param left, top of its upper left corner
    std::function<void(QCPPainter& painter, double left, double top)> draw = {};
    /// A box that is drawn above this one if it begins a page: the header of a table. Null = none.
    std::shared_ptr<const PageBox> header = {};
};

/// A box on a page.
struct PlacedBox {
    std::size_t box = 0;    ///< index in the list
    double top = 0;         ///< distance from the top of the page's content
    bool hasHeader = false; ///< whether PageBox::header is drawn; `top` is then that of the header
};

using Page = std::vector<PlacedBox>;

/// Places boxes on pages in their order. Boxes that stay together begin a page if they do not fit the rest of one. If
/// they do not fit a page, they are divided where it is full.
/// @param height of the content of a page
std::vector<Page> pagesOf(std::span<const PageBox> boxes, double height);

} // namespace secateur
