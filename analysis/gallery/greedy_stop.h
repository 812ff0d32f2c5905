#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/gallery/paper_curves.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/session/session.h"

#include <optional>
#include <string>

namespace secateur {

/// The mask at which Greedy-Gnorm stops.
struct GreedyStopped {
    PruningMask mask;
    int cut = 0;                       ///< number of cut heads; heads of layers that share their weights count once
    int heads = 0;                     ///< number of all heads, counted in the same way
    std::string rule;                  ///< "knee of the loss (nats per token)", "as in the paper": for captions
    const CurvePoint* point = nullptr; ///< the point of the curves with this mask; null if there is none
    const Curves* curves = nullptr;    ///< the set of the point; null if the session has no curves of gnorm_greedy
};

inline constexpr OptionInfo greedyStopOption{
    "stop", "text", "auto",
    "number of heads to cut, or knee: the point farthest below the line from the dense model to the last point, in "
    "quality against heads; auto is the paper's number for its models, and otherwise knee"};
/// @throws UsageError
void checkGreedyStop(const FigureOptions& options);

/// The mask at which gnorm_greedy stops by the options `stop`, `set` and `task`. The knee is that of the curve's
/// points; without curves, that of the steps of a mask of gnorm_greedy. A number of heads without a point is cut in the
/// recorded order.
/// @throws Error if the session has no mask of gnorm_greedy, or none that cuts so many heads
GreedyStopped greedyStopped(const Session& session, const FigureOptions& options);

/// Number of heads that the paper cuts of this model; empty if it is none of the paper's models.
std::optional<int> greedyPaperCut(const ModelCard& model);

/// Number of heads of a mask that are cut; heads of layers that share their weights count once.
int cutHeadsOf(const ModelSpec& spec, const PruningMask& mask);
/// Number of all heads, counted in the same way.
int allHeadsOf(const ModelSpec& spec);

} // namespace secateur
