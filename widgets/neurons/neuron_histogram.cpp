#include "widgets/neurons/neuron_histogram.h"

#include "widgets/layers/layer_marks.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

/// Hatches, ticks and the threshold, on the layer that is drawn without the rest.
class NeuronHistogram::Overlay : public QCPLayerable {
public:
    Overlay(QCPAxisRect* rect, const PlotTheme& theme, const Drawn& drawn)
        : QCPLayerable(rect->parentPlot(), "overlay", rect)
        , m_rect(rect)
        , m_theme(theme)
        , m_drawn(drawn) {
        setParent(rect);
    }

    QRect pixels() const { return m_rect->rect(); }
    QCPAxis* axis() const { return m_rect->axis(QCPAxis::atBottom); }

protected:
    QRect clipRect() const override {
        const int beyond = m_theme.length(6);
        return m_rect->rect().adjusted(-beyond, -beyond, beyond, 0);
    }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
    void draw(QCPPainter* painter) override {
        for (std::size_t bin = 0; bin < m_drawn.cut.size(); ++bin) {
            hatch(*painter, bin, 0, m_drawn.cut[bin], Cut::real);
            hatch(*painter, bin, m_drawn.cut[bin], m_drawn.preview[bin], Cut::preview);
        }
        for (const double value : m_drawn.selected) {
            const int x = pixel(value);
            painter->fillRect(
                QRect(x, m_rect->rect().bottom() - m_theme.length(8), m_theme.length(2), m_theme.length(8)),
                m_theme.accent);
        }
        if (m_drawn.end != PruneFirst::neither && !m_drawn.edges.empty())
            drawThreshold(*painter);
    }

private:
    int pixel(double value) const {
        const QRect rect = m_rect->rect();
        if (std::isinf(value))
            return value < 0 ? rect.left() : rect.right();
        const double x = axis()->coordToPixel(value);
        return static_cast<int>(std::lround(std::clamp<double>(x, rect.left(), rect.right())));
    }

    void hatch(QPainter& painter, std::size_t bin, double from, double count, Cut cut) const {
        if (count <= 0)
            return;
        const QCPAxis* y = m_rect->axis(QCPAxis::atLeft);
        const int left = pixel(m_drawn.edges[bin]);
        const int right = pixel(m_drawn.edges[bin + 1]);
        const int top = static_cast<int>(std::lround(y->coordToPixel(from + count)));
        const int bottom = static_cast<int>(std::lround(y->coordToPixel(from)));
        const QRect box(left, top, std::max(1, right - left), std::max(1, bottom - top));
        painter.fillRect(box, slantBrush(Slant::down, cut, 6, m_theme, parentPlot()->bufferDevicePixelRatio()));
        if (cut == Cut::real) {
            QColor shade = m_theme.text;
            shade.setAlphaF(0.18F);
            painter.fillRect(box, shade);
        }
    }

    /// Stands at the end to cut first while nothing is beyond it, to be taken from there.
    void drawThreshold(QPainter& painter) const {
        const double outside = m_drawn.end == PruneFirst::low ? -std::numeric_limits<double>::infinity()
                                                              : std::numeric_limits<double>::infinity();
        const int x = pixel(m_drawn.bound.value_or(outside));
        const QRect rect = m_rect->rect();
        const QColor colour = m_drawn.bound ? m_theme.text : m_theme.muted;
        const int half = m_theme.length(1);
        painter.fillRect(QRect(x - 2 * half, rect.top(), 4 * half, rect.height()), m_theme.background);
        painter.fillRect(QRect(x - half, rect.top(), 2 * half, rect.height()), colour);
        const int side = m_theme.length(6);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPolygon(QPolygon({{x - side, rect.top() - 2}, {x + side, rect.top() - 2}, {x, rect.top() + side}}));
    }

    QCPAxisRect* m_rect;
    PlotTheme m_theme;
    const Drawn& m_drawn;
};

NeuronHistogram::NeuronHistogram(QWidget* parent)
    : FigureWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Histogram of the layer's neurons"));
}

