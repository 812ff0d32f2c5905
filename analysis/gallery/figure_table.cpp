#include "analysis/gallery/figure_table.h"

#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_rows.h"
#include "analysis/session/command_line.h"
#include "analysis/session/result_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

namespace secateur {

namespace {

/// "gate_norm:fold_norm=true" of "gate_norm.fold_norm-true", the form of a result id for file names.
std::string fromFileForm(const std::string& resultId) {
    std::vector<std::string> parts = split(resultId, '.');
    for (std::size_t i = 1; i < parts.size(); ++i)
        if (const std::size_t dash = parts[i].find('-'); dash != std::string::npos)
            parts[i][dash] = '=';
    return join(parts, ":");
}

} // namespace

std::span<const FigureInfo> allFigures() {
    static const std::vector<FigureInfo> all = [] {
        std::vector<FigureInfo> figures;
        for (const auto& rows :
             {generalFigures(), weightFigures(), gateNormFigures(), greedyGnormFigures(), ampFigures(), bosFigures(), harpFigures()})
            for (const FigureInfo& figure : rows)
                figures.push_back(figure);
        return figures;
    }();
    return all;
}

FigureRequest parseFigureRequest(std::string_view text, std::span<const FigureInfo> table) {
    ParsedRequest parsed = parseRequest(text);
    const auto found = std::ranges::find(table, parsed.id, &FigureInfo::id);
    if (found == table.end())
        refuseUnknown("figure", parsed.id, idsOf(table));
    validateOptions(parsed, found->options);
    FigureRequest request{&*found, {}, std::string(text)};
    for (const OptionInfo& option : found->options)
        request.options[std::string(option.name)] = optionValue(parsed.options, found->options, option.name);
    if (found->check)
        found->check(request.options);
    return request;
}

std::vector<MetricRequest> metricsOf(const FigureRequest& request) {
    const auto* source = std::get_if<FromSession>(&request.figure->source);
    std::vector<std::string> metrics;
    for (const OptionInfo& option : request.figure->options) {
        if (!source || std::ranges::find(source->results, option.name) == source->results.end())
            continue;
        for (const std::string& id : split(request.options.at(std::string(option.name)), '/'))
            metrics.push_back(fromFileForm(parseResultKey(id).resultId));
    }
    return metrics.empty() ? std::vector<MetricRequest>() : parseMetricRequests(join(metrics, ","));
}

Figure drawFigure(const FigureRequest& request, const Session& session) {
    const auto* source = std::get_if<FromSession>(&request.figure->source);
    if (!source)
        throw Error(fmt::format("holds no runs of the model, and the figure {} needs one", request.figure->id),
                    session.model.path, "Name a checkpoint instead of a session");
    Figure figure = source->draw(session, request.options);
    figure.command = shellText(plotCommand(session.model.path, request.text));
    return figure;
}

Figure makeFigure(const Session& session, std::string_view text, std::span<const FigureInfo> table) {
    return drawFigure(parseFigureRequest(text, table), session);
}

} // namespace secateur
