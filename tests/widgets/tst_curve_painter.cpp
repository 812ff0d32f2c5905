// Pictures of the figures that show sweeps, and which point or cell is at a pixel.
#include "analysis/gallery/figure_table.h"
#include "tests/support/curve_session.h"
#include "tests/support/suite.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_curves.h"
#include "widgets/plot/plot_panels.h"

#include <QApplication>
#include <QFile>
#include <QPalette>
#include <QTemporaryDir>
#include <QTest>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace secateur;

namespace {

/// A figure in a widget, whose plot can be asked.
class ShownFigure : public FigureWidget {
public:
    explicit ShownFigure(const Figure& figure) {
        resize(640, 400);
        setFigure(figure);
        grab(); // lays out a widget that is not shown
    }
    QCustomPlot& shown() const { return *plot(); }
};

struct DrawnStrategy {
    const char* id;
    double rise; ///< of the loss at half of the heads
    int repetitions = 1;
};

/// Heads of a model in an order that a strategy might choose: by layer and chance.
std::vector<HeadId> drawnOrder(const ModelSpec& spec, double slope, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<double, HeadId>> scores;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < spec.layers[0].heads; ++head)
            scores.push_back({slope * layer + static_cast<double>(random() % 1000) / 250, {layer, head}});
    std::ranges::sort(scores);
    std::vector<HeadId> order;
    for (const auto& [score, id] : scores)
        order.push_back(id);
    return order;
}

/// A session as a sweep of several strategies leaves it.
Session wideSession() {
    constexpr std::array strategies{DrawnStrategy{"attention_entropy", 0.8},
                                    DrawnStrategy{"by_metric:metric=gnorm", 0.5},
                                    DrawnStrategy{"entropy", 0.9},
                                    DrawnStrategy{"entropy_inverse", 1.6},
                                    DrawnStrategy{"gnorm_greedy", 0.35},
                                    DrawnStrategy{"gnorm_inverse", 2.2},
                                    DrawnStrategy{"random_head", 1.1, 5},
                                    DrawnStrategy{"sink_head", 0.4}};
    Session session;
    session.model = test::curveModel();
    LayerSpec layer = session.model.spec.layers.front();
    layer.heads = 8;
    layer.kvHeads = 4;
    session.model.spec.layers.assign(8, layer);
    Curves set = test::emptyCurves(session.model);
    for (std::size_t which = 0; which < strategies.size(); ++which) {
        Curve curve{strategies[which].id, {}};
        for (const int heads : {4, 8, 12, 16, 24, 32})
            for (int repetition = 0; repetition < strategies[which].repetitions; ++repetition) {
                const auto seed = static_cast<unsigned>(17 * which + static_cast<unsigned>(repetition));
                const auto order = drawnOrder(session.model.spec, 0.3 * (static_cast<double>(which % 3) - 1), seed);
                CurvePoint point = test::cutPoint(session, order, static_cast<std::size_t>(heads), set.conditions);
                point.key = test::headBudget(heads, repetition);
                const double share = heads / 32.0;
                test::score(point, strategies[which].rise * std::pow(share, 1.3) * (1 + 0.15 * repetition));
                point.choosingSeconds = 0.5 * (1 + static_cast<double>(which * which));
                if (which == 4 && heads == 32)
                    point.reached = Budget{30, false, BudgetOf::own};
                if (which == 3 && heads == 24) {
                    point.deltaNats = point.lossNats = point.perplexity = notMeasured;
                    point.error = "it does not run";
                }
                curve.points.push_back(point);
            }
        set.curves.push_back(std::move(curve));
    }
    session.curves.push_back(std::move(set));
    return session;
}

bool isNear(QPointF a, QPointF b) {
    return (a - b).manhattanLength() < 1;
}

int count(const QImage& image, QRgb colour) {
    int found = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            found += (image.pixel(x, y) | 0xff000000U) == (colour | 0xff000000U) ? 1 : 0;
    return found;
}

} // namespace

