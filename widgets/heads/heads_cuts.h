#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/plot/plot_theme.h"

#include <QBrush>

#include <vector>

class QCPAxis;
class QPainter;
class QRectF;

namespace secateur {

class MaskEditor;

/// How a cell is hatched. What the current mask cuts has lines from the lower left, what the compared one cuts has
/// lines from the upper left.
enum class Hatch { none, cut, preview, onlyThere, both };

/// What is drawn of one layer's cuts.
struct LayerCuts {
    std::vector<Hatch> cells; ///< [heads]
    std::vector<bool> locked; ///< [heads] protected one by one
    AttentionCut attention = AttentionCut::keep;
    double alpha = 1; ///< of bypassQk
    bool mlp = true;  ///< true = kept
    bool block = true;
    bool hasMlp = false; ///< false = the model has none here
    bool isProtected = false;
};

/// What the current mask cuts, and how its preview or the mask it is compared with differ.
std::vector<LayerCuts> cutsOf(const MaskEditor& masks);

/// Lines dark and light side by side, seen on every colour of a map, with the data between them.
/// @param cell the shorter side of what is hatched, in units of the theme
QBrush hatchBrush(Hatch hatch, double cell, const PlotTheme& theme, double pixelRatio);

/// The mark of what is protected, a dot where there is no room for it.
void drawLock(QPainter& painter, const QRectF& box, const PlotTheme& theme);

/// What is cut, drawn over the cells of the heads' grid; on the plot's overlay layer, so that it follows a drag without
/// the rest. A handle: the drawing belongs to the plot.
class HeadsCuts {
public:
    HeadsCuts(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme);

    void setTheme(const PlotTheme& theme);
    void setLayers(const std::vector<LayerCuts>& layers);

private:
    class Drawing;
    Drawing* m_drawing;
};

} // namespace secateur
