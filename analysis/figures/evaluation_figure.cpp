#include "analysis/figures/evaluation_figure.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>

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
    series.names.push_back(evaluation.mask.name.empty() ? "dense" : evaluation.mask.name);
}

} // namespace

Figure evaluationScatter(const Session& session, const PriceList& prices, std::string_view current) {
    const Evaluation& latest = latestText(session);
    const bool isAbsolute = sameText(session, latest, "dense") == nullptr;
    FigureSeries dense{"dense", {}, {}};
    FigureSeries masks{"masks", {}, {}};
    FigureSeries now{"this mask", {}, {}};
    for (std::size_t place = 0; place < session.evaluations.size(); ++place) {
        const Evaluation& stored = session.evaluations[place];
        if (!stored.text || sameText(session, latest, stored.mask.digest) != &stored)
            continue;
        const std::optional<double> parameters = parametersLeft(session, prices, stored);
        if (!parameters)
            continue;
        const bool isDense = stored.mask.digest == "dense";
        FigureSeries& series = isDense ? dense : stored.mask.digest == current ? now : masks;
        addPoint(series, place, *parameters, isDense ? stored : compared(session, stored), isAbsolute);
    }
    Figure figure;
    figure.kind = FigureKind::scatter;
    const bool byWords = latest.text->perplexity.rules.protocol == TextProtocol::wordPpl;
    figure.x.label = "parameters left (millions)";
    figure.y.label = fmt::format("{} nats/{}", isAbsolute ? "loss," : "Δ", byWords ? "word" : "token");
    for (FigureSeries* series : {&dense, &masks, &now})
        if (!series->values.empty())
            figure.series.push_back(std::move(*series));
    figure.caption =
        fmt::format("{} on {}, {} windows of {} tokens; whiskers ±{} standard errors", session.model.name,
                    latest.text->source, latest.text->windows, latest.text->perplexity.rules.window, whiskerErrors);
    return figure;
}

} // namespace secateur
