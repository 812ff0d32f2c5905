#include "widgets/layers/layers_plot.h"

#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace secateur {

/// Draws bands behind the lines: one for each selected layer, and a paler one with a line for the hovered layer.
class LayersPlot::Marks : public PlotDrawing {
public:
    Marks(QCPAxisRect* rect, const PlotTheme& theme)
        : PlotDrawing(rect, Layer::grid, theme) {}

    std::set<int> layers;
    std::optional<int> hovered;

    QCPAxis* axis() const { return rect()->axis(QCPAxis::atBottom); }

protected:
    void draw(QCPPainter& painter) override {
        QColor band = theme().accent;
        band.setAlphaF(0.2F);
        for (const int layer : layers)
            painter.fillRect(layerColumn(*axis(), layer), band);
        if (hovered) {
            const QRect whole = layerColumn(*axis(), *hovered);
            painter.fillRect(whole, theme().absent);
            const int x = whole.center().x();
            painter.fillRect(QRect(x, whole.top(), theme().length(1), whole.height()), theme().muted);
        }
    }
};

/// Draws a translucent cover over the layers that the filter excludes.
class LayersPlot::Veil : public PlotDrawing {
public:
    Veil(QCPAxisRect* rect, const PlotTheme& theme)
        : PlotDrawing(rect, Layer::overlay, theme) {}

    std::set<int> layers;

protected:
    void draw(QCPPainter& painter) override {
        for (const int layer : layers)
            painter.fillRect(layerColumn(*rect()->axis(QCPAxis::atBottom), layer), theme().veil());
    }
};

LayersPlot::LayersPlot(MaskEditor* masks, Selection* selection, Marked marked, QWidget* parent)
    : FigureWidget(parent)
    , m_masks(masks)
    , m_selection(selection)
    , m_marked(marked) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Metrics by layer"));
    setWhatsThis(
        tr("Layers from left to right. A click or the arrows select the heads of a layer. Space drops or restores the "
           "unit of the first metric in the selected layers. The context menu has all cuts."));
    connect(selection, &Selection::changed, this, &LayersPlot::followSelection);
    connect(selection, &Selection::hoverChanged, this, &LayersPlot::followHover);
    connect(masks, &MaskEditor::maskChanged, this, &LayersPlot::followMask);
    connect(masks, &MaskEditor::previewChanged, this, &LayersPlot::followMask);
}

void LayersPlot::setModel(const ModelSpec& spec) {
    m_spec = spec;
    m_dragging = false;
    m_anchor = 0;
    setCurrent({});
    followHover();
    followFilter();
}

void LayersPlot::setFilter(const HeadFilter* filter) {
    m_filter = filter;
    connect(filter, &HeadFilter::changed, this, &LayersPlot::followFilter);
    followFilter();
}

