#include "widgets/plot/plot_table.h"

#include "analysis/figures/table_text.h"
#include "widgets/plot/plot_drawing.h"
#include "widgets/plot/plot_frame.h"

#include <QFontMetrics>
#include <QStringList>

#include <qcustomplot.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace secateur {

namespace {

constexpr double thickRule = 1.3;
constexpr double thinRule = 0.7;
constexpr double besideCells = 5;      ///< padding at each side
constexpr double mostSpread = 16;      ///< additional padding at each side in a wide picture
constexpr double aboveCells = 1.5;     ///< padding above and below
constexpr double publishedTint = 0.58; ///< share of the text colour
constexpr double leadingShare = 0.45;  ///< of the width, for the leading columns of a block
constexpr double wordShare = 0.65;     ///< of the width: wider leading columns break long words
constexpr int mostTitleLines = 4;
constexpr int mostCellLines = 6;
constexpr int mostNoteLines = 40;

int longestWord(const QString& text, const QFontMetrics& metrics) {
    int longest = 0;
    for (const QString& word : text.split(' '))
        longest = std::max(longest, metrics.horizontalAdvance(word));
    return longest;
}

class TableLayouter {
public:
    TableLayouter(const FigureTable& table, int width, const PlotTheme& theme)
        : m_table(table)
        , m_theme(theme)
        , m_bold(theme.font)
        , m_metrics(theme.font)
        , m_width(width)
        , m_padding(theme.length(besideCells)) {
        m_bold.setBold(true);
        for (std::size_t i = 0; i < table.columns.size(); ++i)
            m_columns.push_back(measured(i));
    }

    TableLayout layOut() {
        bool isFirst = true;
        for (const Block& block : blocks()) {
            m_layout.size.rheight() += isFirst ? 0 : m_metrics.height();
            isFirst = false;
            addBlock(block);
        }
        for (const std::string& note : m_table.notes) {
            m_layout.size.rheight() += m_theme.length(3);
            addLines(QRect(0, m_layout.size.height(), m_width, 0),
                     brokenLabel(note, m_theme.font, m_width, mostNoteLines).split('\n'), {Qt::AlignLeft, {}, false});
        }
        m_layout.size.setWidth(m_width);
        return std::move(m_layout);
    }

private:
    struct Column {
        int natural = 0; ///< width without line breaks in its cells
        int narrow = 0;  ///< width of its longest word
    };
    struct Placed {
        std::size_t column = 0;
        int width = 0; ///< of the text
    };
    using Block = std::vector<Placed>;
    struct TextLook {
        Qt::Alignment alignment;
        bool isBold = false;
        bool isGrey = false;
    };

    QString text(const TableRow& row, std::size_t column) const {
        return QString::fromStdString(cellText(m_table.columns[column], row.cells.at(column)));
    }

    Column measured(std::size_t index) const {
        const TableColumn& column = m_table.columns[index];
        Column result;
        result.narrow =
            std::max(longestWord(QString::fromStdString(column.title), m_metrics), shareOfGroupTitle(index));
        result.natural = result.narrow;
        const QFontMetrics bold(m_bold);
        for (const TableRow& row : m_table.rows) {
            const QFontMetrics& metrics = row.cells.at(index).isBest ? bold : m_metrics;
            const int width = metrics.horizontalAdvance(text(row, index));
            result.natural = std::max(result.natural, width);
            result.narrow = std::max(result.narrow, column.isText ? longestWord(text(row, index), metrics) : width);
        }
        return result;
    }

    /// The width that a column needs for its group's title to keep whole words.
    int shareOfGroupTitle(std::size_t index) const {
        const std::string& group = m_table.columns[index].group;
        if (group.empty())
            return 0;
        const auto isOther = [&](const TableColumn& column) { return column.group != group; };
        const auto at = m_table.columns.begin() + static_cast<std::ptrdiff_t>(index);
        const auto last = std::find_if(at, m_table.columns.end(), isOther);
        const auto before = std::find_if(std::make_reverse_iterator(at), m_table.columns.rend(), isOther);
        const auto count = static_cast<int>(last - before.base());
        return longestWord(QString::fromStdString(group), m_metrics) / count - 2 * m_padding;
    }

    int widthOf(const Block& block) const {
        int width = 0;
        for (const Placed& placed : block)
            width += placed.width + 2 * m_padding;
        return width;
    }

    /// Whether a column names rows: all of its cells are texts.
    bool isOfNames(std::size_t column) const {
        return m_table.columns[column].isText || std::ranges::all_of(m_table.rows, [&](const TableRow& row) {
                   return !row.cells.at(column).text.empty();
               });
    }

    /// Number of columns at the left that a block repeats, as they name its rows.
    std::size_t leadingCount() const {
        constexpr std::size_t most = 3;
        std::size_t count = 0;
        while (count < std::min(m_table.columns.size(), most) && isOfNames(count))
            ++count;
        return count;
    }

