// Figures fit for a paper: grids, tables and box plots; no text is clipped or overlaps at any size; SVG without fonts.
#include "analysis/figures/figure.h"
#include "tests/support/suite.h"
#include "tests/support/text_device.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/figure_size.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_scale.h"
#include "widgets/plot/plot_table.h"

#include <QFile>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>
#include <QWheelEvent>
#include <QXmlStreamReader>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

const std::string longLabel = "increase of the negative log-likelihood per token over the dense model, measured on "
                              "WikiText-2 in windows of 2,048 tokens (nats)";

std::vector<double> ramp(std::size_t count, double from, double step) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = from + step * static_cast<double>(i) + 0.3 * std::sin(1.7 * static_cast<double>(i));
    return values;
}

Figure labelled(FigureKind kind) {
    Figure figure;
    figure.kind = kind;
    figure.title = "A title that is much longer than any column of a paper is wide: gate norm of SmolLM2-135M-Instruct";
    figure.x.label = "number of attention sublayers removed, counted from the first to the last layer of the model";
    figure.y.label = longLabel;
    figure.colour.label = longLabel;
    figure.note = "A note of more than one line: scored on 128 windows of the text, of which 3 were left out here.";
    figure.caption = "Caption.";
    return figure;
}

Figure heatMap(std::size_t rows, std::size_t columns) {
    Figure figure = labelled(FigureKind::heatMap);
    figure.cells = Matrix(rows, columns);
    for (std::size_t i = 0; i < rows * columns; ++i)
        figure.cells.values()[i] = 1e-5 * static_cast<double>(i * i % 97);
    figure.outlined = {{0, 0}, {rows - 1, columns - 1}};
    return figure;
}

Figure namedMap() {
    Figure figure = heatMap(6, 6);
    for (int i = 0; i < 6; ++i) {
        figure.x.names.push_back("by_metric:metric=attention_importance" + std::to_string(i));
        figure.y.names.push_back("attention_importance_of_the_sublayer" + std::to_string(i));
    }
    figure.cellTexts.assign(36, "0.123\n45 of 100");
    return figure;
}

Figure classMap() {
    Figure figure = heatMap(9, 9);
    figure.rowBars = true;
    figure.colour.names = {"beginning of sequence", "diagonal", "uniform", "other"};
    for (double& value : figure.cells.values())
        value = std::fmod(value * 1e5, 4);
    return figure;
}

/// A contact sheet: maps in cells, named by ticks.
Figure sheet() {
    Figure figure = heatMap(64, 96);
    figure.x.label = "head";
    figure.y.label = "layer";
    for (int i = 0; i < 12; ++i)
        figure.x.ticks.push_back({i * 8 + 3.5, "H" + std::to_string(i)});
    for (int i = 0; i < 8; ++i)
        figure.y.ticks.push_back({i * 8 + 3.5, "layer " + std::to_string(i)});
    figure.outlined.clear();
    return figure;
}

Figure lines(FigureKind kind) {
    Figure figure = labelled(kind);
    const std::size_t count = kind == FigureKind::bands ? bandPercents.size() : 5;
    for (std::size_t i = 0; i < count; ++i) {
        FigureSeries series;
        series.label = "by_metric:metric=attention_importance, calibration text number " + std::to_string(i);
        series.values = ramp(30, 20.0 + 10.0 * static_cast<double>(i), 1);
        series.rightAxis = kind == FigureKind::series && i == 4;
        if (i == 0)
            series.errors.assign(30, 2);
        figure.series.push_back(series);
    }
    figure.rightY.label = longLabel;
    return figure;
}

Figure bins() {
    Figure figure = labelled(FigureKind::histogram);
    figure.edges = ramp(21, 1e-4, 1e-3);
    std::ranges::sort(figure.edges);
    figure.series.push_back({"neurons", std::vector<double>(20, 12345), {}, false});
    return figure;
}

