#include "widgets/heads/heads_picture.h"

#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_row_bars.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr double smallestCell = 3; ///< pixels; below that the picture scrolls
constexpr double tallestCell = 88;
constexpr double widestShape = 3.2; ///< of a cell: width to height
constexpr double alwaysAllowedWidth = 24;
constexpr double fewestOnScreen = 4;
constexpr double narrowestMeans = 64;
constexpr double widestMeans = 220;

} // namespace

struct HeadsPicture::Parts {
    Parts(QWidget* parent, const PlotTheme& colours)
        : theme(colours)
        , plot(addPlot(parent))
        , rect(addAxisRect(*plot->plotLayout(), 0, 0))
        , columns(rect->addAxis(QCPAxis::atTop))
        , rows(rect->addAxis(QCPAxis::atLeft))
        , beside(*plot->plotLayout(), 0, 1, theme)
        , cells(columns, rows, theme)
        , bar(*plot->plotLayout(), 0, 2, theme)
        , cuts(new HeadsCuts(columns, rows, theme))
        , switches(new LayerSwitches(columns, rows, theme))
        , outlines(new HeadsOutlines(columns, rows, theme)) {}

    PlotTheme theme;
    QCustomPlot* plot;
    QCPAxisRect* rect;
    QCPAxis* columns;
    QCPAxis* rows;
    PlotRowBars beside; ///< means of the layers, or shares of their classes
    PlotCells cells;
    PlotColourBar bar;
    HeadsCuts* cuts; ///< created before the outlines, so that it is drawn beneath them
    LayerSwitches* switches;
    HeadsOutlines* outlines;
    QString label;       ///< label of the colour bar
    QStringList classes; ///< names of the classes that the values stand for; empty = the values are numbers
    Matrix values;       ///< [layers, heads]
    bool isLogarithmic = false;
    std::vector<std::vector<bool>> passing; ///< empty = all
    std::vector<int> lengths;               ///< heads of each layer
    int width = 0;                          ///< heads of the widest layer
    bool zoomed = false;

    int height() const { return static_cast<int>(lengths.size()); }
    bool exists(HeadId head) const {
        return head.layer >= 0 && head.layer < height() && head.head >= 0 &&
               head.head < lengths[static_cast<std::size_t>(head.layer)];
    }
};

HeadsPicture::HeadsPicture(QWidget* parent)
    : m_parts(std::make_unique<Parts>(parent, themeOf(*parent))) {
    Parts& parts = *m_parts;
    parts.plot->setAutoAddPlottableToLegend(false);
    parts.rows->setRangeReversed(true);
    useIndexTicks(*parts.columns, "H");
    useIndexTicks(*parts.rows, "L");
    // Empty elements that take up the remaining room: cells have a largest size.
    parts.plot->plotLayout()->addElement(0, 3, new QCPLayoutElement(parts.plot));
    parts.plot->plotLayout()->addElement(1, 0, new QCPLayoutElement(parts.plot));
    parts.plot->plotLayout()->setRowSpacing(0);
    setTheme(parts.theme);
}

HeadsPicture::~HeadsPicture() = default;

void HeadsPicture::setTheme(const PlotTheme& theme) {
    Parts& parts = *m_parts;
    parts.theme = theme;
    parts.plot->setBackground(QBrush(theme.background));
    for (QCPAxis* axis : {parts.columns, parts.rows}) {
        styleAxis(*axis, theme);
        axis->setTickLength(0, 0);
        axis->setBasePen(Qt::NoPen);
        axis->setTickPen(Qt::NoPen);
        axis->setTickLabelColor(theme.muted);
        axis->setLabelColor(theme.muted);
        axis->grid()->setVisible(false);
    }
    parts.beside.setTheme(theme);
    parts.cells.setTheme(theme);
    parts.bar.setTheme(theme);
    parts.bar.axis()->setTickLabelColor(theme.muted);
    parts.cuts->setTheme(theme);
    parts.switches->setTheme(theme);
    parts.outlines->setTheme(theme);
    arrange();
}

void HeadsPicture::setModel(const ModelSpec& spec) {
    Parts& parts = *m_parts;
    std::vector<int> groups;
    parts.lengths.clear();
    for (const LayerSpec& layer : spec.layers) {
        const bool grouped = layer.kvHeads > 1 && layer.kvHeads < layer.heads;
        parts.lengths.push_back(layer.heads);
        groups.push_back(grouped ? layer.heads / layer.kvHeads : 0);
    }
    parts.width = spec.maxHeads();
    parts.cells.setRows(parts.lengths, groups);
    parts.zoomed = false;
    parts.cuts->setLayers({});
    parts.switches->setLayers({});
    arrange();
}

