#include "analysis/figures/evaluation_figure.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace secateur {

namespace {

const Evaluation& latestText(const Session& session) {
    const auto found = std::find_if(session.evaluations.rbegin(), session.evaluations.rend(),
                                    [](const Evaluation& evaluation) { return evaluation.text.has_value(); });
    if (found == session.evaluations.rend())
        throw Error("holds no evaluation of a text", session.model.name,
                    "secateur-cli evaluate MODEL --out SESSION.h5 keeps one");
    return *found;
}

std::optional<double> parametersLeft(const Session& session, const PriceList& prices, const Evaluation& evaluation) {
    if (evaluation.mask.digest == "dense")
        return static_cast<double>(prices.price(PruningMask(session.model.spec)).parameters.left);
    const SessionMask* mask = session.mask(evaluation.mask.digest);
    if (!mask)
        return std::nullopt;
    return static_cast<double>(prices.price(mask->record.mask).parameters.left);
}

void addPoint(FigureSeries& series, std::size_t place, double parameters, const Evaluation& evaluation,
              bool isAbsolute) {
    const TextEvaluation& text = evaluation.text.value();
    const bool hasDense = text.reference.has_value();
    series.positions.push_back(parameters / 1e6);
    series.values.push_back(isAbsolute ? text.perplexity.lossNats : hasDense ? text.reference->difference.nats : 0);
    series.errors.push_back(isAbsolute ? text.perplexity.standardError
                            : hasDense ? text.reference->difference.standardError
                                       : 0);
    series.places.push_back(place);
    series.names.push_back(shownName(evaluation.mask, evaluation.adapter));
}

/// Whether a run belongs to the plot of another one, but scored other windows of that text, or stopped before its end.
bool isOnOtherWindows(const Evaluation& stored, const Evaluation& latest, bool isSameText) {
    const bool isOfText = stored.text->source == latest.text->source &&
                          stored.text->perplexity.rules.protocol == latest.text->perplexity.rules.protocol;
    const bool isExact = stored.text->isComplete() || stored.isOf("dense"); // whose difference is 0
    return isOfText && !(isSameText && isExact);
}

/// "4 of 10 windows of 512 tokens"
std::string windowsOf(const TextEvaluation& text) {
    const std::size_t scored = text.perplexity.windows.size();
    return fmt::format("{}{} windows of {} tokens", text.isComplete() ? "" : fmt::format("{} of ", scored),
                       text.isComplete() ? scored : text.windows, text.perplexity.rules.window);
}

/// The axis of parameters: all points with a margin, but never below 0.
AxisRange parametersRange(const std::vector<FigureSeries>& series) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const FigureSeries& one : series)
        for (const double position : one.positions) {
            least = std::min(least, position);
            most = std::max(most, position);
        }
    if (!(least <= most))
        return {0, 1};
    const double margin = most > least ? 0.06 * (most - least) : std::max(0.05 * most, 1e-6);
    return {std::max(0.0, least - margin), most + margin};
}

struct EvaluationPoints {
    FigureSeries dense{"dense", {}, {}};
    FigureSeries masks{"masks", {}, {}};
    FigureSeries now{"this mask", {}, {}};
    FigureSeries adapted{"with an adapter", {}, {}};
    FigureSeries others{"other windows", {}, {}};
    std::vector<std::string> otherWindows; ///< of `others`, each once
};

void addOther(EvaluationPoints& points, std::size_t place, double parameters, const Evaluation& evaluation,
              bool isAbsolute) {
    if (!isAbsolute && !evaluation.text->reference)
        return; // no dense run on the same windows
    addPoint(points.others, place, parameters, evaluation, isAbsolute);
    std::string windows = windowsOf(*evaluation.text);
    if (std::ranges::find(points.otherWindows, windows) == points.otherWindows.end())
        points.otherWindows.push_back(std::move(windows));
}

EvaluationPoints pointsOf(const Session& session, const PriceList& prices, const Evaluation& latest, bool isAbsolute,
                          std::string_view current) {
    EvaluationPoints points;
    points.others.isHollow = true;
    for (std::size_t place = 0; place < session.evaluations.size(); ++place) {
        const Evaluation& stored = session.evaluations[place];
        const std::optional<double> parameters =
            stored.text ? parametersLeft(session, prices, stored) : std::optional<double>();
        if (!parameters)
            continue;
        const bool isDense = stored.isOf("dense");
        const bool isSameText = sameText(session, latest, stored.mask.digest, stored.adapter.digest) == &stored;
        const Evaluation evaluation = isDense ? stored : compared(session, stored);
        if (isOnOtherWindows(stored, latest, isSameText))
            addOther(points, place, *parameters, evaluation, isAbsolute);
        else if (isSameText)
            addPoint(isDense                         ? points.dense
                     : stored.adapter.isPresent()    ? points.adapted
                     : stored.mask.digest == current ? points.now
                                                     : points.masks,
                     place, *parameters, evaluation, isAbsolute);
    }
    return points;
}

} // namespace

Figure evaluationScatter(const Session& session, const PriceList& prices, std::string_view current) {
    const Evaluation& latest = latestText(session);
    const bool isAbsolute = sameText(session, latest, "dense") == nullptr;
    EvaluationPoints points = pointsOf(session, prices, latest, isAbsolute, current);
    Figure figure;
    figure.kind = FigureKind::scatter;
    const bool byWords = latest.text->perplexity.rules.protocol == TextProtocol::wordPpl;
    figure.x.label = "parameters left (millions)";
    figure.y.label = fmt::format("{} nats/{}", isAbsolute ? "loss," : "Δ", byWords ? "word" : "token");
    for (FigureSeries* series : {&points.dense, &points.masks, &points.now, &points.adapted, &points.others})
        if (!series->values.empty())
            figure.series.push_back(std::move(*series));
    figure.x.range = parametersRange(figure.series);
    if (!points.otherWindows.empty())
        figure.note = fmt::format("hollow: scored on other windows ({})", join(points.otherWindows, "; "));
    figure.caption =
        fmt::format("{} on {}, {} windows of {} tokens; whiskers ±{} standard errors", session.model.name,
                    latest.text->source, latest.text->windows, latest.text->perplexity.rules.window, whiskerErrors);
    return figure;
}

} // namespace secateur
