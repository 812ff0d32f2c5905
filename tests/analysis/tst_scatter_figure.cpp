#include "analysis/base/usage_error.h"
#include "analysis/figures/evaluation_figure.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/figures/scatter_figure.h"
#include "tests/support/suite.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

Matrix matrix(std::size_t rows, const std::vector<double>& values) {
    Matrix made(rows, values.size() / rows);
    std::copy(values.begin(), values.end(), made.values().begin());
    return made;
}

MetricResult result(std::string_view id, Matrix values) {
    MetricResult made;
    made.request = {findMetric(id), {}};
    made.values = std::move(values);
    return made;
}

/// Two layers with 3 neurons each. Layer 0 has 4 heads in 2 KV groups, layer 1 has 2 heads in one.
ModelSpec raggedSpec() {
    ModelSpec spec;
    spec.architecture = "llama";
    LayerSpec layer;
    layer.heads = 4;
    layer.kvHeads = 2;
    layer.headDim = 8;
    layer.ffn = 3;
    spec.layers = {layer, layer};
    spec.layers[1].heads = 2;
    spec.layers[1].kvHeads = 1;
    return spec;
}

Session smallSession() {
    Session session;
    session.model.name = "m";
    session.model.path = "m.gguf";
    session.model.spec = raggedSpec();
    session.results = {result("gate_norm_head", matrix(2, {1, 2, 3, 4, 5, 6, missing, missing})),
                       result("mag_sp_head", matrix(2, {0.1, 20, 3, 400, 5, 0, missing, missing})),
                       result("gate_norm_group", matrix(2, {10, 20, 30, missing})),
                       result("gate_norm", matrix(2, {7, 8})), result("mag_sp_neuron", matrix(2, {1, 2, 3, 4, 5, 6}))};
    return session;
}

/// An evaluation on `windows` windows of one text, of which the first `scored` were scored.
Evaluation scoredOn(const char* digest, std::size_t windows, std::size_t scored, const EvaluatedMask& mask,
                    double worse) {
    std::vector<WindowLoss> losses;
    for (std::size_t i = 0; i < scored; ++i)
        losses.push_back({7 * (2 + worse + 0.1 * static_cast<double>(i)), 7, 0, i});
    Evaluation evaluation;
    evaluation.mask = mask;
    evaluation.dtype = "float32";
    evaluation.text =
        TextEvaluation{"a.txt", digest, perplexityOf({TextProtocol::tokenPpl, BosMode::firstOnly, 8}, losses, {}), {}};
    evaluation.text->windows = windows;
    return evaluation;
}

/// Two masks: the first head of layer 0, and the first head of layer 1. The second was scored on other windows only.
Session scoredSession() {
    Session session = smallSession();
    session.model.spec.hidden = 16;
    session.model.parameters = 20'000;
    for (const int layer : {0, 1}) {
        MaskRecord record{PruningMask(session.model.spec), {}, {}, {}, {}};
        LayerMask cut = record.mask.layer(layer);
        cut.heads[0] = false;
        record.mask.setLayer(layer, cut);
        session.masks.push_back({layer == 0 ? "a" : "b", layer == 0 ? "sha256:a" : "sha256:b", record});
    }
    session.evaluations = {scoredOn("sha256:11", 11, 11, {}, 0), scoredOn("sha256:11", 11, 11, {"b", "sha256:b"}, 0.5),
                           scoredOn("sha256:14", 14, 14, {}, 0),
                           scoredOn("sha256:14", 14, 14, {"a", "sha256:a"}, 0.25)};
    return session;
}

QString csv(const Figure& figure) {
    return QString::fromStdString(toCsv(figure)).replace("\r\n", "\n");
}

std::vector<double> row(const Matrix& cells, std::size_t index) {
    return {cells.row(index).begin(), cells.row(index).end()};
}

} // namespace

class TestScatterFigure : public QObject {
    Q_OBJECT

private slots:
    void headsAreItsPointsByLayer() {
        const Figure figure = makeFigure(smallSession(), "scatter");
        QVERIFY(figure.kind == FigureKind::scatter);
        QCOMPARE(figure.series.size(), std::size_t(1));
        const FigureSeries& points = figure.series.front();
        QCOMPARE(points.positions, (std::vector<double>{1, 2, 3, 4, 5, 6}));
        QCOMPARE(points.shades, (std::vector<double>{0, 0, 0, 0, 1, 1}));
        QVERIFY(points.units[5] == (FigureUnit{1, 1}));
        QVERIFY(points.cut.empty());
        QCOMPARE(QString::fromStdString(figure.note), "Spearman −0.14 · Kendall −0.07 · 6 heads");
        QVERIFY(figure.caption.find("Spearman's rank correlation −0.14") != std::string::npos);
        QVERIFY(csv(figure).startsWith("layer,head,gate-norm per head,"));
        QVERIFY(csv(figure).contains("\n1,1,6,0\n"));
    }

