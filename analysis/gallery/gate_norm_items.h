#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/gallery/paper.h"
#include "analysis/session/session.h"

#include <array>
#include <vector>

namespace secateur::gate_norm {

// The figures and tables of the Gate-Norm paper. Each is drawn from a session.
// @throws Error if the session lacks all that the figure shows; UsageError for options

/// Seconds of attention and MLP against the length of the text.
Figure sublayerTimes(const Session& session, const FigureOptions& options);
/// The norm of the attention update relative to the layer's input, by layer.
Figure attentionRatio(const Session& session, const FigureOptions& options);
/// Perplexity against the number of removed attention sublayers. A reference session has a column of its own.
Figure perplexityCurves(const Session& session, const FigureOptions& options);
/// The layers that gate-norm and attention importance remove.
Figure removedLayers(const Session& session, const FigureOptions& options);
/// Perplexity by strategy and budget.
Figure perplexityTable(const Session& session, const FigureOptions& options);
/// Task scores and speed-up by strategy and budget.
Figure taskTable(const Session& session, const FigureOptions& options);
/// Perplexity before and after recovery training.
Figure recoveryTable(const Session& session, const FigureOptions& options);
/// Seconds of scoring.
Figure scoringSeconds(const Session& session, const FigureOptions& options);

/// Layers of the paper's model, to which its budgets refer.
inline constexpr int paperLayers = 40;
inline constexpr std::array curveBudgets{1, 4, 7, 8, 10, 12, 13, 16, 20, 25}; ///< figure 4
inline constexpr std::array tableBudgets{1, 4, 7, 10, 13};                    ///< table 1
inline constexpr std::array taskBudgets{4, 8, 16};                            ///< table 2
inline constexpr std::array recoveryBudgets{20};                              ///< table 3
inline constexpr int stripBudget = 16;                                        ///< figure 5

} // namespace secateur::gate_norm
