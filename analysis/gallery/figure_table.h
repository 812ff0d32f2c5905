#pragma once

#include "analysis/figures/figure_info.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

std::span<const FigureInfo> allFigures();

/// A request for a figure.
struct FigureRequest {
    const FigureInfo* figure;
    FigureOptions options;
    std::string text; ///< the request as the user wrote it: "heads:log=true"
};
/// Parses "id[:key=value]..." and checks the options. @param table rows in which the id is searched
/// @throws UsageError; for an unknown id it lists the known figures
FigureRequest parseFigureRequest(std::string_view text, std::span<const FigureInfo> table = allFigures());

/// Requests for the metrics that a figure's options name (FromSession::results). @throws UsageError
std::vector<MetricRequest> metricsOf(const FigureRequest& request);

/// Draws a figure from a session. @throws UsageError; Error if the session lacks a result that the figure shows, and
/// for figures that need the model
Figure drawFigure(const FigureRequest& request, const Session& session);
Figure makeFigure(const Session& session, std::string_view text, std::span<const FigureInfo> table = allFigures());

} // namespace secateur
