#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/gallery/paper_points.h"
#include "analysis/model/model_spec.h"
#include "analysis/session/session.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur::harp {

// The figures and tables of the HARP paper. Each is drawn from a session.
// @throws Error if the session lacks all that the figure shows; UsageError for options

/// Similarity and spread of the tokens' states, by layer.
Figure tokenStates(const Session& session, const FigureOptions& options);
/// Perplexity over layer and alpha, with the chosen alphas framed.
Figure alphaMap(const Session& session, const FigureOptions& options);
/// Task scores of HARP and of one-shot baselines.
Figure resultsTable(const Session& session, const FigureOptions& options);
/// F1 on tasks with long texts.
Figure longTextTable(const Session& session, const FigureOptions& options);
/// Task scores by the place of the bypassed layers.
Figure positionsTable(const Session& session, const FigureOptions& options);
/// Task scores against the number of bypassed layers.
Figure layersCurve(const Session& session, const FigureOptions& options);
/// Generated answers with searched alphas and with an alpha of 1.
Figure rescalingTable(const Session& session, const FigureOptions& options);
/// Seconds of a pass over a prompt, dense and bypassed.
Figure speedTable(const Session& session, const FigureOptions& options);

inline constexpr std::string_view paperId = "harp";

/// Result ids of the strategies. Those with alpha 1 rescale nothing.
inline constexpr std::string_view top = "harp";
inline constexpr std::string_view middle = "harp:position=middle";
inline constexpr std::string_view bottom = "harp:position=bottom";
inline constexpr std::string_view similar = "harp:metric=token_similarity:position=by_metric";
inline constexpr std::string_view topUnscaled = "harp:alpha=fixed:value=1";
inline constexpr std::string_view middleUnscaled = "harp:alpha=fixed:position=middle:value=1";
inline constexpr std::string_view bottomUnscaled = "harp:alpha=fixed:position=bottom:value=1";
inline constexpr std::string_view similarUnscaled =
    "harp:alpha=fixed:metric=token_similarity:position=by_metric:value=1";
inline constexpr std::string_view topWithFlap = "harp:mlp=flap";

/// A task of the paper.
struct Task {
    std::string_view title;  ///< as the paper names it
    std::string_view file;   ///< usual name
    std::string_view format; ///< id of a task format that this task alone has; empty = several have it
    std::string_view metric; ///< TaskMetric::id
    int shots = 0;           ///< of the paper; generated answers have theirs in the prompts
};
std::vector<Task> choiceTasks();
std::vector<Task> generationTasks();
std::vector<Task> longTextTasks();

/// Columns in per cent. @param group title above them
std::vector<PointColumn> columnsOf(const std::vector<Task>& tasks, std::string group);

/// The number of layers that the paper bypasses in a model: 8 of 32, 4 of 28 and 6 of 42 in its models; a quarter in
/// others.
int paperLayers(const ModelSpec& spec);
/// The number of layers that the quick recipe bypasses: an eighth.
int quickLayers(const ModelSpec& spec);
/// The number of bypassed layers that tables show: the one that most of HARP's variants have in the session's curves; of
/// equal ones that of the paper, then that of the quick recipe, then the largest. That of the paper if there are no
/// curves.
int heldLayers(const Session& session);

/// The budget of a one-shot baseline: the share of the units that the session's curves have, 12.5 % if there are none.
Budget baselineBudget(const Session& session, std::string_view strategy);

} // namespace secateur::harp
