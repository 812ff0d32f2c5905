#include "analysis/report/report.h"

#include "analysis/base/error.h"
#include "analysis/base/known_ids.h"
#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/report/report_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>

namespace secateur {

namespace {

constexpr std::array partRows{
    ReportPartInfo{ReportPart::model, "model", "Model", "the model card: architecture, sizes, file and fingerprint"},
    ReportPartInfo{ReportPart::measurements, "measurements", "Measurements",
                   "results with their texts, types and devices, and warnings"},
    ReportPartInfo{ReportPart::figures, "figures", "Figures", "figures with captions"},
    ReportPartInfo{ReportPart::tables, "tables", "Tables", "the tables of papers, drawn from the session"},
    ReportPartInfo{ReportPart::masks, "masks", "Masks", "masks with their cuts, savings and maps"},
    ReportPartInfo{ReportPart::evaluations, "evaluations", "Evaluations",
                   "losses, tasks, times and continuations, with standard errors"},
    ReportPartInfo{ReportPart::curves, "curves", "Curves", "the points of sweeps"},
    ReportPartInfo{ReportPart::commands, "commands", "Commands", "commands that repeat the results"},
};

/// A figure that was drawn for a report.
struct DrawnFigure {
    std::string request;
    Figure figure;
};

/// Empty if the session cannot draw it.
std::optional<Figure> drawnIfPossible(const Session& session, const std::string& request) {
    try {
        return makeFigure(session, request);
    } catch (const Error&) {
        return std::nullopt; // what it shows was not measured
    }
}

/// Requests that a report may have without being asked, whether or not the session can draw them.
std::vector<std::string> candidates(const Session& session) {
    std::vector<std::string> requests;
    for (const FigureInfo& info : allFigures()) {
        if (!std::holds_alternative<FromSession>(info.source))
            continue;
        if (info.inReport)
            for (const std::string& options : info.inReport(session))
                requests.push_back(std::string(info.id) + (options.empty() ? "" : ":" + options));
        else if (info.item)
            requests.emplace_back(info.id);
    }
    return requests;
}

std::vector<DrawnFigure> usualDrawn(const Session& session) {
    std::vector<DrawnFigure> drawn;
    for (const std::string& request : candidates(session))
        if (std::optional<Figure> figure = drawnIfPossible(session, request))
            drawn.push_back({request, std::move(*figure)});
    return drawn;
}

std::vector<DrawnFigure> drawnFor(const Session& session, const ReportChoice& choice) {
    if (choice.figures.empty())
        return usualDrawn(session);
    std::vector<DrawnFigure> drawn;
    for (const std::string& request : choice.figures)
        drawn.push_back({request, makeFigure(session, request)});
    return drawn;
}

/// Whether column width suits a figure: two of them are then placed side by side.
bool isNarrow(const Figure& figure) {
    constexpr std::size_t mostColumns = 20;
    constexpr std::size_t mostLines = 3;
    switch (figure.kind) {
    case FigureKind::heatMap:
        return figure.cells.columns() <= mostColumns && figure.x.names.empty() && figure.y.names.empty();
    case FigureKind::series:
        return figure.series.size() <= mostLines;
    case FigureKind::histogram:
    case FigureKind::bands:
    case FigureKind::scatter:
        return true;
    case FigureKind::curves:
    case FigureKind::panels:
    case FigureKind::grid:
    case FigureKind::table:
        return false;
    }
    return false;
}

/// @param tables whether the section shows tables or pictures
ReportSection figuresSection(const std::vector<DrawnFigure>& drawn, bool tables) {
    ReportSection section;
    for (const DrawnFigure& one : drawn) {
        if ((one.figure.kind == FigureKind::table) != tables)
            continue;
        ReportFigure block{{}, one.figure, one.figure.caption, isNarrow(one.figure)};
        section.blocks.emplace_back(std::move(block));
    }
    return section;
}

ReportSection sectionOf(ReportPart part, const Session& session, const ReportChoice& choice,
                        const std::vector<DrawnFigure>& drawn) {
    switch (part) {
    case ReportPart::model:
        return modelSection(session);
    case ReportPart::measurements:
        return measurementsSection(session);
    case ReportPart::figures:
        return figuresSection(drawn, false);
    case ReportPart::tables:
        return figuresSection(drawn, true);
    case ReportPart::masks:
        return masksSection(session);
    case ReportPart::evaluations:
        return evaluationsSection(session);
    case ReportPart::curves:
        return curvesSection(session);
    case ReportPart::commands:
        break;
    }
    std::vector<std::string> requests;
    for (const DrawnFigure& one : drawn)
        requests.push_back(one.request);
    return commandsSection(session, choice, requests);
}

/// Numbers figures and tables in the order of the report.
class Numbering {
public:
    void number(ReportSection& section, const std::string& own) {
        section.number = own;
        for (ReportBlock& block : section.blocks)
            if (auto* figure = std::get_if<ReportFigure>(&block))
                figure->label = figure->figure.kind == FigureKind::table ? fmt::format("Table {}", ++m_tables)
                                                                         : fmt::format("Figure {}", ++m_figures);
        for (std::size_t i = 0; i < section.subsections.size(); ++i)
            number(section.subsections[i], fmt::format("{}.{}", own, i + 1));
    }

private:
    int m_figures = 0;
    int m_tables = 0;
};

std::string subtitleOf(const Session& session, const ReportChoice& choice) {
    std::vector<std::string> parts{"Secateur " SECATEUR_VERSION};
    if (!choice.created.empty())
        parts.push_back("written " + choice.created);
    if (!choice.session.empty())
        parts.push_back("session " + shownLine(shownSource(choice.session)));
    if (!session.created.empty())
        parts.push_back("begun " + shownLine(session.created));
    return join(parts, " · ");
}

bool isWanted(const ReportChoice& choice, ReportPart part) {
    return choice.parts.empty() || std::ranges::find(choice.parts, part) != choice.parts.end();
}

} // namespace

std::span<const ReportPartInfo> reportParts() {
    return partRows;
}

std::vector<ReportPart> parseReportParts(std::string_view list) {
    std::vector<ReportPart> parts;
    for (const std::string& id : split(list, ',')) {
        const auto* found = std::ranges::find(partRows, id, &ReportPartInfo::id);
        if (found == partRows.end())
            refuseUnknown("part of a report", id, idsOf(partRows));
        parts.push_back(found->part);
    }
    return parts;
}

std::vector<std::string> usualFigures(const Session& session) {
    std::vector<std::string> requests;
    for (const DrawnFigure& one : usualDrawn(session))
        requests.push_back(one.request);
    return requests;
}

std::string usualTitle(const Session& session) {
    return fmt::format("Importance and pruning of {}", shownLine(session.model.name));
}

Report reportOf(const Session& session, const ReportChoice& choice) {
    const bool draws = isWanted(choice, ReportPart::figures) || isWanted(choice, ReportPart::tables);
    const std::vector<DrawnFigure> drawn = draws ? drawnFor(session, choice) : std::vector<DrawnFigure>();
    Report report;
    report.title = choice.title.empty() ? usualTitle(session) : shownLine(choice.title);
    report.subtitle = subtitleOf(session, choice);
    Numbering numbering;
    for (const ReportPartInfo& info : partRows) {
        if (!isWanted(choice, info.part))
            continue;
        ReportSection section = sectionOf(info.part, session, choice, drawn);
        if (section.blocks.empty() && section.subsections.empty())
            continue;
        section.title = std::string(info.title);
        numbering.number(section, std::to_string(report.sections.size() + 1));
        report.sections.push_back(std::move(section));
    }
    return report;
}

} // namespace secateur
