#pragma once

#include "analysis/report/report.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// The sections of a report. Labels and numbers are empty: reportOf() sets them. A section without blocks and
// subsections is left out.

ReportSection modelSection(const Session& session);
ReportSection measurementsSection(const Session& session);
ReportSection masksSection(const Session& session);
ReportSection evaluationsSection(const Session& session);
ReportSection curvesSection(const Session& session);
/// @param figures requests of the report's figures
ReportSection commandsSection(const Session& session, const ReportChoice& choice,
                              const std::vector<std::string>& figures);

// Parts that sections share (report_parts.cpp).

/// A column of text.
TableColumn textColumn(std::string title);
/// A cell of text from files.
TableCell reportWords(std::string_view text);
/// A cell with a number. @param error standard error; 0 or NaN = none
TableCell reportNumber(double value, double error = 0);

/// A table as a block. @param caption sentences
ReportFigure tableBlock(FigureTable table, std::string caption);

/// "dense", or the name of the mask.
std::string shownMask(const EvaluatedMask& mask);
/// The name of the mask of a run, with that of its adapter.
std::string shownRun(const Evaluation& run);
/// The first twelve digits of a digest "sha256:...".
std::string shortDigest(const std::string& digest);
/// The name of a text: that of its file, or "built-in text".
std::string shownSource(const std::string& source);

/// Paragraphs of warnings, each once.
class ReportWarnings {
public:
    void add(const std::vector<std::string>& warnings);
    /// Appends them to a section.
    void appendTo(ReportSection& section) const;

private:
    std::vector<std::string> m_warnings;
};

} // namespace secateur
