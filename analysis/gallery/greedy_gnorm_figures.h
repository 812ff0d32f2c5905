#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/gallery/greedy_stop.h"
#include "analysis/gallery/paper_curves.h"
#include "analysis/gallery/published.h"

#include <array>
#include <string_view>

namespace secateur {

// The figures and tables of Greedy-Gnorm. Their rows are in greedy_gnorm_items.cpp.

inline constexpr std::array greedyGradientOptions{
    OptionInfo{"cuts", "text", "0.0/1.1", "heads to cut, one for each map: LAYER.HEAD, separated by '/'"},
    OptionInfo{"layer", "integer", "1", "layer whose gradients are shown"},
    OptionInfo{"scalarisation", "text", "auto", "scalar to differentiate, as for the metric gnorm"},
};
inline constexpr std::array greedyCurveOptions{paperTaskOption, paperSetOption};
inline constexpr std::array greedyMaskOptions{greedyStopOption, paperTaskOption, paperSetOption};
inline constexpr std::array greedyTableOptions{greedyStopOption, publishedOption, paperTaskOption, paperSetOption};

/// @throws UsageError
void checkGreedyGradients(const FigureOptions& options);

/// Figure 2: the change of the gradients of W_q in one layer by the cut of a head, a map for each cut, on the first
/// sequence of the text. The row of a head that is itself cut has a frame: its gradient becomes 0.
Figure drawGreedyGradients(const TextInputs& inputs, const FigureOptions& options);
/// Figure 3: quality against the number of cut heads, for both ends of two rankings.
Figure drawGreedyCurves(const Session& session, const FigureOptions& options);
/// Figure 4: gnorm_greedy and box plots of random masks, against the share of cut heads.
Figure drawGreedyBoxes(const Session& session, const FigureOptions& options);
/// Figure 5: the heads that are kept where gnorm_greedy stops.
Figure drawGreedyMask(const Session& session, const FigureOptions& options);
/// Table 1: quality and size before and after.
Figure drawGreedySizes(const Session& session, const FigureOptions& options);
/// Tables 2 to 5: parameters of the modules before and after. @param item figure id, for the published numbers
Figure drawGreedyModules(const Session& session, const FigureOptions& options, std::string_view item);

} // namespace secateur
