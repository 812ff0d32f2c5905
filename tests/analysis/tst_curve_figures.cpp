// The numbers of the figures that show sweeps, from curves made by hand.
#include "analysis/base/usage_error.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/figures/curve_maps.h"
#include "analysis/gallery/figure_table.h"
#include "tests/support/curve_session.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/suite.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <set>

using namespace secateur;

namespace {

using Values = std::vector<double>;

bool areClose(const Values& found, const Values& expected) {
    return std::ranges::equal(found, expected, [](double a, double b) {
        return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) < 1e-9;
    });
}

const FigureSeries& line(const Figure& figure, const std::string& label) {
    const auto found = std::ranges::find(figure.series, label, &FigureSeries::label);
    if (found == figure.series.end())
        throw Error("is missing in the figure", label);
    return *found;
}

bool has(const Figure& figure, const std::string& label) {
    return std::ranges::find(figure.series, label, &FigureSeries::label) != figure.series.end();
}

Values column(const Matrix& cells, std::size_t index) {
    Values values;
    for (std::size_t row = 0; row < cells.rows(); ++row)
        values.push_back(cells(row, index));
    return values;
}

/// Adds a mask of three heads of layer 3 with a loss of 2.4 on the scored text, and its answers to the task.
void addMaskByHand(Session& session) {
    const std::vector<HeadId> heads{{3, 0}, {3, 1}, {3, 2}};
    const CurvePoint point = test::cutPoint(session, heads, 3, session.curves.front().conditions);
    std::vector<WindowLoss> losses;
    for (std::size_t i = 0; i < 16; ++i)
        losses.push_back({2.4 * 8, 8, 0, i});
    PerplexityRules rules;
    rules.protocol = TextProtocol::tokenPpl;
    TextEvaluation text{"scored.txt", "sha256:scored", perplexityOf(rules, losses, {}), {}};
    text.windows = 16;
    Evaluation evaluation = test::drawnEvaluation({"by hand", point.mask}, text);
    add(session, evaluation);
    text.digest = "sha256:another";
    text.source = "another.txt";
    add(session, test::drawnEvaluation({"by hand", point.mask}, text));
}

} // namespace

class TestCurveFigures : public QObject {
    Q_OBJECT

private slots:
    void aLineConnectsTheBudgetsOfAStrategy() {
        const Figure figure = makeFigure(test::curveSession(), "curves:x=heads");
        QVERIFY(figure.kind == FigureKind::curves);
        QCOMPARE(figure.series.size(), std::size_t(5));
        const FigureSeries& greedy = line(figure, "gnorm_greedy");
        QVERIFY(areClose(greedy.positions, {2, 4, 6}));
        QVERIFY(areClose(greedy.values, {0.1, 0.2, 0.6}));
        QVERIFY(areClose(greedy.errors, {0.02, 0.02, 0.02}));
        QVERIFY(greedy.marks[1] == PointMark::none && greedy.marks[2] == PointMark::hollow);
        QCOMPARE(greedy.names[2], std::string("6"));
        QCOMPARE(figure.x.label, std::string("heads removed"));
        QCOMPARE(figure.y.label, std::string("rise of the loss (nats per token)"));
        QVERIFY(areClose(line(figure, "dense model").values, {0}));
        QVERIFY(figure.caption.find("Calibrated on calibration.txt (8,192 tokens), scored on scored.txt") !=
                std::string::npos);
    }

    void repetitionsAreABandAroundTheirMean() {
        const Figure figure = makeFigure(test::curveSession(), "curves:x=heads");
        const FigureSeries& random = line(figure, "random_head");
        QVERIFY(areClose(random.positions, {2, 4, 6}));
        QVERIFY(areClose(random.values, {0.6, 0.9, 1.7})); // of 4 heads, one of the two was scored
        QVERIFY(areClose(random.lows, {0.5, notMeasured, 1.4}));
        QVERIFY(areClose(random.highs, {0.7, notMeasured, 2.0}));
        QVERIFY(areClose(random.errors, {0, 0.02, 0}));
        QCOMPARE(random.names[0], std::string("2, 2 repetitions"));
        QVERIFY(figure.note.find("1 point failed") != std::string::npos);
        QVERIFY(figure.note.find("hollow") != std::string::npos);
    }

