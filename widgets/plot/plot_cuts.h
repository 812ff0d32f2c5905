#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/plot/plot_drawing.h"

#include <QBrush>

#include <array>
#include <vector>

class QPainter;
class QRectF;

namespace secateur {

/// The hatching of a cell: lines from the lower left for a cut of the current mask, from the upper left for a cut of
/// the compared mask.
enum class Hatch { none, cut, preview, onlyThere, both };

/// One layer's cuts as the grid shows them.
struct LayerCuts {
    std::vector<Hatch> cells; ///< [heads]
    std::vector<bool> locked; ///< [heads] whether the head itself is protected
    AttentionCut attention = AttentionCut::keep;
    double alpha = 1; ///< of bypassQk
    bool mlp = true;  ///< true = kept
    bool block = true;
    bool hasMlp = false; ///< whether the layer has an MLP
    bool isProtected = false;
};

/// The cuts of a mask.
std::vector<LayerCuts> cutsOf(const PruningMask& mask);

/// A brush for hatching: dark lines beside light ones, which are visible on all colours of a map; the map shows between
/// them.
/// @param cell the shorter side of the hatched cell, in units of the theme
QBrush hatchBrush(Hatch hatch, double cell, const PlotTheme& theme, double pixelRatio);

/// Draws the mark of a protected unit: a lock, or a dot if there is no room for one.
void drawLock(QPainter& painter, const QRectF& box, const PlotTheme& theme);

/// Draws cuts over the cells of a heat map of heads. It is on the overlay, so that dragging redraws only the overlay.
/// In vector graphics the hatching consists of lines, for not all formats can fill with a pattern.
class HeadsCuts : public CellsDrawing {
public:
    using CellsDrawing::CellsDrawing;

    void setLayers(const std::vector<LayerCuts>& layers) { m_layers = layers; }

protected:
    void draw(QCPPainter& painter) override;

private:
    const LayerCuts& at(int layer) const { return m_layers[static_cast<std::size_t>(layer)]; }
    int heads(int layer) const { return static_cast<int>(at(layer).cells.size()); }
    void makeBrushes(double cell);
    void drawHatches(QCPPainter& painter, int layer) const;
    void drawLines(QCPPainter& painter, const QRect& box, Hatch hatch) const;
    void drawSublayer(QCPPainter& painter, int layer) const;
    void drawLine(QCPPainter& painter, const QRect& band, int down, int width) const;
    QRect drawBypassText(QCPPainter& painter, const QRect& band, double alpha) const;
    void drawLocks(QCPPainter& painter, int layer) const;

    std::vector<LayerCuts> m_layers;
    std::array<QBrush, 5> m_brushes; ///< indexed by Hatch
};

} // namespace secateur
