#pragma once

#include "analysis/base/error.h"
#include "analysis/campaigns/curves.h"
#include "analysis/figures/figure.h"
#include "analysis/gallery/published.h"
#include "analysis/session/session.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// What the figures and tables of the papers share: cells, notes about gaps, and commands.

/// A cell with a number; a gap if it is NaN. @param error standard error; 0 = none
TableCell numberCell(double value, double error = 0);
TableCell textCell(std::string text);
/// A cell with a number that a paper prints, in brackets if it is doubtful.
TableCell publishedCell(const PublishedValue& value);

/// A table without columns, with the model's name as its title.
Figure emptyTable(const Session& session);
/// A point of a line of curves, as FigureSeries has it.
struct LinePoint {
    double position = 0;
    double value = 0;
    double error = 0;         ///< standard error; 0 = none
    double low = notMeasured; ///< ends of a band; NaN = none
    double high = notMeasured;
    PointMark mark = PointMark::none;
    std::string name = {};
};
void addPoint(FigureSeries& line, LinePoint point);

/// A horizontal line at a value of the dense model. @param label in the legend
FigureSeries denseLine(std::string label, double value);

/// Adds the note on grey rows, if the table has any.
void addPublishedNote(FigureTable& table);

/// The command that runs steps of a paper's recipe, for notes and hints, in the size `paper` if the size `quick` lacks
/// one of them. @param steps RecipeStep::id, several by comma @param needsData whether they read files of --data
std::string recipeCommand(const Session& session, std::string_view paperId, std::string_view steps,
                          bool needsData = false);
/// "Not measured: NAMES. To measure: COMMAND", a note with recipeCommand(). Empty without names.
std::string gapNote(std::span<const std::string> names, const Session& session, std::string_view paperId,
                    std::string_view steps, bool needsData = false);
/// Adds gapNote() to a table, if there are names.
void addGapNote(FigureTable& table, std::span<const std::string> names, const Session& session,
                std::string_view paperId, std::string_view steps, bool needsData = false);

/// An Error that says what a session lacks, with the command that measures it: "holds no curves with gate_norm".
Error lacking(const Session& session, std::string_view what, std::string_view paperId, std::string_view steps);

} // namespace secateur
