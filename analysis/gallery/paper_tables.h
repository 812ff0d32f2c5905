#pragma once

#include "analysis/gallery/paper_parts.h"
#include "analysis/gallery/paper_points.h"
#include "analysis/gallery/published.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// Tables of the papers, from the points of curves. A published row is grey and stands behind ours, which it is matched
// with by strategy and budget.

/// A row of points.
struct PointRow {
    std::vector<TableCell> lead; ///< the cells in front of the numbers, one for each of PointTable::lead
    TablePoints points;
    std::vector<TableCell> tail = {}; ///< the cells behind the numbers
    bool startsGroup = false;
    /// PublishedValue::ourBudget of the published row; empty = budgetText(points.budget).
    std::string paperBudget = {};
    /// Strategies of which a mask of the same budget stands for the speed, if this one's was not timed.
    std::vector<std::string> timedAs = {};
};

/// What a table shows.
struct PointTable {
    std::string_view item;      ///< figure id; also PublishedValue::item
    std::string_view paper;     ///< Paper::id
    std::string_view step;      ///< RecipeStep::id of the steps that fill gaps, by comma
    std::string_view published; ///< value of the option `published`
    std::string what;           ///< begins the caption: "Accuracy of pruned models"
    std::vector<TableColumn> lead;
    std::vector<PointColumn> columns;
    std::vector<TableColumn> tail = {};
    std::vector<PointRow> rows;
    std::size_t methodColumn = 0; ///< index in `lead` of the method's name, to which published rows add "(paper)"
    std::optional<std::size_t> budgetColumn = {}; ///< index in `lead` of the budget of published rows without ours
    bool hidesEmptyRows = false; ///< whether rows without any number of ours or of the paper are left out
};

/// Draws the table. Of each budget with several rows, the best value of ours is bold. An average covers the columns
/// that all rows have; a note names them if some are missing. Each gap has a note with the command that fills it.
/// @throws Error if the session has no value at all; UsageError for a model that has no published values
Figure pointTable(const Session& session, const PointTable& table);

/// The published strategy id of the dense model, and the ending of recovered rows (PublishedValue::strategy).
inline constexpr std::string_view publishedDense = "dense";
inline constexpr std::string_view publishedRecovered = "+recovered";

} // namespace secateur
