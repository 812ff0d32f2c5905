#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/weights/matrix_map.h"

#include <QImage>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr int mostTicks = 400;
constexpr int shownDigits = 3;

/// Black or white, whichever is easier to read on a colour.
QColor readableOn(QRgb colour) {
    constexpr double middle = 140;
    const double light = 0.299 * qRed(colour) + 0.587 * qGreen(colour) + 0.114 * qBlue(colour);
    return light > middle ? Qt::black : Qt::white;
}

/// Draws the part of a tile that is on screen. QPainter loses precision where a picture is far larger than the area.
void drawTile(QPainter& painter, const MatrixTile& tile, const QRectF& place, const QRectF& area) {
    if (tile.picture.isNull() || place.isEmpty())
        return;
    const double width = place.width() / tile.columns;
    const double height = place.height() / tile.rows;
    const auto within = [](double from, double to, double first, double side, int count) {
        const int begin = std::clamp(static_cast<int>(std::floor((from - first) / side)), 0, count);
        const int end = std::clamp(static_cast<int>(std::ceil((to - first) / side)), begin, count);
        return std::pair(begin, end);
    };
    const auto [left, right] = within(area.left(), area.right(), place.left(), width, tile.columns);
    const auto [top, bottom] = within(area.top(), area.bottom(), place.top(), height, tile.rows);
    painter.drawImage(QRectF(place.left() + left * width, place.top() + top * height, (right - left) * width,
                             (bottom - top) * height),
                      tile.picture, QRectF(left, top, right - left, bottom - top));
}

} // namespace

void MatrixMap::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const PlotTheme theme = themeOf(*this);
    if (!m_reason.isEmpty() || m_rows <= 0 || m_columns <= 0) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(rect().adjusted(2 * gap, gap, -2 * gap, -gap), Qt::AlignCenter | Qt::TextWordWrap, m_reason);
        return;
    }
    painter.setClipRect(picture());
    painter.fillRect(picture(), theme.absent);
    paintTiles(painter);
    paintNumbers(painter);
    paintHatches(painter, theme);
    painter.setClipping(false);
    for (const Edge edge : {Edge::rows, Edge::columns})
        paintStrip(painter, theme, edge);
    paintIndices(painter, theme);
    paintCursor(painter, theme);
    if (tile())
        paintColourBar(painter, theme);
}

void MatrixMap::paintTiles(QPainter& painter) const {
    for (const auto& each : {m_whole, m_tile})
        if (each)
            drawTile(painter, *each, pixelsOf(each->extent()), QRectF(picture()));
}

/// The numbers of the cells, where they have room.
void MatrixMap::paintNumbers(QPainter& painter) const {
    const QFontMetrics metrics = fontMetrics();
    if (m_scale.height() < 1.15 * metrics.height() ||
        m_scale.width() < metrics.horizontalAdvance(QStringLiteral("−0.0000")))
        return;
    const CellWindow seen = visibleCells();
    painter.setFont(font());
    for (std::int64_t row = seen.row; row < seen.row + seen.rows; ++row)
        for (std::int64_t column = seen.column; column < seen.column + seen.columns; ++column) {
            const std::optional<float> value = valueOf({row, column});
            if (!value)
                continue;
            const QRgb colour =
                std::isnan(*value) ? themeOf(*this).absent.rgb() : tile()->range.colour(static_cast<double>(*value));
            painter.setPen(readableOn(colour));
            painter.drawText(cellRect({row, column}), Qt::AlignCenter,
                             QString::fromStdString(shownNumber(static_cast<double>(*value), shownDigits)));
        }
}

