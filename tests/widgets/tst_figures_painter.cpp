#include "analysis/base/error.h"
#include "analysis/figures/figure.h"
#include "tests/support/suite.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_scale.h"

#include <QDir>
#include <QFile>
#include <QImageReader>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

Figure heatMap(std::size_t rows, std::size_t columns) {
    Figure figure;
    figure.title = "SmolLM2-135M-Instruct";
    figure.x.label = "head";
    figure.y.label = "layer";
    figure.colour.label = "gate-norm per head";
    figure.cells = Matrix(rows, columns);
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
            figure.cells(row, column) = 12.0 + 10 * std::sin(0.7 * static_cast<double>(row * 7 % 11)) *
                                                   std::cos(1.3 * static_cast<double>(column));
    figure.caption = "Gate-norm per head of SmolLM2 <135M> & others.";
    figure.command = "secateur-cli plot --figure heads session.h5";
    return figure;
}

Figure series(int lines) {
    Figure figure;
    figure.kind = FigureKind::series;
    figure.title = "SmolLM2-135M-Instruct";
    figure.x.label = "layer";
    figure.y.label = "gate-norm, gate-norm, headwise";
    for (int line = 0; line < lines; ++line) {
        FigureSeries one;
        one.label = line == 0 ? "gate-norm" : line == 1 ? "gate-norm, headwise" : "mean gate-norm per head";
        one.rightAxis = line == 2;
        for (int layer = 0; layer < 30; ++layer)
            one.values.push_back((line == 2 ? 0.05 : 1) * (20 + 5 * line + 9 * std::sin(layer * 0.6 + line)));
        if (line == 0)
            one.errors.assign(30, 1.5);
        figure.series.push_back(one);
    }
    if (lines > 2)
        figure.rightY.label = "mean gate-norm per head";
    return figure;
}