    void pointsThatFailedAreCrossesIfTheyHaveAMask() {
        Session session = test::curveSession();
        CurvePoint& point = session.curves[0].curves[2].points[1];
        point.deltaNats = point.lossNats = notMeasured;
        point.error = "it does not run";
        const Figure figure = makeFigure(session, "curves:x=heads");
        const FigureSeries& sink = line(figure, "sink_head");
        QVERIFY(areClose(sink.positions, {2, 4, 6}));
        QVERIFY(areClose(sink.values, {0.05, notMeasured, 0.5}));
        QVERIFY(sink.marks[1] == PointMark::failed);
        QCOMPARE(sink.names[1], std::string("4: it does not run"));
        QVERIFY(figure.note.find("2 points failed (×)") != std::string::npos);
        point.mask.clear();
        QVERIFY(areClose(line(makeFigure(session, "curves:x=heads"), "sink_head").positions, {2, 6}));
    }

    void eachTrainingHasALineOfItsOwnColour() {
        Session session = test::curveSession();
        for (Curve& curve : session.curves[0].curves) {
            const std::vector<CurvePoint> pruned = curve.points;
            for (const char* training : {"amp:epochs=1", "amp:epochs=2"})
                for (CurvePoint point : pruned) {
                    point.key.recovered = training;
                    curve.points.push_back(std::move(point));
                }
        }
        const Figure figure = makeFigure(session, "curves:x=heads:pareto=false");
        std::set<std::size_t> colours;
        std::size_t lines = 0;
        for (const FigureSeries& series : figure.series)
            if (series.colour) {
                colours.insert(*series.colour);
                ++lines;
            }
        QCOMPARE(lines, 3 * session.curves[0].curves.size());
        QCOMPARE(colours.size(), lines);
    }

    void theFrontHasThePointsThatNoOtherBeats() {
        const Figure figure = makeFigure(test::curveSession(), "curves:x=heads");
        const FigureSeries& front = line(figure, "Pareto front");
        QVERIFY(front.style == SeriesStyle::stepsRight);
        QVERIFY(areClose(front.positions, {0, 2, 4, 6}));
        QVERIFY(areClose(front.values, {0, 0.05, 0.2, 0.5}));
        QVERIFY(!has(makeFigure(test::curveSession(), "curves:pareto=false"), "Pareto front"));
    }

