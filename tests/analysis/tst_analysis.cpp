#include "analysis/base/error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"
#include "analysis/session/session.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

QString ids(const std::vector<MetricRequest>& requests) {
    QStringList list;
    for (const MetricRequest& request : requests)
        list << QString::fromStdString(request.resultId());
    return list.join(' ');
}

/// A session of a model with three heads in layer 0 and two in layer 1. In a table of heads the last cell of the second
/// row is therefore empty.
Session smallSession() {
    Session session;
    session.model.path = "m.gguf";
    session.model.name = "m";
    session.model.spec.architecture = "llama";
    session.model.spec.layers.assign(2, LayerSpec{});
    session.model.spec.layers[0].heads = 3;
    session.model.spec.layers[1].heads = 2;
    MetricResult heads;
    heads.request = parseMetricRequests("gate_norm_head:fold_norm=true").front();
    heads.values = Matrix(2, 3);
    double value = 0.5;
    for (double& cell : heads.values.values())
        cell = value++;
    heads.values(1, 2) = missing;
    add(session, heads);
    MetricResult layers;
    layers.request = parseMetricRequests("gate_norm").front();
    layers.values = Matrix(2, 1, 100);
    add(session, layers);
    return session;
}

} // namespace

class TestAnalysis : public QObject {
    Q_OBJECT

private slots:
    void errorsReadFromTheOutsideIn() {
        const Error inner("is cut short", "header", "Fetch it again");
        const Error outer = inner.within("model.safetensors");
        QCOMPARE(QString(outer.what()), "model.safetensors: header: is cut short. Fetch it again");
        QCOMPARE(QString::fromStdString(outer.message()), "is cut short");
    }

    void requestsNameTheirNonDefaultOptionsInOrder() {
        QCOMPARE(ids(parseMetricRequests("gate_norm:rope_averaged=true:augmented=true:fold_norm=false")),
                 "gate_norm:augmented=true:rope_averaged=true");
    }
    void groupsStandForTheirMetricsAndNothingComesTwice() {
        const QString weights = "gate_norm gate_norm_headwise gate_norm_head gate_norm_group mag_sp_head mag_sp_neuron";
        const QString forward = "attention_ratio attention_importance mlp_importance block_influence token_similarity "
                                "token_spread sink_head sink_layer sink_cv attention_pattern attention_entropy "
                                "amp_head amp_neuron wanda_sp_head wanda_sp_neuron flap_head flap_neuron";
        const QString gradient = "gnorm gnorm_q gnorm_k gnorm_v head_mask_gradient head_gate_gradient head_fisher";
        QCOMPARE(ids(parseMetricRequests("weights")), weights);
        QCOMPARE(ids(parseMetricRequests("forward")), forward);
        // The group "gradient" does not include self_attribution, because it is slow.
        QCOMPARE(ids(parseMetricRequests("gradient,self_attribution")), gradient + " self_attribution");
        QCOMPARE(ids(parseMetricRequests("ablation")), "ablation_head ablation_attention ablation_mlp ablation_block");
        QCOMPARE(ids(parseMetricRequests("gate_norm,weights,all")), weights + " " + forward + " " + gradient);
    }
    void wrongRequestsSayWhatIsKnown_data() {
        QTest::addColumn<QString>("request");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("metric") << "gate_nrom"
                                << "Unknown metric \"gate_nrom\". Did you mean gate_norm?";
        QTest::newRow("group") << "forwrad"
                               << "Did you mean forward?";
        QTest::newRow("another") << "magic"
                                 << "Unknown metric \"magic\". The known ones are gate_norm, ";
        QTest::newRow("option") << "gate_norm:fold=true"
                                << "its options are augmented, fold_norm, qk_norm, rope_averaged";
        QTest::newRow("type") << "gate_norm:fold_norm=yes"
                              << "must have a value of type bool";
        QTest::newRow("form") << "gate_norm:fold_norm"
                              << "is not of the form key=value";
        QTest::newRow("twice") << "gate_norm:fold_norm=true:fold_norm=true"
                               << "is given twice";
        QTest::newRow("empty") << ""
                               << "Unknown metric \"\"";
    }
    void wrongRequestsSayWhatIsKnown() {
        QFETCH(QString, request);
        QFETCH(QString, sentence);
        try {
            parseMetricRequests(request.toStdString());
            QFAIL("was accepted");
        } catch (const UsageError& error) {
            QVERIFY2(QString(error.what()).contains(sentence), error.what());
        }
    }
    void resultIdsHaveAFileForm() {
        QCOMPARE(QString::fromStdString(fileForm("sink_cv:lengths=64/128:key=3")), "sink_cv.lengths-64_128.key-3");
    }

