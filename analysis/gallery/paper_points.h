#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/figures/figure.h"
#include "analysis/masks/mask_record.h"
#include "analysis/session/session.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// Numbers of the papers' figures and tables from the curves of a session. Points are found by strategy and budget.

/// The points of one strategy at one budget: all repetitions.
struct TablePoints {
    std::string strategy = {};        ///< result id; empty = the dense model
    Budget budget = {};               ///< not used for the dense model
    bool isRecovered = false;         ///< points after a recovery training; otherwise points without
    std::string compensation = "own"; ///< PointKey::compensation
    /// Of recovered points: PointKey::recovered. Empty = the shortest name that there is, which has the fewest options.
    std::string recovery = {};
};

/// The points that the curves of a session have of these strategies, whatever their budgets, with and without
/// recovery.
std::vector<TablePoints> allPointsOf(const Session& session, std::span<const std::string_view> strategies);

/// The share of the dense model's parameters that the masks of these points remove, 0 to 1: the mean over repetitions.
/// NaN if no curves have such points.
double removedShare(const Session& session, const TablePoints& points);

/// A quantity of points, as a column or an axis shows it.
struct PointColumn {
    std::string title; ///< as the paper prints it; also PublishedValue::column
    /// Usual name of a task file: "arc_easy.jsonl". Empty = the scored text, or the speed.
    std::string_view task = {};
    std::string_view format = {}; ///< id of a task format that this task alone has: "piqa"; empty = found by the name
    std::string_view metric =
        {};            ///< PointMetric::id: "acc_norm"; of the text: "perplexity", "loss", "delta" or "pooled";
                       ///< of generation: "tokens_per_second" or "speedup" (ratio to the dense model)
    double factor = 1; ///< the shown number is the value times this: 100 for per cent
    int decimals = 2;
    std::string group = {}; ///< TableColumn::group
    bool isAverage = false; ///< mean of the columns of tasks that all rows have (paper_tables.h)
    bool isLowBetter = false;
};

/// The value of a column at points.
struct PointValue {
    double value = notMeasured; ///< mean over the repetitions, times PointColumn::factor; NaN = not measured
    double error = 0;           ///< standard error of a single task's score; 0 = several repetitions, or not known
    double low = notMeasured;   ///< least and greatest of the repetitions
    double high = notMeasured;
    std::size_t repetitions = 0; ///< number of points with a value
};

/// The curves that the numbers of a figure come from: one set for the text, one for the speed, and one for each task. A
/// set is the one that holds most of the wanted points, so that all numbers of a column are comparable; of several, the
/// latest.
class PointSource {
public:
    /// @param session must outlive the object
    PointSource(const Session& session, std::vector<TablePoints> wanted);

    /// The set of curves for a column; null if none holds a wanted point with it.
    const Curves* curves(const PointColumn& column) const;
    PointValue value(const PointColumn& column, const TablePoints& points) const;
    /// The points with these keys, in the order of repetitions.
    static std::vector<const CurvePoint*> find(const Curves& curves, const TablePoints& points);

    /// Sentences for captions: the texts, protocol and window, tasks with the numbers of questions, and the repetitions
    /// with their seeds. @param columns those that are drawn
    std::string conditions(const std::vector<PointColumn>& columns) const;

    const Session& session() const { return m_session; }

private:
    double valueAt(const Curves& curves, const CurvePoint& point, const PointColumn& column) const;

    const Session& m_session;
    std::vector<TablePoints> m_wanted;
};

/// Adds a note with the trainings of the recovered points, if there are any: "Recovery training: amp:epochs=1.".
void addTrainingNote(FigureTable& table, const Curves& curves, std::span<const TablePoints> points);

/// The task of curves that a column shows; null if they have none. Found by the name of its file, or by its format.
const CurveTask* taskOf(const Curves& curves, const PointColumn& column);

/// A line of a figure over the budgets that a curve has, in units: means, and bands from minimum to maximum.
/// @param strategy result id @returns a series of style `line` without points if there are none
FigureSeries unitLine(const PointSource& source, const PointColumn& column, const std::string& strategy,
                      std::string label);

} // namespace secateur