void HeadsPicture::setValues(const Matrix& values, const ColourScale& scale, const QString& label) {
    Parts& parts = *m_parts;
    const ColourRange range(values.values(), scale);
    const bool hadClasses = !std::exchange(parts.classes, {}).isEmpty();
    parts.cells.setCells(values, range);
    parts.label = label;
    parts.values = values;
    parts.isLogarithmic = range.isLogarithmic();
    parts.bar.setRange(range, fittingLabel());
    showBeside();
    if (hadClasses)
        arrange(); // the colour bar and a legend of classes have different widths
    replot();
}

void HeadsPicture::setClasses(const Matrix& values, const QStringList& names, const QString& label) {
    Parts& parts = *m_parts;
    parts.cells.setCells(values, ColourRange::ofClasses(names));
    parts.label = label;
    parts.values = values;
    const bool isSame = std::exchange(parts.classes, names) == names;
    parts.bar.setClasses(names, fittingLabel());
    showBeside();
    if (!isSame)
        arrange();
    replot();
}

/// Draws, to the right of each layer, the mean of its values or the share of each class. Heads that do not pass the
/// filter are left out.
void HeadsPicture::showBeside() {
    Parts& parts = *m_parts;
    Matrix values = parts.values;
    for (std::size_t row = 0; row < std::min(values.rows(), parts.passing.size()); ++row)
        for (std::size_t column = 0; column < std::min(values.columns(), parts.passing[row].size()); ++column)
            if (!parts.passing[row][column])
                values(row, column) = std::numeric_limits<double>::quiet_NaN();
    const QString suffix = parts.passing.empty() ? QString() : QStringLiteral(", filtered");
    parts.beside.setTitle((parts.classes.isEmpty() ? "layer mean" : "share of heads (%)") + suffix);
    if (parts.classes.isEmpty())
        parts.beside.setMeans(values, parts.isLogarithmic);
    else
        parts.beside.setShares(values, parts.classes);
}

void HeadsPicture::setSelected(const std::set<HeadId>& heads) {
    m_parts->outlines->setSelected(heads);
    replotOutlines();
}

void HeadsPicture::setActive(std::optional<HeadId> head, int count) {
    m_parts->outlines->setActive(head, count);
    replotOutlines();
}

void HeadsPicture::setHovered(std::optional<HeadId> head, int count) {
    m_parts->outlines->setHovered(head, count);
    replotOutlines();
}

void HeadsPicture::setPassing(const std::vector<std::vector<bool>>& passing) {
    Parts& parts = *m_parts;
    parts.outlines->setPassing(passing);
    if (parts.passing != passing) {
        parts.passing = passing;
        showBeside();
        replot();
    }
    replotOutlines();
}

void HeadsPicture::setLasso(const QPolygonF& lasso) {
    m_parts->outlines->setLasso(lasso);
    replotOutlines();
}

void HeadsPicture::setCuts(const std::vector<LayerCuts>& layers) {
    m_parts->cuts->setLayers(layers);
    m_parts->switches->setLayers(layers);
    replotOutlines();
}

void HeadsPicture::setHoveredSwitch(std::optional<LayerSwitch> hovered) {
    m_parts->switches->setHovered(hovered);
    replotOutlines();
}

void HeadsPicture::setThreshold(std::optional<double> value) {
    m_parts->bar.setMarker(value);
    replotOutlines();
}

const LayerSwitches& HeadsPicture::switches() const {
    return *m_parts->switches;
}

const PlotColourBar& HeadsPicture::colourBar() const {
    return m_parts->bar;
}

std::optional<HeadsPlace> HeadsPicture::placeAt(QPointF point) const {
    const Parts& parts = *m_parts;
    const QRectF rect(parts.rect->rect());
    if (parts.lengths.empty() || parts.width == 0)
        return {};
    const HeadId head{static_cast<int>(std::lround(parts.rows->pixelToCoord(point.y()))),
                      static_cast<int>(std::lround(parts.columns->pixelToCoord(point.x())))};
    const bool inRows = point.y() >= rect.top() && point.y() < rect.bottom();
    const bool inColumns = point.x() >= rect.left() && point.x() < rect.right();
    const QRectF means(parts.beside.rect()->rect());
    if (inRows && inColumns)
        return parts.exists(head) ? std::optional(HeadsPlace{HeadsPlace::Kind::cell, head}) : std::nullopt;
    if (inRows && (point.x() < rect.left() || (point.x() >= means.left() && point.x() < means.right())))
        return HeadsPlace{HeadsPlace::Kind::layerHeader, {std::clamp(head.layer, 0, parts.height() - 1), 0}};
    if (inColumns && point.y() < rect.top())
        return HeadsPlace{HeadsPlace::Kind::headHeader, {0, std::clamp(head.head, 0, parts.width - 1)}};
    return {};
}

