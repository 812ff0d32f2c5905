#include "analysis/figures/compensation_figure.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

namespace {

FitValue fitValue(const FigureOptions& options) {
    const std::string& text = options.at("value");
    if (text != "mu" && text != "error")
        throw UsageError("unknown value; this figure has mu, error", "value=" + text);
    return text == "mu" ? FitValue::mu : FitValue::error;
}

/// A value of each layer's fit of one kind of projection. A line without values is left out.
void addLine(Figure& figure, int layers, const std::vector<FittedPart>& fits, bool isAttention, std::string label,
             double FittedPart::*value) {
    FigureSeries line;
    line.label = std::move(label);
    line.values.assign(static_cast<std::size_t>(layers), std::numeric_limits<double>::quiet_NaN());
    for (const FittedPart& fit : fits)
        if (fit.isAttention == isAttention && fit.layer < layers && fit.*value > 0) // 0 = the mode has no ridge
            line.values[static_cast<std::size_t>(fit.layer)] = fit.*value;
    if (!std::ranges::all_of(line.values, [](double number) { return std::isnan(number); }))
        figure.series.push_back(std::move(line));
}

const SessionMask& fittedMask(const Session& session, const std::string& name) {
    const SessionMask* latest = nullptr;
    for (const SessionMask& mask : session.masks)
        if (mask.record.provenance && !mask.record.provenance->fits.empty() && (name.empty() || mask.name == name))
            latest = &mask;
    if (!latest)
        throw Error(name.empty() ? std::string("holds no mask with a fitted compensation")
                                 : fmt::format("holds no mask \"{}\" with a fitted compensation", name),
                    session.model.name, "Fit one with the verb compensate");
    return *latest;
}

} // namespace

Figure compensationFigure(const ModelCard& model, const SessionMask& mask, FitValue value) {
    const std::vector<FittedPart>& fits = mask.record.provenance->fits;
    const int layers = model.spec.layerCount();
    Figure figure;
    figure.kind = FigureKind::series;
    figure.title = fmt::format("Fits of the compensation of {}", mask.name);
    figure.x.label = "layer";
    figure.y.logarithmic = true;
    if (value == FitValue::mu) {
        figure.y.label = "mu (multiples of the mean diagonal)";
        addLine(figure, layers, fits, true, "attention output", &FittedPart::mu);
        addLine(figure, layers, fits, false, "MLP down", &FittedPart::mu);
    } else {
        figure.y.label = "relative squared error, held out";
        for (const bool isAttention : {true, false}) {
            const std::string which = isAttention ? "attention output" : "MLP down";
            addLine(figure, layers, fits, isAttention, which + ", before", &FittedPart::errorBefore);
            addLine(figure, layers, fits, isAttention, which + ", fitted", &FittedPart::errorAfter);
        }
    }
    if (figure.series.empty())
        throw Error("has a compensation without a ridge: the mode bias chooses no mu", mask.name);
    figure.caption = figureCaption(
        model, fmt::format("{} of each fitted projection, mask {}",
                           value == FitValue::mu ? "Chosen mu" : "Relative squared error of the outputs",
                           mask.name));
    return figure;
}

Figure drawCompensation(const Session& session, const FigureOptions& options) {
    return compensationFigure(session.model, fittedMask(session, options.at("mask")), fitValue(options));
}

void checkCompensation(const FigureOptions& options) {
    fitValue(options);
}

} // namespace secateur
