#include "widgets/report/table_boxes.h"

#include "analysis/figures/table_text.h"
#include "widgets/report/text_boxes.h"

#include <QFontMetricsF>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <QTransform>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace secateur {

namespace {

constexpr double usualPoints = 8;
constexpr double leastPoints = 6.5;
const QColor publishedColour("#6a6a6a");

QString shownTitle(const TableColumn& column) {
    return QString::fromStdString(column.title);
}

QString shownCell(const TableColumn& column, const TableCell& cell) {
    return QString::fromStdString(cellText(column, cell));
}

/// The groups of columns that have a title.
std::vector<ColumnGroup> titledGroups(const FigureTable& table) {
    std::vector<ColumnGroup> groups = columnGroupsOf(table);
    std::erase_if(groups, [](const ColumnGroup& group) { return group.title.empty(); });
    return groups;
}

QString titleOf(const ColumnGroup& group) {
    return QString::fromStdString(group.title);
}

/// A table with the widths of its columns and the heights of its rows, in units of 1/300 inch.
class ReportTable {
public:
    ReportTable(const FigureTable& table, double width)
        : m_table(table)
        , m_groups(titledGroups(table)) {
        for (double points = usualPoints; points >= leastPoints; points -= 0.5) {
            setFont(points);
            if (totalWidth() <= width)
                return;
        }
        wrapTexts(width);
        m_scale = std::min(1.0, width / totalWidth());
    }

    PageBox header() const {
        PageBox box{.height = m_scale * (headerHeight() + m_padding), .staysWithNext = true};
        box.draw = drawing([](const ReportTable& own, QCPPainter& painter) { own.drawHeader(painter); });
        return box;
    }

    PageBox row(std::size_t index) const {
        PageBox box{.height = m_scale * rowHeight(m_table.rows[index])};
        box.draw = drawing([index](const ReportTable& own, QCPPainter& painter) { own.drawRow(painter, index); });
        return box;
    }

private:
    using Draw = std::function<void(const ReportTable&, QCPPainter&)>;

    /// Moves the origin to the box and scales the table. The copy of the layout belongs to the box.
    std::function<void(QCPPainter&, double, double)> drawing(Draw draw) const {
        return [own = std::make_shared<ReportTable>(*this), draw = std::move(draw)](QCPPainter& painter, double left,
                                                                                    double top) {
            const QTransform before = painter.transform();
            painter.translate(left, top);
            painter.scale(own->m_scale, own->m_scale);
            draw(*own, painter);
            painter.setTransform(before);
        };
    }

    void setFont(double points) {
        m_font = reportFont(points);
        m_bold = reportFont(points, true);
        m_padding = 0.35 * QFontMetricsF(m_font).height();
        m_widths.clear();
        for (std::size_t i = 0; i < m_table.columns.size(); ++i)
            m_widths.push_back(naturalWidth(i));
        for (const ColumnGroup& group : m_groups) {
            const double missing =
                QFontMetricsF(m_bold).horizontalAdvance(titleOf(group)) + 2 * m_padding - widthOf(group);
            if (missing > 0)
                m_widths[group.first + group.count - 1] += missing;
        }
    }

    /// The width of the longest word of the title and of the longest cell.
    double naturalWidth(std::size_t column) const {
        const QFontMetricsF bold(m_bold);
        double width = 0;
        for (const QString& word : shownTitle(m_table.columns[column]).split(' '))
            width = std::max(width, bold.horizontalAdvance(word));
        for (const TableRow& row : m_table.rows) {
            const TableCell& cell = row.cells.at(column);
            width = std::max(width, QFontMetricsF(cell.isBest ? m_bold : m_font)
                                        .horizontalAdvance(shownCell(m_table.columns[column], cell)));
        }
        return std::ceil(width) + 2 * m_padding;
    }

    double widthOf(std::size_t first, std::size_t end) const {
        double width = 0;
        for (std::size_t i = first; i < end; ++i)
            width += m_widths[i];
        return width;
    }
    double widthOf(const ColumnGroup& group) const { return widthOf(group.first, group.first + group.count); }
    double totalWidth() const { return widthOf(0, m_widths.size()); }

    /// Narrows columns of text, the widest first, until the table has this width or they cannot be narrower.
    void wrapTexts(double width) {
        const double least = 12 * QFontMetricsF(m_font).averageCharWidth() + 2 * m_padding;
        const double step = QFontMetricsF(m_font).averageCharWidth();
        while (totalWidth() > width) {
            std::size_t widest = m_widths.size();
            for (std::size_t i = 0; i < m_widths.size(); ++i)
                if (m_table.columns[i].isText && (widest == m_widths.size() || m_widths[i] > m_widths[widest]))
                    widest = i;
            if (widest == m_widths.size() || m_widths[widest] <= least)
                return;
            m_widths[widest] = std::max(least, m_widths[widest] - step);
        }
    }

    static Qt::Alignment alignment(const TableColumn& column) { return column.isText ? Qt::AlignLeft : Qt::AlignRight; }

