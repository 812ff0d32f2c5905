#include "analysis/base/error.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/report/page_flow.h"
#include "widgets/report/report_writer.h"
#include "widgets/report/table_boxes.h"
#include "widgets/report/text_boxes.h"

#include <QBuffer>
#include <QFontMetricsF>
#include <QPageSize>
#include <QPdfWriter>

#include <qcustomplot.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int pdfDotsPerInch = 300;
constexpr double textPoints = 9.5;
constexpr double captionPoints = 8.5;
constexpr double notePoints = 7.5;
const QColor quietColour("#555555");

/// The size of an A4 page and of its content, which is as wide as a figure of page width (17.4 cm).
struct PageFrame {
    double width = paperUnits(210);
    double height = paperUnits(297);
    double left = paperUnits(18);
    double top = paperUnits(18);
    double contentWidth = width - 2 * left;
    double contentHeight = height - top - paperUnits(20);
};

/// The boxes of a report, in order.
class ReportBoxes {
public:
    ReportBoxes(const Report& report, const PageFrame& frame)
        : m_frame(frame) {
        addText(report.title, {.font = reportFont(18, true), .staysWhole = true, .staysWithNext = true});
        addText(report.subtitle, {.font = reportFont(textPoints), .spaceAbove = paperUnits(2), .colour = quietColour});
        for (const ReportSection& section : report.sections)
            addSection(section, true);
    }

    const std::vector<PageBox>& all() const { return m_boxes; }

private:
    void add(std::vector<PageBox> boxes) { std::ranges::move(boxes, std::back_inserter(m_boxes)); }

    void addText(const std::string& text, TextLook look) {
        look.width = m_frame.contentWidth;
        add(textBoxes(QString::fromStdString(text), look));
    }

    void addSection(const ReportSection& section, bool isMain) {
        addText(section.number + "  " + section.title, {.font = reportFont(isMain ? 13 : 10.5, true),
                                                        .spaceAbove = paperUnits(isMain ? 9 : 6),
                                                        .staysWhole = true,
                                                        .staysWithNext = true});
        for (std::size_t i = 0; i < section.blocks.size(); ++i)
            i += addBlock(section.blocks, i) - 1;
        for (const ReportSection& subsection : section.subsections)
            addSection(subsection, false);
    }

    /// @returns the number of blocks that were added: two narrow figures stand side by side
    std::size_t addBlock(const std::vector<ReportBlock>& blocks, std::size_t index) {
        const auto* const figure = std::get_if<ReportFigure>(&blocks[index]);
        if (!figure) {
            addWords(blocks[index]);
            return 1;
        }
        if (figure->figure.kind == FigureKind::table) {
            addTable(*figure);
            return 1;
        }
        const auto* const next = index + 1 < blocks.size() ? std::get_if<ReportFigure>(&blocks[index + 1]) : nullptr;
        const bool isPair = figure->isNarrow && next && next->isNarrow;
        addFigures(isPair ? std::vector{figure, next} : std::vector{figure});
        return isPair ? 2 : 1;
    }

    void addWords(const ReportBlock& block) {
        if (const auto* text = std::get_if<ReportText>(&block))
            addText(text->text, {.font = reportFont(textPoints), .spaceAbove = paperUnits(2.5)});
        if (const auto* commands = std::get_if<ReportCommands>(&block))
            for (const std::string& line : commands->lines)
                addText(
                    line,
                    {.font = commandFont(notePoints), .spaceAbove = paperUnits(1.5), .hangingIndent = paperUnits(5)});
    }

    /// A label in bold letters and a caption.
    std::vector<PageBox> captionBoxes(const ReportFigure& figure, double width, bool staysWithNext) const {
        const QString label = QString::fromStdString(figure.label) + ".";
        return textBoxes(label + " " + QString::fromStdString(figure.caption), {.font = reportFont(captionPoints),
                                                                                .width = width,
                                                                                .boldLetters = label.size(),
                                                                                .staysWhole = true,
                                                                                .staysWithNext = staysWithNext});
    }

    /// A figure above its caption, as one box.
    PageBox figureBox(const ReportFigure& block) const {
        const FigureWidth width = block.isNarrow ? FigureWidth::column : FigureWidth::page;
        const QSize size = pictureSize(block.figure, width);
        const double scale = std::min(1.0, largestFigure() / size.height());
        PageBox picture{.height = scale * size.height()};
        picture.draw = [&figure = block.figure, width, scale](QCPPainter& painter, double left, double top) {
            painter.save();
            painter.translate(left, top);
            painter.scale(scale, scale);
            drawPictureOn(painter, figure, width);
            painter.restore();
        };
        std::vector<PageBox> boxes{std::move(picture)};
        std::ranges::move(captionBoxes(block, size.width(), false), std::back_inserter(boxes));
        return joined(std::move(boxes));
    }

