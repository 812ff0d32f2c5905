#include "widgets/weights/neuron_norms_plot.h"

#include "widgets/plot/plot_axes.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double pointReach = 9; ///< pixels
constexpr double chosenRing = 12;

} // namespace

NeuronNormsPlot::NeuronNormsPlot(QWidget* parent)
    : FigureWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Norms of the layer's neurons"));
    setWhatsThis(
        tr("A point for each neuron of the layer: the norm of the direction that it reads, and of the direction "
           "that it writes. Cut neurons are crosses. A click or the arrows choose a neuron."));
}

std::size_t NeuronNormsPlot::count() const {
    return figure().series.empty() ? 0 : figure().series.front().values.size();
}

std::optional<QPointF> NeuronNormsPlot::position(std::size_t neuron) const {
    if (neuron >= count() || plot()->axisRectCount() == 0)
        return std::nullopt;
    const QCPAxisRect& rect = *plot()->axisRect();
    const FigureSeries& series = figure().series.front();
    return QPointF(rect.axis(QCPAxis::atBottom)->coordToPixel(series.positions[neuron]),
                   rect.axis(QCPAxis::atLeft)->coordToPixel(series.values[neuron]));
}

std::optional<std::size_t> NeuronNormsPlot::neuronAt(QPointF point) const {
    std::optional<std::size_t> nearest;
    double least = pointReach * pointReach;
    for (std::size_t neuron = 0; neuron < count(); ++neuron) {
        const QPointF offset = position(neuron).value_or(QPointF(-1e6, -1e6)) - point;
        const double distance = QPointF::dotProduct(offset, offset);
        if (distance < least) {
            least = distance;
            nearest = neuron;
        }
    }
    return nearest;
}

void NeuronNormsPlot::choose(std::optional<std::size_t> neuron) {
    if (std::exchange(m_chosen, neuron) != neuron)
        repaintFigure();
}

void NeuronNormsPlot::painted() {
    if (!m_chosen || *m_chosen >= count())
        return;
    const QCPAxisRect& rect = *plot()->axisRect();
    const FigureSeries& series = figure().series.front();
    const PlotTheme theme = themeOf(*this);
    QCPGraph* ring = plot()->addGraph(rect.axis(QCPAxis::atBottom), rect.axis(QCPAxis::atLeft));
    ring->setData({series.positions[*m_chosen]}, {series.values[*m_chosen]});
    ring->setLineStyle(QCPGraph::lsNone);
    ring->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssCircle, theme.pen(theme.accent, 2), Qt::NoBrush, chosenRing));
    ring->removeFromLegend();
}

void NeuronNormsPlot::mousePressEvent(QMouseEvent* event) {
    if (const auto neuron = event->button() == Qt::LeftButton ? neuronAt(event->position()) : std::nullopt)
        emit clicked(*neuron);
    else
        event->ignore();
}

void NeuronNormsPlot::mouseMoveEvent(QMouseEvent* event) {
    emit hovered(neuronAt(event->position()).value_or(count()));
}

void NeuronNormsPlot::leaveEvent(QEvent*) {
    emit hovered(count());
}

void NeuronNormsPlot::keyPressEvent(QKeyEvent* event) {
    const auto last = static_cast<std::ptrdiff_t>(count()) - 1;
    auto next = m_chosen ? static_cast<std::ptrdiff_t>(*m_chosen) : -1;
    switch (event->key()) {
    case Qt::Key_Right:
    case Qt::Key_Down:
        ++next;
        break;
    case Qt::Key_Left:
    case Qt::Key_Up:
        --next;
        break;
    case Qt::Key_Home:
        next = 0;
        break;
    case Qt::Key_End:
        next = last;
        break;
    default:
        return FigureWidget::keyPressEvent(event);
    }
    if (last >= 0)
        emit clicked(static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(next, 0, last)));
}

} // namespace secateur
