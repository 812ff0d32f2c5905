#include "analysis/figures/curve_rows.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/figures/curve_maps.h"
#include "analysis/figures/curve_quantities.h"
#include "analysis/figures/cut_counts.h"
#include "analysis/figures/value_scale.h"
#include "analysis/strategies/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

namespace {

std::vector<std::string> namedStrategies(const FigureOptions& options) {
    const std::string& names = options.at("strategies");
    return names.empty() ? std::vector<std::string>() : split(names, '/');
}

const Curves& chosenCurves(const Session& session, const FigureOptions& options) {
    const std::string& text = options.at("set");
    int index = -1;
    std::from_chars(text.data(), text.data() + text.size(), index);
    return curvesAt(session, index);
}

ScaleKind valueScale(const FigureOptions& options) {
    const std::string& text = options.at("scale");
    for (const ScaleKind kind : {ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic})
        if (name(kind) == text)
            return kind;
    throw UsageError("unknown scale; this figure has auto, linear, log", "scale=" + text);
}

CurveMapLook mapLook(const FigureOptions& options) {
    CurveMapLook look{namedStrategies(options), {}};
    if (const std::string& unit = options.at("unit"); unit != "auto")
        look.kind = cutKindNamed(unit);
    return look;
}

/// The budget of an option, in which '.' stands for the ':' after the name of an amount: "params.20%".
std::optional<Budget> namedBudget(const FigureOptions& options) {
    std::string text = options.at("budget");
    if (text.empty())
        return std::nullopt;
    if (const std::size_t dot = text.find('.'); dot != std::string::npos && std::isalpha(text.front()) != 0)
        text[dot] = ':';
    return parseBudget(text);
}

StabilityOf stabilityOf(const FigureOptions& options) {
    const std::string& text = options.at("of");
    if (text != "masks" && text != "scores")
        throw UsageError("unknown measure; this figure has masks, scores", "of=" + text);
    return text == "masks" ? StabilityOf::masks : StabilityOf::scores;
}

} // namespace

void checkCurves(const FigureOptions& options) {
    xQuantity(options.at("x"));
    if (options.at("y") != "auto")
        yQuantity(options.at("y"));
    valueScale(options);
}

void checkCurveMap(const FigureOptions& options) {
    mapLook(options);
}

void checkAgreement(const FigureOptions& options) {
    mapLook(options);
    namedBudget(options);
}

void checkStability(const FigureOptions& options) {
    mapLook(options);
    stabilityOf(options);
}

Figure drawCurves(const Session& session, const FigureOptions& options) {
    CurveLook look{.x = options.at("x"),
                   .y = options.at("y"),
                   .task = options.at("task"),
                   .strategies = namedStrategies(options),
                   .scale = valueScale(options),
                   .pareto = options.at("pareto") == "true"};
    if (const std::string& wanted = options.at("mask"); !wanted.empty()) {
        const auto found = std::ranges::find(session.masks, wanted, &SessionMask::name);
        if (found == session.masks.end())
            throw Error(fmt::format("holds no mask \"{}\"", wanted), session.model.name);
        look.current = found->digest;
    }
    return curveFigure(session, chosenCurves(session, options), look).figure;
}

Figure drawRemovalMap(const Session& session, const FigureOptions& options) {
    return removalMap(session, chosenCurves(session, options), mapLook(options));
}

Figure drawAgreement(const Session& session, const FigureOptions& options) {
    return agreementMap(session, chosenCurves(session, options), namedBudget(options), mapLook(options));
}

Figure drawStability(const Session& session, const FigureOptions& options) {
    return stabilityFigure(session, chosenCurves(session, options), stabilityOf(options), mapLook(options));
}

} // namespace secateur