    QStringList linesOf(const QString& text, const QFont& font, std::size_t column) const {
        return wrappedLines(text, font, m_widths[column] - 2 * m_padding + 1);
    }
    double linesHeight(const QString& text, const QFont& font, std::size_t column) const {
        return static_cast<double>(linesOf(text, font, column).size()) * QFontMetricsF(font).height();
    }
    const QFont& fontOf(const TableCell& cell) const { return cell.isBest ? m_bold : m_font; }

    double rowHeight(const TableRow& row) const {
        double height = 0;
        for (std::size_t i = 0; i < row.cells.size(); ++i)
            height =
                std::max(height, linesHeight(shownCell(m_table.columns[i], row.cells[i]), fontOf(row.cells[i]), i));
        return height + m_padding;
    }

    double titlesHeight() const {
        double height = 0;
        for (std::size_t i = 0; i < m_table.columns.size(); ++i)
            height = std::max(height, linesHeight(shownTitle(m_table.columns[i]), m_bold, i));
        return height + m_padding;
    }
    double groupsHeight() const { return m_groups.empty() ? 0 : QFontMetricsF(m_bold).height() + m_padding; }
    double headerHeight() const { return groupsHeight() + titlesHeight() + m_padding; }

    void drawRule(QCPPainter& painter, double left, double right, double y, double width) const {
        painter.setPen(QPen(Qt::black, width));
        painter.drawLine(QLineF(left, y, right, y));
    }

    /// Draws a text line by line in a column.
    void drawText(QCPPainter& painter, const QString& text, const QFont& font, std::size_t column, double top) const {
        const double line = QFontMetricsF(font).height();
        painter.setFont(font);
        for (const QString& one : linesOf(text, font, column)) {
            const QRectF room(widthOf(0, column) + m_padding, top, m_widths[column] - 2 * m_padding, line);
            painter.drawText(room,
                             static_cast<int>(alignment(m_table.columns[column]) | Qt::AlignVCenter) |
                                 Qt::TextDontClip | Qt::TextSingleLine,
                             one);
            top += line;
        }
    }

    void drawHeader(QCPPainter& painter) const {
        constexpr double thick = 3.5;
        constexpr double thin = 1.8;
        drawRule(painter, 0, totalWidth(), 0, thick);
        double top = m_padding;
        for (const ColumnGroup& group : m_groups) {
            const double left = widthOf(0, group.first);
            const double width = widthOf(group);
            painter.setFont(m_bold);
            painter.setPen(Qt::black);
            painter.drawText(QRectF(left, top, width, QFontMetricsF(m_bold).height()),
                             Qt::AlignHCenter | Qt::AlignVCenter | Qt::TextDontClip, titleOf(group));
            drawRule(painter, left + m_padding, left + width - m_padding, top + groupsHeight() - m_padding / 2, thin);
        }
        top += groupsHeight();
        painter.setPen(Qt::black);
        for (std::size_t i = 0; i < m_table.columns.size(); ++i) {
            const QString title = shownTitle(m_table.columns[i]);
            drawText(painter, title, m_bold, i, top + titlesHeight() - m_padding - linesHeight(title, m_bold, i));
        }
        drawRule(painter, 0, totalWidth(), headerHeight(), thin);
    }

    void drawRow(QCPPainter& painter, std::size_t index) const {
        constexpr double hair = 1;
        constexpr double thick = 3.5;
        const TableRow& row = m_table.rows[index];
        const double height = rowHeight(row);
        if (row.startsGroup && index > 0)
            drawRule(painter, 0, totalWidth(), 0, hair);
        painter.setPen(row.isPublished ? publishedColour : QColor(Qt::black));
        for (std::size_t i = 0; i < row.cells.size(); ++i)
            drawText(painter, shownCell(m_table.columns[i], row.cells[i]), fontOf(row.cells[i]), i, m_padding / 2);
        if (index + 1 == m_table.rows.size())
            drawRule(painter, 0, totalWidth(), height, thick);
    }

    FigureTable m_table;
    std::vector<ColumnGroup> m_groups;
    QFont m_font;
    QFont m_bold;
    double m_padding = 0; ///< room beside a cell's text
    std::vector<double> m_widths;
    double m_scale = 1;
};

/// Header and rows. @param keepsWhole whether all rows are on one page
std::vector<PageBox> rowsOf(const ReportTable& layout, std::size_t rows, bool keepsWhole) {
    std::vector<PageBox> boxes{layout.header()};
    const auto header = std::make_shared<const PageBox>(boxes.front());
    for (std::size_t i = 0; i < rows; ++i) {
        PageBox box = layout.row(i);
        box.header = header;
        box.staysWithNext = i + 1 < rows && (keepsWhole || i == 0 || i + 2 == rows);
        boxes.push_back(std::move(box));
    }
    return boxes;
}

} // namespace

std::vector<PageBox> tableBoxes(const FigureTable& table, double width, double mostHeight) {
    const ReportTable layout(table, width);
    std::vector<PageBox> boxes = rowsOf(layout, table.rows.size(), true);
    return heightOf(boxes) <= mostHeight ? boxes : rowsOf(layout, table.rows.size(), false);
}

} // namespace secateur
