#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/figures/figure.h"
#include "analysis/session/session.h"
#include "analysis/strategies/strategy.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A quantity of the points of curves that an axis can show.
struct CurveQuantity {
    std::string_view id;    ///< value of the options x and y
    std::string_view title; ///< for lists: "parameters removed"
};
std::span<const CurveQuantity> curveXs();
std::span<const CurveQuantity> curveYs();

/// Options of a figure of curves.
struct CurveLook {
    std::string x = "params"; ///< id in curveXs()
    std::string y = "auto";   ///< id in curveYs(); auto = the task if one is named, else the first that was measured
    std::string task = {};    ///< NAME, or NAME/METRIC; empty = the first task
    std::vector<std::string> strategies{}; ///< result ids, their forms for file names, or strategy ids; empty = all
    ScaleKind scale = ScaleKind::automatic; ///< of y: linear, logarithmic or automatic (perplexity: logarithmic)
    bool pareto = true;                     ///< whether the Pareto front is drawn
    std::string current{}; ///< digest of a mask whose point gets its own series; empty = none
};

/// What a point of a figure of curves stands for.
struct CurvePlace {
    std::size_t curve = 0;                ///< index in Curves::curves
    std::vector<std::size_t> points{};    ///< indices in Curve::points; several are the repetitions of one budget
    std::optional<std::size_t> evaluation{}; ///< index in Session::evaluations; `curve` and `points` are then unused
};

struct CurveFigure {
    Figure figure; ///< of kind curves; FigureSeries::places are indices in `places`
    std::vector<CurvePlace> places;
};

/// Quality over size: a line for each strategy, and for each compensation and recovery of it. Repetitions are a band
/// from their minimum to their maximum and a line through their means. Errors are those of the paired differences from
/// the dense model. Points whose budget the strategy could not reach are hollow; points that failed are crosses, or are
/// counted in the note if they have no mask. Other masks of the session are single points if they were scored on the
/// same text, or asked the same questions. The dense model is a dashed line. The Pareto front is a staircase.
/// @throws UsageError for unknown quantities, tasks and strategies; Error if no point has both quantities
CurveFigure curveFigure(const Session& session, const Curves& curves, const CurveLook& look);

/// The curves that an option names: index in Session::curves, negative from the end. @throws Error if there are none,
/// or not so many
const Curves& curvesAt(const Session& session, int index);

/// The curves with these names, in their order. No names stand for all. @throws UsageError for an unknown name
std::vector<std::size_t> namedCurves(const Curves& curves, std::span<const std::string> names);

/// The strategy of a curve; empty if this version of Secateur does not have it.
std::optional<StrategyRequest> knownStrategy(const std::string& resultId);

/// "gate_norm", "harp, not compensated": the label of a line.
std::string curveLabel(const Curve& curve, const PointKey& key);
/// The points of a curve that belong to one line: those with equal compensation and recovery. Indices in
/// Curve::points.
std::vector<std::vector<std::size_t>> curveLines(const Curve& curve);
/// The points of one line by budget. @param line element of curveLines()
std::vector<std::vector<std::size_t>> repetitionsOf(const Curve& curve, std::span<const std::size_t> line);

/// "calibrated on a.txt (8,192 tokens), scored on b.txt (16,384 tokens)": for captions.
std::string conditionsText(const CurveConditions& conditions);

} // namespace secateur
