#include "widgets/plot/figure_widget.h"

#include "widgets/plot/figure_painter.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_theme.h"

#include <QEvent>
#include <QResizeEvent>

#include <qcustomplot.h>

namespace secateur {

FigureWidget::FigureWidget(QWidget* parent)
    : QWidget(parent)
    , m_plot(addPlot(this)) {
    setMinimumSize(240, 120);
}

void FigureWidget::setFigure(const Figure& figure) {
    m_figure = figure;
    paint();
}

void FigureWidget::paint() {
    paintFigure(*m_plot, m_figure, themeOf(*this));
    layOut(*m_plot);
    painted();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void FigureWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        paint();
    QWidget::changeEvent(event);
}

void FigureWidget::resizeEvent(QResizeEvent* event) {
    m_plot->setGeometry({QPoint(), event->size()});
    m_plot->setViewport({QPoint(), event->size()});
    paint(); // legend and axis labels break lines by the room there is
}

} // namespace secateur
