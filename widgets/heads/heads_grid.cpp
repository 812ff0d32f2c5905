#include "widgets/heads/heads_grid.h"

#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_threshold.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double gridWheelNotch = 120;
constexpr double gridPixelsPerNotch = 60;

} // namespace

HeadsGrid::HeadsGrid(MaskEditor* masks, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_selection(selection)
    , m_masks(masks)
    , m_threshold(new HeadsThreshold(masks, this))
    , m_shears(masks)
    , m_picture(this) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(240, 120);
    setAccessibleName(tr("Heat map of heads by layer"));
    setWhatsThis(
        tr("Each cell is a head: layers from top to bottom, heads from left to right. A click or the arrows select, "
           "Space cuts the selected heads or restores them. A drag on the colour bar cuts below a threshold. "
           "The switches A, M and B drop the attention, the MLP or the block of a layer."));
    connect(selection, &Selection::changed, this, &HeadsGrid::followSelection);
    connect(selection, &Selection::hoverChanged, this, &HeadsGrid::followHover);
    connect(masks, &MaskEditor::maskChanged, this, &HeadsGrid::followMask);
    connect(masks, &MaskEditor::previewChanged, this, &HeadsGrid::followMask);
    connect(masks, &MaskEditor::protectionChanged, this, &HeadsGrid::followMask);
    connect(masks, &MaskEditor::listChanged, this, &HeadsGrid::followMask);
    connect(m_threshold, &HeadsThreshold::changed, this,
            [this] { m_picture.setThreshold(m_threshold->markerOnBar()); });
}

void HeadsGrid::setModel(const ModelSpec& spec) {
    m_gesture = Gesture::none;
    m_anchor = {};
    m_spec = spec;
    m_picture.setModel(spec);
    followMask();
    followFilter();
}

void HeadsGrid::setFilter(const HeadFilter* filter) {
    m_filter = filter;
    connect(filter, &HeadFilter::changed, this, &HeadsGrid::followFilter);
    followFilter();
}

void HeadsGrid::followFilter() {
    m_picture.setPassing(m_filter && m_filter->isActive() ? m_filter->heads() : PassingHeads());
}

void HeadsGrid::setTool(Tool tool) {
    m_tool = tool;
    updateCursor(mapFromGlobal(QCursor::pos()), {});
}

void HeadsGrid::setValues(const Matrix& values, const ColourScale& scale, const QString& label, bool byGroup,
                          const QStringList& classes) {
    m_byGroup = byGroup;
    if (classes.isEmpty())
        m_picture.setValues(values, scale, label);
    else
        m_picture.setClasses(values, classes, label);
    followSelection();
    followHover();
}

void HeadsGrid::resetZoom() {
    m_picture.resetZoom();
}

void HeadsGrid::selectAll() {
    if (m_spec.layers.empty())
        return;
    m_selection->select(passing(headsBetween({0, 0}, {m_spec.layerCount() - 1, 0}, HeadsPlace::Kind::layerHeader)),
                        Selection::Mode::replace);
}

void HeadsGrid::followSelection() {
    m_picture.setSelected(m_selection->heads());
    const std::optional<HeadId> active = shownUnit(m_selection->active());
    m_picture.setActive(active, active ? unit(active->layer) : 1);
}

void HeadsGrid::followHover() {
    const std::optional<int> layer = m_selection->hoveredLayer();
    if (layer && !m_selection->hovered() && exists({*layer, 0})) {
        m_picture.setHovered(HeadId{*layer, 0}, headCount(*layer));
        return;
    }
    const std::optional<HeadId> hovered = shownUnit(m_selection->hovered());
    m_picture.setHovered(hovered, hovered ? unit(hovered->layer) : 1);
}

/// Does nothing while the mask belongs to another model than the rows, because either may be updated first.
void HeadsGrid::followMask() {
    if (m_masks->mask().layerCount() == m_spec.layerCount())
        m_picture.setCuts(cutsOf(*m_masks));
}

bool HeadsGrid::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    emit toolTipRequested(static_cast<QHelpEvent*>(event)->globalPos());
    return true;
}

void HeadsGrid::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        m_picture.setTheme(themeOf(*this));
    QWidget::changeEvent(event);
}

void HeadsGrid::resizeEvent(QResizeEvent* event) {
    m_picture.resize(event->size());
}

// ---- mouse

void HeadsGrid::mousePressEvent(QMouseEvent* event) {
    if (m_gesture != Gesture::none)
        return;
    m_lastPoint = event->position();
    m_button = event->button();
    if (event->button() == Qt::MiddleButton) {
        m_gesture = Gesture::pan;
        setCursor(Qt::ClosedHandCursor);
    } else if (event->button() == Qt::LeftButton) {
        press(event->position(), event->modifiers());
    } else {
        event->ignore();
    }
}

