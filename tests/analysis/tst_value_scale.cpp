#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/figures/scatter_figure.h"
#include "analysis/figures/value_scale.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/metrics/usual_request.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

Matrix matrix(std::size_t rows, const std::vector<double>& values) {
    Matrix made(rows, values.size() / rows);
    std::ranges::copy(values, made.values().begin());
    return made;
}

std::vector<double> numbers(const Matrix& values) {
    return {values.values().begin(), values.values().end()};
}

/// As the gate-norms of the demo model: the first layer is far above the others.
Session outlierSession(double offset = 0) {
    Session session;
    session.model.path = "m.gguf";
    session.model.name = "m";
    LayerSpec layer;
    layer.heads = 4;
    layer.kvHeads = 2;
    layer.ffn = 4;
    session.model.spec.layers.assign(6, layer);
    for (const char* id : {"gate_norm_head", "mag_sp_head", "mag_sp_neuron"}) {
        MetricResult result;
        result.request = parseMetricRequests(id).front();
        result.values = Matrix(6, 4);
        for (std::size_t cell = 0; cell < 24; ++cell)
            result.values.values()[cell] = (cell < 4 ? 1000 : 100) + static_cast<double>(cell) + offset;
        add(session, result);
    }
    SessionMask mask;
    mask.name = "cuts";
    mask.digest = "fake:cuts";
    mask.record.mask = PruningMask(session.model.spec);
    setHeads(mask.record.mask, std::array{HeadId{2, 1}}, false);
    session.masks.push_back(mask);
    return session;
}

Figure drawn(const char* text, double offset = 0) {
    return makeFigure(outlierSession(offset), text);
}

QString note(const Figure& figure) {
    return QString::fromStdString(colourBarLabel(figure));
}

} // namespace

class TestValueScale : public QObject {
    Q_OBJECT

private slots:
    void namesAreReadBack() {
        for (const ScaleKind kind :
             {ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic, ScaleKind::rank, ScaleKind::withinLayer})
            QCOMPARE(scaleNamed(name(kind), ScaleKind::linear), kind);
        QCOMPARE(scaleNamed("cubic", ScaleKind::rank), ScaleKind::rank);
    }

    void automaticIsLogWhereLinearColoursWouldBeOne() {
        const auto used = [](const std::vector<double>& values) { return usedScale(ScaleKind::automatic, values); };
        QCOMPARE(used({1, 1.1, 1.2, 12}), ScaleKind::logarithmic); // three of four in the lowest quarter
        QCOMPARE(used({1, 1.1, 6, 12}), ScaleKind::linear);
        QCOMPARE(used({1, 10, 11, 12}), ScaleKind::linear); // crowds at the upper end
        QCOMPARE(used({0, 1.1, 1.2, 12}), ScaleKind::linear);
        QCOMPARE(used({-1, 1.1, 1.2, 12}), ScaleKind::linear);
        QCOMPARE(used({missing, 1, 1.1, 1.2, 12}), ScaleKind::logarithmic);
        QCOMPARE(used({5, 5, 5}), ScaleKind::linear);
        QCOMPARE(used({}), ScaleKind::linear);
        std::vector<double> clipped(99, 1);
        for (std::size_t i = 0; i < clipped.size(); ++i)
            clipped[i] = 1 + static_cast<double>(i) / 99;
        clipped.push_back(1000); // a single outlier is beyond the clipped range
        QCOMPARE(usedScale(ScaleKind::automatic, clipped, 2), ScaleKind::linear);
        QCOMPARE(used(clipped), ScaleKind::logarithmic);
    }

    void aScaleThatDoesNotSuitBecomesLinear() {
        const std::vector<double> below{-2, -1};
        for (const ScaleKind kind : {ScaleKind::logarithmic, ScaleKind::withinLayer})
            QCOMPARE(usedScale(kind, below), ScaleKind::linear);
        QCOMPARE(usedScale(ScaleKind::rank, below), ScaleKind::rank);
        QCOMPARE(usedScale(ScaleKind::logarithmic, std::vector<double>{-1, 0, 2}), ScaleKind::logarithmic);
        QVERIFY(!suits(ScaleKind::logarithmic, std::vector<double>{0, 2}));
        QVERIFY(suits(ScaleKind::withinLayer, std::vector<double>{0, 2}));
        QVERIFY(!suits(ScaleKind::withinLayer, std::vector<double>{0, 0}));
    }

    void ranksArePercentiles() {
        const Matrix shown = onScale(matrix(2, {10, 30, missing, 20, 20, 40}), ScaleKind::rank);
        QCOMPARE(shown.values()[0], 10.0); // the middle of the lowest fifth
        QCOMPARE(shown.values()[1], 70.0);
        QVERIFY(std::isnan(shown.values()[2]));
        QCOMPARE(shown.values()[3], 40.0); // equal values share a place
        QCOMPARE(shown.values()[4], 40.0);
        QCOMPARE(shown.values()[5], 90.0);
        // Repeating the values, as heads repeat those of their KV group, does not move them.
        QCOMPARE(numbers(onScale(matrix(1, {1, 1, 5, 5}), ScaleKind::rank)), (std::vector<double>{25, 25, 75, 75}));
        QCOMPARE(numbers(onScale(matrix(1, {1, 5}), ScaleKind::rank)), (std::vector<double>{25, 75}));
    }

    void sharesAreOfTheLayersLargest() {
        QCOMPARE(numbers(onScale(matrix(2, {1, 4, 30, 10}), ScaleKind::withinLayer)),
                 (std::vector<double>{0.25, 1, 1, 10.0 / 30}));
        QCOMPARE(numbers(onScale(matrix(2, {0, 0, 3, 6}), ScaleKind::withinLayer)),
                 (std::vector<double>{0, 0, 0.5, 1}));
        QCOMPARE(numbers(onScale(matrix(1, {3, 6}), ScaleKind::logarithmic)), (std::vector<double>{3, 6}));
    }

