#pragma once

class QCustomPlot;

namespace secateur {

/// Computes the layout of a plot with a figure (see layOut()), with room for tick labels that reach beyond an end of
/// their axis, and with axis labels broken by the length of the axis.
void layOutFigure(QCustomPlot& plot);

} // namespace secateur