void HeadsGrid::press(QPointF point, Qt::KeyboardModifiers modifiers) {
    if (const std::optional<LayerSwitch> which = m_picture.switches().at(point)) {
        toggle(*which);
        setHint(hintAt(point));
        return;
    }
    if (m_picture.colourBar().contains(point)) {
        if (m_threshold->isOffered()) {
            m_gesture = Gesture::threshold;
            continueGesture(point);
        }
        return;
    }
    const bool lassoKeys = modifiers.testFlag(Qt::ControlModifier) && modifiers.testFlag(Qt::ShiftModifier);
    const std::optional<HeadsPlace> place = m_picture.placeAt(point);
    const bool onHeader = place && place->kind != HeadsPlace::Kind::cell;
    if (modifiers.testFlag(Qt::AltModifier) || (m_tool == Tool::shears && !lassoKeys)) {
        if (place)
            beginCut(*place);
    } else if ((lassoKeys || m_tool == Tool::lasso) && !onHeader) {
        beginLasso(point, modifiers.testFlag(Qt::ControlModifier));
    } else if (place) {
        beginGesture(*place, modifiers);
    }
}

void HeadsGrid::mouseDoubleClickEvent(QMouseEvent* event) {
    const std::optional<HeadsPlace> place = m_picture.placeAt(event->position());
    const bool selects = m_tool == Tool::select && event->modifiers() == Qt::NoModifier;
    if (event->button() == Qt::LeftButton && !place)
        m_picture.resetZoom();
    else if (event->button() == Qt::LeftButton && selects && place && place->kind == HeadsPlace::Kind::cell)
        emit opened(place->head);
    else
        mousePressEvent(event);
}

void HeadsGrid::mouseMoveEvent(QMouseEvent* event) {
    if (m_gesture != Gesture::none)
        continueGesture(event->position());
    const std::optional<HeadsPlace> place = m_picture.placeAt(event->position());
    if (place && place->kind == HeadsPlace::Kind::cell)
        m_selection->hover(place->head);
    else
        m_selection->hoverLayer(layerAt(event->position()));
    if (m_gesture != Gesture::none)
        return;
    m_picture.setHoveredSwitch(m_picture.switches().at(event->position()));
    updateCursor(event->position(), event->modifiers());
    setHint(hintAt(event->position()));
}

void HeadsGrid::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != m_button)
        return;
    if (m_gesture == Gesture::shears)
        m_shears.apply();
    else if (m_gesture == Gesture::threshold)
        m_threshold->apply();
    finishGesture();
    updateCursor(event->position(), event->modifiers());
}

void HeadsGrid::finishGesture() {
    m_gesture = Gesture::none;
    m_lasso.clear();
    m_picture.setLasso({});
}

void HeadsGrid::leaveEvent(QEvent*) {
    m_selection->hover({});
    m_picture.setHoveredSwitch({});
    setHint({});
}

void HeadsGrid::wheelEvent(QWheelEvent* event) {
    const QPointF notches = QPointF(event->angleDelta()) / gridWheelNotch;
    if (event->modifiers().testFlag(Qt::ControlModifier)) {
        m_picture.zoom(std::pow(HeadsPicture::zoomPerNotch, notches.y()), event->position());
    } else if (!m_picture.showsEverything()) {
        const QPointF pixels = notches * gridPixelsPerNotch;
        m_picture.pan(event->modifiers().testFlag(Qt::ShiftModifier) ? pixels.transposed() : pixels);
    } else {
        event->ignore();
    }
}

void HeadsGrid::beginGesture(const HeadsPlace& place, Qt::KeyboardModifiers modifiers) {
    m_before = m_selection->heads();
    m_activeBefore = m_selection->active();
    m_gesture = Gesture::rectangle;
    const bool extends = modifiers.testFlag(Qt::ShiftModifier) && m_activeBefore;
    if (extends && m_anchor.kind != place.kind)
        m_anchor = {place.kind, *m_activeBefore};
    if (!extends)
        m_anchor = place;
    const std::set<HeadId> pressed = headsBetween(place.head, place.head, place.kind);
    m_adds = modifiers.testFlag(Qt::ControlModifier);
    m_removes = m_adds && std::includes(m_before.begin(), m_before.end(), pressed.begin(), pressed.end());
    applyRectangle(place.head);
}

void HeadsGrid::beginLasso(QPointF point, bool adds) {
    m_before = m_selection->heads();
    m_activeBefore = m_selection->active();
    m_gesture = Gesture::lasso;
    m_adds = adds;
    m_removes = false;
    m_lasso = QPolygonF({point});
}

