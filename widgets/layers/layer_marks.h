#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/plot/plot_drawing.h"

#include <QBrush>
#include <QString>
#include <QWidget>

#include <vector>

class QLabel;
class QPainter;

namespace secateur {

class MaskEditor;

/// Whether a unit is dropped. `real`: the mask drops it, and so does the preview if there is one. `preview`: only one
/// of the mask and the preview drops it.
enum class Cut { none, preview, real };

/// The cuts of one layer, for the marks in a figure over the layers.
struct LayerMark {
    Cut attention = Cut::none; ///< whether attention is dropped
    Cut mlp = Cut::none;
    Cut block = Cut::none;
    Cut bypass = Cut::none;
    double alpha = 1;        ///< factor of the attention's output under bypassQk
    double heads = 0;        ///< share of heads that are cut one by one, from 0 to 1
    double headsPreview = 0; ///< the same share in the preview
    double neurons = 0;
    double neuronsPreview = 0;
    bool operator==(const LayerMark&) const = default;
};

/// The marks of all layers for the current mask and its preview. @param attention whether cuts of attention are
/// included
std::vector<LayerMark> layerMarks(const MaskEditor& masks, bool attention);

/// The cuts of a layer as text: "attention dropped · 120 of 1,536 neurons cut (7.8 %)". Empty if nothing is cut or
/// there is no such layer.
QString cutSummary(const PruningMask& mask, int index);

/// Direction of hatch lines. `up`: from the lower left, for attention. `down`: from the upper left, for an MLP.
enum class Slant { up, down, both };

/// A brush of thin lines on a transparent background. The lines continue from one filled rectangle to the next.
/// @param period distance between lines, in units of the theme
QBrush slantBrush(Slant slant, Cut cut, double period, const PlotTheme& theme, double pixelRatio);

/// The rectangle of a layer in a figure over the layers. It is centred on the layer and as high as the axis rect.
/// @param width width of the rectangle as a share of the distance between layers
QRect layerColumn(const QCPAxis& layers, int layer, double width = 1);

/// Marks cuts in a figure over the layers. Hatched bands behind the lines mark units that are dropped as a whole. A
/// strip of bars below the lines shows the shares of heads (left) and neurons (right) that are cut one by one.
class LayerMarks : public PlotDrawing {
public:
    LayerMarks(QCPAxis* axis, const PlotTheme& theme);

    void setLayers(const std::vector<LayerMark>& layers);

protected:
    QRect clipRect() const override;
    void draw(QCPPainter& painter) override;

private:
    void tint(QPainter& painter, const QRect& box, Cut cut) const;
    void hatch(QPainter& painter, const QRect& box, Slant slant, Cut cut, double period) const;
    void drawBands(QPainter& painter, int layer, const LayerMark& mark) const;
    void drawAlpha(QPainter& painter, const QRect& band, const LayerMark& mark) const;
    void drawBars(QPainter& painter, int layer, const LayerMark& mark) const;
    void drawBar(QPainter& painter, const QRect& room, Slant slant, double share, double previewed) const;

    QCPAxis* m_axis;
    std::vector<LayerMark> m_layers;
};

/// A legend in one line for the hatching and bars of a figure over the layers. Hidden while nothing is cut.
class LayerMarksLegend : public QWidget {
    Q_OBJECT

public:
    explicit LayerMarksLegend(QWidget* parent = nullptr);

    void setLayers(const std::vector<LayerMark>& layers);
    /// The entries that are shown, as text: "attention dropped · neurons cut".
    QString text() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Entry {
        QLabel* picture;
        QLabel* text;
    };
    void draw();

    std::vector<Entry> m_entries;
};

} // namespace secateur
