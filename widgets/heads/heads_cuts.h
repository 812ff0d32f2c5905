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

/// How a cell is hatched: lines from the lower left for a cut of the current mask, from the upper left for one of the
/// compared mask.
enum class Hatch { none, cut, preview, onlyThere, both };

/// One layer's cuts as the grid shows them.
struct LayerCuts {
    std::vector<Hatch> cells; ///< [heads]
    std::vector<bool> locked; ///< [heads] protected one by one
    AttentionCut attention = AttentionCut::keep;
    double alpha = 1; ///< of bypassQk
    bool mlp = true;  ///< true = kept
    bool block = true;
    bool hasMlp = false; ///< false = the model has none in this layer
    bool isProtected = false;
};

/// Cuts of the current mask, with those of its preview, or else of the compared mask.
std::vector<LayerCuts> cutsOf(const MaskEditor& masks);

/// Dark lines beside light ones, visible on every colour of a map, with the data between them.
/// @param cell the shorter side of the hatched cell, in units of the theme
QBrush hatchBrush(Hatch hatch, double cell, const PlotTheme& theme, double pixelRatio);

/// The mark of a protected unit: a lock, or a dot where there is no room for it.
void drawLock(QPainter& painter, const QRectF& box, const PlotTheme& theme);

/// The cuts over the cells of the heads' grid. On the overlay, so that they follow a drag without the rest.
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
    std::array<QBrush, 5> m_brushes; ///< by Hatch
};

/// One line under a heat map of heads that compares two masks: the hatch of each.
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
