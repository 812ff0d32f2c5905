#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/figures/cut_counts.h"
#include "analysis/figures/figure.h"
#include "analysis/masks/mask_record.h"
#include "analysis/session/session.h"

#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// Options of figures of the masks of curves.
struct CurveMapLook {
    std::vector<std::string> strategies{}; ///< as CurveLook::strategies
    std::optional<CutKind> kind{};         ///< what is counted; absent = commonKind() of the masks
};

/// Where each strategy cuts: a panel for each line of the curves, [layers, budgets], with the share of a layer's units
/// that is cut; the mean over repetitions. Columns are sorted by the share of parameters that they remove.
/// @throws UsageError for unknown strategies; Error if the session has none of the masks
Figure removalMap(const Session& session, const Curves& curves, const CurveMapLook& look);

/// How much the masks of strategies agree at a budget: [strategies, strategies], the Jaccard index of the sets of cut
/// units, with the counts in the cells. The mean over pairs of masks if there are repetitions; on the diagonal, over
/// the pairs of different repetitions.
/// @param budget absent = the largest of those that most strategies have
/// @throws as removalMap(); Error if fewer than two masks have the budget
Figure agreementMap(const Session& session, const Curves& curves, const std::optional<Budget>& budget,
                    const CurveMapLook& look);

/// What a figure of stability shows along y.
enum class StabilityOf {
    masks,  ///< Jaccard index of the sets of cut units
    scores, ///< Spearman's rank correlation of the scores
};

/// How much a strategy depends on its calibration text: the curves of the session that differ in the calibration text
/// only. A line for each strategy that reads the text and needs no seed: the mean over all pairs of texts, with a band
/// from minimum to maximum, over the share of removed parameters. Scores are the values of the strategy's metric, if
/// the session has them for both texts; otherwise the places in the orders of the cuts, over the units that both masks
/// cut.
/// @throws UsageError for unknown strategies; Error if fewer than two calibration texts were used
Figure stabilityFigure(const Session& session, const Curves& curves, StabilityOf what, const CurveMapLook& look);

} // namespace secateur