/// Neighbours with the same hatch are one band. Lines of a hatch are not visible in narrow bands, of which there may be
/// thousands: they are grey, and drawn together.
void MatrixMap::paintHatches(QPainter& painter, const PlotTheme& theme) const {
    const QRect shown = picture();
    constexpr int roomy = 20;
    constexpr int narrow = 4;
    const QRgb grey = qRgba(75, 75, 75, 150); // premultiplied
    const auto brush = [&](Hatch hatch, int width) { return hatchBrush(hatch, width, theme, devicePixelRatioF()); };
    if (m_hatch != Hatch::none)
        painter.fillRect(shown, brush(m_hatch, roomy));
    for (const Edge edge : {Edge::rows, Edge::columns}) {
        const bool isRow = edge == Edge::rows;
        const int first = isRow ? shown.top() : shown.left();
        const int length = isRow ? shown.height() : shown.width();
        QImage bands(isRow ? QSize(1, length) : QSize(length, 1), QImage::Format_ARGB32_Premultiplied);
        bands.fill(Qt::transparent);
        const std::span<const MatrixMark> all = marksOnScreen(edge);
        for (auto from = all.begin(); from != all.end();) {
            const auto to = std::find_if(from, all.end(), [&](const MatrixMark& mark) {
                return mark.hatch != from->hatch || mark.isSelected != from->isSelected;
            });
            const int begin = pixelsOf(edge, *from).first;
            const int end = std::max(pixelsOf(edge, *(to - 1)).second, begin + 1);
            const QRect band = isRow ? QRect(shown.left(), begin, shown.width(), end - begin)
                                     : QRect(begin, shown.top(), end - begin, shown.height());
            if (from->hatch != Hatch::none && end - begin >= narrow)
                painter.fillRect(band, brush(from->hatch, std::min(end - begin, roomy)));
            else if (from->hatch != Hatch::none)
                for (int pixel = std::max(begin - first, 0); pixel < std::min(end - first, length); ++pixel)
                    bands.setPixel(isRow ? 0 : pixel, isRow ? pixel : 0, grey);
            if (from->isSelected) {
                painter.setPen(theme.pen(theme.accent));
                painter.setBrush(Qt::NoBrush);
                painter.drawRect(band.adjusted(0, 0, -1, -1));
            }
            from = to;
        }
        painter.drawImage(shown, bands);
    }
}

std::span<const MatrixMark> MatrixMap::marksOnScreen(Edge edge) const {
    const MatrixMarks& all = marks(edge);
    const CellWindow seen = visibleCells();
    const std::int64_t first = edge == Edge::rows ? seen.row : seen.column;
    const std::int64_t last = first + (edge == Edge::rows ? seen.rows : seen.columns);
    const auto begin = std::ranges::upper_bound(all, first, {}, &MatrixMark::to);
    const auto end = std::lower_bound(begin, all.end(), last,
                                      [](const MatrixMark& mark, std::int64_t index) { return mark.from < index; });
    return {begin, end};
}

std::pair<int, int> MatrixMap::pixelsOf(Edge edge, const MatrixMark& mark) const {
    const QRect shown = picture();
    const bool isRow = edge == Edge::rows;
    const double scale = isRow ? m_scale.height() : m_scale.width();
    const double start = isRow ? m_area.top() - m_first.y() * scale : m_area.left() - m_first.x() * scale;
    const int least = isRow ? shown.top() : shown.left();
    const int most = isRow ? shown.bottom() + 1 : shown.right() + 1;
    const auto pixel = [&](std::int64_t index) {
        const double place = start + static_cast<double>(index) * scale;
        return static_cast<int>(std::lround(std::clamp<double>(place, least, most)));
    };
    return {pixel(mark.from), pixel(mark.to)};
}

int MatrixMap::stripWidth(Edge edge) const {
    const MatrixMarks& all = marks(edge);
    if (all.empty())
        return 0;
    if (edge == Edge::columns)
        return fontMetrics().height() + 2;
    return gap + std::max(fontMetrics().horizontalAdvance(all.front().name),
                          fontMetrics().horizontalAdvance(all.back().name));
}