Figure points(bool isShaded) {
    Figure figure = labelled(FigureKind::scatter);
    for (std::size_t i = 0; i < (isShaded ? 1U : 4U); ++i) {
        FigureSeries series;
        series.label = "evaluations of a strategy with a rather long name, number " + std::to_string(i);
        series.positions = ramp(40, 1000, 1000);
        series.values = ramp(40, 0.001 * static_cast<double>(i), 0.01);
        if (isShaded)
            series.shades = ramp(40, 0, 1);
        figure.series.push_back(series);
    }
    return figure;
}

/// Curves with box plots, bands, levels and dashes.
Figure curves(std::size_t count = 5) {
    Figure figure = labelled(FigureKind::curves);
    std::mt19937 random(3);
    constexpr std::array styles{SeriesStyle::line, SeriesStyle::boxes, SeriesStyle::dashed, SeriesStyle::dashDotted,
                                SeriesStyle::level};
    for (std::size_t i = 0; i < count; ++i) {
        FigureSeries series;
        series.style = styles[i % styles.size()];
        series.label = "series with a rather long name, number " + std::to_string(i);
        series.positions = {0, 12, 24, 36, 48};
        for (std::size_t at = 0; at < 5; ++at) {
            std::vector<double> draws;
            for (int draw = 0; draw < 25; ++draw)
                draws.push_back(10 + 3.0 * static_cast<double>(at) + static_cast<double>(random() % 100) / 50 +
                                (draw == 0 ? 12 : 0));
            if (series.style == SeriesStyle::boxes)
                series.boxes.push_back(boxOf(draws));
            series.values.push_back(series.boxes.empty() ? draws[1] + static_cast<double>(i) : series.boxes[at].median);
        }
        figure.series.push_back(series);
    }
    return figure;
}

Figure panels() {
    Figure figure = labelled(FigureKind::panels);
    for (int i = 0; i < 5; ++i) {
        FigurePanel& panel = figure.panels.emplace_back();
        panel.title = "by_metric:metric=attention_importance " + std::to_string(i);
        panel.cells = Matrix(12, 4, 0.25);
        panel.columns = {"params:12.5%", "params:25%", "params:37.5%", "params:50%"};
    }
    return figure;
}

/// A table as wide as the widest of the papers.
Figure table() {
    Figure figure = labelled(FigureKind::table);
    figure.table.columns = {{.title = "Method", .isText = true}, {.title = "Budget", .isText = true}};
    for (const char* task : {"BoolQ", "RTE", "HellaSwag", "WinoGrande", "ARC-E", "ARC-C", "OpenBookQA", "Average"})
        figure.table.columns.push_back({.title = std::string(task) + " accuracy (%)", .group = "Zero-shot tasks"});
    figure.table.columns.push_back({.title = "Parameters", .decimals = 0, .hasThousands = true});
    for (int row = 0; row < 9; ++row) {
        TableRow& line = figure.table.rows.emplace_back();
        line.isPublished = row % 3 == 2;
        line.startsGroup = row % 3 == 0;
        for (std::size_t i = 0; i < figure.table.columns.size(); ++i) {
            TableCell& cell = line.cells.emplace_back();
            if (i == 0)
                cell.text = row % 2 == 0 ? "Data-driven (attention_importance)" : "Gate-Norm";
            else if (i == 1)
                cell.text = "8 attention sublayers";
            else if (i + 1 == figure.table.columns.size())
                cell.value = 134515008;
            else if ((static_cast<std::size_t>(row) + i) % 7 != 0)
                cell.value = 40 + 2.37 * row + static_cast<double>(i);
            cell.error = i == 4 ? 1.25 : 0;
            cell.isBest = row == 4;
        }
    }
    figure.table.notes = {
        "Tasks without a file: RTE. Command: secateur-cli evaluate MODEL --task rte.jsonl --out s.h5."};
    return figure;
}

