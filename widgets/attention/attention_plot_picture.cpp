#include "analysis/base/text.h"
#include "widgets/attention/attention_plot.h"
#include "widgets/plot/plot_theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr int labelCharacters = 12;
constexpr int colourBarWidth = 14;
constexpr int barLabelCharacters = 8;
constexpr int smallestLabel = 9; ///< pixels

/// Colours of a map's cells, looked up rather than computed for every pixel.
class Palette {
public:
    Palette(const ColourRange& range, QRgb absent)
        : m_range(range)
        , m_absent(absent) {}

    QRgb operator()(float value) const { return value > 0 ? m_range.colour(static_cast<double>(value)) : m_absent; }

private:
    const ColourRange& m_range;
    QRgb m_absent;
};

} // namespace

/// The area as it looks, made once for each view of a map.
const QImage& AttentionPlot::picture() {
    const qreal ratio = devicePixelRatioF();
    const QSize size = m_area.size() * ratio;
    if (!m_picture.isNull() && m_picture.size() == size)
        return m_picture;
    m_picture = QImage(size, QImage::Format_RGB32);
    m_picture.setDevicePixelRatio(ratio);
    const PlotTheme theme = themeOf(*this);
    const Palette colourOf(m_range, theme.absent.rgb());
    const double cellsPerPixel = 1 / (m_scale * ratio);
    const MapPyramid::Level& level = m_map->level(cellsPerPixel);
    const auto cellOf = [&](double first, int pixel) {
        const auto cell = static_cast<int>((first + (pixel + 0.5) * cellsPerPixel) / level.cells);
        return cell < level.side ? cell : -1;
    };
    std::vector<int> columns(static_cast<std::size_t>(size.width()));
    for (int x = 0; x < size.width(); ++x)
        columns[static_cast<std::size_t>(x)] = cellOf(m_first.x(), x);
    int before = -2;
    for (int y = 0; y < size.height(); ++y) {
        auto* line = reinterpret_cast<QRgb*>(m_picture.scanLine(y));
        const int row = cellOf(m_first.y(), y);
        if (row == before) {
            std::copy_n(reinterpret_cast<const QRgb*>(m_picture.constScanLine(y - 1)), size.width(), line);
            continue;
        }
        before = row;
        for (int x = 0, last = -1; x < size.width(); ++x) {
            const int column = columns[static_cast<std::size_t>(x)];
            if (row < 0 || column < 0)
                line[x] = theme.background.rgb();
            else if (column == last)
                line[x] = line[x - 1];
            else
                line[x] = colourOf(level.at(row, column));
            last = column;
        }
    }
    return m_picture;
}

void AttentionPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_map) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(rect().adjusted(gap, gap, -gap, -gap), Qt::AlignCenter | Qt::TextWordWrap, m_otherwise);
        return;
    }
    painter.drawImage(m_area.topLeft(), picture());
    paintTokens(painter);
    paintHover(painter);
    paintColourBar(painter);
}

/// Of the names of tokens and the word beside them.
int AttentionPlot::widthOfLabels() const {
    const QFontMetrics metrics = fontMetrics();
    int widest = metrics.horizontalAdvance("000");
    for (const QString& token : m_tokens)
        widest = std::max(widest, metrics.horizontalAdvance(token));
    return metrics.height() + std::min(widest, labelCharacters * metrics.averageCharWidth()) + 2 * gap;
}

int AttentionPlot::widthBesideMap() const {
    return colourBarWidth + 2 * gap + barLabelCharacters * fontMetrics().averageCharWidth();
}

/// The widget's, or a smaller one where cells are small.
QFont AttentionPlot::labelFont() const {
    QFont small = font();
    const int height = QFontInfo(font()).pixelSize();
    small.setPixelSize(std::clamp(static_cast<int>(m_scale * 0.85), smallestLabel, std::max(height, smallestLabel)));
    return small;
}

int AttentionPlot::labelStep() const {
    const int room = QFontInfo(labelFont()).pixelSize();
    return std::max(1, static_cast<int>(std::ceil(room / m_scale)));
}

/// Tokens where each has room, else every so many's number.
QString AttentionPlot::label(int token) const {
    if (labelStep() > 1)
        return QString::number(token);
    return QFontMetrics(labelFont())
        .elidedText(m_tokens[token], Qt::ElideRight, labelCharacters * fontMetrics().averageCharWidth());
}

void AttentionPlot::drawRowName(QPainter& painter, int token, const QString& name) const {
    const int height = painter.fontMetrics().height();
    const int middle = cellRect({token, 0}).center().y();
    painter.drawText(QRect(0, middle - height / 2, m_area.left() - gap, height), Qt::AlignRight | Qt::AlignVCenter,
                     name);
}

