#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/gallery/harp_items.h"
#include "analysis/gallery/paper_tables.h"
#include "analysis/gallery/published.h"
#include "analysis/session/result_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace secateur::harp {

namespace {

// --- similarity ------------------------------------------------------------------------------------------------------

const MetricResult* resultNamed(const Session& session, const std::string& id) {
    for (const MetricResult& result : session.results)
        if (const std::string own = result.request.resultId(); own == id || fileForm(own) == id)
            return session.latest(own);
    return nullptr;
}

// --- alphas ----------------------------------------------------------------------------------------------------------

bool hasCurves(const SessionMask& mask) {
    return mask.record.provenance && !mask.record.provenance->alphaCurves.empty();
}

/// The mask that an option names, or the latest with the most searched layers, those at the top first.
const SessionMask& searchedMask(const Session& session, const std::string& name) {
    const SessionMask* best = nullptr;
    const auto rank = [](const SessionMask& mask) {
        return std::tuple(!mask.record.provenance->options.contains("position"),
                          mask.record.provenance->alphaCurves.size());
    };
    for (const SessionMask& mask : session.masks)
        if (hasCurves(mask) && (name.empty() || mask.name == name) && (!best || rank(mask) >= rank(*best)))
            best = &mask;
    if (!best)
        throw lacking(session,
                      name.empty() ? "masks of harp with searched alphas"
                                   : fmt::format("mask \"{}\" with searched alphas", name),
                      paperId, "positions");
    return *best;
}

/// The curves of a mask, lowest layer first.
std::vector<AlphaCurve> curvesByLayer(const SessionMask& mask) {
    std::vector<AlphaCurve> curves = mask.record.provenance->alphaCurves;
    std::ranges::sort(curves, {}, &AlphaCurve::layer);
    return curves;
}

/// All factors that were tried, ascending.
std::vector<double> alphasOf(const std::vector<AlphaCurve>& curves) {
    std::set<double> alphas;
    for (const AlphaCurve& curve : curves)
        alphas.insert(curve.alphas.begin(), curve.alphas.end());
    return {alphas.begin(), alphas.end()};
}

std::size_t placeOfAlpha(const std::vector<double>& alphas, double alpha) {
    return static_cast<std::size_t>(std::ranges::lower_bound(alphas, alpha) - alphas.begin());
}

void addCurve(Figure& figure, std::size_t row, const AlphaCurve& curve, const std::vector<double>& alphas) {
    for (std::size_t i = 0; i < std::min(curve.alphas.size(), curve.losses.size()); ++i)
        figure.cells(row, placeOfAlpha(alphas, curve.alphas[i])) = std::exp(curve.losses[i]);
    if (const std::size_t column = placeOfAlpha(alphas, curve.alpha); column < alphas.size())
        figure.outlined.push_back({row, column});
}

/// "Authors' alphas, from the last layer down: 0.8, 0.2."; empty if they are not published for the model.
std::string authorsAlphas(const Session& session, const std::string& choice) {
    std::vector<std::string> alphas;
    for (const PublishedValue& value : publishedFor("harp_alphas", session.model, choice))
        alphas.push_back(exactly(value.value));
    return alphas.empty() ? "" : fmt::format(" Authors' alphas, from the last layer down: {}.", join(alphas, ", "));
}

std::string alphaCaption(const Session& session, const SessionMask& mask) {
    const MaskProvenance& provenance = *mask.record.provenance;
    std::string caption = figureCaption(
        session.model, fmt::format("Perplexity over the factor alpha of each bypassed layer, mask {}", mask.name));
    caption += " Layers above a row's have their chosen alphas, layers below are whole. Framed: chosen alphas.";
    if (!provenance.text.empty())
        caption += fmt::format(" Text: {}.", provenance.text == "built-in" ? "built-in text" : provenance.text);
    for (const std::string& note : provenance.notes)
        caption += fmt::format(" {}.", note);
    return caption;
}

// --- number of layers ------------------------------------------------------------------------------------------------

/// The strategies that figure `harp_layers` draws.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> layerLines{
    {{top, "alpha searched"}, {topUnscaled, "alpha = 1"}}};

std::set<double> amountsOf(const Session& session, std::string_view strategy) {
    std::set<double> amounts;
    for (const Curves& curves : session.curves)
        if (const Curve* curve = curves.curve(strategy))
            for (const CurvePoint& point : curve->points)
                if (point.key.budget.of == BudgetOf::own && !point.key.budget.isPercentage)
                    amounts.insert(point.key.budget.amount);
    return amounts;
}

std::vector<TablePoints> wantedPoints(const Session& session) {
    std::vector<TablePoints> wanted;
    for (const auto& [strategy, label] : layerLines)
        for (const double amount : amountsOf(session, strategy))
            wanted.push_back({.strategy = std::string(strategy), .budget = {amount}});
    return wanted;
}