    void percentilesLeadBackToValues() {
        const std::vector<double> values{4, 1, missing, 3, 2};
        QCOMPARE(valueAtPercentile(values, 50), 2.5); // two of the four lie below
        QCOMPARE(valueAtPercentile(values, 0), -infinite);
        QCOMPARE(valueAtPercentile(values, 100), infinite);
        QCOMPARE(percentUpTo(values, 2.5), 50.0);
        const Matrix places = onScale(matrix(1, values), ScaleKind::rank);
        for (const double percent : {5.0, 20.0, 40.0, 60.0, 80.0, 95.0})
            for (std::size_t i = 0; i < values.size(); ++i)
                if (!std::isnan(values[i])) // the same values lie below on the bar and by their numbers
                    QCOMPARE(places.values()[i] <= percent, values[i] <= valueAtPercentile(values, percent));
    }

    void figuresNameTheirScale() {
        const Figure figure = drawn("heads");
        QCOMPARE(figure.scale.kind, ScaleKind::logarithmic);
        QCOMPARE(note(figure), "gate-norm per head, log scale");
        QVERIFY(QString::fromStdString(figure.caption).endsWith("Colours: log scale."));
        QCOMPARE(QString::fromStdString(figure.colour.label), "gate-norm per head"); // of the numbers
        QCOMPARE(drawn("heads", -500).scale.kind, ScaleKind::linear);                // not all positive
        QCOMPARE(note(drawn("heads:scale=linear")), "gate-norm per head");
        QCOMPARE(note(drawn("heads:scale=rank")), "gate-norm per head, percentile in the model");
        QCOMPARE(note(drawn("heads:scale=layer")), "gate-norm per head, share of the layer's largest");
        QCOMPARE(drawn("heads:scale=rank").cells.values()[0], 1000.0); // the numbers behind the figure stay
        QVERIFY_EXCEPTION_THROWN(drawn("heads:scale=layer", -500), UsageError);
        QVERIFY_EXCEPTION_THROWN(drawn("heads:scale=cubic"), UsageError);
        QVERIFY_EXCEPTION_THROWN(drawn("layers:scale=rank:metrics=gate_norm_head"), UsageError);
    }

    void commandsOfVersion01DrawTheSame() {
        QCOMPARE(drawn("heads:log=false").scale.kind, ScaleKind::linear);
        QCOMPARE(drawn("heads:log=true").scale.kind, ScaleKind::logarithmic);
        QVERIFY(drawn("layers:metrics=gate_norm_head:log=true").y.logarithmic);
        QVERIFY(!drawn("layers:metrics=gate_norm_head:log=false").y.logarithmic);
        QVERIFY(drawn("neurons:log=true").y.logarithmic && !drawn("neurons:log=false").y.logarithmic);
        QVERIFY(drawn("scatter:logx=true:logy=false").x.logarithmic);
        QVERIFY(!drawn("scatter:logx=true:logy=false").y.logarithmic);
    }

    void axesAreScaledToo() {
        QVERIFY(drawn("layers:metrics=gate_norm_head").y.logarithmic);
        QVERIFY(!drawn("layers:metrics=gate_norm_head:scale=linear").y.logarithmic);
        QVERIFY(!drawn("layers:metrics=gate_norm_head", -500).y.logarithmic);
        QVERIFY(drawn("neurons").y.logarithmic && drawn("neurons:layer=3").x.logarithmic);
        const Figure scatter = drawn("scatter:scaley=rank");
        QVERIFY(scatter.x.logarithmic && !scatter.y.logarithmic);
        QCOMPARE(QString::fromStdString(scatter.y.label), "Mag-SP per head, percentile in the model");
        QVERIFY(std::ranges::max(scatter.series.front().values) < 100);
        QCOMPARE(scatter.note, drawn("scatter:scaley=linear").note); // ranks correlate as before
    }

    void aMaskOfTheSessionIsMarked() {
        for (const char* id : {"heads:mask=cuts", "layers:metrics=gate_norm_head:mask=cuts", "neurons:mask=cuts"}) {
            QVERIFY2(drawn(id).mask && !drawn(id).mask->layer(2).heads[1], id);
        }
        QVERIFY(!drawn("heads").mask);
        QVERIFY_EXCEPTION_THROWN(drawn("heads:mask=others"), Error);
    }

    void modelsThatNormaliseHeadsBeginWithQkNorm() {
        ModelSpec spec = outlierSession().model.spec;
        const auto ids = [&] {
            QStringList list;
            for (const MetricRequest& request : openingRequests(spec))
                list << QString::fromStdString(request.resultId());
            return list.join(' ');
        };
        QCOMPARE(ids(), "gate_norm gate_norm_headwise gate_norm_head gate_norm_group mag_sp_head mag_sp_neuron");
        for (LayerSpec& layer : spec.layers)
            layer.normsHeads = true;
        // The row of gate_norm_group warns about all of its values here.
        QCOMPARE(ids(), "gate_norm:qk_norm=true gate_norm_headwise:qk_norm=true gate_norm_head:qk_norm=true "
                        "mag_sp_head mag_sp_neuron");
        QCOMPARE(usualRequest(*findMetric("gate_norm_group"), spec).resultId(), std::string("gate_norm_group"));
        QCOMPARE(usualRequest(*findMetric("sink_head"), spec).resultId(), std::string("sink_head"));
    }
};

SECATEUR_SUITE(TestValueScale)
#include "tst_value_scale.moc"