HeadId HeadsPicture::nearest(QPointF point) const {
    const Parts& parts = *m_parts;
    const auto index = [](const QCPAxis& axis, double pixel, int count) {
        return std::clamp(static_cast<int>(std::lround(axis.pixelToCoord(pixel))), 0, std::max(0, count - 1));
    };
    return {index(*parts.rows, point.y(), parts.height()), index(*parts.columns, point.x(), parts.width)};
}

QRect HeadsPicture::cellRect(HeadId head) const {
    return cellPixels(*m_parts->columns, *m_parts->rows, head.layer, head.head);
}

std::set<HeadId> HeadsPicture::headsIn(const QPolygonF& polygon) const {
    const Parts& parts = *m_parts;
    std::set<HeadId> inside;
    const HeadId first = nearest(polygon.boundingRect().topLeft());
    const HeadId last = nearest(polygon.boundingRect().bottomRight());
    for (int layer = first.layer; layer <= last.layer; ++layer)
        for (int head = first.head; head <= last.head; ++head)
            if (parts.exists({layer, head}) &&
                polygon.containsPoint(QRectF(cellRect({layer, head})).center(), Qt::OddEvenFill))
                inside.insert({layer, head});
    return inside;
}

int HeadsPicture::layersOnScreen() const {
    return static_cast<int>(m_parts->rows->range().size());
}

void HeadsPicture::resize(const QSize& size) {
    m_parts->plot->setGeometry({QPoint(), size});
    m_parts->plot->setViewport({QPoint(), size});
    arrange();
}

/// Computes the size of every part. Margins depend only on the font, so that nothing moves while values arrive.
void HeadsPicture::arrange() {
    Parts& parts = *m_parts;
    const PlotTheme& theme = parts.theme;
    const QFontMetrics metrics(theme.font);
    const int gap = theme.length(14);
    const int left =
        metrics.horizontalAdvance('L' + QString::number(std::max(0, parts.height() - 1))) + theme.length(6);
    const int line = metrics.height() + theme.length(6);
    const int scaleWidth = std::max(metrics.horizontalAdvance("0.0000") + theme.length(8),
                                    parts.classes.isEmpty() ? 0 : parts.bar.legendWidth(parts.classes)) +
                           line;
    const QSize size = parts.plot->viewport().size() - QSize(2, 2) * theme.length(6);
    const int switches = parts.height() > 0 ? parts.switches->width() : 0;
    const double roomAcross =
        size.width() - left - switches - 2 * gap - parts.bar.rect()->minimumSize().width() - scaleWidth;
    const double roomDown = size.height() - 2 * line;

    const double rows = std::max(1, parts.height());
    const double columns = std::max(1, parts.width);
    const double cellHeight = std::clamp(roomDown / rows, smallestCell, tallestCell);
    const double height = std::max(1.0, std::min(roomDown, std::round(rows * cellHeight)));
    const double width =
        std::max(1.0, std::min(roomAcross - narrowestMeans,
                               std::round(columns * std::max(alwaysAllowedWidth, widestShape * cellHeight))));
    const double means = std::clamp(roomAcross - width, narrowestMeans, widestMeans);

    const auto place = [&](QCPAxisRect& rect, double inner, const QMargins& margins) {
        rect.setAutoMargins(QCP::msNone);
        rect.setMargins(margins);
        rect.setSizeConstraintRect(QCPLayoutElement::scrInnerRect);
        rect.setMinimumSize(static_cast<int>(inner), static_cast<int>(height));
        rect.setMaximumSize(static_cast<int>(inner), static_cast<int>(height));
    };
    place(*parts.rect, width, {left, line, 0, line});
    place(*parts.beside.rect(), means, {switches, line, 0, line});
    place(*parts.bar.rect(), parts.bar.rect()->minimumSize().width(), {0, line, scaleWidth, line});
    parts.bar.axis()->setLabel(fittingLabel());
    parts.plot->plotLayout()->setColumnSpacing(gap);
    // A small model is drawn in the middle.
    const int aside = static_cast<int>(std::max(0.0, roomAcross - width - means) / 2);
    const int above = static_cast<int>(std::max(0.0, roomDown - height) / 2);
    parts.plot->plotLayout()->setMargins(QMargins(aside, above, 0, 0) + QMargins(1, 1, 1, 1) * theme.length(6));
    layOut(*parts.plot);
    if (parts.zoomed)
        zoom(1, QRectF(parts.rect->rect()).center());
    else
        resetZoom();
}

