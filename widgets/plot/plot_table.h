#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <QLine>
#include <QRect>
#include <QSize>
#include <QString>

#include <vector>

namespace secateur {

struct PlotPlace;

/// A line of text in a table, in pixels from the upper left corner.
struct TableText {
    QRect box;
    Qt::Alignment alignment;
    QString text;
    bool isBold = false;
    bool isGrey = false; ///< of a published row
};

struct TableRule {
    QLine line;
    double width = 1; ///< in units of the theme
};

/// A table laid out for a width. Texts are broken between words. Columns that do not fit beside each other follow in
/// blocks below, each with the leading columns of text.
struct TableLayout {
    std::vector<TableText> texts;
    std::vector<TableRule> rules;
    QSize size;
};
TableLayout layOutTable(const FigureTable& table, int width, const PlotTheme& theme);

/// Draws a table.
void paintTable(const PlotPlace& place, const FigureTable& table);

} // namespace secateur
