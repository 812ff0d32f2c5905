#pragma once

#include "analysis/base/progress.h"
#include "analysis/report/report.h"

#include <QByteArray>
#include <QString>

namespace secateur {

/// A report as one HTML file, which needs no other file: figures are SVG, tables are HTML, and styles are for screen
/// and paper. Needs a QApplication, on the GUI thread. @param progress reports after each figure @throws Cancelled
QByteArray reportHtml(const Report& report, const Progress& progress = {});

/// A report as PDF on A4 pages with page numbers. Needs a QApplication, on the GUI thread. Figures are on one page;
/// headings are on the page of what follows; tables that fit a page are on one.
/// @param progress reports after each figure @throws Cancelled
QByteArray reportPdf(const Report& report, const Progress& progress = {});

/// Writes a report as .html or .pdf, by the extension. Writes a file beside the path and renames it.
/// @param force whether to replace a file of another kind (analysis/base/replaceable.h)
/// @throws UsageError for other extensions; Error if the file cannot be written; Cancelled
void writeReport(const Report& report, const QString& path, bool force = false, const Progress& progress = {});

} // namespace secateur
