#include "widgets/plot/plot_lasso.h"

#include "widgets/plot/plot_theme.h"

#include <QPainter>

namespace secateur {

void drawLasso(QPainter& painter, const QPolygonF& outline, const PlotTheme& theme) {
    painter.setRenderHint(QPainter::Antialiasing);
    QColor inside = theme.accent;
    inside.setAlphaF(0.15F);
    painter.setBrush(inside);
    painter.setPen(theme.pen(theme.accent, 1.5));
    painter.drawPolygon(outline);
}

} // namespace secateur
