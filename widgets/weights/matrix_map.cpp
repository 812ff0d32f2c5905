#include "widgets/weights/matrix_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double thinnest = 0.4;    ///< share of a side of the area that a picture of square cells must fill
constexpr double beyondView = 0.25; ///< part of the view that tiles show beyond it, on each side; less in large views
constexpr double mostBlocks = 2e6;  ///< of a tile that shows more than the view: 8 bytes each

/// The part of a line of `count` cells that is within `from` and `to`, as the first cell and the number of cells.
std::pair<std::int64_t, std::int64_t> cellsWithin(double from, double to, std::int64_t count) {
    const auto first = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(from)), 0, count);
    const auto last = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(to)), first, count);
    return {first, last - first};
}

/// The power of two by which cells of this many pixels make blocks of about one pixel.
std::int64_t blockOf(double pixels) {
    return std::int64_t{1} << std::max(0L, std::lround(std::log2(1 / pixels)));
}

/// The window of a tile for a view, with whatever it may show beyond the view.
CellWindow widened(const CellWindow& seen, std::int64_t rows, std::int64_t columns, const TileRequest& request) {
    const double blocks = static_cast<double>(seen.rows) / static_cast<double>(request.rowsPerBlock) *
                          static_cast<double>(seen.columns) / static_cast<double>(request.columnsPerBlock);
    const double share = std::clamp((std::sqrt(mostBlocks / std::max(blocks, 1.0)) - 1) / 2, 0.0, beyondView);
    const auto beyond = [share](std::int64_t first, std::int64_t count, std::int64_t all) {
        const double more = share * static_cast<double>(count);
        return cellsWithin(static_cast<double>(first) - more, static_cast<double>(first + count) + more, all);
    };
    const auto [row, rowCount] = beyond(seen.row, seen.rows, rows);
    const auto [column, columnCount] = beyond(seen.column, seen.columns, columns);
    return {row, column, rowCount, columnCount};
}

} // namespace

MatrixMap::MatrixMap(QWidget* parent)
    : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(180, 140);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
}

void MatrixMap::setMatrix(std::int64_t rows, std::int64_t columns, const QString& rowName, const QString& columnName) {
    m_rows = rows;
    m_columns = columns;
    m_rowName = rowName;
    m_columnName = columnName;
    m_rowMarks.clear();
    m_columnMarks.clear();
    m_whole.reset();
    m_tile.reset();
    m_cursor.reset();
    m_first = {};
    arrange();
    m_scale = fittingScale();
    settle();
    emit cursorChanged();
}

void MatrixMap::setTile(std::shared_ptr<const MatrixTile> tile) {
    const bool isWhole = tile->window == CellWindow{0, 0, m_rows, m_columns};
    if (std::exchange(m_areTilesOld, false)) {
        m_whole.reset();
        m_tile.reset();
    }
    (isWhole ? m_whole : m_tile) = std::move(tile);
    if (isWhole && showsAll())
        m_tile.reset();
    m_reason.clear();
    update();
    emit cursorChanged(); // the number of the cell may be known now
}

void MatrixMap::dropTiles(bool isKept) {
    m_areTilesOld = isKept;
    if (!isKept) {
        m_whole.reset();
        m_tile.reset();
    }
    update();
}

void MatrixMap::setReason(const QString& reason) {
    m_reason = reason;
    setAccessibleDescription(reason);
    update();
}

void MatrixMap::setMarks(Edge edge, MatrixMarks marks) {
    (edge == Edge::rows ? m_rowMarks : m_columnMarks) = std::move(marks);
    const bool showedAll = showsAll();
    arrange();
    if (showedAll)
        m_scale = fittingScale();
    settle();
}

void MatrixMap::setHatch(Hatch hatch) {
    if (std::exchange(m_hatch, hatch) != hatch)
        update();
}

// ---- view

int MatrixMap::widthOfColourBar() const {
    return 3 * gap + barWidth + fontMetrics().horizontalAdvance(QStringLiteral("≥ −0.0076"));
}

void MatrixMap::arrange() {
    const int left = std::max(widthOfIndices(), fontMetrics().height()) + stripWidth(Edge::rows) + gap;
    const int top = fontMetrics().height() + stripWidth(Edge::columns) + gap;
    m_area = rect().adjusted(left, top, -widthOfColourBar() - gap, -gap);
    m_area.setWidth(std::max(m_area.width(), 1));
    m_area.setHeight(std::max(m_area.height(), 1));
}

QSizeF MatrixMap::largestScale() const {
    return {fontMetrics().horizontalAdvance(QStringLiteral("−0.00000")) + 6.0, 1.7 * fontMetrics().height()};
}