/// The bands of the units beside the picture. Where they are narrow, every second, fifth, tenth ... has its name.
void MatrixMap::paintStrip(QPainter& painter, const PlotTheme& theme, Edge edge) const {
    const std::span<const MatrixMark> shownMarks = marksOnScreen(edge);
    if (shownMarks.empty())
        return;
    const bool isRow = edge == Edge::rows;
    const MatrixMarks& all = marks(edge);
    const QRect shown = picture();
    const int width = stripWidth(edge);
    const int least = isRow ? shown.top() : shown.left();
    const int most = isRow ? shown.bottom() + 1 : shown.right() + 1;
    const auto bandOf = [&](int begin, int end) {
        return isRow ? QRect(shown.left() - width, begin, width - 1, end - begin)
                     : QRect(begin, shown.top() - width, end - begin, width - 1);
    };
    const int nameSize = isRow ? fontMetrics().height() : fontMetrics().horizontalAdvance(all.back().name) + gap;
    const double bandSize =
        (isRow ? m_scale.height() : m_scale.width()) * static_cast<double>(all.front().to - all.front().from);
    const auto step = static_cast<std::size_t>(roundStep(nameSize / bandSize));
    auto index = static_cast<std::size_t>(shownMarks.data() - all.data());
    for (const MatrixMark& mark : shownMarks) {
        const auto [begin, end] = pixelsOf(edge, mark);
        const bool isNamed = index % step == 0;
        if (end - begin > 1 || mark.isSelected || isNamed)
            painter.fillRect(bandOf(begin, std::max(end, begin + 1)), mark.isSelected  ? theme.accent
                                                                      : index % 2 == 0 ? theme.grid
                                                                                       : theme.absent);
        const int middle = (begin + end) / 2;
        const int from = std::min(begin, middle - nameSize / 2);
        if (isNamed && (step > 1 || end - begin >= nameSize) && from >= least && from + nameSize <= most) {
            QFont named = font();
            named.setStrikeOut(mark.hatch == Hatch::cut || mark.hatch == Hatch::both);
            painter.setFont(named);
            painter.setPen(mark.isSelected ? readableOn(theme.accent.rgb()) : theme.text);
            painter.drawText(bandOf(from, std::max(end, from + nameSize)), Qt::AlignCenter, mark.name);
        }
        ++index;
    }
    painter.setFont(font());
}

int MatrixMap::widthOfIndices() const {
    return fontMetrics().horizontalAdvance(QString::number(std::max<std::int64_t>(m_rows - 1, 10))) + gap;
}

/// Indices of rows and columns along the edges, with the names of both axes at their ends.
void MatrixMap::paintIndices(QPainter& painter, const PlotTheme& theme) const {
    const QRect shown = picture();
    const int height = fontMetrics().height();
    const int left = shown.left() - stripWidth(Edge::rows) - gap;
    const int top = shown.top() - stripWidth(Edge::columns) - height;
    const auto offCursor = [&](std::int64_t index, bool isRow, double room) {
        if (!m_cursor)
            return true;
        const std::int64_t other = isRow ? m_cursor->row : m_cursor->column;
        return std::abs(static_cast<double>(index - other)) * (isRow ? m_scale.height() : m_scale.width()) >= room;
    };
    painter.setFont(font());
    painter.setPen(theme.muted);
    const CellWindow seen = visibleCells();
    const int nameRoom = fontMetrics().horizontalAdvance(m_rowName) + gap;
    const std::int64_t rowStep = roundStep(1.6 * height / m_scale.height());
    int drawn = 0;
    for (std::int64_t row = (seen.row + rowStep - 1) / rowStep * rowStep;
         row < seen.row + seen.rows && ++drawn < mostTicks; row += rowStep) {
        const int middle = cellRect({row, seen.column}).center().y();
        if (middle < shown.bottom() - nameRoom && middle >= shown.top() && offCursor(row, true, height))
            painter.drawText(QRect(0, middle - height / 2, left, height), Qt::AlignRight | Qt::AlignVCenter,
                             QString::number(row));
    }
    const int widest = fontMetrics().horizontalAdvance(QString::number(m_columns)) + 2 * gap;
    const int columnNameRoom = fontMetrics().horizontalAdvance(m_columnName) + gap;
    const std::int64_t columnStep = roundStep(widest / m_scale.width());
    drawn = 0;
    for (std::int64_t column = (seen.column + columnStep - 1) / columnStep * columnStep;
         column < seen.column + seen.columns && ++drawn < mostTicks; column += columnStep) {
        const int middle = cellRect({seen.row, column}).center().x();
        if (middle + widest / 2 < shown.right() - columnNameRoom && middle >= shown.left() &&
            offCursor(column, false, widest))
            painter.drawText(QRect(middle - widest / 2, top, widest, height), Qt::AlignCenter, QString::number(column));
    }
    painter.drawText(QRect(shown.left(), top, std::max(shown.width(), columnNameRoom), height),
                     Qt::AlignRight | Qt::AlignVCenter, m_columnName);
    painter.save();
    painter.translate(left - height, shown.bottom());
    painter.rotate(-90);
    if (shown.height() > nameRoom)
        painter.drawText(QRect(0, 0, shown.height(), height), Qt::AlignLeft | Qt::AlignVCenter, m_rowName);
    painter.restore();
}

