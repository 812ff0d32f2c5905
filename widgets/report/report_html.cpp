#include "analysis/figures/table_text.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/report/report_writer.h"

#include <QString>

#include <algorithm>

namespace secateur {

namespace {

constexpr double htmlDotsPerFigureDot = 96.0 / 300;

/// Styles for screen and for paper. All sizes are those of a printed page.
constexpr const char* styleSheet = R"(
body { font-family: Helvetica, Arial, sans-serif; font-size: 10pt; line-height: 1.4; color: black; background: white; margin: 0; }
main { max-width: 17.4cm; margin: 1cm auto; padding: 0 0.5cm; }
h1 { font-size: 19pt; line-height: 1.2; margin: 0; }
h2 { font-size: 14pt; margin: 1.2cm 0 0.2cm; }
h3 { font-size: 11pt; margin: 0.7cm 0 0.1cm; }
.subtitle, .notes { color: #555555; }
nav a { color: black; text-decoration: none; }
nav p { margin: 0; }
figure { margin: 0.7cm 0; overflow-x: auto; }
figure.narrow { display: inline-block; width: 8.4cm; margin: 0.4cm 0.2cm 0.2cm 0; vertical-align: top; }
figure img { display: block; max-width: 100%; height: auto; }
figcaption { font-size: 9pt; margin: 0.15cm 0; }
pre { font-size: 8pt; white-space: pre-wrap; overflow-wrap: anywhere; padding-left: 1.5em; text-indent: -1.5em; margin: 0.15cm 0; }
@page { size: A4; margin: 1.8cm; }
@media print {
main { margin: 0; padding: 0; max-width: none; }
h2, h3 { break-after: avoid; }
figure, tr { break-inside: avoid; }
thead { display: table-header-group; }
}
)";

QString escaped(const std::string& text) {
    return QString::fromStdString(text).toHtmlEscaped();
}

QString captionHtml(const ReportFigure& block) {
    return QString("<figcaption><b>%1.</b> %2</figcaption>\n").arg(escaped(block.label), escaped(block.caption));
}

QString pictureHtml(const ReportFigure& block) {
    const FigureWidth width = block.isNarrow ? FigureWidth::column : FigureWidth::page;
    const QSize size = pictureSize(block.figure, width);
    return QString("<img width=\"%1\" height=\"%2\" alt=\"%3\" src=\"data:image/svg+xml;base64,%4\">\n")
        .arg(qRound(size.width() * htmlDotsPerFigureDot))
        .arg(qRound(size.height() * htmlDotsPerFigureDot))
        .arg(escaped(block.label + ". " + block.caption),
             QString::fromLatin1(figureSvg(block.figure, width).toBase64()));
}

QString blockHtml(const ReportFigure& block) {
    if (block.figure.kind == FigureKind::table)
        return "<figure>\n" + captionHtml(block) + QString::fromStdString(toHtml(block.figure)) + "</figure>\n";
    return QString("<figure%1>\n").arg(block.isNarrow ? " class=\"narrow\"" : "") + pictureHtml(block) +
           captionHtml(block) + "</figure>\n";
}

QString blockHtml(const ReportText& block) {
    return "<p>" + escaped(block.text) + "</p>\n";
}

QString blockHtml(const ReportCommands& block) {
    QString html;
    for (const std::string& line : block.lines)
        html += "<pre>" + escaped(line) + "</pre>\n";
    return html;
}

/// The number of figures in sections.
std::size_t figuresIn(const std::vector<ReportSection>& sections) {
    std::size_t count = 0;
    for (const ReportSection& section : sections) {
        for (const ReportBlock& block : section.blocks)
            count += std::holds_alternative<ReportFigure>(block) ? 1 : 0;
        count += figuresIn(section.subsections);
    }
    return count;
}

class HtmlReport {
public:
    HtmlReport(const Report& report, const Progress& progress)
        : m_report(report)
        , m_progress(progress)
        , m_figures(figuresIn(report.sections)) {}

    QString document() {
        QString html = "<!DOCTYPE html>\n<!-- " + QString::fromUtf8(reportMark.data(), reportMark.size()) + " " +
                       SECATEUR_VERSION + " -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" +
                       escaped(m_report.title) + "</title>\n<style>" + styleSheet +
                       "</style>\n</head>\n<body>\n<main>\n<h1>" + escaped(m_report.title) +
                       "</h1>\n<p class=\"subtitle\">" + escaped(m_report.subtitle) + "</p>\n" + contents();
        for (const ReportSection& section : m_report.sections)
            html += sectionHtml(section, 2);
        return html + "</main>\n</body>\n</html>\n";
    }

private:
    QString contents() const {
        QString html = "<nav>\n";
        for (const ReportSection& section : m_report.sections)
            html += QString("<p><a href=\"#s%1\">%1 %2</a></p>\n").arg(escaped(section.number), escaped(section.title));
        return html + "</nav>\n";
    }

    QString sectionHtml(const ReportSection& section, int level) {
        QString html = QString("<section>\n<h%1 id=\"s%2\">%2 %3</h%1>\n")
                           .arg(level)
                           .arg(escaped(section.number), escaped(section.title));
        for (const ReportBlock& block : section.blocks) {
            if (std::holds_alternative<ReportFigure>(block))
                m_progress.report(static_cast<double>(m_done++) / static_cast<double>(m_figures), "figures");
            html += std::visit([](const auto& own) { return blockHtml(own); }, block);
        }
        for (const ReportSection& subsection : section.subsections)
            html += sectionHtml(subsection, level + 1);
        return html + "</section>\n";
    }

    const Report& m_report;
    const Progress& m_progress;
    std::size_t m_figures;
    std::size_t m_done = 0;
};

} // namespace

QByteArray reportHtml(const Report& report, const Progress& progress) {
    return HtmlReport(report, progress).document().toUtf8();
}

} // namespace secateur
