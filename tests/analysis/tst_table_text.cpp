// Tables as CSV, Markdown, LaTeX and HTML, and the CSV of grids and box plots.
#include "analysis/figures/figure.h"
#include "analysis/figures/table_text.h"
#include "tests/support/suite.h"

#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QXmlStreamReader>
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

TableCell number(double value, double error = 0) {
    TableCell cell;
    cell.value = value;
    cell.error = error;
    return cell;
}

TableCell words(const std::string& text) {
    return {.text = text};
}

/// A table with groups, errors, gaps, published rows and awkward texts.
Figure methods() {
    Figure figure;
    figure.kind = FigureKind::table;
    figure.title = "Table 1, demo";
    figure.caption = "Perplexity of demo & others, 100 % of 50 windows ± 2 standard errors.";
    figure.command = "secateur-cli plot s.h5 --figure gate_norm_table1 --out t.md";
    figure.table.columns = {{.title = "Method", .isText = true},
                            {.title = "Parameters", .decimals = 0, .hasThousands = true},
                            {.title = "4", .group = "Attention layers removed"},
                            {.title = "8", .group = "Attention layers removed"},
                            {.title = "Avg. (%)", .decimals = 1}};
    TableCell best = number(10.5, 0.25);
    best.isBest = true;
    TableCell doubtful = number(1.0 / 3);
    doubtful.isDoubtful = true;
    figure.table.rows = {
        {{words("gate_norm"), number(1234567), best, number(12.0), number(60.06)}},
        {{words("random, \"seed 1\" | 2"), number(999), number(-11.25), {}, number(-0.04)}},
        {{words("[published] {a}"), number(1e6), doubtful, number(4.9), number(missing)}, true, true},
    };
    figure.table.notes = {"Missing: secateur-cli sweep demo --out s.h5 fills the gap."};
    return figure;
}

/// Reads CSV by RFC 4180.
std::vector<std::vector<std::string>> readCsv(const std::string& csv) {
    std::vector<std::vector<std::string>> lines{{""}};
    bool isQuoted = false;
    for (std::size_t i = 0; i < csv.size(); ++i) {
        const char c = csv[i];
        if (isQuoted && c == '"' && i + 1 < csv.size() && csv[i + 1] == '"')
            lines.back().back() += csv[++i];
        else if (c == '"')
            isQuoted = !isQuoted;
        else if (!isQuoted && c == ',')
            lines.back().emplace_back();
        else if (!isQuoted && csv.substr(i, 2) == "\r\n") {
            lines.push_back({""});
            ++i;
        } else
            lines.back().back() += c;
    }
    lines.pop_back(); // after the last line break
    return lines;
}

std::size_t columnOf(const std::vector<std::string>& header, const std::string& title) {
    const auto found = std::ranges::find(header, title);
    return found == header.end() ? header.size() : static_cast<std::size_t>(found - header.begin());
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Quartiles and whiskers from their definition, on sorted values.
double quantileOf(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - std::floor(place));
}

} // namespace

class TestTableText : public QObject {
    Q_OBJECT

private slots:
    void cellsHaveTheDecimalsOfTheirColumn() {
        const TableColumn plain{.title = "x"};
        const TableColumn counts{.title = "x", .decimals = 0, .hasThousands = true};
        QCOMPARE(cellText(plain, number(1234.567)), std::string("1234.57"));
        QCOMPARE(cellText(counts, number(1234.567)), std::string("1,235"));
        QCOMPARE(cellText(counts, number(-1234567)), std::string("−1,234,567"));
        QCOMPARE(cellText(counts, number(12)), std::string("12"));
        QCOMPARE(cellText(plain, number(-0.001)), std::string("0.00"));
        QCOMPARE(cellText(plain, number(12.3, 0.2)), std::string("12.30 ± 0.20"));
        QCOMPARE(cellText(plain, number(1.5e9)), std::string("1.50e+09"));
        QCOMPARE(cellText(plain, number(std::numeric_limits<double>::infinity())), std::string("∞"));
        QCOMPARE(cellText(plain, number(missing)), std::string("–"));
        QCOMPARE(cellText({.title = "x", .isText = true}, number(missing)), std::string());
        TableCell doubtful = number(5.1);
        doubtful.isDoubtful = true;
        QCOMPARE(cellText(plain, doubtful), std::string("[5.10]"));
    }