QSizeF MatrixMap::fittingScale() const {
    if (m_rows <= 0 || m_columns <= 0)
        return {1, 1};
    constexpr double widestStrip = 1.0 / 8; // of the area, for vectors
    const QSizeF most = largestScale();
    const double x =
        std::min(m_area.width() / static_cast<double>(m_columns), std::max(most.width(), m_area.width() * widestStrip));
    const double y =
        std::min(m_area.height() / static_cast<double>(m_rows), std::max(most.height(), m_area.height() * widestStrip));
    const double square = std::min(x, y);
    const double filled = std::min(square * static_cast<double>(m_columns) / m_area.width(),
                                   square * static_cast<double>(m_rows) / m_area.height());
    return filled >= thinnest ? QSizeF(square, square) : QSizeF(x, y);
}

int MatrixMap::heightOfSquares() const {
    if (m_rows <= 0 || m_columns <= 0)
        return 0;
    const double side = static_cast<double>(m_area.width()) / static_cast<double>(m_columns);
    return height() - m_area.height() + static_cast<int>(std::ceil(side * static_cast<double>(m_rows)));
}

bool MatrixMap::showsAll() const {
    const QSizeF fitting = fittingScale();
    return m_scale.width() <= fitting.width() * 1.0001 && m_scale.height() <= fitting.height() * 1.0001;
}

void MatrixMap::resetZoom() {
    m_first = {};
    m_scale = fittingScale();
    settle();
}

void MatrixMap::zoom(double factor) {
    zoomAbout(factor, m_cursor && m_isKeyCursor ? QRectF(cellRect(*m_cursor)).center() : QRectF(picture()).center());
}

void MatrixMap::zoomAbout(double factor, QPointF about) {
    const QSizeF fitting = fittingScale();
    const QSizeF largest = largestScale().expandedTo(fitting);
    const QPointF offset = about - m_area.topLeft();
    const QPointF fixed = m_first + QPointF(offset.x() / m_scale.width(), offset.y() / m_scale.height());
    m_scale = {std::clamp(m_scale.width() * factor, fitting.width(), largest.width()),
               std::clamp(m_scale.height() * factor, fitting.height(), largest.height())};
    m_first = fixed - QPointF(offset.x() / m_scale.width(), offset.y() / m_scale.height());
    settle();
}

void MatrixMap::pan(QPointF pixels) {
    m_first -= QPointF(pixels.x() / m_scale.width(), pixels.y() / m_scale.height());
    settle();
}

/// After each change of the view.
void MatrixMap::settle() {
    clampView();
    update();
    emit viewChanged();
}

void MatrixMap::clampView() {
    const auto clamped = [](double first, std::int64_t count, double shown) {
        return std::clamp(first, 0.0, std::max(static_cast<double>(count) - shown, 0.0));
    };
    m_first.setX(clamped(m_first.x(), m_columns, m_area.width() / m_scale.width()));
    m_first.setY(clamped(m_first.y(), m_rows, m_area.height() / m_scale.height()));
}

QRectF MatrixMap::pixelsOf(const QRectF& cells) const {
    return {m_area.left() + (cells.left() - m_first.x()) * m_scale.width(),
            m_area.top() + (cells.top() - m_first.y()) * m_scale.height(), cells.width() * m_scale.width(),
            cells.height() * m_scale.height()};
}

QRect MatrixMap::picture() const {
    return pixelsOf({0, 0, static_cast<double>(m_columns), static_cast<double>(m_rows)}).toAlignedRect() & m_area;
}

CellWindow MatrixMap::visibleCells() const {
    const auto [row, rows] = cellsWithin(m_first.y(), m_first.y() + m_area.height() / m_scale.height(), m_rows);
    const auto [column, columns] = cellsWithin(m_first.x(), m_first.x() + m_area.width() / m_scale.width(), m_columns);
    return {row, column, rows, columns};
}

std::optional<TileRequest> MatrixMap::wantedTile() const {
    if (m_rows <= 0 || m_columns <= 0)
        return std::nullopt;
    const CellWindow seen = visibleCells();
    const CellWindow whole{0, 0, m_rows, m_columns};
    const bool hasWhole = m_whole && !m_areTilesOld && !m_whole->isCoarse;
    // The tile of the whole comes first: other parts are drawn from it while their own tile is made.
    const QSizeF scale = hasWhole ? m_scale : fittingScale();
    TileRequest request{whole, blockOf(scale.height() * devicePixelRatioF()),
                        blockOf(scale.width() * devicePixelRatioF())};
    if (hasWhole)
        request.window = widened(seen, m_rows, m_columns, request);
    for (const MatrixTile* shown : {m_whole.get(), m_tile.get()})
        if (shown && !m_areTilesOld && !shown->isCoarse && shown->window.contains(hasWhole ? seen : whole) &&
            shown->rowsPerBlock == request.rowsPerBlock && shown->columnsPerBlock == request.columnsPerBlock)
            return std::nullopt;
    return request;
}