/// The label of the colour bar, shortened if it is longer than the bar with its margins.
QString HeadsPicture::fittingLabel() const {
    const QFontMetrics metrics(m_parts->theme.font);
    const int room = m_parts->bar.rect()->minimumSize().height() + 2 * metrics.height();
    return metrics.elidedText(m_parts->label, Qt::ElideMiddle, room); // its end names the scale
}

std::pair<double, double> HeadsPicture::mostVisible() const {
    const Parts& parts = *m_parts;
    return {std::min<double>(std::max(1, parts.width), std::max(1.0, parts.rect->width() / smallestCell)),
            std::min<double>(std::max(1, parts.height()), std::max(1.0, parts.rect->height() / smallestCell))};
}

/// Shows a part of the grid. A part that extends beyond the grid is shifted into it.
void HeadsPicture::setRanges(double firstColumn, double columns, double firstRow, double rows) {
    Parts& parts = *m_parts;
    firstColumn = std::clamp(firstColumn, -0.5, std::max(1, parts.width) - 0.5 - columns);
    firstRow = std::clamp(firstRow, -0.5, std::max(1, parts.height()) - 0.5 - rows);
    parts.columns->setRange(firstColumn, firstColumn + columns);
    parts.rows->setRange(firstRow, firstRow + rows);
    parts.beside.rows()->setRange(firstRow, firstRow + rows);
    replot();
}

void HeadsPicture::zoom(double factor, QPointF about) {
    Parts& parts = *m_parts;
    const auto [mostColumns, mostRows] = mostVisible();
    const auto scaled = [&](const QCPAxis& axis, double most, double pixel) {
        const double count = std::clamp(axis.range().size() * factor, std::min(fewestOnScreen, most), most);
        const double fixed = axis.pixelToCoord(pixel);
        return std::pair(fixed - (fixed - axis.range().lower) * count / axis.range().size(), count);
    };
    const auto [firstColumn, columns] = scaled(*parts.columns, mostColumns, about.x());
    const auto [firstRow, rows] = scaled(*parts.rows, mostRows, about.y());
    parts.zoomed = columns < mostColumns || rows < mostRows;
    setRanges(firstColumn, columns, firstRow, rows);
}

void HeadsPicture::pan(QPointF pixels) {
    const Parts& parts = *m_parts;
    const QCPRange columns = parts.columns->range();
    const QCPRange rows = parts.rows->range();
    setRanges(columns.lower - pixels.x() * columns.size() / parts.rect->width(), columns.size(),
              rows.lower - pixels.y() * rows.size() / parts.rect->height(), rows.size());
}

void HeadsPicture::reveal(HeadId head) {
    const Parts& parts = *m_parts;
    const auto moved = [](const QCPRange& range, int index) {
        return std::clamp(range.lower, index + 0.5 - range.size(), std::max(index - 0.5, index + 0.5 - range.size()));
    };
    const QCPRange columns = parts.columns->range();
    const QCPRange rows = parts.rows->range();
    const double firstColumn = moved(columns, head.head);
    const double firstRow = moved(rows, head.layer);
    if (firstColumn != columns.lower || firstRow != rows.lower)
        setRanges(firstColumn, columns.size(), firstRow, rows.size());
}

void HeadsPicture::resetZoom() {
    m_parts->zoomed = false;
    const auto [columns, rows] = mostVisible();
    setRanges(-0.5, columns, -0.5, rows);
}

bool HeadsPicture::showsEverything() const {
    const Parts& parts = *m_parts;
    return parts.columns->range().size() >= parts.width && parts.rows->range().size() >= parts.height();
}

void HeadsPicture::replot() {
    m_parts->plot->replot(QCustomPlot::rpQueuedReplot);
}

void HeadsPicture::replotOutlines() {
    if (!replotOverlay(*m_parts->plot))
        replot();
}

} // namespace secateur
