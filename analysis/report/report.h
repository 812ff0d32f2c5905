#pragma once

#include "analysis/figures/figure.h"
#include "analysis/session/session.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace secateur {

/// The parts of a report, in its order.
enum class ReportPart { model, measurements, figures, tables, masks, evaluations, curves, commands };

struct ReportPartInfo {
    ReportPart part;
    std::string_view id;      ///< "model"
    std::string_view title;   ///< title of the section: "Model"
    std::string_view summary; ///< what the section says, as a noun phrase
};
std::span<const ReportPartInfo> reportParts();
/// Reads ids of parts, separated by commas. @returns the parts in the order of the report @throws UsageError that lists
/// the known parts
std::vector<ReportPart> parseReportParts(std::string_view list);

/// The user's choice of what is in a report.
struct ReportChoice {
    std::string title = {};                ///< empty = a title that names the model
    std::vector<ReportPart> parts = {};    ///< empty = all parts
    std::vector<std::string> figures = {}; ///< requests "id[:key=value]..."; empty = usualFigures()
    std::string session = {};              ///< path of the session, for commands; empty = not saved
    std::string created = {};              ///< time of the report in UTC as ISO 8601; empty = not printed
};

/// A figure below a caption that is numbered. A figure of kind `table` is a table.
struct ReportFigure {
    Figure figure;
    std::string caption; ///< sentences, without the number
    bool isWide = true;  ///< page width; otherwise column width
};

/// Commands, one a line.
struct ReportCommands {
    std::vector<std::string> lines;
};

/// A paragraph of text.
struct ReportText {
    std::string text;
};

using ReportBlock = std::variant<ReportText, ReportFigure, ReportCommands>;

/// A section or a subsection, with its number in the title left out.
struct ReportSection {
    std::string title;
    std::vector<ReportBlock> blocks = {};
    std::vector<ReportSection> subsections = {}; ///< one level deep
};

/// A report on a session, as a value.
struct Report {
    std::string title;
    std::string subtitle; ///< one line below the title: model, version, time
    std::vector<ReportSection> sections;
};

/// The figures and tables that a session can draw and that a report has if none are named: maps of the head metrics,
/// lines of the layer metrics, evaluations, curves, and all items of papers. @returns requests "id[:key=value]..."
std::vector<std::string> usualFigures(const Session& session);

/// The report on a session. Parts about which the session holds nothing are left out.
/// @throws UsageError for figures that are unknown or have wrong options; Error for figures that were named and that
/// the session cannot draw
Report reportOf(const Session& session, const ReportChoice& choice);

} // namespace secateur
