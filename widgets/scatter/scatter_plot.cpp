#include "widgets/scatter/scatter_plot.h"

#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_points.h"
#include "widgets/plot/plot_scale.h"

#include <QHelpEvent>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr double pointReachPixels = 9;
constexpr double smallestShare = 1e-6; ///< smallest visible share of an axis when zoomed in

bool isLike(const FigureAxis& one, const FigureAxis& other) {
    return one.label == other.label && one.logarithmic == other.logarithmic;
}

/// Draws a picture whose middle is at a point.
void drawAround(QPainter& painter, QPointF middle, const QPixmap& picture) {
    const double half = picture.deviceIndependentSize().width() / 2;
    painter.drawPixmap(middle - QPointF(half, half), picture);
}

} // namespace

// ---- marks

ScatterMarks::ScatterMarks(QCPAxisRect* rect, const PlotTheme& theme, double diameter)
    : PlotDrawing(rect, Layer::overlay, theme, Edges::smooth)
    , m_diameter(std::max(diameter, 5 * theme.unit)) {} // a ring around a dot would be too small

void ScatterMarks::draw(QCPPainter& painter) {
    if (m_passing) {
        painter.fillRect(clipRect(), theme().veil());
        drawRings(painter, *m_passing, 0, theme().background);
    }
    drawRings(painter, m_selected, 1.6, theme().accent);
    if (m_active)
        drawRings(painter, {*m_active}, 3, theme().accent);
    if (m_hovered)
        drawRings(painter, {*m_hovered}, 1.6, theme().text);
    if (!m_outline.isEmpty())
        drawLasso(painter, m_outline, theme());
}

/// Draws rings. Draws each ringed point again, because other points may hide it, and a wider line in the background
/// colour beneath each ring.
void ScatterMarks::drawRings(QCPPainter& painter, const std::vector<Point>& points, double line,
                             const QColor& colour) const {
    const double ratio = painter.device()->devicePixelRatioF();
    const double width = m_diameter + 2 * line * theme().unit;
    const QPixmap halo = pointPicture(width + 2 * theme().unit, QPen(Qt::NoPen), QBrush(theme().background), ratio);
    std::map<std::pair<QRgb, bool>, QPixmap> pictures;
    const QRectF seen = QRectF(clipRect()).adjusted(-width, -width, width, width);
    for (const Point& point : points) {
        if (!seen.contains(point.pixel))
            continue;
        QPixmap& picture = pictures[{point.colour, point.isCut}];
        if (picture.isNull())
            picture = pointPicture(width, theme().pen(colour, line),
                                   point.isCut ? theme().background : QColor(point.colour), ratio);
        drawAround(painter, point.pixel, halo);
        drawAround(painter, point.pixel, picture);
        if (point.isCut)
            drawAround(painter, point.pixel, crossPicture(0.8 * m_diameter, point.colour, theme(), ratio));
    }
}

// ---- plot

ScatterPlot::ScatterPlot(MaskEditor* masks, Selection* selection, QWidget* parent)
    : FigureWidget(parent)
    , m_masks(masks)
    , m_selection(selection) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("One metric against another"));
    setWhatsThis(
        tr("Each point is a head, a KV group, a layer or a neuron, placed by its two values. The arrows move from "
           "point to point, a drag selects. Space cuts the selected heads or restores them."));
    connect(selection, &Selection::changed, this, &ScatterPlot::followSelection);
    connect(selection, &Selection::hoverChanged, this, &ScatterPlot::followHover);
}

void ScatterPlot::showFigure(Figure shown, Scope scope, const ModelSpec& spec) {
    if (scope != m_scope || !isLike(shown.x, figure().x) || !isLike(shown.y, figure().y)) {
        m_view.reset();
        m_share = 1;
        finishGesture();
        m_neuron.reset();
    }
    m_hovered.reset();
    m_scope = scope;
    m_spec = spec;
    m_places.clear();
    m_colours.clear();
    if (!shown.series.empty()) {
        const FigureSeries& series = shown.series.front();
        const ColourRange range(series.shades, shown.scale);
        for (int layer = 0; layer < spec.layerCount(); ++layer)
            m_colours.push_back(range.colour(layer));
        if (scope != Scope::neuron)
            for (std::size_t i = 0; i < series.units.size(); ++i)
                m_places.emplace(series.units[i], i);
        if (m_neuron && *m_neuron >= series.units.size())
            m_neuron.reset();
    }
    // The axis ranges are computed once here, because setFigure() draws again at each change of the window's size.
    for (const auto& [axis, along] :
         {std::pair(&shown.x, &FigureSeries::positions), std::pair(&shown.y, &FigureSeries::values)})
        axis->range = pointRange(shown.series, along, axis->logarithmic);
    setFigure(shown);
}