    void theFinerScopeIsPaired_data() {
        QTest::addColumn<QString>("x");
        QTest::addColumn<QString>("y");
        QTest::addColumn<QString>("positions");
        QTest::addColumn<QString>("values");
        QTest::addColumn<QString>("header");
        QTest::newRow("group and head") << "gate_norm_group"
                                        << "gate_norm_head"
                                        << "10 10 20 20 30 30"
                                        << "1 2 3 4 5 6"
                                        << "layer,head,";
        QTest::newRow("head and layer") << "gate_norm_head"
                                        << "gate_norm"
                                        << "1 2 3 4 5 6"
                                        << "7 7 7 7 8 8"
                                        << "layer,head,";
        QTest::newRow("group and layer") << "gate_norm_group"
                                         << "gate_norm"
                                         << "10 20 30"
                                         << "7 7 8"
                                         << "layer,KV group,";
        QTest::newRow("layers") << "gate_norm"
                                << "gate_norm"
                                << "7 8"
                                << "7 8"
                                << "layer,";
        QTest::newRow("neuron and layer") << "mag_sp_neuron"
                                          << "gate_norm"
                                          << "1 2 3 4 5 6"
                                          << "7 7 7 8 8 8"
                                          << "layer,neuron,";
    }
    void theFinerScopeIsPaired() {
        QFETCH(QString, x);
        QFETCH(QString, y);
        QFETCH(QString, header);
        const Figure figure = makeFigure(smallSession(), ("scatter:x=" + x + ":y=" + y).toStdString());
        const auto words = [](const std::vector<double>& values) {
            QStringList texts;
            for (const double value : values)
                texts << QString::number(value);
            return texts.join(' ');
        };
        QTEST(words(figure.series.front().positions), "positions");
        QTEST(words(figure.series.front().values), "values");
        QVERIFY2(csv(figure).startsWith(header), qPrintable(csv(figure)));
    }

    void headsAndNeuronsCannotBePaired() {
        QVERIFY_EXCEPTION_THROWN(makeFigure(smallSession(), "scatter:x=gate_norm_head:y=mag_sp_neuron"), UsageError);
        QVERIFY_EXCEPTION_THROWN(makeFigure(smallSession(), "rank_difference:x=mag_sp_neuron:y=mag_sp_neuron"),
                                 UsageError);
        QVERIFY_EXCEPTION_THROWN(makeFigure(smallSession(), "scatter:mask=none"), Error);
    }

    void aMasksCutsAreCrosses() {
        Session session = smallSession();
        PruningMask mask(session.model.spec);
        LayerMask first = mask.layer(0);
        first.heads[1] = first.heads[2] = first.heads[3] = false;
        first.mlp = false;
        mask.setLayer(0, first);
        LayerMask second = mask.layer(1);
        second.attention = AttentionCut::drop;
        mask.setLayer(1, second);
        session.masks.push_back({"cuts", "sha256:1", {}});
        session.masks.back().record.mask = mask;
        const auto cuts = [&](const std::string& axes) {
            return makeFigure(session, "scatter:mask=cuts:" + axes).series.front().cut;
        };
        QCOMPARE(cuts("x=gate_norm_head:y=mag_sp_head"), (std::vector<bool>{false, true, true, true, true, true}));
        QCOMPARE(cuts("x=gate_norm_group:y=gate_norm_group"), (std::vector<bool>{false, true, true}));
        QCOMPARE(cuts("x=mag_sp_neuron:y=mag_sp_neuron"), (std::vector<bool>{true, true, true, false, false, false}));
        QCOMPARE(cuts("x=gate_norm:y=gate_norm"), (std::vector<bool>{false, false}));
        QVERIFY(csv(makeFigure(session, "scatter:mask=cuts")).contains("\n1,1,6,0,0\n"));
    }

    void aLogarithmicAxisSaysWhatItCannotPlace() {
        const Figure figure = makeFigure(smallSession(), "scatter:logy=true");
        QVERIFY(figure.y.logarithmic && !figure.x.logarithmic);
        QVERIFY(QString::fromStdString(figure.note).endsWith("6 heads · 1 not positive, not drawn"));
    }

