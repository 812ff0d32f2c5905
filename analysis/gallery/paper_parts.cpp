#include "analysis/gallery/paper_parts.h"

#include "analysis/base/text.h"
#include "analysis/gallery/paper.h"
#include "analysis/session/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

/// Whether the recipe has all of these steps in the size `quick`.
bool areQuick(const Session& session, std::string_view paperId, const std::vector<std::string>& steps) {
    try {
        const RecipeChoice choice{.model = session.model.path, .session = {}};
        const std::vector<RecipeStep> quick = recipeSteps(paper(paperId), choice, session);
        return std::ranges::all_of(
            steps, [&](const std::string& id) { return std::ranges::find(quick, id, &RecipeStep::id) != quick.end(); });
    } catch (const Error&) {
        return true; // the model suits no step
    }
}

} // namespace

TableCell numberCell(double value, double error) {
    TableCell cell;
    cell.value = value;
    cell.error = error;
    return cell;
}

TableCell textCell(std::string text) {
    TableCell cell;
    cell.text = std::move(text);
    return cell;
}

TableCell publishedCell(const PublishedValue& value) {
    TableCell cell = numberCell(value.value);
    cell.isDoubtful = value.isDoubtful;
    return cell;
}

Figure emptyTable(const Session& session) {
    Figure figure;
    figure.kind = FigureKind::table;
    figure.title = session.model.name;
    return figure;
}

void addPoint(FigureSeries& line, LinePoint point) {
    line.positions.push_back(point.position);
    line.values.push_back(point.value);
    line.errors.push_back(point.error);
    line.lows.push_back(point.low);
    line.highs.push_back(point.high);
    line.marks.push_back(point.mark);
    line.names.push_back(std::move(point.name));
}

FigureSeries denseLine(std::string label, double value) {
    FigureSeries line;
    line.label = std::move(label);
    line.style = SeriesStyle::level;
    line.values = {value};
    line.names = {"dense"};
    return line;
}

void addPublishedNote(FigureTable& table) {
    if (std::ranges::any_of(table.rows, &TableRow::isPublished))
        table.notes.emplace_back("Grey rows: numbers printed in the paper.");
}

std::string recipeCommand(const Session& session, std::string_view paperId, std::string_view steps, bool needsData) {
    CommandLine command{"secateur-cli",     "reproduce", std::string(paperId),
                        session.model.path, "--only",    std::string(steps)};
    if (!areQuick(session, paperId, split(steps, ',')))
        command.insert(command.end(), {"--size", "paper"});
    if (needsData)
        command.insert(command.end(), {"--data", "DIR"});
    command.insert(command.end(), {"--out", "SESSION"});
    return shellText(command);
}

std::string gapNote(std::span<const std::string> names, const Session& session, std::string_view paperId,
                    std::string_view steps, bool needsData) {
    return names.empty() ? std::string()
                         : fmt::format("Not measured: {}. To measure: {}", join({names.begin(), names.end()}, ", "),
                                       recipeCommand(session, paperId, steps, needsData));
}

void addGapNote(FigureTable& table, std::span<const std::string> names, const Session& session,
                std::string_view paperId, std::string_view steps, bool needsData) {
    if (std::string note = gapNote(names, session, paperId, steps, needsData); !note.empty())
        table.notes.push_back(std::move(note));
}

Error lacking(const Session& session, std::string_view what, std::string_view paperId, std::string_view steps) {
    return Error(fmt::format("holds no {}", what), session.model.name, recipeCommand(session, paperId, steps));
}

} // namespace secateur
