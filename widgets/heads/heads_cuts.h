#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/plot/plot_drawing.h"

#include <QBrush>
#include <QString>
#include <QWidget>

#include <array>
#include <vector>

class QLabel;
class QPainter;
class QRectF;

namespace secateur {

class MaskEditor;

/// The hatching of a cell. Lines from the lower left to the upper right mark a cut of the current mask; lines from the
/// upper left to the lower right mark a cut of the compared mask.
enum class Hatch { none, cut, preview, onlyThere, both };

/// The cuts of one layer that the grid draws.
struct LayerCuts {
    std::vector<Hatch> cells; ///< hatching of each head
    std::vector<bool> locked; ///< for each head, whether the head itself is protected
    AttentionCut attention = AttentionCut::keep;
    double alpha = 1; ///< factor of the sublayer's output under bypassQk
    bool mlp = true;  ///< whether the MLP is kept
    bool block = true;
    bool hasMlp = false; ///< whether the layer has an MLP
    bool isProtected = false;
};

/// The cuts of the current mask together with those of its preview or, without a preview, of the compared mask.
std::vector<LayerCuts> cutsOf(const MaskEditor& masks);

/// A brush for hatching. Dark lines next to light lines are visible on all colours of a map; the map shows between
/// them.
/// @param cell the shorter side of the hatched cell, in units of the theme
QBrush hatchBrush(Hatch hatch, double cell, const PlotTheme& theme, double pixelRatio);

/// Draws the mark of a protected unit: a lock, or a dot if there is no room for one.
void drawLock(QPainter& painter, const QRectF& box, const PlotTheme& theme);

/// Draws cuts over the cells of the heads' grid. It uses the overlay layer, so that dragging redraws only this layer.
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
    void drawSublayer(QCPPainter& painter, int layer) const;
    void drawLine(QCPPainter& painter, const QRect& band, int down, int width) const;
    QRect drawBypassText(QCPPainter& painter, const QRect& band, double alpha) const;
    void drawLocks(QCPPainter& painter, int layer) const;

    std::vector<LayerCuts> m_layers;
    std::array<QBrush, 5> m_brushes; ///< indexed by Hatch
};

/// A legend in one line for the hatchings of a heat map that compares two masks.
class HatchLegend : public QWidget {
    Q_OBJECT

public:
    explicit HatchLegend(QWidget* parent = nullptr);

    void setNames(const QString& here, const QString& there);

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Entry {
        Hatch hatch;
        QLabel* picture;
        QLabel* text;
    };
    Entry addEntry(Hatch hatch);
    void draw();

    Entry m_here;
    Entry m_there;
    Entry m_both;
};

} // namespace secateur
