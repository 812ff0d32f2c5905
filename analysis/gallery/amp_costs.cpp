#include "analysis/base/text.h"
#include "analysis/gallery/amp_items.h"
#include "analysis/gallery/option_values.h"
#include "analysis/gallery/paper_points.h"
#include "analysis/gallery/paper_tables.h"
#include "analysis/gallery/published.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace secateur::amp_paper {

namespace {

// --- epochs ----------------------------------------------------------------------------------------------------------

/// The number of epochs that the name of a recovery states: "amp:epochs=3", or the recipe's own. Empty if it was
/// trained for a number of steps or minutes, or by another recipe.
std::optional<int> epochsOf(std::string_view recovery) {
    if (!recovery.starts_with(standard) || recovery.find(":steps=") != std::string_view::npos ||
        recovery.find(":minutes=") != std::string_view::npos)
        return std::nullopt;
    constexpr std::string_view option = ":epochs=";
    const std::size_t at = recovery.find(option);
    if (at == std::string_view::npos)
        return usualEpochs;
    const std::string_view number = recovery.substr(at + option.size());
    return wholeNumberIn(number.substr(0, number.find(':')));
}

/// The name of the recovery with this number of epochs that the session's points have; empty if they have none.
std::string recoveryOf(const Session& session, int ratio, int epochs) {
    for (const Curves& curves : session.curves)
        if (const Curve* curve = curves.curve(standard))
            for (const CurvePoint& point : curve->points)
                if (point.key.budget == pointsAt(standard, ratio).budget && epochsOf(point.key.recovered) == epochs)
                    return point.key.recovered;
    return {};
}

/// The cells of the table by ratio and number of epochs, where the session has points.
std::vector<std::vector<TablePoints>> epochPoints(const Session& session) {
    std::vector<std::vector<TablePoints>> all;
    for (const int ratio : epochRatios) {
        auto& ofRatio = all.emplace_back();
        const int ours = adaptedRatio(ratio, session.model.spec.layerCount());
        for (const int epochs : epochCounts) {
            ofRatio.push_back(pointsAt(standard, ours, true));
            ofRatio.back().recovery = recoveryOf(session, ours, epochs);
        }
    }
    return all;
}

/// The columns in which all points have values.
std::vector<PointColumn> sharedColumns(const PointSource& source, const std::vector<TablePoints>& wanted) {
    std::vector<PointColumn> shared;
    for (const PointColumn& column : ampColumns())
        if (!column.isAverage && !wanted.empty() && std::ranges::all_of(wanted, [&](const TablePoints& points) {
                return source.value(column, points).repetitions > 0;
            }))
            shared.push_back(column);
    return shared;
}

double meanOf(const PointSource& source, const std::vector<PointColumn>& columns, const TablePoints& points) {
    double sum = 0;
    for (const PointColumn& column : columns)
        sum += source.value(column, points).value;
    return columns.empty() ? notMeasured : sum / static_cast<double>(columns.size());
}

TableCell publishedEpochs(const std::vector<PublishedValue>& published, int ratio, int epochs) {
    for (const PublishedValue& value : published)
        if (value.ourBudget == std::to_string(ratio) && value.row.starts_with(std::to_string(epochs)))
            return publishedCell(value);
    return {};
}

/// The step of the recipe that trains for a number of epochs.
std::string recoveryStep(int epochs) {
    return epochs == usualEpochs ? "recovery" : fmt::format("recovery_epochs{}", epochs);
}

// --- cost ------------------------------------------------------------------------------------------------------------

void addSeconds(FigureTable& table, std::string what, std::string of, double seconds) {
    if (!std::isnan(seconds))
        table.rows.push_back({.cells = {textCell(std::move(what)), textCell(std::move(of)), numberCell(seconds)}});
}

} // namespace

Figure speedTable(const Session& session, const FigureOptions& options) {
    const int ratio = adaptedRatio(speedRatio, session.model.spec.layerCount());
    const TablePoints pruned = pointsAt(standard, ratio);
    const PointSource source(session, {pruned});
    const PointColumn speed{.title = "tokens per second", .metric = "tokens_per_second"};
    const Curves* set = source.curves(speed);
    if (!set || !set->latency)
        throw lacking(session, fmt::format("curves with the speed of amp at {}", ratio), "amp", "speed");
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = {{.title = "Model", .isText = true},
                     {.title = "Pruning ratio", .isText = true},
                     {.title = "Seconds"},
                     {.title = "Speed-up"}};
    const double newTokens = set->latency->newTokens;
    const double dense = newTokens / source.value(speed, {}).value;
    const double seconds = newTokens / source.value(speed, pruned).value;
    table.rows.push_back({.cells = {textCell("dense"), textCell("0 %"), numberCell(dense), numberCell(1)}});
    table.rows.push_back({.cells = {textCell("AMP"), textCell(ratioText(removedShare(session, pruned))),
                                    numberCell(seconds), numberCell(dense / seconds)}});
    TableRow printedDense{.cells = {textCell("dense (paper)"), textCell("0 %"), {}, {}}, .isPublished = true};
    TableRow printed{.cells = {textCell("AMP (paper)"), textCell("21.02 %"), {}, {}}, .isPublished = true};
    for (const PublishedValue& value : publishedFor("amp_speedup", session.model, options.at("published"))) {
        TableRow& row = value.strategy == publishedDense ? printedDense : printed;
        TableCell& cell = row.cells[value.column == "seconds" ? 2 : 3];
        cell.value = value.value;
        cell.isDoubtful = cell.isDoubtful || value.isDoubtful;
    }
    if (!std::isnan(printed.cells[2].value)) {
        table.rows.insert(table.rows.begin() + 1, printedDense);
        table.rows.push_back(printed);
    }
    addPublishedNote(table);
    figure.caption =
        figureCaption(session.model, "Seconds of generation") +
        fmt::format(" {} new tokens after a prompt of {}, batch size 1, median of the runs, on {} in {}.",
                    set->latency->newTokens, set->latency->promptTokens, set->conditions.device, set->conditions.dtype);
    return figure;
}