/// The frame of the cell under the pointer, and its indices.
void MatrixMap::paintCursor(QPainter& painter, const PlotTheme& theme) const {
    if (!m_cursor)
        return;
    const QRect shown = picture();
    const QRect cell = cellRect(*m_cursor);
    painter.setClipRect(shown.adjusted(-1, -1, 1, 1));
    painter.setPen(theme.pen(theme.accent));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(cell.adjusted(-1, -1, 0, 0));
    QColor line = theme.accent;
    line.setAlphaF(0.4F);
    painter.setPen(theme.pen(line));
    painter.drawLine(shown.left(), cell.center().y(), cell.left() - 1, cell.center().y());
    painter.drawLine(cell.center().x(), shown.top(), cell.center().x(), cell.top() - 1);
    painter.setClipping(false);
    QFont bold = font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme.text);
    const int height = painter.fontMetrics().height();
    const int left = shown.left() - stripWidth(Edge::rows) - gap;
    const int top = shown.top() - stripWidth(Edge::columns) - height;
    const QString row = QString::number(m_cursor->row);
    const QString column = QString::number(m_cursor->column);
    const int middle = std::clamp(cell.center().y(), shown.top() + height / 2, shown.bottom());
    const QRect rowPlace(0, middle - height / 2, left, height);
    painter.fillRect(rowPlace, theme.background);
    painter.drawText(rowPlace, Qt::AlignRight | Qt::AlignVCenter, row);
    const int width = painter.fontMetrics().horizontalAdvance(column) + gap;
    const int centre = std::clamp(cell.center().x(), shown.left() + width / 2 - gap, shown.right());
    const QRect columnPlace(centre - width / 2, top, width, height);
    painter.fillRect(columnPlace, theme.background);
    painter.drawText(columnPlace, Qt::AlignCenter, column);
    painter.setFont(font());
}

/// The colours with the values at both ends and in the middle. "≤" and "≥" tell of values beyond an end.
void MatrixMap::paintColourBar(QPainter& painter, const PlotTheme& theme) const {
    const ColourRange& range = tile()->range;
    const QRect shown = picture();
    const int height = fontMetrics().height();
    const QRect bar(shown.right() + 2 * gap, m_area.top(), barWidth,
                    std::min(std::max(shown.height(), 4 * height), m_area.height()));
    for (int y = 0; y < bar.height(); ++y) {
        painter.setPen(QColor(range.colourAt(1 - (y + 0.5) / bar.height())));
        painter.drawLine(bar.left(), bar.top() + y, bar.right(), bar.top() + y);
    }
    painter.setPen(theme.muted);
    constexpr int labels = 3;
    for (int i = 0; i < labels && bar.height() >= (i == 1 ? 3 : 2) * height; ++i) {
        const double share = i / (labels - 1.0);
        const double value = range.isLogarithmic() ? range.lower() * std::pow(range.upper() / range.lower(), share)
                                                   : range.lower() + share * (range.upper() - range.lower());
        const int y = std::clamp(static_cast<int>(bar.bottom() - share * bar.height()), bar.top() + height / 2,
                                 bar.bottom() - height / 2);
        const QString beyond = i == 0 && range.hasBelow()            ? QStringLiteral("≤ ")
                               : i == labels - 1 && range.hasAbove() ? QStringLiteral("≥ ")
                                                                     : QString();
        painter.drawText(
            QRect(bar.right() + gap, y - height / 2, width() - bar.right() - gap, height),
            Qt::AlignLeft | Qt::AlignVCenter,
            beyond + QString::fromStdString(shownNumber(std::abs(value) < 1e-12 * range.upper() ? 0 : value, 2)));
    }
}

} // namespace secateur