Figure grid(std::size_t columns = 2) {
    Figure figure = labelled(FigureKind::grid);
    figure.gridColumns = columns;
    figure.parts = {curves(), curves(), curves(2), curves(2)};
    for (Figure& part : figure.parts)
        part.note.clear();
    figure.parts[1].title = "LLaMA-2-13B";
    return figure;
}

Figure mixedGrid() {
    Figure figure = labelled(FigureKind::grid);
    figure.gridColumns = 2;
    figure.parts = {lines(FigureKind::series), heatMap(8, 8), points(true), bins()};
    return figure;
}

struct Kind {
    const char* name;
    std::function<Figure()> make;
};

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{{"heat map", [] { return heatMap(30, 9); }},
                                       {"names and texts in cells", namedMap},
                                       {"classes", classMap},
                                       {"contact sheet", sheet},
                                       {"series", [] { return lines(FigureKind::series); }},
                                       {"bands", [] { return lines(FigureKind::bands); }},
                                       {"histogram", bins},
                                       {"scatter", [] { return points(false); }},
                                       {"shaded scatter", [] { return points(true); }},
                                       {"curves", [] { return curves(); }},
                                       {"panels", panels},
                                       {"table", table},
                                       {"grid", [] { return grid(); }},
                                       {"mixed grid", mixedGrid}};
    return all;
}

int count(const QImage& image, QRgb colour) {
    int found = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            found += (image.pixel(x, y) | 0xff000000U) == (colour | 0xff000000U) ? 1 : 0;
    return found;
}

std::vector<test::DrawnText> textsOf(const Figure& figure, const PictureForm& form) {
    test::TextDevice device(pictureSize(figure, form));
    drawPicture(figure, form, device);
    return device.texts;
}

/// A figure in a widget, whose plot can be asked.
class ShownFigure : public FigureWidget {
public:
    explicit ShownFigure(const Figure& figure, QSize size = {640, 400}) {
        resize(size);
        setFigure(figure);
        grab(); // lays out a widget that is not shown
    }
    QCustomPlot& shown() const { return *plot(); }
};

} // namespace