    /// The greatest height of a figure, which leaves room for its caption.
    double largestFigure() const { return 0.85 * m_frame.contentHeight; }

    void addFigures(const std::vector<const ReportFigure*>& figures) {
        std::vector<PageBox> beside;
        PageBox row{.height = 0, .spaceAbove = paperUnits(5)};
        for (const ReportFigure* figure : figures) {
            beside.push_back(figureBox(*figure));
            row.height = std::max(row.height, beside.back().height);
        }
        const double step = m_frame.contentWidth - pictureSize(figures.back()->figure, FigureWidth::column).width();
        row.draw = [beside = std::move(beside), step](QCPPainter& painter, double left, double top) {
            for (std::size_t i = 0; i < beside.size(); ++i)
                beside[i].draw(painter, left + step * static_cast<double>(i), top);
        };
        m_boxes.push_back(std::move(row));
    }

    void addTable(const ReportFigure& block) {
        const FigureTable& table = block.figure.table;
        std::vector<PageBox> caption = captionBoxes(block, m_frame.contentWidth, true);
        caption.front().spaceAbove = paperUnits(5);
        std::vector<PageBox> notes = noteBoxes(table);
        std::vector<PageBox> rows =
            tableBoxes(table, m_frame.contentWidth, m_frame.contentHeight - heightOf(caption) - heightOf(notes));
        rows.front().spaceAbove = paperUnits(1.5);
        rows.back().staysWithNext = !notes.empty();
        add(std::move(caption));
        add(std::move(rows));
        add(std::move(notes));
    }

    std::vector<PageBox> noteBoxes(const FigureTable& table) const {
        std::vector<PageBox> boxes;
        for (const std::string& note : table.notes)
            std::ranges::move(textBoxes(QString::fromStdString(note), {.font = reportFont(notePoints),
                                                                       .width = m_frame.contentWidth,
                                                                       .spaceAbove = paperUnits(0.8),
                                                                       .colour = quietColour}),
                              std::back_inserter(boxes));
        return boxes;
    }

    const PageFrame& m_frame;
    std::vector<PageBox> m_boxes;
};

void drawFoot(QCPPainter& painter, const PageFrame& frame, const QString& title, std::size_t page, std::size_t pages) {
    const QRectF foot(frame.left, frame.height - paperUnits(14), frame.contentWidth, paperUnits(6));
    painter.setFont(reportFont(notePoints));
    painter.setPen(quietColour);
    const QString number = QString("%1 of %2").arg(page).arg(pages);
    painter.drawText(foot, Qt::AlignRight | Qt::AlignTop | Qt::TextSingleLine, number);
    const double room = foot.width() - 2 * QFontMetricsF(painter.font()).horizontalAdvance(number);
    painter.drawText(foot, Qt::AlignLeft | Qt::AlignTop | Qt::TextSingleLine,
                     QFontMetricsF(painter.font()).elidedText(title, Qt::ElideRight, room));
}

void drawPage(QCPPainter& painter, const PageFrame& frame, const std::vector<PageBox>& boxes, const Page& page) {
    for (const PlacedBox& placed : page) {
        const PageBox& box = boxes[placed.box];
        double top = frame.top + placed.top;
        if (placed.hasHeader) {
            box.header->draw(painter, frame.left, top);
            top += box.header->height;
        }
        box.draw(painter, frame.left, top);
    }
}

} // namespace

QByteArray reportPdf(const Report& report, const Progress& progress) {
    const PageFrame frame;
    const ReportBoxes boxes(report, frame);
    const std::vector<Page> pages = pagesOf(boxes.all(), frame.contentHeight);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    {
        QPdfWriter writer(&buffer);
        writer.setResolution(pdfDotsPerInch);
        writer.setPageSize(QPageSize(QPageSize::A4));
        writer.setPageMargins({});
        writer.setTitle(QString::fromStdString(report.title));
        writer.setCreator("Secateur " SECATEUR_VERSION);
        QCPPainter painter;
        if (!painter.begin(&writer))
            throw Error("cannot be drawn: there is not enough memory");
        painter.setMode(QCPPainter::pmVectorized);
        for (std::size_t i = 0; i < pages.size(); ++i) {
            progress.report(static_cast<double>(i) / static_cast<double>(pages.size()),
                            fmt::format("page {} of {}", i + 1, pages.size()));
            if (i > 0)
                writer.newPage();
            drawPage(painter, frame, boxes.all(), pages[i]);
            drawFoot(painter, frame, QString::fromStdString(report.title), i + 1, pages.size());
        }
    }
    return buffer.data();
}

} // namespace secateur
