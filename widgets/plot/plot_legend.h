#pragma once

#include "widgets/plot/plot_axes.h"

#include <QString>

class QCPAxis;
class QCPLayoutGrid;

namespace secateur {

/// The labels of value axes that are longer than the axes of a low plot. They stand in the row of the legend.
struct LowLabels {
    QString left;
    QString right;

    bool isEmpty() const { return left.isEmpty() && right.isEmpty(); }
};

/// Takes the label from an axis if it is longer than the axis is in a plot with a row for the legend. Call it when the
/// plot has its title and the axis its label. @param axis may be null @returns the label; empty if it fits
QString takeLowLabel(QCPAxis* axis, const PlotTheme& theme);

/// Fills the row above the axes, where a legend does not cover data: the legend of all named plottables, and the labels
/// at the ends. @param row an empty row in the layout of the plot
void addLegendRow(QCPLayoutGrid& row, const LowLabels& labels, bool hasLegend, const PlotTheme& theme);

} // namespace secateur