class TestCurvePainter : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY(m_directory.isValid()); }

    void everyLineHasItsColour() {
        const QImage image = figureImage(makeFigure(wideSession(), "curves:x=heads"), FigureWidth::page);
        for (const QColor& colour : lineColours())
            QVERIFY2(count(image, colour.rgb()) > 300, qPrintable(colour.name()));
    }

    void thePointAtAPixelIsFound() {
        const Figure figure = makeFigure(test::curveSession(), "curves:x=heads");
        const ShownFigure widget(figure);
        for (std::size_t series = 0; series < 3; ++series)
            for (std::size_t i = 0; i < 3; ++i) {
                const auto pixel = pointPixel(widget.shown(), figure, {series, i});
                QVERIFY(pixel.has_value());
                const auto found = nearestPoint(widget.shown(), figure, *pixel + QPointF(2, -2), 8);
                QVERIFY(found.has_value());
                QVERIFY(isNear(pointPixel(widget.shown(), figure, *found).value(), *pixel));
            }
        const QRect axes = widget.shown().axisRect()->rect();
        QVERIFY(!nearestPoint(widget.shown(), figure, axes.topLeft(), 8));
        QVERIFY(!pointPixel(widget.shown(), figure, {4, 0})); // the staircase has no points
    }

    void failedPointsCanBeFoundToo() {
        Session session = test::curveSession();
        CurvePoint& point = session.curves[0].curves[2].points[1];
        point.deltaNats = notMeasured;
        point.error = "it does not run";
        const Figure figure = makeFigure(session, "curves:x=heads");
        const ShownFigure widget(figure);
        const auto pixel = pointPixel(widget.shown(), figure, {2, 1});
        QVERIFY(pixel.has_value());
        QVERIFY(widget.shown().axisRect()->rect().contains(pixel->toPoint()));
        QVERIFY(nearestPoint(widget.shown(), figure, *pixel, 5) == (FigurePoint{2, 1}));
    }

    void theCellAtAPixelIsFound() {
        const Figure panels = makeFigure(test::curveSession(), "removal_map");
        const ShownFigure widget(panels);
        std::vector<QCPAxisRect*> rects;
        for (QCPAxisRect* rect : widget.shown().axisRects())
            if (rect->axisCount(QCPAxis::atBottom) > 0)
                rects.push_back(rect);
        QCOMPARE(rects.size(), panels.panels.size());
        std::ranges::sort(rects, {}, [](QCPAxisRect* rect) { return std::pair(rect->top(), rect->left()); });
        for (std::size_t panel = 0; panel < rects.size(); ++panel) {
            const QPointF pixel(rects[panel]->axis(QCPAxis::atBottom)->coordToPixel(2),
                                rects[panel]->axis(QCPAxis::atLeft)->coordToPixel(1));
            QVERIFY(cellAt(widget.shown(), panels, pixel) == (PanelCell{panel, 1, 2}));
        }
        QVERIFY(!cellAt(widget.shown(), panels, {1, 1}));
        const Figure map = makeFigure(test::curveSession(), "agreement");
        const ShownFigure mapWidget(map);
        const QPointF middle = QRectF(mapWidget.shown().axisRect()->rect()).center();
        QVERIFY(cellAt(mapWidget.shown(), map, middle) == (PanelCell{0, 1, 1}));
    }

    void panelsFillTheWidth() {
        QCOMPARE(panelGrid(3, 640).columns, 3);
        QCOMPARE(panelGrid(8, 640).rows, 2);
        QCOMPARE(panelGrid(8, 640).columns, 4);
        QCOMPARE(panelGrid(6, 200).columns, 1);
        QCOMPARE(panelGrid(0, 200).rows, 1);
    }

    void everyFormatIsWritten_data() {
        QTest::addColumn<QString>("figure");
        for (const char* figure :
             {"curves", "curves:scale=log", "curves:y=perplexity", "curves:y=task", "curves:x=seconds", "removal_map",
              "removal_map:unit=parameters", "agreement", "agreement:budget=8", "stability"})
            QTest::newRow(figure) << figure;
    }
    void everyFormatIsWritten() {
        QFETCH(QString, figure);
        Session session = wideSession();
        Curves again = session.curves[0];
        again.conditions.calibrationDigest = "sha256:other";
        std::swap(again.curves[4].points, again.curves[7].points);
        session.curves.push_back(again);
        const Figure drawn = makeFigure(session, figure.toStdString());
        QString name = figure;
        name.replace(QRegularExpression("[:=]"), "_");
        for (const char* format : {"png", "svg", "pdf"})
            for (const auto& [suffix, width] :
                 {std::pair("column", FigureWidth::column), std::pair("page", FigureWidth::page)}) {
                const QString file = path(QString("%1_%2.%3").arg(name, suffix, format));
                saveFigure(drawn, file, width);
                QVERIFY2(QFile(file).size() > 2000, qPrintable(file));
            }
        ShownFigure widget(drawn);
        QVERIFY(widget.grab().save(path(name + "_light.png")));
        QPalette dark;
        dark.setColor(QPalette::Base, QColor(30, 30, 30));
        dark.setColor(QPalette::Text, QColor(230, 230, 230));
        widget.setPalette(dark);
        QVERIFY(widget.grab().save(path(name + "_dark.png")));
    }

private:
    QString path(const QString& name) const {
        const QString kept = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
        return (kept.isEmpty() ? m_directory.path() : kept) + "/" + name;
    }

    QTemporaryDir m_directory;
};

SECATEUR_SUITE(TestCurvePainter)
#include "tst_curve_painter.moc"
