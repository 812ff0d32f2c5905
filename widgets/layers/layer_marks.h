#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/plot/plot_theme.h"

#include <QBrush>
#include <QString>

#include <vector>

class QCPAxis;

namespace secateur {

class MaskEditor;

/// How much of a cut there is: only in the preview, or in the mask too.
enum class Cut { none, preview, real };

/// What a picture over the layers shows of one layer's cuts.
struct LayerMark {
    Cut attention = Cut::none; ///< dropped; of a dropped block, the block alone is marked
    Cut mlp = Cut::none;
    Cut block = Cut::none;
    Cut bypass = Cut::none;
    double alpha = 1;        ///< of the bypass
    double heads = 0;        ///< share cut one by one, 0 to 1
    double headsPreview = 0; ///< the same, by the preview
    double neurons = 0;
    double neuronsPreview = 0;
    bool operator==(const LayerMark&) const = default;
};

/// One for each layer of the current mask. @param attention false = leaves out what is cut of attention
std::vector<LayerMark> layerMarks(const MaskEditor& masks, bool attention);

/// "attention dropped · 120 of 1,536 neurons cut (7.8 %)"; empty where nothing is cut, or where there
/// is no such layer.
QString cutSummary(const PruningMask& mask, int index);

/// Which way hatching goes: attention's lines come from the lower left, an MLP's from the upper left.
enum class Slant { up, down, both };

/// Thin lines with nothing between them, which go on in the box beside.
/// @param period between lines, in units of the theme
QBrush slantBrush(Slant slant, Cut cut, double period, const PlotTheme& theme, double pixelRatio);

/// Hatched bands behind the lines of a picture for parts that are cut as a whole, and below it a strip of bars for the
/// shares of heads (left) and neurons (right) that are cut one by one. A handle: the drawing belongs to the plot.
class LayerMarks {
public:
    LayerMarks(QCPAxis* layers, const PlotTheme& theme);

    void setLayers(const std::vector<LayerMark>& layers);

private:
    class Drawing;
    Drawing* m_drawing;
};

} // namespace secateur