/// The tasks that all points have.
std::vector<PointColumn> sharedTasks(const PointSource& source, std::vector<TablePoints> points) {
    std::vector<PointColumn> columns = columnsOf(choiceTasks(), "");
    std::ranges::move(columnsOf(generationTasks(), ""), std::back_inserter(columns));
    points.emplace_back(); // dense
    std::erase_if(columns, [&](const PointColumn& column) {
        return std::ranges::any_of(points,
                                   [&](const TablePoints& one) { return source.value(column, one).repetitions == 0; });
    });
    return columns;
}

/// The mean over columns; NaN if a point lacks one.
double meanOver(const PointSource& source, const std::vector<PointColumn>& columns, const TablePoints& points) {
    double sum = 0;
    for (const PointColumn& column : columns)
        sum += source.value(column, points).value;
    return sum / static_cast<double>(columns.size());
}

std::string titlesOf(const std::vector<PointColumn>& columns) {
    std::vector<std::string> titles;
    for (const PointColumn& column : columns)
        titles.push_back(column.title);
    return join(titles, ", ");
}

} // namespace

Figure tokenStates(const Session& session, const FigureOptions& options) {
    std::vector<MetricResult> results;
    std::vector<std::string> missing;
    for (const std::string& id : split(options.at("metrics"), '/'))
        if (const MetricResult* result = resultNamed(session, id))
            results.push_back(*result);
        else
            missing.push_back(id);
    if (results.empty())
        throw lacking(session, "results of " + join(missing, " and "), paperId, "measure");
    for (const MetricResult& result : results)
        if (result.request.info->scope != Scope::layer)
            throw UsageError("is no metric of layers", result.request.resultId());
    Figure figure = layerSeries(session.model, results, ScaleKind::linear);
    std::vector<std::string> titles;
    for (const FigureSeries& series : figure.series)
        titles.push_back(series.label);
    figure.y.label = join(titles, ", ");
    figure.caption += fmt::format(" Measured on {}.", measuredOn(session, results.front()));
    if (!missing.empty())
        figure.caption += " " + gapNote(missing, session, paperId, "measure");
    return figure;
}

Figure alphaMap(const Session& session, const FigureOptions& options) {
    const SessionMask& mask = searchedMask(session, options.at("mask"));
    const std::vector<AlphaCurve> curves = curvesByLayer(mask);
    const std::vector<double> alphas = alphasOf(curves);
    Figure figure;
    figure.title = session.model.name;
    figure.x.label = "alpha";
    figure.y.label = "layer";
    figure.colour.label = "perplexity";
    for (const double alpha : alphas)
        figure.x.names.push_back(exactly(alpha));
    figure.cells = Matrix(curves.size(), alphas.size());
    for (std::size_t row = 0; row < curves.size(); ++row) {
        figure.y.names.push_back(std::to_string(curves[row].layer));
        addCurve(figure, row, curves[row], alphas);
    }
    for (const double value : figure.cells.values())
        figure.cellTexts.push_back(std::isnan(value) ? "" : fmt::format("{:.2f}", value));
    figure.scale = {"viridis", usedScale(ScaleKind::automatic, figure.cells.values()), 0};
    figure.caption = alphaCaption(session, mask) + authorsAlphas(session, options.at("published"));
    return figure;
}

Figure layersCurve(const Session& session, const FigureOptions&) {
    const std::vector<TablePoints> wanted = wantedPoints(session);
    const PointSource source(session, wanted);
    std::vector<PointColumn> columns = sharedTasks(source, wanted);
    const bool isScored = !columns.empty();
    if (!isScored)
        columns = {{.title = "loss (nats per token)", .metric = "loss", .isLowBetter = true}};
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = session.model.name;
    figure.x.label = "bypassed attention sublayers";
    figure.y.label = isScored ? "mean score (%)" : columns.front().title;
    for (std::size_t i = 0; i < layerLines.size(); ++i) {
        FigureSeries line;
        line.label = std::string(layerLines[i].second);
        line.colour = i;
        for (const TablePoints& point : wanted)
            if (const double value = meanOver(source, columns, point);
                point.strategy == layerLines[i].first && std::isfinite(value))
                addPoint(line, {.position = point.budget.amount, .value = value, .name = exactly(point.budget.amount)});
        if (!line.values.empty())
            figure.series.push_back(std::move(line));
    }
    if (figure.series.empty())
        throw lacking(session, fmt::format("scored curves of {}", top), paperId, "layers");
    FigureSeries dense{"dense", {}, {}};
    dense.style = SeriesStyle::level;
    addPoint(dense, {.value = meanOver(source, columns, {}), .name = "dense"});
    figure.series.push_back(std::move(dense));
    figure.caption = figureCaption(
        session.model, isScored ? fmt::format("Mean of {} against the number of bypassed layers", titlesOf(columns))
                                : "Loss against the number of bypassed layers");
    figure.caption += " " + source.conditions(columns) +
                      " The paper's analysis of errors over the length of the output, and Hessian-8, are left out.";
    return figure;
}

} // namespace secateur::harp