void LayersPlot::followFilter() {
    if (!m_veil)
        return;
    m_veil->layers.clear();
    for (int layer = 0; m_filter && layer < m_spec.layerCount(); ++layer)
        if (!m_filter->passesAny(layer))
            m_veil->layers.insert(layer);
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

QPoint LayersPlot::position(int layer) const {
    const QCPAxis* axis = m_marks->axis();
    return {static_cast<int>(std::lround(axis->coordToPixel(layer))), axis->axisRect()->center().y()};
}

void LayersPlot::painted() {
    m_marks = new Marks(plot()->axisRect(), themeOf(*this));
    m_marks->hovered = hoveredLayer();
    m_veil = new Veil(plot()->axisRect(), themeOf(*this));
    followFilter();
    m_cutMarks = new LayerMarks(m_marks->axis(), themeOf(*this));
    m_cutMarks->setLayers(m_cuts);
    followSelection();
}

/// Updates the marks of cuts. Does nothing while invisible, because counting the cut neurons takes time.
void LayersPlot::followMask() {
    if (!isVisible())
        return;
    std::vector<LayerMark> cuts = layerMarks(*m_masks, m_marked == Marked::everything);
    if (cuts == m_cuts)
        return;
    m_cuts = std::move(cuts);
    if (m_cutMarks) {
        m_cutMarks->setLayers(m_cuts);
        plot()->replot(QCustomPlot::rpQueuedReplot);
    }
    emit marksChanged();
}

void LayersPlot::showEvent(QShowEvent* event) {
    FigureWidget::showEvent(event);
    followMask();
}

std::set<int> LayersPlot::selectedLayers() const {
    std::set<int> layers;
    for (const HeadId& head : m_selection->heads())
        layers.insert(head.layer);
    if (m_current)
        layers.insert(*m_current);
    return layers;
}

void LayersPlot::selectForMenu(QPointF point) {
    const std::optional<int> layer = layerAt(point);
    if (layer && !selectedLayers().contains(*layer))
        press(*layer, Qt::NoModifier);
}

void LayersPlot::followSelection() {
    if (const std::optional<HeadId> active = m_selection->active())
        setCurrent(active->layer);
    else if (m_current && !headsOf(*m_current, *m_current).empty())
        setCurrent({});
    if (!m_marks)
        return;
    m_marks->layers = selectedLayers();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void LayersPlot::setCurrent(std::optional<int> layer) {
    if (layer == m_current)
        return;
    m_current = layer;
    emit currentLayerChanged();
}

std::optional<int> LayersPlot::hoveredLayer() const {
    const std::optional<int> layer = m_selection->hoveredLayer();
    return layer && *layer < m_spec.layerCount() ? layer : std::nullopt;
}

void LayersPlot::followHover() {
    if (m_marks && m_marks->hovered != hoveredLayer()) {
        m_marks->hovered = hoveredLayer();
        plot()->replot(QCustomPlot::rpQueuedReplot);
    }
    emit layerHovered();
}

bool LayersPlot::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    emit toolTipRequested(static_cast<QHelpEvent*>(event)->globalPos());
    return true;
}

std::optional<int> LayersPlot::layerAt(QPointF point) const {
    if (!m_marks || m_spec.layers.empty())
        return {};
    const QRect rect = m_marks->axis()->axisRect()->rect();
    if (point.x() < rect.left() || point.x() > rect.right() || point.y() < rect.top())
        return {};
    const int layer = static_cast<int>(std::lround(m_marks->axis()->pixelToCoord(point.x())));
    return std::clamp(layer, 0, m_spec.layerCount() - 1);
}

void LayersPlot::mousePressEvent(QMouseEvent* event) {
    const std::optional<int> layer = layerAt(event->position());
    if (event->button() != Qt::LeftButton || !layer) {
        event->ignore();
        return;
    }
    m_restore = m_selection->heads();
    m_dragging = true;
    press(*layer, event->modifiers());
    if (event->modifiers() == Qt::NoModifier)
        emit layerActivated(*layer);
}

void LayersPlot::mouseMoveEvent(QMouseEvent* event) {
    const std::optional<int> layer = layerAt(event->position());
    m_selection->hoverLayer(layer);
    if (m_dragging && layer)
        selectUpTo(*layer);
}

void LayersPlot::mouseReleaseEvent(QMouseEvent*) {
    m_dragging = false;
}

void LayersPlot::leaveEvent(QEvent*) {
    m_selection->hoverLayer({});
}

void LayersPlot::press(int layer, Qt::KeyboardModifiers modifiers) {
    const std::set<HeadId> pressed = headsOf(layer, layer);
    const std::set<HeadId>& selected = m_selection->heads();
    const bool keeps = modifiers.testFlag(Qt::ControlModifier);
    m_removes = keeps && std::includes(selected.begin(), selected.end(), pressed.begin(), pressed.end());
    m_before = keeps ? selected : std::set<HeadId>();
    if (!modifiers.testFlag(Qt::ShiftModifier))
        m_anchor = layer;
    selectUpTo(layer);
    if (pressed.empty()) { // no head changes, so selectUpTo() does not do this
        setCurrent(layer);
        followSelection();
    }
}

void LayersPlot::selectUpTo(int layer) {
    const std::set<HeadId> heads = headsOf(m_anchor, layer);
    std::set<HeadId> result;
    if (m_removes)
        std::set_difference(m_before.begin(), m_before.end(), heads.begin(), heads.end(),
                            std::inserter(result, result.end()));
    else
        std::set_union(m_before.begin(), m_before.end(), heads.begin(), heads.end(),
                       std::inserter(result, result.end()));
    const HeadId first{layer, 0};
    m_selection->select(result, Selection::Mode::replace, result.contains(first) ? std::optional(first) : std::nullopt);
}

/// Cancels the drag if there is one; otherwise removes the preview; otherwise clears the selection.
bool LayersPlot::escape() {
    if (!m_dragging && m_masks->preview()) {
        m_masks->setPreview({});
        return true;
    }
    if (!m_current && m_selection->heads().empty())
        return false;
    setCurrent({});
    m_selection->select(std::exchange(m_dragging, false) ? m_restore : std::set<HeadId>(), Selection::Mode::replace);
    followSelection();
    return true;
}

void LayersPlot::keyPressEvent(QKeyEvent* event) {
    const int last = m_spec.layerCount() - 1;
    const int from = m_current.value_or(-1);
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    int to = -1;
    if (event->key() == Qt::Key_Escape) {
        if (!escape())
            QWidget::keyPressEvent(event);
    } else if (isEnter && m_current)
        emit layerActivated(*m_current);
    else if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Delete)
        emit cutWanted();
    else if (event->matches(QKeySequence::SelectAll))
        m_selection->select(headsOf(0, last), Selection::Mode::replace);
    else if (event->key() == Qt::Key_Left)
        to = from - 1;
    else if (event->key() == Qt::Key_Right)
        to = from + 1;
    else if (event->key() == Qt::Key_Home)
        to = 0;
    else if (event->key() == Qt::Key_End)
        to = last;
    else
        QWidget::keyPressEvent(event);
    if (to >= 0 && to <= last)
        press(to, event->modifiers() & Qt::ShiftModifier);
}

std::set<HeadId> LayersPlot::headsOf(int from, int to) const {
    std::set<HeadId> heads;
    for (int layer = std::min(from, to); layer <= std::max(from, to) && layer < m_spec.layerCount(); ++layer)
        for (int head = 0; head < m_spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            heads.insert(heads.end(), {layer, head});
    return heads;
}

} // namespace secateur
