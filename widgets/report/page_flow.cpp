#include "widgets/report/page_flow.h"

#include <algorithm>

namespace secateur {

namespace {

/// The end of the group of boxes that begins with a box: those that stay together.
std::size_t endOfGroup(std::span<const PageBox> boxes, std::size_t first) {
    std::size_t last = first;
    while (last + 1 < boxes.size() && boxes[last].staysWithNext)
        ++last;
    return last + 1;
}

double headerHeight(const PageBox& box) {
    return box.header ? box.header->height : 0;
}

/// The height of a group. @param isFirst whether it is at the top of a page
double heightOf(std::span<const PageBox> group, bool isFirst) {
    double height = isFirst ? headerHeight(group.front()) - group.front().spaceAbove : 0;
    for (const PageBox& box : group)
        height += box.spaceAbove + box.height;
    return height;
}

/// Fills pages from above.
class PageFiller {
public:
    PageFiller(std::span<const PageBox> boxes, double height)
        : m_boxes(boxes)
        , m_height(height)
        , m_pages(1) {}

    void add(std::size_t first, std::size_t end) {
        const std::span<const PageBox> group = m_boxes.subspan(first, end - first);
        if (!m_pages.back().empty() && m_filled + heightOf(group, false) > m_height)
            beginPage();
        for (std::size_t i = first; i < end; ++i)
            addBox(i);
    }

    std::vector<Page> pages() && { return std::move(m_pages); }

private:
    void beginPage() {
        m_pages.emplace_back();
        m_filled = 0;
    }

    void addBox(std::size_t index) {
        const PageBox& box = m_boxes[index];
        if (!m_pages.back().empty() && m_filled + box.spaceAbove + box.height > m_height)
            beginPage();
        const bool isFirst = m_pages.back().empty();
        const double top = m_filled + (isFirst ? 0 : box.spaceAbove);
        const bool hasHeader = isFirst && box.header;
        m_pages.back().push_back({index, top, hasHeader});
        m_filled = top + box.height + (hasHeader ? headerHeight(box) : 0);
    }

    std::span<const PageBox> m_boxes;
    double m_height;
    double m_filled = 0;
    std::vector<Page> m_pages;
};

} // namespace

std::vector<Page> pagesOf(std::span<const PageBox> boxes, double height) {
    PageFiller filler(boxes, height);
    for (std::size_t first = 0; first < boxes.size();) {
        const std::size_t end = endOfGroup(boxes, first);
        filler.add(first, end);
        first = end;
    }
    return std::move(filler).pages();
}

} // namespace secateur