    void csvOfATableReadsBack() {
        Figure figure = methods();
        figure.table.rows[1].cells[0].text = "two\r\nlines";
        const auto lines = readCsv(toCsv(figure));
        QCOMPARE(lines.size(), 4U);
        QVERIFY(std::ranges::all_of(lines, [&](const auto& line) { return line.size() == lines[0].size(); }));
        QCOMPARE(lines[0].front(), std::string("Method"));
        QVERIFY(columnOf(lines[0], "Attention layers removed/4 standard error") < lines[0].size());
        for (std::size_t row = 0; row < 3; ++row) {
            const TableRow& written = figure.table.rows[row];
            for (std::size_t i = 0; i < figure.table.columns.size(); ++i) {
                const std::size_t at = columnOf(lines[0], fullTitle(figure.table.columns[i]));
                QVERIFY(at < lines[0].size());
                const std::string& field = lines[row + 1][at];
                const TableCell& cell = written.cells[i];
                if (std::isnan(cell.value))
                    QCOMPARE(field, cell.text);
                else
                    QVERIFY(std::stod(field) == cell.value); // the same double
            }
            QCOMPARE(lines[row + 1][columnOf(lines[0], "published")], std::string(written.isPublished ? "1" : "0"));
        }
        QCOMPARE(std::stod(lines[1][columnOf(lines[0], "Attention layers removed/4 standard error")]), 0.25);
        QCOMPARE(lines[3][columnOf(lines[0], "doubtful")], std::string("Attention layers removed/4"));
        QCOMPARE(lines[1][columnOf(lines[0], "doubtful")], std::string());
    }

    void csvOfAGridNamesItsParts() {
        Figure grid;
        grid.kind = FigureKind::grid;
        grid.gridColumns = 2;
        Figure line;
        line.kind = FigureKind::curves;
        line.title = "all series";
        line.x.label = "layers";
        line.y.label = "perplexity";
        line.series = {{.label = "gate_norm", .values = {1.5, 2.5}, .errors = {}, .positions = {4, 8}}};
        Figure map;
        map.x.label = "head";
        map.y.label = "layers";
        map.colour.label = "score";
        map.cells = Matrix(1, 2, 0.25);
        map.cells(0, 1) = 0.5;
        map.outlined = {{0, 1}};
        grid.parts = {line, map, line};
        const auto lines = readCsv(toCsv(grid));
        QCOMPARE(lines.size(), 1U + 2 + 2 + 2);
        QCOMPARE(lines[0][0], std::string("part"));
        const std::size_t layers = columnOf(lines[0], "layers"); // shared by both kinds
        QCOMPARE(lines[1][0], std::string("all series"));
        QCOMPARE(lines[2][layers], std::string("8"));
        QCOMPARE(lines[2][columnOf(lines[0], "perplexity")], std::string("2.5"));
        QCOMPARE(lines[3][0], std::string("2"));
        QCOMPARE(lines[4][columnOf(lines[0], "score")], std::string("0.5"));
        QCOMPARE(lines[4][columnOf(lines[0], "outlined")], std::string("1"));
        QCOMPARE(lines[3][columnOf(lines[0], "outlined")], std::string("0"));
        QCOMPARE(lines[5][0], std::string("all series (3)"));
        QVERIFY(std::ranges::all_of(lines, [&](const auto& each) { return each.size() == lines[0].size(); }));
    }

    void boxesFollowTheirDefinition() {
        std::mt19937 random(7);
        for (const std::size_t count : {1U, 2U, 5U, 25U, 100U}) {
            std::vector<double> values;
            for (std::size_t i = 0; i < count; ++i)
                values.push_back(static_cast<double>(random() % 1000) / 10 + (i % 17 == 3 ? 400 : 0));
            std::vector<double> sorted = values;
            std::ranges::sort(sorted);
            values.push_back(missing);
            const FigureBox box = boxOf(values);
            QCOMPARE(box.q1, quantileOf(sorted, 0.25));
            QCOMPARE(box.median, quantileOf(sorted, 0.5));
            QCOMPARE(box.q3, quantileOf(sorted, 0.75));
            const double reach = 1.5 * (box.q3 - box.q1);
            std::vector<double> inside;
            std::vector<double> outside;
            for (const double value : sorted)
                (value < box.q1 - reach || value > box.q3 + reach ? outside : inside).push_back(value);
            QCOMPARE(box.lower, std::min(inside.front(), box.q1));
            QCOMPARE(box.upper, std::max(inside.back(), box.q3));
            QCOMPARE(box.outliers, outside);
        }
        QVERIFY(std::isnan(boxOf(std::vector{missing}).median));
    }

    void boxesAreInTheCsv() {
        Figure figure;
        figure.kind = FigureKind::curves;
        figure.x.label = "heads";
        figure.y.label = "accuracy";
        const std::vector<double> values{1, 2, 3, 4, 100, -100};
        FigureSeries series;
        series.label = "random_head";
        series.style = SeriesStyle::boxes;
        series.positions = {12};
        series.boxes = {boxOf(values)};
        series.values = {series.boxes[0].median};
        figure.series = {series};
        const auto lines = readCsv(toCsv(figure));
        QCOMPARE(lines[1][columnOf(lines[0], "accuracy")], std::string("2.5"));
        QCOMPARE(lines[1][columnOf(lines[0], "outliers")], std::string("-100 100"));
        QCOMPARE(std::stod(lines[1][columnOf(lines[0], "first quartile")]), series.boxes[0].q1);
        QCOMPARE(std::stod(lines[1][columnOf(lines[0], "upper whisker")]), 4.0);
    }

