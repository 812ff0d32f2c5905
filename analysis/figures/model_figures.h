#pragma once

#include "analysis/base/head_id.h"
#include "analysis/figures/figure.h"
#include "analysis/strategies/gradient_change.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

// Figures of what a run of the model gave; the window and `plot` draw them alike.

/// A square map at every power of two down to a single cell. A cell of a level is the maximum of the four below it, so
/// that a map of thousands of cells is drawn from about as many cells as there are pixels, and thin lines stay visible.
class MapPyramid {
public:
    struct Level {
        int side = 0;
        int cells = 1;             ///< cells of the map along the edge of one cell of this level
        std::vector<float> values; ///< [side, side]

        float at(int row, int column) const {
            return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(side) +
                          static_cast<std::size_t>(column)];
        }
    };

    /// @param values [side, side]
    MapPyramid(std::vector<float> values, int side);

    int side() const { return m_levels.front().side; }
    float at(int row, int column) const { return m_levels.front().at(row, column); }
    /// The coarsest level whose cells stand for at most `cells` cells of the map along an edge.
    const Level& level(double cells) const;
    /// At most about `most` of the map's positive values, evenly spread.
    std::vector<double> sample(std::size_t most) const;

private:
    std::vector<Level> m_levels; ///< the map first
};

/// What the figure "attention" is asked for.
struct AttentionRequest {
    HeadId head;
    ColourScale scale;
};
/// "attention:layer=3:head=1:colours=viridis:log=false:clip=1"
std::string figureText(const AttentionRequest& request);

inline constexpr int attentionSide = 256; ///< maximum number of cells along an edge of the figure
/// Attention probabilities of one head over a text. A longer text has several tokens in a cell, which shows their
/// maximum. @param labels of the tokens; they name rows and columns where each token has a cell
Figure attentionFigure(const std::string& modelName, HeadId head, const MapPyramid& map,
                       const std::vector<std::string>& labels, const ColourScale& scale);

/// What the figure "gradient_change" is asked for.
struct GradientFigureRequest {
    std::optional<int> layer;
    std::optional<HeadId> cut; ///< in addition to the cuts of --mask; none = the mask itself is the cut
    std::string scalarisation = "auto";
    ColourScale scale;
};
/// "gradient_change:cut=9.7:layer=9"
std::string figureText(const GradientFigureRequest& request);

/// How a cut changes the gradients of W_q in one layer, or in all of them, one below another.
/// @param layer one of the model's; none = all @param cut what was cut, in words: "L9.H7"
Figure gradientChangeFigure(const ModelCard& model, const GradientChange& change, std::optional<int> layer,
                            const std::string& cut, const ColourScale& scale);

} // namespace secateur