/// The number of pixels with this colour in the image.
int count(const QImage& image, QRgb colour) {
    int found = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            found += (image.pixel(x, y) | 0xff000000U) == colour ? 1 : 0;
    return found;
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class TestFiguresPainter : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY(m_directory.isValid()); }

    void mapsHaveTheirPublishedEnds() {
        QCOMPARE(colourMapIds(), QStringList({"viridis", "cividis", "magma", "vik"}));
        QCOMPARE(colourMap("viridis").front(), qRgb(68, 1, 84));
        QCOMPARE(colourMap("viridis").back(), qRgb(253, 231, 37));
        QCOMPARE(colourMap("nonsense"), colourMap("viridis"));
        QVERIFY(isDiverging("vik") && !isDiverging("magma"));
    }

    void rangeIsClippedAtPercentiles() {
        std::vector<double> values(101);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<double>(i);
        const ColourRange range(values, {"viridis", ScaleKind::linear, 1});
        QCOMPARE(range.lower(), 1.0);
        QCOMPARE(range.upper(), 99.0);
        QVERIFY(range.hasBelow() && range.hasAbove());
        QCOMPARE(range.colour(-5), colourMap("viridis").front());
        QCOMPARE(range.colour(1e9), colourMap("viridis").back());
        const ColourRange whole(values, {"viridis", ScaleKind::linear, 0});
        QVERIFY(!whole.hasBelow() && !whole.hasAbove());
    }

    void divergingMapIsCentredAtZero() {
        const std::vector<double> values{-1, 0, 3};
        const ColourRange range(values, {"vik", ScaleKind::linear, 0});
        QCOMPARE(range.lower(), -3.0);
        QCOMPARE(range.upper(), 3.0);
    }

    void rangeCopesWithFewAndOddValues() {
        const std::vector<double> none{missing, missing};
        QCOMPARE(ColourRange(none, {}).upper(), 1.0);
        const std::vector<double> one{5.0};
        QVERIFY(ColourRange(one, {}).lower() < 5 && ColourRange(one, {}).upper() > 5);
        const std::vector<double> negative{-2, -1};
        QVERIFY(!ColourRange(negative, {"viridis", ScaleKind::logarithmic, 0}).isLogarithmic());
        const std::vector<double> mixed{0, 1e-3, 10};
        const ColourRange logarithmic(mixed, {"viridis", ScaleKind::logarithmic, 0});
        QCOMPARE(logarithmic.lower(), 1e-3);
        QCOMPARE(logarithmic.colour(0), colourMap("viridis").front());
        QCOMPARE(logarithmic.colour(0.1), logarithmic.colourAt(0.5));
    }

    void bandsAreDarkerTowardsTheMedian() {
        Figure figure;
        figure.kind = FigureKind::bands;
        figure.title = "SmolLM2-135M-Instruct";
        figure.x.label = "layer";
        figure.y.label = "Mag-SP per neuron";
        for (const double percent : bandPercents) {
            FigureSeries quantile;
            quantile.label = "p" + std::to_string(percent);
            for (int layer = 0; layer < 12; ++layer)
                quantile.values.push_back(layer == 5 ? missing : (percent + 1) * (1 + 0.1 * layer));
            figure.series.push_back(quantile);
        }
        const PlotTheme theme = paperTheme(300);
        const QColor full = lineColours().front();
        for (const bool logarithmic : {false, true}) {
            figure.y.logarithmic = logarithmic;
            const QImage image = figureImage(figure, FigureWidth::column);
            for (const double share : {1.0 / 3, 2.0 / 3, 1.0}) {
                const QColor band = mixed(theme.background, full, 0.12 + 0.78 * std::pow(share, 1.6));
                QVERIFY2(count(image, band.rgb()) > 1000, qPrintable(band.name()));
            }
            saveFigure(figure, path(logarithmic ? "bands_log.svg" : "bands.png"), FigureWidth::column);
        }
        for (FigureSeries& quantile : figure.series)
            std::fill(quantile.values.begin(), quantile.values.end(), missing);
        // A figure without values, as before a measurement, can be drawn.
        QVERIFY(!figureImage(figure, FigureWidth::column).isNull());
    }

    void histogramsFillTheirBins() {
        Figure figure;
        figure.kind = FigureKind::histogram;
        figure.x.label = "Mag-SP per neuron";
        figure.y.label = "neurons";
        figure.edges = {1, 2, 4, 8};
        figure.series.push_back({"neurons", {10, 0, 10}, {}, false});
        const QColor fill = mixed(Qt::white, lineColours().front(), 0.35);
        const int linear = count(figureImage(figure, FigureWidth::column), fill.rgb());
        figure.x.logarithmic = true;
        const int logarithmic = count(figureImage(figure, FigureWidth::column), fill.rgb());
        // The filled bins cover 5 of 7 units of the linear axis, and 2 of 3 octaves of the logarithmic axis.
        QVERIFY2(std::abs(logarithmic / double(linear) - (2.0 / 3) / (5.0 / 7)) < 0.02,
                 qPrintable(QString("%1 %2").arg(linear).arg(logarithmic)));
        figure.edges.clear();
        figure.series.front().values.clear();
        QVERIFY(!figureImage(figure, FigureWidth::column).isNull());
    }

    void cellsHaveTheColoursOfTheMap() {
        Figure figure = heatMap(4, 4);
        for (double& value : figure.cells.values())
            value = 5;
        figure.cells(0, 0) = 1;
        figure.cells(3, 3) = 9;
        figure.cells(1, 1) = missing;
        figure.scale.clipPercent = 0;
        const QImage image = figureImage(figure, FigureWidth::column);
        QCOMPARE(image.width(), 992); // pixels of 8.4 cm at 300 dpi
        QCOMPARE(image.pixel(0, 0), QColor(Qt::white).rgb());
        const int low = count(image, colourMap("viridis").front());
        const int high = count(image, colourMap("viridis").back());
        const int middle = count(image, ColourRange(figure.cells.values(), figure.scale).colour(5));
        const int absent = count(image, paperTheme(300).absent.rgb());
        QVERIFY(low > 5000 && std::abs(low - high) < low / 10);
        QVERIFY(middle > 12 * low && middle < 14 * low);
        QVERIFY(absent > 5000 && std::abs(absent - low) < low / 10);
    }

    void picturesCarryTheirDescription() {
        const Figure figure = heatMap(30, 9);
        saveFigure(figure, path("heads.png"), FigureWidth::page);
        QImageReader png(path("heads.png"));
        QCOMPARE(png.text("Title"), QString("SmolLM2-135M-Instruct"));
        QVERIFY(png.text("Description").contains("secateur-cli plot"));
        const QImage image = png.read();
        QCOMPARE(image.width(), 2055); // pixels of 17.4 cm at 300 dpi
        QCOMPARE(image.dotsPerMeterX(), 11811);

        saveFigure(figure, path("heads.svg"), FigureWidth::column);
        QVERIFY2(contents(path("heads.svg")).left(200).contains("<svg"), "names have a prefix");
        QXmlStreamReader svg(contents(path("heads.svg")));
        QString title;
        QString description;
        int texts = 0;
        while (!svg.atEnd()) {
            svg.readNext();
            if (!svg.isStartElement())
                continue;
            if (svg.name() == QLatin1String("title"))
                title = svg.readElementText();
            else if (svg.name() == QLatin1String("desc"))
                description = svg.readElementText();
            else if (svg.attributes().hasAttribute("aria-label"))
                ++texts; // as an outline
        }
        QVERIFY2(!svg.hasError(), qPrintable(svg.errorString()));
        QCOMPARE(title, QString("SmolLM2-135M-Instruct"));
        QVERIFY(description.contains("<135M> & others"));
        QVERIFY(texts > 10);

        saveFigure(figure, path("heads.pdf"), FigureWidth::column);
        QVERIFY(contents(path("heads.pdf")).startsWith("%PDF"));
        QVERIFY(contents(path("heads.pdf")).contains("FontFile"));
    }

    void everyShapeIsDrawn_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("columns");
        QTest::newRow("nothing") << "nothing" << 0 << 0;
        QTest::newRow("one cell") << "one" << 1 << 1;
        QTest::newRow("a value per layer") << "layer_map" << 30 << 1;
        QTest::newRow("large") << "large" << 128 << 128;
        QTest::newRow("wide") << "wide" << 6 << 64;
    }
    void everyShapeIsDrawn() {
        QFETCH(QString, name);
        QFETCH(int, rows);
        QFETCH(int, columns);
        Figure figure = heatMap(static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
        for (const QString format : {"png", "svg", "pdf"}) {
            saveFigure(figure, path(name + "." + format), FigureWidth::column);
            QVERIFY(contents(path(name + "." + format)).size() > 500);
        }
        figure.scale.kind = ScaleKind::logarithmic;
        saveFigure(figure, path(name + "_log.png"), FigureWidth::page);
    }

    void cutsAreMarked() {
        ModelSpec spec;
        LayerSpec layer;
        layer.heads = 4;
        layer.kvHeads = 2;
        layer.ffn = 8;
        spec.layers.assign(4, layer);
        PruningMask mask(spec);
        LayerMask one = mask.layer(1);
        one.heads[2] = false;
        mask.setLayer(1, one);
        LayerMask two = mask.layer(2);
        two.attention = AttentionCut::drop;
        mask.setLayer(2, two);
        LayerMask three = mask.layer(3);
        three.mlp = false;
        mask.setLayer(3, three);
        Figure lines = series(1);
        lines.series.front().values.resize(4);
        lines.series.front().errors.clear();
        Figure bands = lines;
        bands.kind = FigureKind::bands;
        bands.series.assign(bandPercents.size(), lines.series.front());
        for (Figure figure : {heatMap(4, 4), heatMap(4, 2), lines, bands})
            for (const QString format : {"png", "svg", "pdf"}) {
                const QString file =
                    path(QString("cuts_%1_%2.%3").arg(int(figure.kind)).arg(figure.cells.columns()).arg(format));
                figure.mask.reset();
                saveFigure(figure, file, FigureWidth::column);
                const QByteArray before = contents(file);
                figure.mask = mask;
                saveFigure(figure, file, FigureWidth::column);
                QVERIFY2(contents(file) != before, qPrintable(file));
            }
        for (Figure figure : {lines, bands}) { // within the axes, not only in the legend
            figure.mask = PruningMask(spec);
            const QImage whole = figureImage(figure, FigureWidth::column);
            figure.mask = mask;
            const QImage cut = figureImage(figure, FigureWidth::column);
            int inAxes = 0;
            for (int x = whole.width() / 4; x < whole.width(); ++x)
                inAxes += cut.pixel(x, whole.height() / 2) != whole.pixel(x, whole.height() / 2) ? 1 : 0;
            QVERIFY2(inAxes > 10, qPrintable(QString::number(inAxes)));
        }
        // The dark and light lines of the hatching, which fill the second head of KV group 1 in layer 1 and all of
        // layer 2.
        Figure map = heatMap(4, 4);
        map.mask = mask;
        const QImage marked = figureImage(map, FigureWidth::column);
        map.mask.reset();
        const QImage plain = figureImage(map, FigureWidth::column);
        QCOMPARE(marked.size(), plain.size());
        QRect changed;
        for (int y = 0; y < plain.height(); ++y)
            for (int x = 0; x < plain.width(); ++x)
                if (plain.pixel(x, y) != marked.pixel(x, y))
                    changed |= QRect(x, y, 1, 1);
        QVERIFY2(changed.width() > plain.width() / 3 && changed.height() < plain.height() / 2,
                 qPrintable(QString("%1 x %2").arg(changed.width()).arg(changed.height())));
    }

    void pointsOnTheAxisAreWhole() {
        Figure figure;
        figure.kind = FigureKind::scatter;
        figure.x.range = AxisRange{0, 3};
        FigureSeries points;
        points.label = "points";
        points.positions = {1, 2};
        points.values = {0, 0.3};
        figure.series = {points};
        const QImage image = figureImage(figure, FigureWidth::column);
        std::array<int, 2> pixels{}; // of the lower and of the upper point
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                if ((image.pixel(x, y) | 0xff000000U) == lineColours()[0].rgb())
                    ++pixels[y < image.height() / 2 ? 1 : 0];
        QVERIFY2(pixels[0] > 20 && std::abs(pixels[0] - pixels[1]) < pixels[1] / 8,
                 qPrintable(QString("%1 %2").arg(pixels[0]).arg(pixels[1])));
    }

    void savedMapsHaveTheMeansOfTheirRows() {
        Figure figure = heatMap(6, 4);
        const QColor bars = mixed(paperTheme(300).background, paperTheme(300).text, 0.45);
        const int before = count(figureImage(figure, FigureWidth::column), bars.rgb());
        figure.rowBars = true;
        const int after = count(figureImage(figure, FigureWidth::column), bars.rgb());
        QVERIFY2(after > before + 5000, qPrintable(QString("%1 %2").arg(before).arg(after)));
        saveFigure(figure, path("row_bars.png"), FigureWidth::column);
        figure.colour.names = {"sink", "other"};
        for (double& value : figure.cells.values())
            value = value > 12 ? 1 : 0;
        saveFigure(figure, path("row_shares.png"), FigureWidth::column);
    }

    void namesOfTokensDoNotTouch() {
        Figure figure = heatMap(40, 40);
        for (int token = 0; token < 40; ++token)
            figure.x.names.push_back("token" + std::to_string(token));
        figure.y.names = figure.x.names;
        saveFigure(figure, path("tokens.svg"), FigureWidth::column);
        const QString svg = QString::fromUtf8(contents(path("tokens.svg")));
        const qsizetype names = svg.count("aria-label=\"token");
        QVERIFY2(names >= 10 && names <= 20, qPrintable(QString::number(names))); // every fifth, on both axes
        saveFigure(figure, path("tokens.png"), FigureWidth::column);
    }

    void scalesChangeTheColours() {
        Figure figure = heatMap(4, 4);
        for (std::size_t cell = 0; cell < 16; ++cell)
            figure.cells.values()[cell] = std::pow(2.0, static_cast<double>(cell));
        std::set<QRgb> last;
        for (const ScaleKind kind :
             {ScaleKind::linear, ScaleKind::withinLayer, ScaleKind::logarithmic, ScaleKind::rank}) {
            figure.scale = {"viridis", kind, 0};
            const Matrix shown = onScale(figure.cells, kind);
            const ColourRange range(shown.values(), figure.scale);
            std::set<QRgb> colours;
            for (const double value : shown.values())
                colours.insert(range.colour(value));
            QVERIFY(colours.size() >= last.size() || kind == ScaleKind::withinLayer);
            last = colours;
            saveFigure(figure, path("scale_" + QString::number(int(kind)) + ".png"), FigureWidth::column);
        }
        QCOMPARE(last.size(), 16U); // ranks use the whole map
    }

    void linesAreDrawn() {
        for (int lines : {0, 1, 2, 3, 9})
            for (const auto& [width, form] : {std::pair(FigureWidth::column, "column"), {FigureWidth::page, "page"}})
                for (const QString format : {"png", "svg", "pdf"}) {
                    const QString name = QString("lines_%1_%2.%3").arg(lines).arg(form, format);
                    saveFigure(series(lines), path(name), width);
                    QVERIFY(contents(path(name)).size() > 500);
                }
        Figure logarithmic = series(2);
        logarithmic.y.logarithmic = true;
        logarithmic.series[0].values[3] = 0;
        logarithmic.series[0].values[4] = missing;
        logarithmic.series[1].values[5] = 0.003;
        saveFigure(logarithmic, path("lines_log.png"), FigureWidth::column);
    }

    void failureLeavesWhatWasThere() {
        const QString target = path("kept.png");
        const QByteArray before = "\x89PNG\r\n\x1a\nbefore";
        writeAside(target, before);
        QVERIFY_EXCEPTION_THROWN(saveFigure(heatMap(2, 2), path("no/such/folder.png"), FigureWidth::column), Error);
        QVERIFY_EXCEPTION_THROWN(saveFigure(heatMap(2, 2), path("kept.bmp"), FigureWidth::column), Error);
        QCOMPARE(contents(target), before);
        saveFigure(heatMap(2, 2), target, FigureWidth::column);
        QVERIFY(contents(target).startsWith("\x89PNG") && contents(target) != before);
        QCOMPARE(QDir(QFileInfo(target).path()).entryList({"kept*"}, QDir::Files), QStringList("kept.png"));
    }

    void otherFilesAreNotReplaced() {
        const QString target = path("thesis.pdf");
        const QByteArray text = "a text of somebody";
        QFile file(target);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
        file.close();
        QVERIFY_EXCEPTION_THROWN(saveFigure(heatMap(2, 2), target, FigureWidth::column), Error);
        QCOMPARE(contents(target), text);
        saveFigure(heatMap(2, 2), target, FigureWidth::column, true);
        QVERIFY(contents(target).startsWith("%PDF-"));
        QVERIFY(QFile::link(path("nowhere.png"), path("link.png")));
        QVERIFY_EXCEPTION_THROWN(saveFigure(heatMap(2, 2), path("link.png"), FigureWidth::column), Error);
        QVERIFY(!QFile::exists(path("nowhere.png")));
    }

private:
    /// The path for a picture: in the folder SECATEUR_SCREENSHOTS if this variable is set, otherwise in a temporary
    /// folder.
    QString path(const QString& name) const {
        const QString kept = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
        return (kept.isEmpty() ? m_directory.path() : kept) + "/" + name;
    }

    QTemporaryDir m_directory;
};

SECATEUR_SUITE(TestFiguresPainter)
#include "tst_figures_painter.moc"