// ---- cells

std::optional<MatrixCell> MatrixMap::cellAt(QPointF point) const {
    const QPointF offset = point - m_area.topLeft();
    const MatrixCell cell{static_cast<std::int64_t>(std::floor(m_first.y() + offset.y() / m_scale.height())),
                          static_cast<std::int64_t>(std::floor(m_first.x() + offset.x() / m_scale.width()))};
    const bool exists = cell.row >= 0 && cell.row < m_rows && cell.column >= 0 && cell.column < m_columns;
    return exists && m_area.contains(point.toPoint()) ? std::optional(cell) : std::nullopt;
}

QRect MatrixMap::cellRect(MatrixCell cell) const {
    const QRectF exact = pixelsOf({static_cast<double>(cell.column), static_cast<double>(cell.row), 1, 1});
    // The pixels for which cellAt() is the cell.
    constexpr double rounding = 1e-6;
    const auto pixel = [](double place) {
        return static_cast<int>(std::ceil(std::clamp(place, -1e6, 1e6) - rounding));
    };
    const QPoint from(pixel(exact.left()), pixel(exact.top()));
    return {from, QSize(std::max(pixel(exact.right()) - from.x(), 1), std::max(pixel(exact.bottom()) - from.y(), 1))};
}

std::optional<float> MatrixMap::valueOf(MatrixCell cell) const {
    for (const auto& tile : {m_tile, m_whole})
        if (tile && !m_areTilesOld)
            if (const std::optional<float> value = tile->at(cell))
                return value;
    return std::nullopt;
}

std::optional<std::size_t> MatrixMap::markAt(Edge edge, std::int64_t index) const {
    const MatrixMarks& all = marks(edge);
    const auto after = std::ranges::upper_bound(all, index, {}, &MatrixMark::from);
    if (after == all.begin() || (after - 1)->to <= index)
        return std::nullopt;
    return static_cast<std::size_t>(after - all.begin() - 1);
}

void MatrixMap::setCursorCell(std::optional<MatrixCell> cell, bool byKey) {
    m_isKeyCursor = byKey;
    if (cell == m_cursor)
        return;
    m_cursor = cell;
    update();
    emit cursorChanged();
}

void MatrixMap::reveal(MatrixCell cell) {
    const double width = m_area.width() / m_scale.width();
    const double height = m_area.height() / m_scale.height();
    const auto row = static_cast<double>(cell.row);
    const auto column = static_cast<double>(cell.column);
    m_first.setX(std::clamp(m_first.x(), std::min(column, column + 1 - width), column));
    m_first.setY(std::clamp(m_first.y(), std::min(row, row + 1 - height), row));
    settle();
}

void MatrixMap::moveBy(std::int64_t down, std::int64_t right) {
    if (m_rows <= 0 || m_columns <= 0)
        return;
    const CellWindow seen = visibleCells();
    MatrixCell cell =
        m_cursor ? MatrixCell{m_cursor->row + down, m_cursor->column + right} : MatrixCell{seen.row, seen.column};
    cell = {std::clamp<std::int64_t>(cell.row, 0, m_rows - 1), std::clamp<std::int64_t>(cell.column, 0, m_columns - 1)};
    reveal(cell);
    setCursorCell(cell, true);
}

void MatrixMap::click(QPointF point, Qt::KeyboardModifiers modifiers) {
    if (const std::optional<MatrixCell> cell = cellAt(point))
        return clickAt(*cell, modifiers);
    const QRect shown = picture();
    const QPointF clamped(std::clamp<double>(point.x(), shown.left(), shown.right()),
                          std::clamp<double>(point.y(), shown.top(), shown.bottom()));
    const std::optional<MatrixCell> nearest = cellAt(clamped);
    if (!nearest)
        return;
    const bool isLeft = point.x() < shown.left() && point.x() >= shown.left() - stripWidth(Edge::rows);
    const bool isAbove = point.y() < shown.top() && point.y() >= shown.top() - stripWidth(Edge::columns);
    if (isLeft == isAbove)
        return;
    const Edge edge = isLeft ? Edge::rows : Edge::columns;
    if (const auto mark = markAt(edge, isLeft ? nearest->row : nearest->column))
        emit markClicked(edge, *mark, modifiers);
}

void MatrixMap::clickAt(MatrixCell cell, Qt::KeyboardModifiers modifiers) {
    if (const auto mark = markAt(Edge::rows, cell.row))
        emit markClicked(Edge::rows, *mark, modifiers);
    else if (const auto other = markAt(Edge::columns, cell.column))
        emit markClicked(Edge::columns, *other, modifiers);
}

} // namespace secateur