    void manyPointsAreThinnedButNotTheirCorrelation() {
        const Session session = smallSession();
        ScatterLook look;
        look.mostPoints = 3;
        const Figure figure = metricScatter(session.model, session.results[0], session.results[1], look);
        QCOMPARE(figure.series.front().positions, (std::vector<double>{1, 3, 5}));
        QCOMPARE(QString::fromStdString(figure.note), "Spearman −0.14 · Kendall −0.07 · 6 heads · 1 in 2 drawn");
    }

    void runsOnOtherWindowsAreHollow() {
        Session session = scoredSession();
        const PriceList prices(session.model);
        Figure figure = evaluationScatter(session, prices);
        QCOMPARE(figure.series.size(), std::size_t(3));
        QCOMPARE(figure.series[1].names, std::vector<std::string>{"a"});
        QVERIFY(!figure.series[1].isHollow);
        QVERIFY(figure.series[2].isHollow);
        QCOMPARE(figure.series[2].names, std::vector<std::string>{"b"});
        QCOMPARE(figure.series[2].places, std::vector<std::size_t>{1});
        QVERIFY(std::abs(figure.series[2].values[0] - 0.5) < 1e-12); // to the dense run on the same windows
        QCOMPARE(QString::fromStdString(figure.note), "hollow: scored on other windows (11 windows of 8 tokens)");
        session.evaluations.push_back(scoredOn("sha256:14", 14, 4, {"b", "sha256:b"}, 1)); // stopped after 4 windows
        figure = evaluationScatter(session, prices);
        QCOMPARE(figure.series[2].names, (std::vector<std::string>{"b", "b"}));
        QVERIFY(figure.note.ends_with("; 4 of 14 windows of 8 tokens)"));
        session.evaluations.erase(session.evaluations.begin(), session.evaluations.begin() + 2);
        session.evaluations.pop_back();
        figure = evaluationScatter(session, prices);
        QCOMPARE(figure.series.size(), std::size_t(2));
        QVERIFY(figure.note.empty());
    }

    void parametersAreNeverBelowZero() {
        const Session session = scoredSession();
        const Figure figure = evaluationScatter(session, PriceList(session.model));
        QVERIFY(figure.x.range.has_value());
        QVERIFY2(figure.x.range->lower >= 0, qPrintable(QString::number(figure.x.range->lower)));
        for (const FigureSeries& series : figure.series)
            for (const double position : series.positions)
                QVERIFY(position > figure.x.range->lower && position < figure.x.range->upper);
    }

    void nothingMeasuredYetIsAnEmptyScatter() {
        Session session = smallSession();
        std::ranges::fill(session.results[0].values.values(), missing);
        const Figure figure = makeFigure(session, "scatter");
        QVERIFY(figure.series.front().values.empty());
        QCOMPARE(QString::fromStdString(figure.note), "Spearman – · Kendall – · 0 heads");
        QVERIFY(std::isnan(makeFigure(session, "rank_difference").cells(0, 0)));
    }

    void rankDifferencesAreSharesInTheOrderOfCutting() {
        const Figure figure = makeFigure(smallSession(), "rank_difference");
        QVERIFY(figure.kind == FigureKind::heatMap);
        QCOMPARE(QString::fromStdString(figure.scale.map), "vik");
        // Both metrics cut low values first. The ranks of the six heads are 1 2 3 4 5 6 by x and 2 5 3 6 4 1 by y. A
        // cell is rank by y minus rank by x, divided by 5: 0.2, 0.6, 0, 0.4, -0.2 and -1.
        QVERIFY(findMetric("gate_norm_head")->pruneFirst == PruneFirst::low);
        QVERIFY(findMetric("mag_sp_head")->pruneFirst == PruneFirst::low);
        QCOMPARE(row(figure.cells, 0), (std::vector{0.2, 0.6, 0.0, 0.4}));
        QCOMPARE(figure.cells(1, 0), -0.2);
        QCOMPARE(figure.cells(1, 1), -1.0);
        QVERIFY(std::isnan(figure.cells(1, 2)));
        const Figure none = makeFigure(smallSession(), "rank_difference:x=gate_norm:y=gate_norm");
        QCOMPARE(row(none.cells, 1), (std::vector{0.0}));
    }
};

SECATEUR_SUITE(TestScatterFigure)
#include "tst_scatter_figure.moc"