void NeuronHistogram::painted() {
    m_overlay = new Overlay(plot()->axisRect(), themeOf(*this), m_drawn);
}

void NeuronHistogram::setValues(const Figure& figure, std::span<const double> values) {
    m_values.assign(values.begin(), values.end());
    m_drawn.edges = figure.edges;
    const std::vector<double>& edges = m_drawn.edges;
    m_bins.assign(values.size(), edges.size());
    for (std::size_t i = 0; i < values.size() && !edges.empty(); ++i) {
        if (!(values[i] >= edges.front() && values[i] <= edges.back()))
            continue;
        const auto above = static_cast<std::size_t>(std::ranges::upper_bound(edges, values[i]) - edges.begin());
        m_bins[i] = std::min(above, edges.size() - 1) - 1; // the last holds the greatest value too
    }
    count({});
    setFigure(figure);
}

void NeuronHistogram::count(const std::vector<NeuronState>& states) {
    const std::size_t bins = m_drawn.edges.empty() ? 0 : m_drawn.edges.size() - 1;
    m_drawn.cut.assign(bins, 0);
    m_drawn.preview.assign(bins, 0);
    for (std::size_t i = 0; i < std::min(states.size(), m_bins.size()); ++i) {
        if (m_bins[i] >= bins || states[i] == NeuronState::kept)
            continue;
        ++(states[i] == NeuronState::cut ? m_drawn.cut : m_drawn.preview)[m_bins[i]];
    }
}

void NeuronHistogram::setStates(const std::vector<NeuronState>& states) {
    count(states);
    replotOverlay();
}

void NeuronHistogram::setSelected(const std::vector<double>& values) {
    m_drawn.selected.clear();
    std::ranges::copy_if(values, std::back_inserter(m_drawn.selected), [](double v) { return std::isfinite(v); });
    replotOverlay();
}

void NeuronHistogram::setThreshold(std::optional<double> bound, PruneFirst end) {
    m_drawn.bound = bound;
    m_drawn.end = end;
    setCursor(end == PruneFirst::neither ? Qt::ArrowCursor : Qt::SplitHCursor);
    setToolTip(end == PruneFirst::low    ? tr("Drag to cut the neurons below a threshold")
               : end == PruneFirst::high ? tr("Drag to cut the neurons above a threshold")
                                         : tr("This metric does not say which neurons to cut first"));
    replotOverlay();
}

void NeuronHistogram::replotOverlay() {
    if (m_overlay && isVisible())
        plot()->layer("overlay")->replot();
}

QPoint NeuronHistogram::position(double value) const {
    return {static_cast<int>(std::lround(m_overlay->axis()->coordToPixel(value))), m_overlay->pixels().center().y()};
}

void NeuronHistogram::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && m_overlay && m_drawn.end != PruneFirst::neither)
        m_pressed = event->pos();
    else
        event->ignore();
}

void NeuronHistogram::mouseMoveEvent(QMouseEvent* event) {
    if (!m_pressed)
        return;
    const QPoint point = event->pos();
    m_dragging = m_dragging || std::abs(point.x() - m_pressed->x()) >= QApplication::startDragDistance();
    if (!m_dragging)
        return; // a mere click cuts nothing
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const QRect rect = m_overlay->pixels();
    emit dragged(point.x() <= rect.left()    ? -infinite
                 : point.x() >= rect.right() ? infinite
                                             : m_overlay->axis()->pixelToCoord(point.x()));
}

void NeuronHistogram::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton)
        return;
    m_pressed.reset();
    if (std::exchange(m_dragging, false))
        emit released();
}

void NeuronHistogram::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Escape:
        m_pressed.reset();
        m_dragging = false;
        emit givenUp();
        break;
    case Qt::Key_Left:
        emit stepped(-1);
        break;
    case Qt::Key_Right:
        emit stepped(1);
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        emit enterPressed();
        break;
    default:
        FigureWidget::keyPressEvent(event);
    }
}

} // namespace secateur