    /// All columns in one block if they fit, with the columns of text as narrow as necessary.
    std::vector<Block> blocks() const {
        Block all;
        for (std::size_t i = 0; i < m_columns.size(); ++i)
            all.push_back({i, m_columns[i].natural});
        if (shrink(all, m_width))
            return {spread(std::move(all))};
        return split();
    }

    /// Takes width from columns of text until a block fits. Returns false if it cannot.
    bool shrink(Block& block, int room) const {
        int excess = widthOf(block) - room;
        while (excess > 0) {
            Placed* widest = nullptr;
            for (Placed& placed : block)
                if (m_table.columns[placed.column].isText && placed.width > m_columns[placed.column].narrow &&
                    (!widest || placed.width > widest->width))
                    widest = &placed;
            if (!widest)
                return false;
            const int less = std::min(excess, std::max(1, widest->width - m_columns[widest->column].narrow));
            const int step = std::min(less, std::max(1, widest->width / 8)); // columns of text shrink alike
            widest->width -= step;
            excess -= step;
        }
        return true;
    }

    /// Width of a column with those of its group that stand behind it, where it is the group's first; otherwise of the
    /// column alone.
    int widthOfGroupAt(std::size_t first) const {
        const auto group = [&](std::size_t i) { return m_table.columns[i].group; };
        const bool isInside = first > 0 && group(first - 1) == group(first);
        int width = 0;
        for (std::size_t i = first; i < m_columns.size() && (i == first || group(i) == group(first)); ++i) {
            width += m_columns[i].narrow + 2 * m_padding;
            if (isInside || group(first).empty())
                break;
        }
        return width;
    }

    std::vector<Block> split() const {
        Block leading;
        const std::size_t count = leadingCount();
        for (std::size_t i = 0; i < count; ++i)
            leading.push_back({i, m_columns[i].natural});
        const int most = static_cast<int>(leadingShare * m_width);
        if (!shrink(leading, most) && widthOf(leading) > static_cast<int>(wordShare * m_width))
            for (Placed& placed : leading) // long words are broken
                placed.width = std::max(1, std::min(placed.width, most / static_cast<int>(count) - 2 * m_padding));
        const int room = m_width - widthOf(leading);
        std::vector<Block> blocks = filled(leading, room);
        // Blocks of like widths: as narrow as the same number of blocks can be.
        const int step = std::max(1, room / 64);
        for (int narrower = room - step; narrower > 0; narrower -= step) {
            std::vector<Block> next = filled(leading, narrower);
            if (next.size() > blocks.size())
                break;
            blocks = std::move(next);
        }
        return blocks;
    }

    /// Distributes the columns over blocks. @param leading columns of each block @param room width beside them
    std::vector<Block> filled(const Block& leading, int room) const {
        const int widest = m_width - widthOf(leading);
        std::vector<Block> blocks{leading};
        for (std::size_t i = leading.size(); i < m_columns.size(); ++i) {
            const Placed placed{i, std::max(1, std::min(m_columns[i].narrow, widest - 2 * m_padding))};
            const int together = widthOfGroupAt(i); // a group is divided only if no block can hold it
            const int needed = together <= widest ? together : placed.width + 2 * m_padding;
            if (blocks.back().size() > leading.size() && widthOf(blocks.back()) + needed > widthOf(leading) + room)
                blocks.push_back(leading);
            blocks.back().push_back(placed);
        }
        return blocks;
    }

    /// Widens columns in a picture that is wider than the table.
    Block spread(Block block) const {
        if (block.empty())
            return block;
        const int more = (m_width - widthOf(block)) / static_cast<int>(block.size());
        for (Placed& placed : block)
            placed.width += std::min(more, m_theme.length(2 * mostSpread));
        return block;
    }

    int leftOf(const Block& block, std::size_t index) const {
        int left = 0;
        for (std::size_t i = 0; i < index; ++i)
            left += block[i].width + 2 * m_padding;
        return left;
    }

    /// Adds lines of text in a box and returns the height. @param box its upper edge, left edge and width
    int addLines(const QRect& box, const QStringList& lines, const TextLook& look) {
        int top = box.top();
        for (const QString& line : lines) {
            if (!line.isEmpty())
                m_layout.texts.push_back({QRect(box.left(), top, box.width(), m_metrics.height()),
                                          look.alignment | Qt::AlignVCenter, line, look.isBold, look.isGrey});
            top += m_metrics.height();
        }
        m_layout.size.setHeight(std::max(m_layout.size.height(), top));
        return top - box.top();
    }

    void addRule(int left, int right, double width) {
        const int y = m_layout.size.height();
        m_layout.rules.push_back({QLine(left, y, right, y), width});
        m_layout.size.rheight() += m_theme.length(width);
    }