void HeadsGrid::continueGesture(QPointF point) {
    const QPointF moved = point - std::exchange(m_lastPoint, point);
    if (m_gesture == Gesture::pan) {
        m_picture.pan(moved);
    } else if (m_gesture == Gesture::rectangle) {
        applyRectangle(m_picture.nearest(point));
    } else if (m_gesture == Gesture::shears) {
        cutAlong(point - moved, point);
    } else if (m_gesture == Gesture::threshold) {
        m_threshold->preview(m_threshold->fromBar(m_picture.colourBar().valueAt(point.y())));
        setHint(m_threshold->text());
    } else if (m_gesture == Gesture::lasso) {
        m_lasso << point;
        m_picture.setLasso(m_lasso);
        std::set<HeadId> heads = m_adds ? m_before : std::set<HeadId>();
        heads.merge(passing(m_picture.headsIn(m_lasso)));
        m_selection->select(heads, Selection::Mode::replace);
    }
}

void HeadsGrid::cancelGesture() {
    const Gesture was = m_gesture;
    finishGesture();
    if (was == Gesture::shears)
        m_shears.cancel();
    else if (was == Gesture::threshold)
        m_threshold->cancel();
    else if (was != Gesture::pan)
        m_selection->select(m_before, Selection::Mode::replace, m_activeBefore);
    setHint({});
}

void HeadsGrid::applyRectangle(HeadId to) {
    std::set<HeadId> heads = headsBetween(m_anchor.head, to, m_anchor.kind);
    if (m_anchor.kind != HeadsPlace::Kind::cell || m_anchor.head != to)
        heads = passing(heads);
    std::optional<HeadId> active = heads.contains(to) ? std::optional(to) : std::nullopt;
    if (m_removes) {
        std::set<HeadId> kept;
        std::set_difference(m_before.begin(), m_before.end(), heads.begin(), heads.end(),
                            std::inserter(kept, kept.end()));
        heads = std::move(kept);
        active.reset();
    } else if (m_adds) {
        heads.insert(m_before.begin(), m_before.end());
    }
    m_selection->select(heads, Selection::Mode::replace, active);
}

// ---- cells

int HeadsGrid::headCount(int layer) const {
    return m_spec.layers[static_cast<std::size_t>(layer)].heads;
}

bool HeadsGrid::exists(HeadId head) const {
    return head.layer >= 0 && head.layer < m_spec.layerCount() && head.head >= 0 && head.head < headCount(head.layer);
}

/// Number of heads that are selected together: 1, or the heads of a KV group.
int HeadsGrid::unit(int layer) const {
    const LayerSpec& spec = m_spec.layers[static_cast<std::size_t>(layer)];
    return m_byGroup && spec.kvHeads > 0 ? spec.heads / spec.kvHeads : 1;
}

HeadId HeadsGrid::unitStart(HeadId head) const {
    return {head.layer, head.head - head.head % std::max(1, unit(head.layer))};
}

/// The first head of the unit (head or KV group) that is outlined for a head; empty if the model does not have the
/// head.
std::optional<HeadId> HeadsGrid::shownUnit(std::optional<HeadId> head) const {
    return head && exists(*head) ? std::optional(unitStart(*head)) : std::nullopt;
}

std::set<HeadId> HeadsGrid::passing(const std::set<HeadId>& heads) const {
    return m_filter ? m_filter->passing(heads) : heads;
}

std::set<HeadId> HeadsGrid::headsBetween(HeadId from, HeadId to, HeadsPlace::Kind kind) const {
    const bool wholeLayers = kind == HeadsPlace::Kind::layerHeader;
    const bool wholeColumns = kind == HeadsPlace::Kind::headHeader;
    const auto [top, bottom] = std::minmax(from.layer, to.layer);
    const auto [left, right] = std::minmax(from.head, to.head);
    const int firstLayer = wholeColumns ? 0 : top;
    const int lastLayer = std::min(wholeColumns ? m_spec.layerCount() : bottom, m_spec.layerCount() - 1);
    std::set<HeadId> heads;
    for (int layer = firstLayer; layer <= lastLayer; ++layer) {
        const int count = headCount(layer);
        const int first = wholeLayers ? 0 : unitStart({layer, left}).head;
        const int last = wholeLayers ? count - 1 : unitStart({layer, right}).head + unit(layer) - 1;
        for (int head = first; head <= std::min(last, count - 1); ++head)
            heads.insert(heads.end(), {layer, head});
    }
    return heads;
}

} // namespace secateur