    void markdownIsATableOfGitHub() {
        const std::string text = toMarkdown(methods());
        QVERIFY(text.starts_with("<!-- Table, written by Secateur: secateur-cli plot"));
        QVERIFY(contains(text, "| Method | Parameters | Attention layers removed/4 | Attention layers removed/8 | Avg. "
                               "(%) |\n| :-- | --: | --: | --: | --: |\n"));
        QVERIFY(contains(text, "| gate_norm | 1,234,567 | **10.50 ± 0.25** | 12.00 | 60.1 |\n"));
        QVERIFY(contains(text, "| random, \"seed 1\" \\| 2 | 999 | −11.25 | – | 0.0 |\n"));
        QVERIFY(contains(text, "| *[published] {a}* | *1,000,000* | *[0.33]* | *4.90* | – |\n"));
        QVERIFY(contains(text, "\nMissing: secateur-cli sweep demo --out s.h5 fills the gap.\n"));
        QVERIFY(contains(text, "\nPerplexity of demo &amp; others"));
    }

    void latexEscapesWhatIsSpecial() {
        const std::string text = toLatex(methods(), "gate_norm_table1");
        QVERIFY(text.starts_with("% Table, written by Secateur: secateur-cli plot"));
        QVERIFY(contains(text, "\\caption{Perplexity of demo \\& others, 100 \\% of 50 windows $\\pm$ 2 standard"));
        QVERIFY(contains(text, "\\label{tab:gate-norm-table1}"));
        QVERIFY(contains(toLatex(methods()), "\\label{tab:table-1-demo}"));
        QVERIFY(contains(text, "\\begin{tabular}{lrrrr}\n\\toprule\n"));
        QVERIFY(contains(text, "\\multicolumn{2}{c}{} & \\multicolumn{2}{c}{Attention layers removed} &  \\\\\n"
                               "\\cmidrule(lr){3-4}\n"));
        QVERIFY(contains(text, "gate\\_norm & 1,234,567 & \\textbf{10.50 $\\pm$ 0.25} & 12.00 & 60.1 \\\\\n"));
        QVERIFY(contains(text, "random, ''seed 1'' $|$ 2 & 999 & $-$11.25 & -- & 0.0 \\\\\n"));
        QVERIFY(contains(text, "\\midrule\n\\textcolor{gray}{{[}published] \\{a\\}} & "));
        QVERIFY(contains(text, "sweep demo -{}-{}out s.h5"));
        QVERIFY(contains(text, "\\bottomrule\n\\end{tabular}\n"));
    }

    void latexCompiles() {
        if (qEnvironmentVariableIsEmpty("SECATEUR_TEST_LATEX"))
            QSKIP("SECATEUR_TEST_LATEX is not set: LaTeX runs for a release only");
        const QString program = QStandardPaths::findExecutable("pdflatex");
        QVERIFY2(!program.isEmpty(), "SECATEUR_TEST_LATEX is set, and there is no pdflatex");
        const QTemporaryDir folder;
        Figure figure = methods();
        figure.caption += " −·×≤≥≈→∞‖√ΣΔαβλμσ²³°—…“”‘’~^<>\\{}$#_|\"`--";
        QFile file(folder.filePath("t.tex"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("\\documentclass{article}\\usepackage{booktabs}\\usepackage{xcolor}\\begin{document}\n");
        file.write(QByteArray::fromStdString(toLatex(figure)));
        file.write("\\end{document}\n");
        file.close();
        QProcess latex;
        latex.setWorkingDirectory(folder.path());
        latex.start(program, {"-interaction=nonstopmode", "-halt-on-error", "t.tex"});
        QVERIFY(latex.waitForFinished(120'000));
        QVERIFY2(latex.exitCode() == 0, latex.readAllStandardOutput().right(2000).constData());
        QVERIFY(QFile::exists(folder.filePath("t.pdf")));
    }

    void htmlIsWellFormed() {
        QXmlStreamReader reader("<all>" + QByteArray::fromStdString(toHtml(methods())) + "</all>");
        int rows = 0;
        QStringList cells;
        QStringList published;
        while (!reader.atEnd()) {
            reader.readNext();
            rows += reader.isStartElement() && reader.name() == QLatin1String("tr") ? 1 : 0;
            if (!reader.isStartElement() || reader.name() != QLatin1String("td"))
                continue;
            const bool isPublished = reader.attributes().value("class").contains(QLatin1String("published"));
            cells << reader.readElementText();
            if (isPublished)
                published << cells.last();
        }
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QCOMPARE(rows, 2 + 3); // two lines of titles
        QCOMPARE(cells.size(), 15);
        QVERIFY(cells.contains("10.50 ± 0.25") && cells.contains("random, \"seed 1\" | 2"));
        QCOMPARE(published, QStringList({"[published] {a}", "1,000,000", "[0.33]", "4.90", "–"}));
        const std::string page = toHtmlPage(methods());
        QVERIFY(page.starts_with("<!DOCTYPE html>\n<!-- Table, written by Secateur: secateur-cli plot"));
        QVERIFY(contains(page, "demo &amp; others"));
    }

    void captionsAreTexts() {
        QCOMPARE(captionText(methods()), methods().caption + "\n\n" + methods().table.notes[0] +
                                             "\n\nDrawn by Secateur: " + methods().command + "\n");
    }
};

SECATEUR_SUITE(TestTableText)
#include "tst_table_text.moc"