class TestPaperFigures : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY(m_directory.isValid()); }

    void noTextIsClipped_data() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<double>("width");
        for (std::size_t i = 0; i < kinds().size(); ++i)
            for (const double width : {6.0, 8.4, 12.0, 17.4, 20.0})
                QTest::newRow(qPrintable(QString("%1, %2 cm").arg(kinds()[i].name).arg(width)))
                    << static_cast<int>(i) << width;
    }
    void noTextIsClipped() {
        QFETCH(int, kind);
        QFETCH(double, width);
        const Figure figure = kinds()[static_cast<std::size_t>(kind)].make();
        PictureForm form(FigureWidth::column, true);
        form.widthCm = width;
        const QSize size = pictureSize(figure, form);
        const std::vector<test::DrawnText> texts = textsOf(figure, form);
        if (!qEnvironmentVariableIsEmpty("SECATEUR_SCREENSHOTS"))
            QVERIFY(figureImage(figure, form)
                        .save(path(QString("%1_%2.png").arg(kinds()[static_cast<std::size_t>(kind)].name).arg(width))));
        QVERIFY(texts.size() > 4);
        QCOMPARE(test::misplacedText(texts, size), QString());
    }

    void svgNeedsNoFont() {
        for (const Kind& kind : kinds()) {
            const Figure figure = kind.make();
            const PictureForm form = FigureWidth::column;
            QXmlStreamReader svg(figureSvg(figure, form));
            QStringList labels;
            while (!svg.atEnd()) {
                svg.readNext();
                QVERIFY2(!svg.isStartElement() || svg.name() != QLatin1String("text"), kind.name);
                if (!svg.isStartElement() || !svg.attributes().hasAttribute("aria-label"))
                    continue;
                labels << svg.attributes().value("aria-label").toString();
                QVERIFY2(svg.attributes().value("d").startsWith(QLatin1Char('M')) || labels.last().trimmed().isEmpty(),
                         kind.name);
            }
            QVERIFY2(!svg.hasError(), qPrintable(svg.errorString()));
            QStringList drawn;
            for (const test::DrawnText& text : textsOf(figure, form))
                drawn << text.text;
            QCOMPARE(labels, drawn);
        }
    }

    void outlinesAreWhereTheTextIs() {
        const Figure figure = table();
        const PictureForm form = FigureWidth::page;
        QFile file(path("table.svg"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(figureSvg(figure, form)) > 0);
        QXmlStreamReader svg(figureSvg(figure, form));
        const std::vector<test::DrawnText> drawn = textsOf(figure, form);
        std::size_t at = 0;
        while (!svg.atEnd()) {
            svg.readNext();
            if (!svg.isStartElement() || !svg.attributes().hasAttribute("aria-label"))
                continue;
            const QStringList start = svg.attributes().value("d").toString().mid(1).split(QRegularExpression("[ LCZ]"));
            const QPointF first(start[0].toDouble(), start[1].toDouble());
            QVERIFY2(drawn[at].box.adjusted(-4, -4, 4, 4).contains(first), qPrintable(drawn[at].text));
            ++at;
        }
        QCOMPARE(at, drawn.size());
    }

    void fontsAreEmbedded() {
        saveFigure(table(), path("table.pdf"), FigureWidth::page);
        saveFigure(grid(), path("grid.pdf"), FigureWidth::column);
        for (const char* name : {"table.pdf", "grid.pdf"}) {
            QFile file(path(name));
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QByteArray pdf = file.readAll();
            QVERIFY(pdf.count("/FontFile") >= 1);
            QCOMPARE(pdf.count("/Type /FontDescriptor"), pdf.count("/FontFile"));
        }
    }

    void titlesAreDrawnOnRequestOnly() {
        const Figure figure = lines(FigureKind::series);
        const auto hasTitle = [&](bool wanted) {
            const auto texts = textsOf(figure, {FigureWidth::page, wanted});
            return std::ranges::any_of(texts, [](const auto& text) { return text.text.startsWith("A title"); });
        };
        QVERIFY(!hasTitle(false));
        QVERIFY(hasTitle(true));
    }

    void coloursDifferForColourBlindReaders() {
        // Okabe and Ito's colours, with the shapes of points for more lines.
        for (std::size_t i = 0; i < lineColours().size(); ++i)
            for (std::size_t other = 0; other < i; ++other)
                for (const bool isDeutan : {false, true}) {
                    // Viénot, Brettel and Mollon (1999), on linear RGB
                    const auto linear = [](double channel) { return std::pow(channel / 255, 2.2); };
                    const auto seen = [&](const QColor& colour) {
                        const double red = linear(colour.red());
                        const double green = linear(colour.green());
                        const double mixture =
                            isDeutan ? 0.29275 * red + 0.70725 * green : 0.10889 * red + 0.89111 * green;
                        const double blue = isDeutan ? -0.02234 * red + 0.02234 * green + linear(colour.blue())
                                                     : 0.00447 * red - 0.00447 * green + linear(colour.blue());
                        return std::pair(std::pow(mixture, 1 / 2.2), std::pow(std::max(blue, 0.0), 1 / 2.2));
                    };
                    const auto [a, b] = seen(lineColours()[i]);
                    const auto [c, d] = seen(lineColours()[other]);
                    QVERIFY2(std::hypot(a - c, b - d) > 0.08,
                             qPrintable(lineColours()[i].name() + " " + lineColours()[other].name()));
                }
    }

    void boxesAreDrawn() {
        Figure figure = curves(2);
        figure.series[1].colour = 2;
        const QImage image = figureImage(figure, FigureWidth::page);
        QVERIFY(count(image, mixed(Qt::white, lineColours()[2], 0.25).rgb()) > 2000);
        QVERIFY(count(image, QColor("#c8102e").rgb()) > 100);
        // A box at the edge of the axes is as wide as the others.
        const ShownFigure widget(figure);
        const QCPAxis& x = *widget.shown().axisRect()->axis(QCPAxis::atBottom);
        QVERIFY(x.range().lower < -3.29 && x.range().upper > 51.29); // 0.55 of a distance of 12 around 0 and 48
    }

    void outlinedCellsHaveAFrame() {
        Figure figure = heatMap(4, 4);
        figure.cells = Matrix(4, 4, 1.0);
        const int framed = count(figureImage(figure, FigureWidth::column), QColor(Qt::black).rgb());
        figure.outlined.clear();
        const int plain = count(figureImage(figure, FigureWidth::column), QColor(Qt::black).rgb());
        QVERIFY2(framed > plain + 1000, qPrintable(QString("%1 %2").arg(framed).arg(plain)));
    }

    void mapsOfManyCellsAreImagesInVectorGraphics() {
        const auto isImage = [](const Figure& figure) {
            return figureSvg(figure, FigureWidth::page).contains("<image");
        };
        QVERIFY(!isImage(heatMap(200, 200)));
        QVERIFY(isImage(heatMap(300, 300)));
        QVERIFY(figureSvg(heatMap(300, 300), FigureWidth::page).size() < 2'000'000);
    }

    void ticksAreWhereTheyShouldBe() {
        Figure figure = sheet();
        const ShownFigure widget(figure);
        const QList<QCPAxisRect*> rects = widget.shown().axisRects();
        const auto map =
            std::ranges::find_if(rects, [](QCPAxisRect* rect) { return rect->axisCount(QCPAxis::atBottom) > 0; });
        QVERIFY(map != rects.end());
        const QCPAxis& x = *(*map)->axis(QCPAxis::atBottom);
        QVERIFY(x.tickVectorLabels().size() > 2);
        for (qsizetype i = 0; i < x.tickVector().size(); ++i)
            QCOMPARE(x.tickVectorLabels()[i], QString("H%1").arg(std::lround((x.tickVector()[i] - 3.5) / 8)));
    }

    void countsHaveTicksAtWholeNumbers() {
        Figure figure;
        figure.kind = FigureKind::curves;
        figure.series.emplace_back();
        figure.series[0].positions = {1, 4, 6, 7, 10, 13};
        figure.series[0].values = {31, 49, 62, 64, 461, 687};
        const auto ticks = [](const Figure& shown) {
            const ShownFigure widget(shown);
            return widget.shown().axisRect()->axis(QCPAxis::atBottom)->tickVector();
        };
        QVERIFY(ticks(figure).size() > 3);
        for (const double tick : ticks(figure))
            QCOMPARE(tick, std::round(tick));
        figure.series[0].positions = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75};
        QVERIFY(std::ranges::any_of(ticks(figure), [](double tick) { return tick != std::round(tick); }));
    }

    /// Each block of a wide table has the columns that name its rows, and about as many of the others.
    void blocksOfTablesAreAlike() {
        FigureTable wide;
        wide.columns = {{.title = "Method", .isText = true}, {.title = "Pruned"}, {.title = "Type", .isText = true}};
        TableRow row{.cells = {{.text = "Random"}, {.text = "3"}, {.text = "Attn"}}};
        for (int i = 0; i < 9; ++i) {
            wide.columns.push_back({.title = QString("Task%1").arg(i).toStdString()});
            row.cells.push_back({.value = 42.5, .error = 7.92});
        }
        wide.rows.assign(3, row);
        const PlotTheme theme = paperTheme(96);
        const TableLayout layout = layOutTable(wide, 480, theme);
        std::map<int, int> tasks; // by the height of the titles
        int names = 0;
        for (const TableText& text : layout.texts) {
            names += text.text == "Pruned" ? 1 : 0;
            if (text.text.startsWith("Task"))
                ++tasks[text.box.top()];
        }
        QVERIFY(tasks.size() > 1);
        QCOMPARE(names, static_cast<int>(tasks.size()));
        int least = 9;
        int most = 0;
        for (const auto& [top, count] : tasks) {
            least = std::min(least, count);
            most = std::max(most, count);
        }
        QVERIFY2(most - least <= 1, qPrintable(QString("%1 to %2").arg(least).arg(most)));
    }

    void gridsFoldWhereTheyAreNarrow() {
        QCOMPARE(gridColumns(grid(2), 17.4), 2);
        QCOMPARE(gridColumns(grid(2), 8.4), 1);
        QCOMPARE(gridColumns(grid(4), 17.4), 2); // not 3 and 1
        QCOMPARE(gridColumns(Figure{}, 8.4), 1);
        QVERIFY(figureHeightCm(grid(2), 8.4) > 1.7 * figureHeightCm(grid(2), 17.4));
    }

    void gridsHaveOneLegendWhereItSuffices() {
        Figure figure = grid();
        QCOMPARE(commonLegend(figure).size(), 5U);
        const auto legends = [](const Figure& shown) {
            const auto texts = textsOf(shown, FigureWidth::page);
            return std::ranges::count_if(texts, [](const auto& text) { return text.text.endsWith("number 0"); });
        };
        QCOMPARE(legends(figure), 1);
        figure.parts[2].series[0].colour = 3; // the same name in another colour
        QVERIFY(!hasCommonLegend(figure));
        QCOMPARE(legends(figure), 4);
    }

    void tablesBreakIntoBlocks() {
        const Figure figure = table();
        const PlotTheme theme = paperTheme(300);
        for (const int width : {700, 1000, 2050, 3000}) {
            const TableLayout layout = layOutTable(figure.table, width, theme);
            const auto times = [&](const QString& text) {
                return std::ranges::count(layout.texts, text, &TableText::text);
            };
            QVERIFY(width == 3000 ? times("Method") == 1 : width == 700 ? times("Method") > 1 : times("Method") >= 1);
            QCOMPARE(times("134,515,008"), 9);
            QVERIFY(std::ranges::any_of(layout.texts, &TableText::isGrey));
            for (const TableText& text : layout.texts) {
                QVERIFY(text.box.right() < width && text.box.bottom() <= layout.size.height());
                QFont font = theme.font;
                font.setBold(text.isBold);
                QVERIFY2(QFontMetrics(font).horizontalAdvance(text.text) <= text.box.width() + 2,
                         qPrintable(text.text));
            }
        }
        QVERIFY(figureHeightCm(figure, 8.4) > figureHeightCm(figure, 17.4));
    }

    void highFiguresScroll() {
        ShownFigure widget(table(), {400, 160});
        auto* bar = widget.findChild<QScrollBar*>();
        QVERIFY(bar && bar->maximum() > 100);
        QCOMPARE(widget.shown().height(), 160 + bar->maximum());
        bar->setValue(50);
        QCOMPARE(widget.shown().y(), -50);
        QWheelEvent wheel({10, 10}, widget.mapToGlobal(QPointF(10, 10)), {}, {0, -120}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&widget, &wheel);
        QVERIFY(bar->value() > 50);
        widget.setFigure(curves());
        QCOMPARE(bar->maximum(), 0);
        QCOMPARE(widget.shown().geometry(), widget.rect());
        QVERIFY(ShownFigure(grid(), {400, 200}).findChild<QScrollBar*>()->maximum() > 100);
    }

private:
    QString path(const QString& name) const {
        const QString kept = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
        return (kept.isEmpty() ? m_directory.path() : kept) + "/" + name;
    }

    QTemporaryDir m_directory;
};

SECATEUR_SUITE(TestPaperFigures)
#include "tst_paper_figures.moc"
