// Reports as files: boxes on pages, HTML without links to anything outside, and PDF.

#include "analysis/base/usage_error.h"
#include "tests/support/curve_session.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/suite.h"
#include "widgets/report/page_flow.h"
#include "widgets/report/report_writer.h"
#include "widgets/report/table_boxes.h"
#include "widgets/report/text_boxes.h"

#include <QFile>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QTextBrowser>
#include <QtTest>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <vector>

using namespace secateur;

namespace {

PageBox box(double height, bool staysWithNext = false, double spaceAbove = 0) {
    PageBox made{.height = height, .spaceAbove = spaceAbove, .staysWithNext = staysWithNext};
    made.draw = [](QCPPainter&, double, double) {};
    return made;
}

/// The boxes of each page.
std::vector<std::vector<std::size_t>> placed(const std::vector<Page>& pages) {
    std::vector<std::vector<std::size_t>> all;
    for (const Page& page : pages) {
        all.emplace_back();
        for (const PlacedBox& one : page)
            all.back().push_back(one.box);
    }
    return all;
}

using Pages = std::vector<std::vector<std::size_t>>;

Report drawnReport() {
    return reportOf(test::curveSession(), {.title = "A <title> & more", .created = "2026-11-26T12:00:00Z"});
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

qsizetype pagesIn(const QByteArray& pdf) {
    static const QRegularExpression page("/Type\\s*/Page[^s]");
    auto found = page.globalMatch(QString::fromLatin1(pdf));
    qsizetype count = 0;
    for (; found.hasNext(); found.next())
        ++count;
    return count;
}

} // namespace

class TestReportWriter : public QObject {
    Q_OBJECT

private slots:
    void boxesFillPages() {
        const std::vector<PageBox> boxes{box(40), box(40), box(40), box(90)};
        QCOMPARE(placed(pagesOf(boxes, 100)), (Pages{{0, 1}, {2}, {3}}));
        QCOMPARE(pagesOf({}, 100).size(), std::size_t{1});
    }

    void aHeadingIsOnThePageOfWhatFollows() {
        const std::vector<PageBox> boxes{box(70), box(10, true), box(30)};
        const std::vector<Page> pages = pagesOf(boxes, 100);
        QCOMPARE(placed(pages), (Pages{{0}, {1, 2}}));
        QCOMPARE(pages[1][0].top, 0.0);
        QCOMPARE(pages[1][1].top, 10.0);
    }

    void spaceAboveIsLeftOutAtTheTopOfAPage() {
        const std::vector<PageBox> boxes{box(50, false, 20), box(40, false, 20)};
        const std::vector<Page> pages = pagesOf(boxes, 100);
        QCOMPARE(pages[0][0].top, 0.0);
        QCOMPARE(placed(pages), (Pages{{0}, {1}}));
        QCOMPARE(pages[1][0].top, 0.0);
    }

    void aGroupThatFitsNoPageIsDivided() {
        const std::vector<PageBox> boxes{box(10), box(60, true), box(60, true), box(60)};
        QCOMPARE(placed(pagesOf(boxes, 100)), (Pages{{0}, {1}, {2}, {3}}));
    }

    void aTableRepeatsItsHeader() {
        const auto header = std::make_shared<const PageBox>(box(20));
        std::vector<PageBox> boxes(4, box(40));
        for (PageBox& one : boxes)
            one.header = header;
        const std::vector<Page> pages = pagesOf(boxes, 100);
        QCOMPARE(placed(pages), (Pages{{0, 1}, {2, 3}})); // 20 + 40 + 40
        for (const Page& page : pages)
            QVERIFY(page.front().hasHeader);
        for (const Page& page : pages)
            for (std::size_t i = 1; i < page.size(); ++i)
                QVERIFY(!page[i].hasHeader && page[i].top >= 60);
    }

    void longTablesAreDividedAndShortOnesAreNot() {
        FigureTable table;
        table.columns = {{.title = "A mask with a long name", .isText = true}, {.title = "Value"}};
        for (int i = 0; i < 20; ++i)
            table.rows.push_back({{TableCell{.text = "row"}, TableCell{.value = 1.5 * i}}});
        const double width = paperUnits(174);
        const std::vector<PageBox> whole = tableBoxes(table, width, 1e6);
        QCOMPARE(whole.size(), std::size_t{21});
        QVERIFY(std::all_of(whole.begin(), whole.end() - 1, [](const PageBox& one) { return one.staysWithNext; }));
        const std::vector<PageBox> divided = tableBoxes(table, width, heightOf(whole) / 2);
        QVERIFY(!divided[10].staysWithNext);
        const std::vector<Page> pages = pagesOf(divided, heightOf(whole) / 2);
        QVERIFY(pages.size() >= 2);
        QVERIFY(pages[1].front().hasHeader);
    }

