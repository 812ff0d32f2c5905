#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/figures/curve_quantities.h"
#include "analysis/figures/figure_info.h"
#include "analysis/session/session.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// Lines of a paper's figure from the curves of a session. Points with a compensation other than the strategy's own, and
// points after a recovery training, are left out.

/// A strategy in a paper's figure.
struct PaperLine {
    std::string_view strategy; ///< as the argument of curveOfPaper()
    std::string_view label;    ///< the paper's name
    std::size_t colour = 0;    ///< FigureSeries::colour
};

/// The option `set` of figures that choose the set of curves by themselves.
inline constexpr OptionInfo paperSetOption{
    "set", "integer", "-1",
    "index of the set of curves in the session, from 0; -1 = the set with most of the strategies, the last of several"};
inline constexpr OptionInfo paperTaskOption{
    "task", "text", "", "task whose accuracy is shown, NAME or NAME/METRIC; empty = the first task of a classifier"};

/// The curve of a strategy, by its result id. An id without options stands for any options but reversed=true; of
/// several curves, the one with most points. Null if there is none.
const Curve* curveOfPaper(const Curves& curves, std::string_view strategy);

/// The step of a paper's recipe that measures what a figure shows.
struct PaperStep {
    std::string_view paper; ///< Paper::id
    std::string_view step;  ///< RecipeStep::id
};

/// The set of curves that the option `set` names. @throws Error if the session has no curves, or none with any of the
/// strategies; it names the command of the step
const Curves& curvesOfPaper(const Session& session, std::span<const PaperLine> lines, const FigureOptions& options,
                            const PaperStep& step);

/// A quality of the points of a set of curves.
struct PaperQuality {
    const YQuantity* quantity = nullptr;
    CurveScale scale;
    double dense = notMeasured; ///< of the dense model

    std::string label() const { return quantity->label(scale); }
    CurveValue of(const CurvePoint& point) const { return quantity->value(point, scale); }
    /// By how much a value is worse than that of the dense model.
    double worse(double value) const { return isHighBetter(*quantity, scale) ? dense - value : value - dense; }
};

/// The quality that a figure of accuracies shows: the metric of the named task; without a name that of a classifier's
/// first task; otherwise the distance of pooled outputs or the loss. @param task value of paperTaskOption
/// @throws UsageError for an unknown task
PaperQuality qualityOfPaper(const ModelCard& model, const Curves& curves, const std::string& task);
/// The quality with this id in curveYs().
PaperQuality qualityOfPaper(const ModelCard& model, const Curves& curves, std::string_view quantity,
                            const std::string& task, const std::string& metric);

/// x of a point.
using PaperPosition = std::function<double(const CurvePoint& point)>;

/// The chosen points of a curve by budget; several points are repetitions.
std::vector<std::vector<const CurvePoint*>> budgetsOfPaper(const Curve& curve);

/// A line through the points of a curve. Repetitions are a band from their minimum to their maximum, and their mean.
/// Points whose budget the strategy could not reach are hollow. Without values if the curve is null.
FigureSeries paperSeries(const Curve* curve, const PaperLine& line, const PaperPosition& x, const PaperQuality& y);
/// A box plot at each budget of a curve.
FigureSeries paperBoxes(const Curve* curve, const PaperLine& line, const PaperPosition& x, const PaperQuality& y);
/// A dashed horizontal line at the value of the dense model.
FigureSeries denseLevel(const PaperQuality& y);

/// The rest of a caption, in sentences: texts, tokens, protocol, questions, and the seeds of the strategies that need
/// them.
std::string conditionsOfPaper(const Curves& curves, std::span<const PaperLine> lines, const PaperQuality& y);
/// "no points of sink_head, mag_sp: COMMAND" for the strategies without a value; empty if all have one.
std::string gapsOfPaper(const Session& session, const Figure& figure, std::span<const PaperLine> lines,
                        const PaperStep& step);

} // namespace secateur
