#pragma once

#include "analysis/base/head_id.h"
#include "analysis/figures/figure.h"
#include "analysis/running/attention_reader.h"
#include "analysis/strategies/gradient_change.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

// Figures that are made from runs of the model. The window and `plot` draw the same figures.

/// A square map at several resolutions: the finest resolution, then half of the previous one each time, down to a
/// single cell. A cell of a coarser level is the maximum of four cells of the finer level, so that thin lines stay
/// visible. Large maps are drawn from the level that has about as many cells as pixels.
class MapPyramid {
public:
    struct Level {
        int side = 0;
        int cells = 1;             ///< number of cells of the map, along an edge, that one cell of this level covers
        std::vector<float> values; ///< [side, side]

        float at(int row, int column) const {
            return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(side) +
                          static_cast<std::size_t>(column)];
        }
    };

    /// @param values [side, side]
    MapPyramid(std::vector<float> values, int side);
    explicit MapPyramid(AttentionMap map);

    int side() const { return m_side; }
    /// Number of cells of the map, along an edge, that one cell of the finest level covers; 1 = full resolution.
    int cells() const { return m_levels.front().cells; }
    /// The value of a cell of the map; with cells() above 1, the maximum over the cell of the finest level around it.
    float at(int row, int column) const { return m_levels.front().at(row / cells(), column / cells()); }
    /// The coarsest level whose cells cover at most `cells` cells of the map along an edge; else the finest level.
    const Level& level(double cells) const;
    /// Positive values of the finest level, evenly spread over it. All of them if there are fewer than `most`;
    /// otherwise between `most` and twice as many.
    std::vector<double> sample(std::size_t most) const;

private:
    void addCoarserLevels();

    int m_side;                  ///< number of cells of the map along an edge
    std::vector<Level> m_levels; ///< the finest first
};

/// Options of the figure "attention".
struct AttentionRequest {
    HeadId head;
    ColourScale scale;
};
/// "attention:layer=3:head=1:colours=viridis:scale=linear:clip=1"
std::string figureText(const AttentionRequest& request);

inline constexpr int attentionSide = 256; ///< maximum number of cells along an edge of the figure
/// Attention probabilities of one head over a text. If the text has more than attentionSide tokens, each cell is the
/// maximum over several tokens. @param labels texts of the tokens, which name rows and columns if each token has its
/// own cell
Figure attentionFigure(const std::string& modelName, HeadId head, const MapPyramid& map,
                       const std::vector<std::string>& labels, const ColourScale& scale);

/// Options of the figure "gradient_change".
struct GradientFigureRequest {
    std::optional<int> layer;
    std::optional<HeadId> cut; ///< cut in addition to --mask; empty = compare the mask with the dense model
    std::string scalarisation = "auto";
    ColourScale scale;
};
/// The request as text: "gradient_change:cut=9.7:layer=9".
std::string figureText(const GradientFigureRequest& request);

/// The change of the gradients of W_q by a cut, in one layer or, one below another, in all layers.
/// @param layer empty = all layers @param cut name of the cut for the title: "L9.H7"
Figure gradientChangeFigure(const ModelCard& model, const GradientChange& change, std::optional<int> layer,
                            const std::string& cut, const ColourScale& scale);

} // namespace secateur
