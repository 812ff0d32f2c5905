#pragma once

#include "widgets/report/page_flow.h"

#include <QColor>
#include <QFont>
#include <QString>
#include <QStringList>

#include <vector>

namespace secateur {

/// Millimetres as units of 1/300 inch.
double paperUnits(double millimetres);
/// The font of pictures in another size.
QFont reportFont(double points, bool isBold = false);
/// A font for commands, whose letters have equal widths.
QFont commandFont(double points);

/// How a paragraph is set.
struct TextLook {
    QFont font;
    double width = 0;
    double spaceAbove = 0;      ///< above the first line
    double hangingIndent = 0;   ///< of the lines after the first
    qsizetype boldLetters = 0;  ///< number of letters at the beginning that are bold
    bool staysWhole = false;    ///< whether all lines are on one page
    bool staysWithNext = false; ///< whether the last line is on the page of the next box
    QColor colour = Qt::black;
};

/// The lines of a paragraph. The first two and the last two are on one page.
std::vector<PageBox> textBoxes(const QString& text, const TextLook& look);

/// The lines of a text in a column.
QStringList wrappedLines(const QString& text, const QFont& font, double width);

/// The height of boxes below each other.
double heightOf(const std::vector<PageBox>& boxes);
/// One box that draws boxes below each other.
PageBox joined(std::vector<PageBox> boxes);

} // namespace secateur
