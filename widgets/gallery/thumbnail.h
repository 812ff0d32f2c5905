#pragma once

#include "analysis/figures/figure.h"

#include <QPixmap>
#include <QSize>

class QWidget;

namespace secateur {

/// A small picture of a figure in the colours of a widget, without the figure's title, in smaller text. Paints on the
/// GUI thread. @param size of the picture in the widget
QPixmap thumbnailOf(const Figure& figure, const QSize& size, const QWidget& widget);

} // namespace secateur
