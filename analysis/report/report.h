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
    std::string_view summary; ///< contents of the section, as a noun phrase
};
std::span<const ReportPartInfo> reportParts();
/// Reads ids of parts, separated by commas. @throws UsageError that lists the known parts
std::vector<ReportPart> parseReportParts(std::string_view list);

/// The user's choice of what is in a report.
struct ReportChoice {
    std::string title = {};                ///< empty = usualTitle()
    std::vector<ReportPart> parts = {};    ///< empty = all parts
    std::vector<std::string> figures = {}; ///< requests "id[:key=value]..."; empty = usualFigures()
    std::string session = {};              ///< path of the session, for commands; empty = not known
    std::string created = {};              ///< time of the report in UTC as ISO 8601; empty = not printed
};

/// A paragraph of plain text.
struct ReportText {
    std::string text;
};

/// A figure with its caption. If the figure is of kind `table`, a table.
struct ReportFigure {
    std::string label; ///< "Figure 3", "Table 2"
    Figure figure;
    std::string caption;   ///< sentences, without the label
    bool isNarrow = false; ///< column width, so that two fit side by side; otherwise page width
};

/// Commands for a shell, one a line.
struct ReportCommands {
    std::vector<std::string> lines;
};

using ReportBlock = std::variant<ReportText, ReportFigure, ReportCommands>;

/// A section or, one level deep, a subsection.
struct ReportSection {
    std::string number; ///< "2", "2.1"
    std::string title;
    std::vector<ReportBlock> blocks = {};
    std::vector<ReportSection> subsections = {};
};

/// A report on a session, as a value. Texts from files are escaped (analysis/base/shown_text.h).
struct Report {
    std::string title;
    std::string subtitle; ///< one line below the title: versions and times
    std::vector<ReportSection> sections;
};

/// The figures and tables of a report for which none are named: what FigureInfo::inReport chooses, and all items of
/// papers that the session can draw. @returns requests "id[:key=value]..."
std::vector<std::string> usualFigures(const Session& session);

/// The title of a report for which none is given. It names the model.
std::string usualTitle(const Session& session);

/// The report on a session. Parts about which the session holds nothing are left out.
/// @throws UsageError for figures that are unknown or have wrong options; Error for figures that were named and that
/// the session cannot draw
Report reportOf(const Session& session, const ReportChoice& choice);

} // namespace secateur