const FigureSeries* ScatterPlot::points() const {
    return figure().series.empty() ? nullptr : &figure().series.front();
}

void ScatterPlot::painted() {
    m_marks = nullptr;
    m_pixels.clear();
    if (!points())
        return;
    QCPAxisRect* rect = plot()->axisRect();
    if (m_view) {
        rect->axis(QCPAxis::atBottom)->setRange(m_view->x.lower, m_view->x.upper);
        rect->axis(QCPAxis::atLeft)->setRange(m_view->y.lower, m_view->y.upper);
        layOut(*plot());
    }
    const PlotTheme theme = themeOf(*this);
    m_marks = new ScatterMarks(rect, theme, pointDiameter(points()->values.size(), rect->size(), theme));
    place();
}

/// Computes the pixel positions of all points, which the next replot uses.
void ScatterPlot::place() {
    const AxisPixels x(*plot()->axisRect()->axis(QCPAxis::atBottom));
    const AxisPixels y(*plot()->axisRect()->axis(QCPAxis::atLeft));
    m_pixels.resize(points()->values.size());
    for (std::size_t i = 0; i < m_pixels.size(); ++i)
        m_pixels[i] = {x(points()->positions[i]), y(points()->values[i])};
    markFilter();
    markSelection();
    markHover();
}

ScatterMarks::Point ScatterPlot::mark(std::size_t index) const {
    const auto layer = static_cast<std::size_t>(points()->units[index].layer);
    return {m_pixels[index], m_colours[layer], index < points()->cut.size() && points()->cut[index]};
}

void ScatterPlot::markSelection() {
    std::vector<std::size_t> indices;
    indices.reserve(m_selection->heads().size());
    for (const HeadId& head : m_selection->heads())
        if (const auto index = pointOf(head))
            indices.push_back(*index);
    std::ranges::sort(indices);
    const auto repeated = std::ranges::unique(indices);
    indices.erase(repeated.begin(), repeated.end());
    std::vector<ScatterMarks::Point> selected;
    selected.reserve(indices.size());
    for (const std::size_t index : indices)
        selected.push_back(mark(index));
    m_marks->setSelected(std::move(selected));
    const auto current = currentPoint();
    m_marks->setActive(current ? std::optional(mark(*current)) : std::nullopt);
}

void ScatterPlot::markHover() {
    const auto hovered = hoveredPoint();
    m_marks->setHovered(hovered ? std::optional(mark(*hovered)) : std::nullopt);
}

void ScatterPlot::followSelection() {
    if (!m_marks)
        return;
    markSelection();
    replotMarks();
    emit pointChanged();
}

void ScatterPlot::followHover() {
    if (!m_marks)
        return;
    markHover();
    replotMarks();
    emit pointChanged();
}

void ScatterPlot::setFilter(const HeadFilter* filter) {
    m_filter = filter;
    connect(filter, &HeadFilter::changed, this, &ScatterPlot::followFilter);
    followFilter();
}

void ScatterPlot::followFilter() {
    if (!m_marks)
        return;
    markFilter();
    replotMarks();
}

void ScatterPlot::markFilter() {
    std::optional<std::vector<ScatterMarks::Point>> shown;
    if (m_filter && m_filter->isActive()) {
        shown.emplace();
        for (std::size_t i = 0; i < m_pixels.size(); ++i)
            if (m_scope == Scope::neuron ? m_filter->passesAny(points()->units[i].layer) : !passing(headsOf(i)).empty())
                shown->push_back(mark(i));
    }
    m_marks->setPassing(std::move(shown));
}

std::set<HeadId> ScatterPlot::passing(const std::set<HeadId>& heads) const {
    return m_filter ? m_filter->passing(heads) : heads;
}

void ScatterPlot::replotMarks() {
    replotOverlay(*plot());
}

std::optional<std::size_t> ScatterPlot::pointOf(std::optional<HeadId> head) const {
    if (!head || head->layer < 0 || head->layer >= m_spec.layerCount())
        return {};
    const LayerSpec& layer = m_spec.layers[static_cast<std::size_t>(head->layer)];
    if (head->head < 0 || head->head >= layer.heads)
        return {};
    const int index = m_scope == Scope::head ? head->head : m_scope == Scope::kvGroup ? layer.kvGroup(head->head) : 0;
    const auto found = m_places.find({head->layer, index});
    return found == m_places.end() ? std::nullopt : std::optional(found->second);
}

std::set<HeadId> ScatterPlot::headsOf(std::size_t index) const {
    if (m_scope == Scope::neuron)
        return {};
    const FigureUnit unit = points()->units[index];
    if (m_scope == Scope::head)
        return {{unit.layer, unit.index}};
    const LayerSpec& layer = m_spec.layers[static_cast<std::size_t>(unit.layer)];
    std::set<HeadId> heads;
    for (int head = 0; head < layer.heads; ++head)
        if (m_scope == Scope::layer || layer.kvGroup(head) == unit.index)
            heads.insert({unit.layer, head});
    return heads;
}

