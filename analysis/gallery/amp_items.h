#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/gallery/paper_points.h"
#include "analysis/session/session.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace secateur::amp_paper {

// The figures and tables of the AMP paper. Each is drawn from the curves of a session.
// @throws Error if the session lacks all that the figure shows; UsageError for options

/// Perplexity against the share of removed parameters, with and without recovery training.
Figure perplexityCurve(const Session& session, const FigureOptions& options);
/// Task scores at two ratios, with those of other methods that the paper prints.
Figure methodsTable(const Session& session, const FigureOptions& options);
/// Task scores of the standard, the random and the reversed order.
Figure ordersTable(const Session& session, const FigureOptions& options);
/// Task scores without heads, without neurons, and without both.
Figure componentsTable(const Session& session, const FigureOptions& options);
/// Seconds of generation, dense and pruned.
Figure speedTable(const Session& session, const FigureOptions& options);
/// Mean task score by the number of epochs of recovery training.
Figure epochsTable(const Session& session, const FigureOptions& options);
/// Seconds of scoring and of choosing masks.
Figure costTable(const Session& session, const FigureOptions& options);

/// Layers of the paper's model. A ratio of the paper is the parameters of k of them.
inline constexpr int paperLayers = 32;
inline constexpr std::array ratios{3, 7, 10}; ///< tables: 9.01, 21.02 and 30.03 %
inline constexpr int halfRatio = 17;          ///< last point of figure 1: 51.06 %
inline constexpr int speedRatio = 7;
inline constexpr int componentRatio = 10;
inline constexpr std::array epochRatios{7, 10}; ///< at which numbers of epochs are compared
inline constexpr std::array epochCounts{1, 2, 3, 4};
inline constexpr int usualEpochs = 2; ///< of the paper's recipe

// Result ids of the strategies.
inline constexpr std::string_view standard = "amp";
inline constexpr std::string_view reversedOrder = "amp:order=reversed";
inline constexpr std::string_view randomOrder = "amp:order=random";
inline constexpr std::string_view neuronsOnly = "amp:components=mlp";
inline constexpr std::string_view headsOnly = "amp:components=heads";

/// The ratio k of the paper for a model with another number of layers: always in proportion, at least 1.
int adaptedRatio(int ratio, int layers);
/// "21.02 %"; a dash for NaN.
std::string ratioText(double share);
/// The points of a strategy at a ratio that is adapted already.
TablePoints pointsAt(std::string_view strategy, int ratio, bool isRecovered = false);
/// The tasks of the paper, in per cent, and their mean.
std::vector<PointColumn> ampColumns();

} // namespace secateur::amp_paper