    /// Adds the titles of groups of neighbouring columns with rules below them.
    void addGroups(const Block& block) {
        const auto group = [&](std::size_t i) { return m_table.columns[block[i].column].group; };
        int height = 0;
        const int top = m_layout.size.height();
        std::vector<std::pair<int, int>> rules;
        for (std::size_t first = 0, last = 0; first < block.size(); first = last) {
            for (last = first; last < block.size() && group(last) == group(first); ++last) {
            }
            const int left = leftOf(block, first) + m_padding / 2;
            const int right = leftOf(block, last) - m_padding / 2;
            if (group(first).empty())
                continue;
            const QString title = brokenLabel(group(first), m_theme.font, right - left, mostTitleLines);
            height = std::max(height, addLines(QRect(left, top, right - left, 0), title.split('\n'),
                                               {Qt::AlignHCenter, false, false}));
            rules.emplace_back(left, right);
        }
        m_layout.size.setHeight(top + height);
        for (const auto& [left, right] : rules)
            m_layout.rules.push_back({QLine(left, top + height, right, top + height), thinRule});
        m_layout.size.rheight() += rules.empty() ? 0 : m_theme.length(thinRule) + m_theme.length(aboveCells);
    }

    Qt::Alignment sideOf(const Placed& placed) const {
        return m_table.columns[placed.column].isText ? Qt::AlignLeft : Qt::AlignRight;
    }

    void addTitles(const Block& block) {
        std::vector<QStringList> titles;
        qsizetype lines = 0;
        for (const Placed& placed : block) {
            titles.push_back(
                brokenLabel(m_table.columns[placed.column].title, m_theme.font, placed.width, mostTitleLines)
                    .split('\n'));
            lines = std::max(lines, titles.back().size());
        }
        const int top = m_layout.size.height();
        for (std::size_t i = 0; i < block.size(); ++i) {
            const auto above = static_cast<int>(lines - titles[i].size()); // titles end at the rule
            addLines(QRect(leftOf(block, i) + m_padding, top + above * m_metrics.height(), block[i].width, 0),
                     titles[i], {sideOf(block[i]), false, false});
        }
        m_layout.size.rheight() += m_theme.length(aboveCells);
    }

    void addRow(const Block& block, const TableRow& row) {
        m_layout.size.rheight() += m_theme.length(aboveCells);
        const int top = m_layout.size.height();
        for (std::size_t i = 0; i < block.size(); ++i) {
            const TextLook look{sideOf(block[i]), row.cells.at(block[i].column).isBest, row.isPublished};
            const QString shown = brokenLabel(text(row, block[i].column).toStdString(),
                                              look.isBold ? m_bold : m_theme.font, block[i].width, mostCellLines);
            addLines(QRect(leftOf(block, i) + m_padding, top, block[i].width, 0), shown.split('\n'), look);
        }
        m_layout.size.rheight() += m_theme.length(aboveCells);
    }

    void addBlock(const Block& block) {
        const int width = widthOf(block);
        addRule(0, width, thickRule);
        m_layout.size.rheight() += m_theme.length(aboveCells);
        addGroups(block);
        addTitles(block);
        addRule(0, width, thinRule);
        for (std::size_t row = 0; row < m_table.rows.size(); ++row) {
            if (row > 0 && m_table.rows[row].startsGroup)
                addRule(0, width, thinRule);
            addRow(block, m_table.rows[row]);
        }
        addRule(0, width, thickRule);
    }

    const FigureTable& m_table;
    const PlotTheme& m_theme;
    QFont m_bold;
    QFontMetrics m_metrics;
    int m_width;
    int m_padding;
    std::vector<Column> m_columns;
    TableLayout m_layout{{}, {}, {0, 0}};
};

class TableDrawing : public PlotDrawing {
public:
    TableDrawing(QCPAxisRect* rect, FigureTable table, const PlotTheme& theme)
        : PlotDrawing(rect, Layer::main, theme, Edges::smooth)
        , m_table(std::move(table)) {}

protected:
    void draw(QCPPainter& painter) override {
        const QPoint corner = rect()->rect().topLeft();
        const TableLayout layout = layOutTable(m_table, rect()->rect().width(), theme());
        QFont bold = theme().font;
        bold.setBold(true);
        for (const TableRule& rule : layout.rules) {
            const int height = theme().length(rule.width);
            painter.fillRect(QRect(rule.line.p1() + corner, QSize(rule.line.dx(), height)), theme().text);
        }
        for (const TableText& text : layout.texts) {
            painter.setFont(text.isBold ? bold : theme().font);
            painter.setPen(text.isGrey ? mixed(theme().background, theme().text, publishedTint) : theme().text);
            painter.drawText(text.box.translated(corner), static_cast<int>(text.alignment) | Qt::TextDontClip,
                             text.text);
        }
    }

private:
    FigureTable m_table;
};

} // namespace

TableLayout layOutTable(const FigureTable& table, int width, const PlotTheme& theme) {
    return TableLayouter(table, width, theme).layOut();
}

void paintTable(const PlotPlace& place, const FigureTable& table) {
    QCPAxisRect* rect = addAxisRect(place.layout, 0, 0);
    rect->setAutoMargins(QCP::msNone);
    rect->setMargins({});
    rect->setMinimumSize(0, layOutTable(table, place.room.width(), place.theme).size.height());
    new TableDrawing(rect, table, place.theme); // the axis rect owns it
}

} // namespace secateur