    void theFrontOfAccuracyIsAbove() {
        const Figure figure = makeFigure(test::curveSession(), "curves:x=heads:y=task");
        QCOMPARE(figure.y.label, std::string("accuracy on choices"));
        QVERIFY(areClose(line(figure, "sink_head").values, {0.7375, 0.675, 0.625}));
        QVERIFY(areClose(line(figure, "sink_head").errors, {0.05, 0.05, 0.05}));
        QVERIFY(areClose(line(figure, "dense model").values, {0.75}));
        QVERIFY(areClose(line(figure, "Pareto front").values, {0.75, 0.7375, 0.7, 0.625}));
        QCOMPARE(makeFigure(test::curveSession(), "curves:x=heads:task=choices/acc").y.label, figure.y.label);
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(test::curveSession(), "curves:task=other"));
    }

    void fewerSecondsAreBetter() {
        Session session = test::curveSession();
        for (std::size_t curve = 0; curve < 3; ++curve)
            for (CurvePoint& point : session.curves[0].curves[curve].points)
                point.choosingSeconds = 10 * static_cast<double>(curve + 1);
        const Figure figure = makeFigure(session, "curves:x=seconds:strategies=gnorm_greedy/sink_head");
        const FigureSeries& front = line(figure, "Pareto front");
        QVERIFY(front.style == SeriesStyle::stepsLeft);
        QVERIFY(areClose(front.positions, {10, 30}));
        QVERIFY(areClose(front.values, {0.1, 0.05}));
    }

    void sharesAreThoseOfTheWholeModel() {
        Session session = test::curveSession();
        const Figure figure = makeFigure(session, "curves");
        QCOMPARE(figure.x.label, std::string("parameters removed (%)"));
        const CurvePoint& dense = session.curves[0].dense;
        const CurvePoint& point = session.curves[0].curves[2].points[0];
        const double share =
            100 * (1 - static_cast<double>(point.parameters) / static_cast<double>(dense.parameters));
        QVERIFY(share > 0);
        QCOMPARE(line(figure, "sink_head").positions[0], share);
        QCOMPARE(makeFigure(session, "curves:x=kv").series[2].positions[0],
                 100 * (1 - point.kvBytesPerToken / dense.kvBytesPerToken));
        QCOMPARE(makeFigure(session, "curves:x=units").x.label, std::string("heads removed"));
    }

    void perplexityIsLogarithmic() {
        const Figure figure = makeFigure(test::curveSession(), "curves:y=perplexity");
        QVERIFY(figure.y.logarithmic);
        QCOMPARE(line(figure, "sink_head").values[0], std::exp(2.05));
        QCOMPARE(line(figure, "sink_head").errors[0], 0.02 * std::exp(2.05));
        QCOMPARE(line(figure, "dense model").values[0], std::exp(2.0));
        QVERIFY(!makeFigure(test::curveSession(), "curves:y=perplexity:scale=linear").y.logarithmic);
    }

    void aLogarithmicAxisCannotShowTheDenseModelsRise() {
        Session session = test::curveSession();
        session.curves[0].curves[0].points[0].deltaNats = -0.01;
        const Figure figure = makeFigure(session, "curves:scale=log");
        QVERIFY(figure.y.logarithmic && !has(figure, "dense model"));
        QVERIFY(figure.note.find("1 point not positive, not drawn") != std::string::npos);
        QVERIFY(std::ranges::min(line(figure, "Pareto front").values) > 0);
    }

    void strategiesKeepTheirColours() {
        const Figure figure = makeFigure(test::curveSession(), "curves:strategies=sink_head");
        QVERIFY(has(figure, "sink_head") && !has(figure, "random_head"));
        QCOMPARE(line(figure, "sink_head").colour.value(), std::size_t(2));
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(test::curveSession(), "curves:strategies=flap"));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("curves:x=size"));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("curves:scale=rank"));
    }

    void compensationsAreLinesOfTheirOwn() {
        Session session = test::curveSession();
        Curve& curve = session.curves[0].curves[0];
        CurvePoint bare = curve.points[0];
        bare.key.compensation = "none";
        test::score(bare, 0.3);
        curve.points.push_back(bare);
        const Figure figure = makeFigure(session, "curves:x=heads");
        QVERIFY(areClose(line(figure, "gnorm_greedy, not compensated").values, {0.3}));
        QVERIFY(areClose(line(figure, "gnorm_greedy").values, {0.1, 0.2, 0.6}));
    }

    void otherMasksOfTheSameTextAreSinglePoints() {
        Session session = test::curveSession();
        QVERIFY(!has(makeFigure(session, "curves"), "other masks"));
        addMaskByHand(session);
        const CurveFigure drawn = curveFigure(session, session.curves[0], {.x = "heads"});
        const FigureSeries& others = line(drawn.figure, "other masks");
        QVERIFY(areClose(others.positions, {3}));
        QVERIFY(areClose(others.values, {0.4}));
        QCOMPARE(others.names[0], std::string("by hand"));
        QVERIFY(drawn.places.at(others.places.at(0)).evaluation.has_value());
        const CurveFigure marked =
            curveFigure(session, session.curves[0], {.x = "heads", .current = session.masks.back().digest});
        QVERIFY(areClose(line(marked.figure, "current mask").positions, {3}));
        QVERIFY(!has(marked.figure, "other masks"));
    }

    void placesLeadBackToThePoints() {
        const Session session = test::curveSession();
        const Curves& set = session.curves[0];
        const CurveFigure drawn = curveFigure(session, set, {.x = "heads", .current = set.curves[1].points[4].mask});
        const FigureSeries& random = line(drawn.figure, "random_head");
        const CurvePlace& place = drawn.places.at(random.places.at(2));
        QCOMPARE(place.curve, std::size_t(1));
        QCOMPARE(place.points, (std::vector<std::size_t>{4, 5}));
        QVERIFY(areClose(line(drawn.figure, "current mask").positions, {6}));
    }

    void aTextThatWasCalibratedOnIsNamed() {
        Session session = test::curveSession();
        session.curves[0].conditions.scoresCalibrationText = true;
        const Figure figure = makeFigure(session, "curves");
        QVERIFY(figure.note.starts_with("scored on the calibration text"));
    }

    void theNumbersAreWritten() {
        const QString csv = QString::fromStdString(toCsv(makeFigure(test::curveSession(), "curves:x=heads")));
        QVERIFY(csv.startsWith("series,point,heads removed,rise of the loss (nats per token),standard error,lowest,"));
        QVERIFY(csv.contains("\r\ngnorm_greedy,6,6,0.6,0.02,,,clamped\r\n"));
        QVERIFY(csv.contains("\r\nrandom_head,\"2, 2 repetitions\",2,0.6,0,0.5,0.7,\r\n"));
    }

    void theRemovalMapHasSharesOfLayers() {
        const Figure figure = makeFigure(test::curveSession(), "removal_map");
        QVERIFY(figure.kind == FigureKind::panels);
        QCOMPARE(figure.panels.size(), std::size_t(3));
        QCOMPARE(figure.colour.label, std::string("share of heads removed"));
        QCOMPARE(figure.x.label, std::string("budget (units)"));
        QCOMPARE(figure.panels[2].title, std::string("sink_head"));
        QCOMPARE(figure.panels[2].columns, (std::vector<std::string>{"2", "4", "6"}));
        QVERIFY(areClose(column(figure.panels[2].cells, 0), {0.5, 0, 0, 0}));
        QVERIFY(areClose(column(figure.panels[2].cells, 1), {0.75, 0.25, 0, 0}));
        QVERIFY(areClose(column(figure.panels[2].cells, 2), {0.75, 0.5, 0, 0.25}));
        QVERIFY(areClose(column(figure.panels[1].cells, 0), {0.125, 0.125, 0.125, 0.125})); // of two repetitions
        QVERIFY(toCsv(figure).find("\r\nsink_head,0,4,0.75\r\n") != std::string::npos);
    }

    void theRemovalMapCountsAnyKind() {
        Session session = test::curveSession();
        const Figure blocks = makeFigure(session, "removal_map:unit=blocks:strategies=sink_head");
        QVERIFY(areClose(column(blocks.panels.at(0).cells, 2), {0, 0, 0, 0}));
        // In a layer, a head has 64 parameters each of W_q and W_o, a KV head 64 each of W_k and W_v, and the MLP 384.
        const Figure shares = makeFigure(session, "removal_map:unit=parameters:strategies=sink_head");
        QVERIFY(areClose(column(shares.panels.at(0).cells, 0), {(2 * 128 + 128) / 1152.0, 0, 0, 0}));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("removal_map:unit=rows"));
    }

    void agreementIsTheJaccardIndexOfTheCuts() {
        const Figure most = makeFigure(test::curveSession(), "agreement");
        QCOMPARE(most.x.names, (std::vector<std::string>{"gnorm_greedy", "random_head", "sink_head"}));
        QCOMPARE(most.cells(0, 2), 0.5);
        QCOMPARE(most.cells(2, 0), 0.5);
        QCOMPARE(most.cells(0, 0), 1.0);
        QCOMPARE(most.cellTexts[2], std::string("0.50\n4 of 8"));
        QCOMPARE(most.cells(1, 1), 1.0 / 11); // of the two repetitions
        const Figure least = makeFigure(test::curveSession(), "agreement:budget=2");
        QCOMPARE(least.cells(0, 2), 1.0 / 3);
        QCOMPARE(least.cells(1, 2), 0.0);
        QVERIFY(toCsv(least).find("\r\n0,gnorm_greedy,2,sink_head,0.3333333333333333,0.33 1 of 3\r\n") !=
                std::string::npos);
    }

    void agreementNeedsTwoStrategiesWithTheBudget() {
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(test::curveSession(), "agreement:budget=3"));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("agreement:budget=some"));
        QVERIFY(parseFigureRequest("agreement:budget=params.12.5%").options.at("budget") == "params.12.5%");
        Session session = test::curveSession();
        session.curves[0].curves[1].points.resize(4);
        const Figure figure = makeFigure(session, "agreement:budget=6");
        QCOMPARE(figure.cells.rows(), std::size_t(2));
        QCOMPARE(figure.note, std::string("1 line without this budget left out"));
    }

    void masksOfSeveralKindsAreComparedByParameters() {
        const ModelSpec spec = test::curveModel().spec;
        PruningMask heads(spec);
        setHeads(heads, std::array{HeadId{0, 0}, HeadId{0, 1}}, false);
        PruningMask attention(spec);
        setAttention(attention, 0, false);
        PruningMask mlp(spec);
        setMlp(mlp, 1, false);
        const auto kindOf = [&](std::vector<const PruningMask*> masks) { return commonKind(spec, masks); };
        QVERIFY(kindOf({&heads, &attention}) == CutUnit::head);
        QVERIFY(kindOf({&attention}) == CutUnit::attention);
        QVERIFY(kindOf({&mlp}) == CutUnit::mlp);
        QVERIFY(!kindOf({&mlp, &heads}));
        const CutCounter counter(test::curveModel());
        QCOMPARE(counter.overlap(heads, attention, CutUnit::head).jaccard(), 0.5);
        QCOMPARE(counter.overlap(heads, attention, {}).jaccard(), 384.0 / 768); // W_q, W_o and one KV head of two
        QVERIFY(std::isnan(counter.overlap(PruningMask(spec), PruningMask(spec), CutUnit::head).jaccard()));
    }

    void stabilityComparesTheMasksOfSeveralTexts() {
        Session session = test::curveSession();
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(session, "stability"));
        test::addOtherText(session);
        const Figure figure = makeFigure(session, "stability");
        QCOMPARE(figure.series.size(), std::size_t(1)); // of the strategies on both texts, those that read the text
        const FigureSeries& sink = line(figure, "sink_head");
        QVERIFY(areClose(sink.values, {1.0 / 3, 1, 1}));
        QCOMPARE(sink.names[0], std::string("2, 2 texts"));
        QCOMPARE(figure.y.label, std::string("Jaccard index of removed heads"));
    }

    void stabilityOfScoresComparesTheOrdersOfTheCuts() {
        Session session = test::curveSession();
        test::addOtherText(session);
        // The second and the third of the cuts are exchanged. The masks of 2 heads have one cut in common.
        const Figure orders = makeFigure(session, "stability:of=scores");
        QVERIFY(areClose(line(orders, "sink_head").values, {notMeasured, 0.8, 1 - 12.0 / 210}));
        for (const double sign : {1.0, -1.0}) { // scores of all heads are used where they were measured
            MetricResult result = test::result("sink_head", session.model.spec, 1);
            result.measurement.dataDigest = sign > 0 ? "sha256:calibration" : "sha256:other";
            for (double& value : result.values.values())
                value *= sign;
            session.results.push_back(result);
        }
        QVERIFY(areClose(line(makeFigure(session, "stability:of=scores"), "sink_head").values, {-1, -1, -1}));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("stability:of=all"));
    }

    void curvesAreChosenByTheirNumber() {
        Session session = test::curveSession();
        test::addOtherText(session);
        QCOMPARE(makeFigure(session, "curves:set=0").series.size(), std::size_t(5));
        QCOMPARE(line(makeFigure(session, "curves:set=1"), "sink_head").values[0], 0.06);
        QCOMPARE(line(makeFigure(session, "curves"), "sink_head").values[0], 0.06);
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(session, "curves:set=2"));
        session.curves.clear();
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(session, "curves"));
    }
};

SECATEUR_SUITE(TestCurveFigures)
#include "tst_curve_figures.moc"