Figure epochsTable(const Session& session, const FigureOptions& options) {
    const std::vector<std::vector<TablePoints>> points = epochPoints(session);
    std::vector<TablePoints> wanted;
    for (const auto& ofRatio : points)
        std::ranges::copy_if(ofRatio, std::back_inserter(wanted),
                             [](const TablePoints& one) { return !one.recovery.empty(); });
    const PointSource source(session, wanted);
    const std::vector<PointColumn> columns = sharedColumns(source, wanted);
    if (columns.empty())
        throw lacking(session, "task scores of models that amp pruned and a training recovered", "amp", "recovery");
    const std::vector<PublishedValue> published = publishedFor("amp_epochs", session.model, options.at("published"));
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = {{.title = "Epochs", .isText = true}};
    for (const auto& ofRatio : points)
        table.columns.push_back({.title = ratioText(removedShare(
                                     session, pointsAt(standard, static_cast<int>(ofRatio.front().budget.amount)))),
                                 .group = "Avg"});
    std::vector<std::string> gaps;
    std::vector<std::string> steps;
    for (std::size_t i = 0; i < epochCounts.size(); ++i) {
        TableRow row{.cells = {textCell(std::to_string(epochCounts[i]))}};
        TableRow printed{.cells = {textCell(fmt::format("{} (paper)", epochCounts[i]))}, .isPublished = true};
        for (std::size_t ratio = 0; ratio < points.size(); ++ratio) {
            const bool isHeld = !points[ratio][i].recovery.empty();
            row.cells.push_back(numberCell(isHeld ? meanOf(source, columns, points[ratio][i]) : notMeasured));
            printed.cells.push_back(publishedEpochs(published, epochRatios[ratio], epochCounts[i]));
            if (isHeld)
                continue;
            gaps.push_back(fmt::format("{} at {}", counted(static_cast<std::uint64_t>(epochCounts[i]), "epoch"),
                                       table.columns[ratio + 1].title));
            if (std::string step = recoveryStep(epochCounts[i]); steps.empty() || steps.back() != step)
                steps.push_back(std::move(step));
        }
        table.rows.push_back(std::move(row));
        if (!published.empty())
            table.rows.push_back(std::move(printed));
    }
    std::vector<std::string> names;
    for (const PointColumn& column : columns)
        names.push_back(column.title);
    table.notes.push_back(fmt::format("Avg is the mean of {}.", join(names, ", ")));
    addTrainingNote(table, *source.curves(columns.front()), wanted);
    addGapNote(table, gaps, session, "amp", join(steps, ","));
    figure.caption = figureCaption(session.model, "Accuracy (per cent) by the number of epochs of recovery training") +
                     " " + source.conditions(columns);
    return figure;
}

Figure costTable(const Session& session, const FigureOptions&) {
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = {{.title = "Work", .isText = true}, {.title = "On", .isText = true}, {.title = "Seconds"}};
    for (const auto& [label, id] :
         {std::pair{"scores of heads", "amp_head"}, std::pair{"scores of neurons", "amp_neuron"}})
        if (const MetricResult* result = session.latest(id); result && result->data)
            addSeconds(table, label,
                       fmt::format("{} tokens", grouped(static_cast<std::uint64_t>(result->data->tokens))),
                       result->seconds);
    for (const Curves& curves : session.curves)
        if (const Curve* curve = curves.curve(standard))
            for (const CurvePoint& point : curve->points)
                if (point.isChosen()) {
                    const std::string share = ratioText(1 - static_cast<double>(point.parameters) /
                                                                static_cast<double>(curves.dense.parameters)) +
                                              " of the parameters";
                    if (point.key.recovered.empty())
                        addSeconds(table, "choosing a mask", share, point.choosingSeconds);
                    else
                        addSeconds(table, "recovery training", fmt::format("{}, {}", share, point.key.recovered),
                                   point.trainingSeconds);
                }
    if (table.rows.empty())
        throw lacking(session, "scores or masks of amp", "amp", "measure");
    table.notes.emplace_back("Both scores come from one forward pass, whose seconds each row states. Choosing a mask "
                             "includes the scores unless the session held them.");
    figure.caption =
        figureCaption(session.model, "Seconds of scoring, of choosing masks and of recovery training, by AMP");
    return figure;
}

} // namespace secateur::amp_paper
