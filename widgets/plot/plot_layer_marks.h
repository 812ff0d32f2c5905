#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/plot/plot_drawing.h"

#include <QBrush>
#include <QString>

#include <array>
#include <vector>

class QCPAxis;
class QPainter;
class QRectF;

namespace secateur {

/// Whether a unit is dropped. `real`: by the mask and its preview, or there is no preview; `preview`: by only one of
/// them.
enum class Cut { none, preview, real };

/// The cuts of one layer, as they are marked in a figure over the layers.
struct LayerMark {
    Cut attention = Cut::none; ///< whether attention is dropped
    Cut mlp = Cut::none;
    Cut block = Cut::none;
    Cut bypass = Cut::none;
    double alpha = 1;        ///< of the bypass
    double heads = 0;        ///< share of heads that are cut one by one, from 0 to 1
    double headsPreview = 0; ///< the same in the preview
    double neurons = 0;
    double neuronsPreview = 0;
    bool operator==(const LayerMark&) const = default;
};

/// One mark for each layer. @param preview null = none @param attention whether cuts of attention are included
std::vector<LayerMark> layerMarks(const PruningMask& mask, const PruningMask* preview, bool attention);

/// Share of the units that are cut, from 0 to 1.
double shareCut(const std::vector<bool>& kept);

/// What the legend of the marks explains, in its order.
enum class MarkEntry { attention, mlp, block, bypass, heads, neurons, preview };
inline constexpr std::array allMarkEntries{MarkEntry::attention, MarkEntry::mlp,   MarkEntry::block,
                                           MarkEntry::bypass,    MarkEntry::heads, MarkEntry::neurons,
                                           MarkEntry::preview};

/// The entries for the marks of these layers.
std::vector<MarkEntry> entriesOf(const std::vector<LayerMark>& layers);
/// "attention dropped"
QString markText(MarkEntry entry);
/// Draws the sample of an entry.
void drawSample(QPainter& painter, const QRectF& box, MarkEntry entry, const PlotTheme& theme);

/// Direction of hatching: `up`, from the lower left, for attention; `down`, from the upper left, for an MLP.
enum class Slant { up, down, both };

/// A brush of thin lines, transparent between them, which continue from one box to the next.
/// @param period distance between lines, in units of the theme
QBrush slantBrush(Slant slant, Cut cut, double period, const PlotTheme& theme, double pixelRatio);

/// The pixels of a layer's column: from half a step before it to half a step after it, as high as the axis rect.
/// @param width of the column, as a share of the step
QRect layerColumn(const QCPAxis& layers, int layer, double width = 1);

/// Marks cuts in a figure over the layers: hatched bands behind the lines for units that are dropped as a whole, and
/// below them a strip of bars for the shares of heads (left) and neurons (right) that are cut one by one.
class LayerMarks : public PlotDrawing {
public:
    LayerMarks(QCPAxis* axis, const PlotTheme& theme);

    void setLayers(const std::vector<LayerMark>& layers);

protected:
    QRect clipRect() const override;
    void draw(QCPPainter& painter) override;

private:
    void tint(QCPPainter& painter, const QRect& box, Cut cut) const;
    void hatch(QCPPainter& painter, const QRect& box, Slant slant, Cut cut, double period) const;
    void drawBands(QCPPainter& painter, int layer, const LayerMark& mark) const;
    void drawAlpha(QCPPainter& painter, const QRect& band, const LayerMark& mark) const;
    void drawBars(QCPPainter& painter, int layer, const LayerMark& mark) const;
    void drawBar(QCPPainter& painter, const QRect& room, Slant slant, double share, double previewed) const;

    QCPAxis* m_axis;
    std::vector<LayerMark> m_layers;
};

/// Adds marks to a figure over the layers, and an entry for each kind of mark to its legend. The plot owns them.
void addLayerMarks(QCPAxis& layers, QCPAxis& values, const std::vector<LayerMark>& marks, const PlotTheme& theme);

} // namespace secateur