std::set<HeadId> ScatterPlot::headsIn(const QPolygonF& outline) const {
    const QRectF seen = outline.boundingRect() & QRectF(plot()->axisRect()->rect());
    std::set<HeadId> heads;
    for (std::size_t i = 0; i < m_pixels.size() && m_scope != Scope::neuron; ++i)
        if (seen.contains(m_pixels[i]) && outline.containsPoint(m_pixels[i], Qt::OddEvenFill))
            heads.merge(headsOf(i));
    return passing(heads);
}

std::optional<std::size_t> ScatterPlot::pointAt(QPointF pixel) const {
    if (!m_marks || !QRectF(plot()->axisRect()->rect()).adjusted(-4, -4, 4, 4).contains(pixel))
        return {};
    std::optional<std::size_t> nearest;
    double reach = pointReachPixels * pointReachPixels;
    for (std::size_t i = 0; i < m_pixels.size(); ++i) {
        const QPointF apart = m_pixels[i] - pixel;
        if (const double square = QPointF::dotProduct(apart, apart); square < reach) {
            nearest = i;
            reach = square;
        }
    }
    return nearest;
}

std::optional<std::size_t> ScatterPlot::hoveredPoint() const {
    return m_hovered ? m_hovered : pointOf(m_selection->hovered());
}

std::optional<std::size_t> ScatterPlot::currentPoint() const {
    return m_scope == Scope::neuron ? m_neuron : pointOf(m_selection->active());
}

std::optional<QPointF> ScatterPlot::position(FigureUnit unit) const {
    const auto found = m_places.find(unit);
    return found == m_places.end() || m_pixels.empty() ? std::nullopt : std::optional(m_pixels[found->second]);
}

void ScatterPlot::selectAll() {
    std::set<HeadId> heads;
    for (std::size_t i = 0; i < m_pixels.size() && m_scope != Scope::neuron; ++i)
        heads.merge(headsOf(i));
    m_selection->select(passing(heads), Selection::Mode::replace);
}

void ScatterPlot::selectForMenu(QPointF point) {
    const auto index = pointAt(point);
    if (!index)
        return;
    const std::set<HeadId> heads = headsOf(*index);
    const std::set<HeadId>& selected = m_selection->heads();
    if (!std::ranges::includes(selected, heads))
        m_selection->select(heads, Selection::Mode::replace);
}

// ---- zoom

void ScatterPlot::resetZoom() {
    m_view.reset();
    m_share = 1;
    repaintFigure();
}

void ScatterPlot::setView(const View& view) {
    m_view = view;
    plot()->axisRect()->axis(QCPAxis::atBottom)->setRange(view.x.lower, view.x.upper);
    plot()->axisRect()->axis(QCPAxis::atLeft)->setRange(view.y.lower, view.y.upper);
    layOut(*plot());
    place();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void ScatterPlot::zoom(double factor, QPointF about) {
    if (!m_marks)
        return;
    const auto scaled = [&](const QCPAxis& axis, double pixel, double from, double to) {
        return AxisRange{axis.pixelToCoord(pixel + (from - pixel) * factor),
                         axis.pixelToCoord(pixel + (to - pixel) * factor)};
    };
    const QCPAxis& x = *plot()->axisRect()->axis(QCPAxis::atBottom);
    const QCPAxis& y = *plot()->axisRect()->axis(QCPAxis::atLeft);
    const View view{scaled(x, about.x(), x.coordToPixel(x.range().lower), x.coordToPixel(x.range().upper)),
                    scaled(y, about.y(), y.coordToPixel(y.range().lower), y.coordToPixel(y.range().upper))};
    const double share = m_share * factor;
    if (share >= 1)
        return resetZoom();
    if (share < smallestShare)
        return;
    m_share = share;
    setView(view);
}

void ScatterPlot::pan(QPointF pixels) {
    const auto moved = [](const QCPAxis& axis, double by) {
        return AxisRange{axis.pixelToCoord(axis.coordToPixel(axis.range().lower) - by),
                         axis.pixelToCoord(axis.coordToPixel(axis.range().upper) - by)};
    };
    if (m_view)
        setView({moved(*plot()->axisRect()->axis(QCPAxis::atBottom), pixels.x()),
                 moved(*plot()->axisRect()->axis(QCPAxis::atLeft), pixels.y())});
}

bool ScatterPlot::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return FigureWidget::event(event);
    emit toolTipRequested(static_cast<QHelpEvent*>(event)->globalPos());
    return true;
}

} // namespace secateur