    void percentilesAreNumpys() {
        const std::array values{4.0, missing, 1.0, 3.0, 2.0};
        QCOMPARE(percentile(values, 0), 1.0);
        QCOMPARE(percentile(values, 50), 2.5);
        QCOMPARE(percentile(values, 90), 3.7);
        QCOMPARE(percentile(values, 100), 4.0);
        QVERIFY(std::isnan(percentile(std::array<double, 1>{missing}, 50)));
    }
    void nearEstimatesAreNotSeparated() {
        const auto marked = [](const std::vector<double>& values, const std::vector<double>& errors) {
            QString marks;
            for (const bool mark : notSeparated(values, errors))
                marks += mark ? 'x' : '.';
            return marks;
        };
        QCOMPARE(marked({}, {}), "");
        // Exact values (standard error 0) are always separated, even equal ones.
        QCOMPARE(marked({1, 1, 2}, {0, 0, 0}), "...");
        QCOMPARE(marked({1, 1}, {0.1, 0}), "xx");
        // Limits 2 sqrt(a^2 + b^2) for standard errors a and b: 5 for the first pair (distance 5.1) and 4 for the
        // second (4.9).
        QCOMPARE(marked({0, 5.1, 10}, {1.5, 2, 0}), "...");
        QCOMPARE(marked({10, 0, 4.9}, {0, 1.5, 2}), ".xx");
        QCOMPARE(marked({0, 5}, {1.5, 2}), ".."); // a distance equal to the limit 5 counts as separated
        QCOMPARE(marked({3, missing, 2}, {1, 1, missing}), "x.x");
        // The distance of 3 and 19 is 16. It is less than 2 sqrt(0.4^2 + 8^2) = 16.02, although more than twice either
        // error alone.
        QCOMPARE(marked({0, 1, 2, 3, 19}, {0, 0, 0, 0.4, 8}), "...xx");
    }
    void nearEstimatesAreThoseOfTheRule() {
        std::mt19937 random(3);
        std::uniform_real_distribution<double> uniform(0, 1);
        for (int round = 0; round < 200; ++round) {
            std::vector<double> values(40);
            std::vector<double> errors(40);
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = uniform(random) < 0.1 ? missing : std::floor(60 * uniform(random));
                errors[i] = uniform(random) < 0.4 ? 0 : 0.3 * uniform(random) / (1 - uniform(random));
            }
            const std::vector<bool> marked = notSeparated(values, errors);
            for (std::size_t a = 0; a < values.size(); ++a) {
                bool expected = false;
                for (std::size_t b = 0; b < values.size(); ++b)
                    expected = expected || (a != b && std::abs(values[a] - values[b]) <
                                                          2 * std::sqrt(errors[a] * errors[a] + errors[b] * errors[b]));
                QCOMPARE(bool(marked[a]), expected);
            }
        }
    }
    void estimatesAreRoundedAsTheirErrorsAllow() {
        const auto text = [](double value, double error) { return QString::fromStdString(withError(value, error)); };
        QCOMPARE(text(12.3456, 0.213), "12.3 ± 0.2");
        QCOMPARE(text(12.3456, 0.0961), "12.35 ± 0.10");
        QCOMPARE(text(12.3456, 0.1234), "12.35 ± 0.12");
        QCOMPARE(text(12345.6, 321), "12346 ± 321");
        QCOMPARE(text(-0.5, 2), "-0 ± 2");
        QCOMPARE(text(1.2345e-7, 2.1e-9), "(1.23 ± 0.02)e-07");
        QCOMPARE(text(1.2345e9, 2.1e7), "(1.23 ± 0.02)e+09");
        QCOMPARE(text(12.3456, 0), "12.3");
        QCOMPARE(text(12.3456, missing), "12.3");
        QCOMPARE(text(missing, 0.2), "–");
        QCOMPARE(QString::fromStdString(exactlyWithError(12.3456, 0.2131)),
                 "12.3456 ± 0.213 (estimate ± its standard error)");
        QCOMPARE(QString::fromStdString(exactlyWithError(12.3456, 0)), "12.3456");
    }
    void severalPercentilesEqualSingleOnes() {
        std::vector<double> values;
        for (int i = 0; i < 101; ++i)
            values.push_back(static_cast<double>(i * 37 % 101));
        values[7] = missing;
        const std::vector<double> several = percentiles(values, bandPercents);
        for (std::size_t i = 0; i < several.size(); ++i)
            QCOMPARE(several[i], percentile(values, bandPercents[i]));
        QCOMPARE(percentiles(std::array{2.0, 2.0}, bandPercents), std::vector<double>(9, 2.0));
        QVERIFY(std::isnan(percentiles(std::array{missing}, bandPercents).back()));
    }
    void percentOfOthersCountsOtherFiniteValues() {
        const std::array values{3.0, missing, 1.0, 2.0, 2.0};
        QCOMPARE(percentBelow(values, 3), 100.0);
        QCOMPARE(percentBelow(values, 1), 0.0);
        QCOMPARE(percentBelow(values, 2), 100.0 / 3);
        QVERIFY(std::isnan(percentBelow(std::array{1.0, missing}, 1)));
    }
    void histogramsCountEveryFiniteValueOnce() {
        std::vector<double> values{missing, 0.0};
        for (int i = 1; i <= 1000; ++i)
            values.push_back(i);
        const Histogram linear = histogram(values, false);
        QCOMPARE(linear.counts.size(), std::size_t(21)); // ceil(2 * cbrt(1001)) bins for the 1001 finite values
        QCOMPARE(std::accumulate(linear.counts.begin(), linear.counts.end(), 0.0), 1001.0);
        QCOMPARE(linear.edges.front(), 0.0);
        QCOMPARE(linear.edges.back(), 1000.0);
        const Histogram logarithmic = histogram(values, true);
        QCOMPARE(std::accumulate(logarithmic.counts.begin(), logarithmic.counts.end(), 0.0), 1000.0);
        QVERIFY(std::abs(logarithmic.edges[1] * logarithmic.edges[1] / logarithmic.edges[0] / logarithmic.edges[2] -
                         1) < 1e-12);
        const Histogram single = histogram(std::array{4.0, 4.0}, false);
        QVERIFY(single.edges.front() < 4 && single.edges.back() > 4);
        QVERIFY(histogram(std::array{missing}, false).edges.empty());
    }
    void ranksBreakTiesByPositionAndSkipMissingCells() {
        const std::array values{2.0, 1.0, missing, 2.0};
        QCOMPARE(ranks(values, true), (std::vector{2, 1, 0, 3}));
        QCOMPARE(ranks(values, false), (std::vector{1, 3, 0, 2}));
    }
    void rangesAndMeansSkipMissingCells() {
        const std::array values{missing, 2.0, 4.0};
        QCOMPARE(finiteMean(values), 3.0);
        QCOMPARE(finiteRange(values), std::pair(2.0, 4.0));
    }

    void numbersForLabelsHaveThreeDigits_data() {
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("plain") << 18.94 << "18.9";
        QTest::newRow("fraction") << 0.0912 << "0.0912";
        QTest::newRow("trailing zero") << 0.5 << "0.500";
        QTest::newRow("tiny") << 1.234e-7 << "1.23e-07";
        QTest::newRow("hundreds") << 3456.7 << "3457";
        QTest::newRow("huge") << 1.5e9 << "1.50e+09";
        QTest::newRow("zero") << 0.0 << "0.00";
        QTest::newRow("negative") << -2.5 << "-2.50";
        QTest::newRow("rounds up to the next size") << 9.996 << "10.0";
        QTest::newRow("infinite") << std::numeric_limits<double>::infinity() << "inf";
        QTest::newRow("missing") << missing << "–";
    }
    void numbersForLabelsHaveThreeDigits() {
        QFETCH(double, value);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(significant(value)), text);
    }
    void countsAndBytesAreShort() {
        QCOMPARE(QString::fromStdString(shortCount(134515008)), "134.5 M");
        QCOMPARE(QString::fromStdString(shortCount(8030261248)), "8.03 B");
        QCOMPARE(QString::fromStdString(shortCount(999)), "999");
        QCOMPARE(QString::fromStdString(shortBytes(98362432)), "98.4 MB");
    }
    void timesAreIsoInUtc() {
        const QString now = QString::fromStdString(utcNow());
        QVERIFY(QDateTime::fromString(now, Qt::ISODate).isValid());
        QVERIFY(now.endsWith('Z'));
    }

    void structuresJoinEqualLayers() {
        ModelSpec spec;
        LayerSpec layer;
        layer.heads = 9;
        layer.kvHeads = 3;
        layer.headDim = 64;
        layer.ffn = 1536;
        spec.layers.assign(30, layer);
        QCOMPARE(QString::fromStdString(spec.structure()), "30x9/3x64+1536");
        spec.layers[29].heads = 6;
        QCOMPARE(QString::fromStdString(spec.structure()), "29x9/3x64+1536,1x6/3x64+1536");
        QCOMPARE(layer.kvGroup(3), 1);
    }

    void sessionsKeepTheLatestAndReplaceTheSameMeasurement() {
        Session session = smallSession();
        MetricResult again = *session.latest("gate_norm");
        again.measurement.created = "2026-01-01T00:00:00Z";
        add(session, again);
        QCOMPARE(session.results.size(), std::size_t(2));
        again.measurement.maskDigest = "sha256:1";
        add(session, again);
        QCOMPARE(session.results.size(), std::size_t(3));
        QCOMPARE(QString::fromStdString(session.latest("gate_norm")->measurement.maskDigest), "sha256:1");
        QVERIFY(!session.latest("gate_norm_group"));
    }

    void figuresTakeResultIdsInFileForm() {
        const Figure figure = makeFigure(smallSession(), "heads:metric=gate_norm_head.fold_norm-true:log=true");
        QCOMPARE(QString::fromStdString(figure.colour.label), "gate-norm per head, fold_norm");
        QCOMPARE(figure.scale.kind, ScaleKind::logarithmic);
        QCOMPARE(
            QString::fromStdString(figure.command),
            "secateur-cli plot m.gguf --figure heads:metric=gate_norm_head.fold_norm-true:log=true --out figure.pdf");
        QCOMPARE(
            QString::fromStdString(toCsv(figure)),
            "layer,head,\"gate-norm per head, fold_norm\"\r\n0,0,0.5\r\n0,1,1.5\r\n0,2,2.5\r\n1,0,3.5\r\n1,1,4.5\r\n");
    }
    void commandsOfFiguresQuoteWhatAShellWouldTakeApart() {
        Session session = smallSession();
        session.model.path = "it's a model.gguf";
        const Figure figure = makeFigure(session, "layers:metrics=gate_norm");
        QCOMPARE(QString::fromStdString(figure.command),
                 "secateur-cli plot 'it'\\''s a model.gguf' --figure layers:metrics=gate_norm --out figure.pdf");
    }
    void seriesOfUnlikeSizesGetTwoAxes() {
        const Figure figure = makeFigure(smallSession(), "layers:metrics=gate_norm_head.fold_norm-true/gate_norm");
        QCOMPARE(figure.series.size(), std::size_t(2));
        QVERIFY(!figure.series[0].rightAxis);
        QVERIFY(figure.series[1].rightAxis);
        QCOMPARE(figure.series[0].values, (std::vector{1.5, 4.0}));
    }
    void anAxisSaysWhatItsLinesShare_data() {
        QTest::addColumn<QString>("metrics");
        QTest::addColumn<QString>("label");
        QTest::newRow("one") << "gate_norm"
                             << "gate-norm";
        QTest::newRow("one is the other's beginning") << "gate_norm/gate_norm_headwise"
                                                      << "gate-norm";
        QTest::newRow("options") << "gate_norm_headwise.fold_norm-true/gate_norm_headwise"
                                 << "gate-norm, headwise";
        QTest::newRow("nothing") << "gate_norm/gate_norm_group"
                                 << "gate-norm; mean gate-norm per KV group";
    }
    void anAxisSaysWhatItsLinesShare() {
        QFETCH(QString, metrics);
        QFETCH(QString, label);
        Session session = smallSession();
        session.results.clear();
        for (const char* id :
             {"gate_norm", "gate_norm_headwise", "gate_norm_headwise:fold_norm=true", "gate_norm_group"}) {
            MetricResult result;
            result.request = parseMetricRequests(id).front();
            result.values = Matrix(2, 1, 1);
            add(session, result);
        }
        const Figure figure = makeFigure(session, "layers:metrics=" + metrics.toStdString());
        QCOMPARE(QString::fromStdString(figure.y.label), label);
    }
    void neuronsAreDrawnAsQuantilesOrAsOneLayersHistogram() {
        Session session = smallSession();
        session.model.spec.layers[0].ffn = 5;
        session.model.spec.layers[1].ffn = 2;
        MetricResult neurons;
        neurons.request = parseMetricRequests("mag_sp_neuron").front();
        neurons.values = Matrix(2, 5);
        for (std::size_t cell = 0; cell < 7; ++cell)
            neurons.values.values()[cell] = static_cast<double>(cell);
        add(session, neurons);
        const Figure bands = makeFigure(session, "neurons");
        QVERIFY(bands.kind == FigureKind::bands);
        QCOMPARE(QString::fromStdString(toCsv(bands)),
                 "layer,min,p1,p10,p25,median,p75,p90,p99,max\r\n0,0,0.04,0.4,1,2,3,3.6,3.96,4\r\n"
                 "1,5,5.01,5.1,5.25,5.5,5.75,5.9,5.99,6\r\n");
        const Figure layer = makeFigure(session, "neurons:layer=0");
        QVERIFY(layer.kind == FigureKind::histogram);
        QCOMPARE(QString::fromStdString(toCsv(layer)), "Mag-SP per neuron from,Mag-SP per neuron to,neurons\r\n"
                                                       "0,1,1\r\n1,2,1\r\n2,3,1\r\n3,4,2\r\n");
        for (const char* wrong : {"neurons:layer=2", "heads:metric=mag_sp_neuron", "neurons:metric=gate_norm"})
            QVERIFY_EXCEPTION_THROWN(makeFigure(session, wrong), UsageError);
    }
    void figuresSayWhatTheyLack() {
        try {
            makeFigure(smallSession(), "heads");
            QFAIL("was drawn");
        } catch (const Error& error) {
            QCOMPARE(QString(error.what()), "m: holds no result \"gate_norm_head\". It holds gate_norm, "
                                            "gate_norm_head:fold_norm=true");
        }
        QVERIFY_EXCEPTION_THROWN(makeFigure(smallSession(), "bars"), UsageError);
        QVERIFY_EXCEPTION_THROWN(makeFigure(smallSession(), "heads:clip=50"), Error);
    }
};

SECATEUR_SUITE(TestAnalysis)
#include "tst_analysis.moc"