void AttentionPlot::drawColumnName(QPainter& painter, int token, const QString& name) const {
    const int height = painter.fontMetrics().height();
    painter.save();
    painter.translate(cellRect({0, token}).center().x(), m_area.top() - gap);
    painter.rotate(-90);
    painter.drawText(QRect(0, -height / 2, m_area.top(), height), Qt::AlignLeft | Qt::AlignVCenter, name);
    painter.restore();
}

void AttentionPlot::paintTokens(QPainter& painter) const {
    const int step = labelStep();
    const auto last = static_cast<int>(m_tokens.size()) - 1;
    const auto firstShown = [&](double first) { return (static_cast<int>(first) + step - 1) / step * step; };
    const auto lastShown = [&](double first, int pixels) {
        return std::min(last, static_cast<int>(first + pixels / m_scale));
    };
    // Beside the hovered cell paintHover() writes.
    const auto isFree = [&](int token, int hovered) { return !m_hovered || std::abs(token - hovered) >= step; };
    const AttentionCell hovered = m_hovered.value_or(AttentionCell());
    painter.setPen(themeOf(*this).muted);
    painter.setFont(labelFont());
    for (int token = firstShown(m_first.y()); token <= lastShown(m_first.y(), m_area.height()); token += step)
        if (isFree(token, hovered.query))
            drawRowName(painter, token, label(token));
    for (int token = firstShown(m_first.x()); token <= lastShown(m_first.x(), m_area.width()); token += step)
        if (isFree(token, hovered.key))
            drawColumnName(painter, token, label(token));
    painter.setFont(font());
    const int height = fontMetrics().height();
    painter.drawText(QRect(m_area.left(), 0, m_area.width(), height), Qt::AlignLeft, tr("key →"));
    painter.save();
    painter.translate(0, m_area.top());
    painter.rotate(-90);
    painter.drawText(QRect(-m_area.height(), 0, m_area.height(), height), Qt::AlignRight, tr("← query"));
    painter.restore();
}

/// The cell under the pointer, with its two tokens in full.
void AttentionPlot::paintHover(QPainter& painter) const {
    if (!m_hovered)
        return;
    const PlotTheme theme = themeOf(*this);
    const QRect cell = cellRect(*m_hovered);
    painter.setClipRect(m_area);
    painter.setPen(theme.pen(theme.accent));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(cell.adjusted(-1, -1, 0, 0));
    QColor line = theme.accent;
    line.setAlphaF(0.4);
    painter.setPen(theme.pen(line));
    painter.drawLine(m_area.left(), cell.center().y(), cell.left() - 1, cell.center().y());
    painter.drawLine(cell.center().x(), m_area.top(), cell.center().x(), cell.top() - 1);
    painter.setClipping(false);
    QFont bold = font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme.text);
    const int room = labelCharacters * fontMetrics().averageCharWidth() - gap;
    const auto name = [&](int token) {
        return painter.fontMetrics().elidedText(m_tokens[token], Qt::ElideRight, room);
    };
    drawRowName(painter, m_hovered->query, name(m_hovered->query));
    drawColumnName(painter, m_hovered->key, name(m_hovered->key));
    painter.setFont(font());
}

void AttentionPlot::paintColourBar(QPainter& painter) const {
    const PlotTheme theme = themeOf(*this);
    const double extent = static_cast<double>(m_tokens.size()) * m_scale;
    const int shown = static_cast<int>(std::min<double>(m_area.height(), extent));
    const int right = m_area.left() + static_cast<int>(std::min<double>(m_area.width(), extent));
    const QRect bar(right + 2 * gap, m_area.top(), colourBarWidth, std::max(shown, 4 * fontMetrics().height()));
    for (int y = 0; y < bar.height(); ++y) {
        painter.setPen(QColor(m_range.colourAt(1 - (y + 0.5) / bar.height())));
        painter.drawLine(bar.left(), bar.top() + y, bar.right(), bar.top() + y);
    }
    painter.setPen(theme.muted);
    const int height = fontMetrics().height();
    constexpr int labels = 3;
    for (int i = 0; i < labels; ++i) {
        const double share = i / (labels - 1.0);
        const double value = m_range.isLogarithmic()
                                 ? m_range.lower() * std::pow(m_range.upper() / m_range.lower(), share)
                                 : m_range.lower() + share * (m_range.upper() - m_range.lower());
        const int y = std::clamp(static_cast<int>(bar.bottom() - share * bar.height()), bar.top() + height / 2,
                                 bar.bottom() - height / 2);
        painter.drawText(QRect(bar.right() + gap, y - height / 2, width() - bar.right() - gap, height),
                         Qt::AlignLeft | Qt::AlignVCenter, QString::fromStdString(significant(value, 2)));
    }
}

} // namespace secateur