    void linesOfAParagraphStayInPairs() {
        const QString text = QString("word ").repeated(200);
        const std::vector<PageBox> lines = textBoxes(text, {.font = reportFont(9.5), .width = paperUnits(80)});
        QVERIFY(lines.size() > 4);
        QVERIFY(lines.front().staysWithNext && lines[lines.size() - 2].staysWithNext && !lines[2].staysWithNext);
        QCOMPARE(wrappedLines("a b", reportFont(8), 1e4), QStringList{"a b"});
    }

    void htmlNeedsNoOtherFile() {
        const Report report = drawnReport();
        const QString html = QString::fromUtf8(reportHtml(report));
        QVERIFY(html.startsWith("<!DOCTYPE html>\n<!-- Report, written by Secateur"));
        QVERIFY(html.contains("<h1>A &lt;title&gt; &amp; more</h1>"));
        static const QRegularExpression address("(?:src|href)=\"([^\"#][^\"]{0,40})");
        auto addresses = address.globalMatch(html);
        int images = 0;
        for (; addresses.hasNext(); ++images)
            QVERIFY2(addresses.next().captured(1).startsWith("data:image/svg+xml;base64,"), "an outside address");
        QVERIFY(images > 0);
        for (const char* outside : {"<link", "<script", "@import", "url("})
            QVERIFY2(!html.contains(outside), outside);
        for (const ReportSection& section : report.sections) {
            QVERIFY(html.contains(QString("id=\"s%1\"").arg(QString::fromStdString(section.number))));
            for (const ReportBlock& block : section.blocks)
                if (const auto* figure = std::get_if<ReportFigure>(&block))
                    QVERIFY(html.contains("<b>" + QString::fromStdString(figure->label) + ".</b>"));
        }
    }

    void htmlReadsInABrowserOfRichText() {
        QTextBrowser browser;
        browser.setHtml(QString::fromUtf8(reportHtml(drawnReport())));
        int images = 0;
        for (QTextBlock block = browser.document()->begin(); block.isValid(); block = block.next())
            for (auto it = block.begin(); !it.atEnd(); ++it)
                if (it.fragment().charFormat().isImageFormat())
                    ++images;
        QVERIFY(images > 0);
        QVERIFY(browser.toPlainText().contains("Evaluations") || browser.toPlainText().contains("Curves"));
    }

    void pdfHasPages() {
        const QByteArray pdf = reportPdf(drawnReport());
        QVERIFY(pdf.startsWith("%PDF-"));
        QVERIFY(pagesIn(pdf) >= 2);
    }

    void filesOfOtherKindsStay() {
        const QTemporaryDir folder;
        const Report report = reportOf(test::curveSession(), {.parts = {ReportPart::model}});
        for (const char* name : {"r.html", "r.pdf"}) {
            const QString path = folder.filePath(name);
            writeReport(report, path);
            const QByteArray first = contents(path);
            QVERIFY(!first.isEmpty());
            writeReport(report, path); // replaces a report
            QFile other(path);
            QVERIFY(other.open(QIODevice::WriteOnly) && other.write("my notes") > 0);
            other.close();
            QVERIFY_THROWS_EXCEPTION(Error, writeReport(report, path));
            QCOMPARE(contents(path), QByteArray("my notes"));
            writeReport(report, path, true);
            QVERIFY(contents(path).size() > 100);
        }
        QVERIFY_THROWS_EXCEPTION(UsageError, writeReport(report, folder.filePath("r.docx")));
    }

    void progressCanStopIt() {
        std::stop_source stop;
        stop.request_stop();
        const Progress progress([](double, std::string_view) {}, stop.get_token());
        QVERIFY_THROWS_EXCEPTION(Cancelled, reportPdf(drawnReport(), progress));
        QVERIFY_THROWS_EXCEPTION(Cancelled, reportHtml(drawnReport(), progress));
    }
};

SECATEUR_SUITE(TestReportWriter)
#include "tst_report_writer.moc"
