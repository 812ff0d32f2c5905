#include "widgets/gallery/thumbnail.h"

#include "widgets/plot/figure_painter.h"
#include "widgets/plot/plot_axes.h"

#include <QFontInfo>
#include <QWidget>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr double textShare = 0.72; ///< size of the text relative to that of the widget
constexpr int leastText = 7;       ///< pixels at 100 % scaling

PlotTheme smallTheme(const QWidget& widget) {
    PlotTheme theme = themeOf(widget);
    const double ratio = widget.devicePixelRatioF();
    const double text = std::max<double>(leastText, textShare * QFontInfo(widget.font()).pixelSize());
    theme.font.setPixelSize(static_cast<int>(std::lround(text * ratio)));
    theme.unit = textShare * ratio;
    return theme;
}

} // namespace

QPixmap thumbnailOf(const Figure& figure, const QSize& size, const QWidget& widget) {
    const QSize pixels = size * widget.devicePixelRatioF();
    const PlotTheme theme = smallTheme(widget);
    QPixmap picture(pixels);
    picture.fill(theme.background);
    Figure shown = figure;
    shown.title.clear();
    QCustomPlot plot;
    plot.setViewport({QPoint(), pixels});
    paintFigure(plot, shown, theme);
    layOut(plot);
    QCPPainter painter;
    if (painter.begin(&picture)) {
        plot.toPainter(&painter, pixels.width(), pixels.height());
        painter.end();
    }
    picture.setDevicePixelRatio(widget.devicePixelRatioF());
    return picture;
}

} // namespace secateur
