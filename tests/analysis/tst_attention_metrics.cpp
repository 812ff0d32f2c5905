// Metrics of attention maps, computed on synthetic maps whose metric values are known.

#include "analysis/metrics/attention_metrics.h"
#include "analysis/base/error.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace secateur;

namespace {

/// The attention map of a head: the attention probability of query position t on key position k.
using Map = std::function<double(int t, int k)>;

double uniform(int t, int k) {
    return k <= t ? 1.0 / (t + 1) : 0;
}

/// A map in which every query attends with probability `share` to the key target(t) and evenly to the other visible
/// keys.
Map mostly(double share, const std::function<int(int)>& target) {
    return [=](int t, int k) {
        const int wanted = target(t);
        if (t == 0)
            return k == 0 ? 1.0 : 0.0;
        return k > t ? 0.0 : k == wanted ? share : (1 - share) / t;
    };
}

/// A term of the entropy of a row, without its sign.
double entropyTerm(const AttentionFeature& feature, double a) {
    if (feature.kind == AttentionFeature::Kind::entropy)
        return a > 0 ? a * std::log(a) : 0;
    const bool shiftsBoth = feature.kind == AttentionFeature::Kind::shifted;
    return (a + (shiftsBoth ? feature.epsilon : 0)) * std::log(a + feature.epsilon);
}

double featureOf(const AttentionFeature& feature, const Map& map, int t, int length) {
    double sum = 0;
    for (int k = 0; k < length; ++k) {
        const double a = map(t, k);
        const int key = feature.first < 0 ? length + feature.first : feature.first;
        if (feature.kind == AttentionFeature::Kind::key)
            sum += k == key ? a : 0;
        else if (feature.kind == AttentionFeature::Kind::band)
            sum += k >= 1 && k >= t + feature.first && k <= t + feature.last ? a : 0;
        else if (k <= t)
            sum -= entropyTerm(feature, a);
    }
    return sum;
}

std::unique_ptr<const AttentionMetric> made(const MetricRequest& request, std::int64_t longest) {
    return std::get<ForwardMetric>(request.info->computation).attention(request, longest, true);
}

/// The values of a metric for a single sequence of `length` tokens and a single head with the given attention map.
AttentionValues valuesOf(const char* request, const Map& map, int length) {
    const auto metric = made(parseMetricRequests(request).front(), length);
    std::vector<std::vector<float>> numbers;
    for (const AttentionFeature& feature : metric->features()) {
        std::vector<float>& own = numbers.emplace_back();
        for (int t = 0; t < length; ++t)
            own.push_back(static_cast<float>(featureOf(feature, map, t, length)));
    }
    std::vector<double> sums;
    metric->add({length, 1, true, 0, [&](int, std::size_t feature) { return numbers[feature].data(); }}, sums);
    return metric->values(sums, 1);
}

} // namespace

class TestAttentionMetrics : public QObject {
    Q_OBJECT

private slots:
    // Law 6 of resources/manual/accuracy.md: for uniform causal attention over T tokens the sink score is (1 + 1/2 +
    // ... + 1/T) / T and the normalised entropy is 1.
    void uniformAttentionHasHarmonicSinks_data() {
        QTest::addColumn<int>("length");
        QTest::addColumn<double>("published");
        QTest::newRow("64") << 64 << 0.0741;
        QTest::newRow("256") << 256 << 0.0239;
        QTest::newRow("1024") << 1024 << 0.00733;
    }
    void uniformAttentionHasHarmonicSinks() {
        QFETCH(int, length);
        QFETCH(double, published);
        double harmonic = 0;
        for (int i = 1; i <= length; ++i)
            harmonic += 1.0 / i;
        const double found = valuesOf("sink_head", uniform, length).values[0][0];
        QVERIFY(std::abs(found - harmonic / length) < 1e-8);
        QVERIFY(std::abs(found - published) < 0.01 * published);
        QVERIFY(std::abs(valuesOf("sink_layer", uniform, length).values[0][0] - found) < 1e-15);
        const double entropy = valuesOf("attention_entropy:normalised=true:variant=A", uniform, length).values[0][0];
        QVERIFY(std::abs(entropy - 1) < 1e-6);
    }

    /// The epsilon would make these entropies negative. Those of other sequences keep their value.
    void attentionToOneKeyHasNoEntropy() {
        for (const char* variant : {"A", "B", "C"}) {
            const std::string request = std::string("attention_entropy:variant=") + variant;
            QCOMPARE(valuesOf(request.c_str(), uniform, 1).values[0][0], 0.0);
            const double two = valuesOf(request.c_str(), uniform, 2).values[0][0];
            QVERIFY(std::abs(two - std::log(2) / 2) < 1e-6);
        }
    }

    void patternsAreTold_data() {
        QTest::addColumn<int>("pattern");
        QTest::addColumn<int>("expected");
        QTest::newRow("sink") << 0 << 0;
        QTest::newRow("diagonal") << 1 << 1;
        QTest::newRow("uniform") << 2 << 2;
        QTest::newRow("previous token") << 3 << 3;
        QTest::newRow("weak sink") << 4 << 2;
    }
    // Law 7 of resources/manual/accuracy.md: a head whose attention map is the identity belongs to the class
    // "diagonal".
    void patternsAreTold() {
        QFETCH(int, pattern);
        QFETCH(int, expected);
        const std::vector<Map> maps{mostly(0.8, [](int) { return 0; }), mostly(1, [](int t) { return t; }), uniform,
                                    mostly(0.9, [](int t) { return t - 1; }), mostly(0.2, [](int) { return 0; })};
        const AttentionValues found = valuesOf("attention_pattern", maps[static_cast<std::size_t>(pattern)], 40);
        QCOMPARE(found.values[0][0], static_cast<double>(expected));
        const auto metric = made(parseMetricRequests("attention_pattern").front(), 40);
        const auto names = metric->featureNames();
        const auto feature = [&](std::string_view name) {
            return found.features[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())][0];
        };
        QCOMPARE(feature("agreement"), 1.0);
        if (expected == 0)
            QVERIFY(std::abs(feature("margin") - 0.3) < 1e-6);
        if (expected == 1)
            QVERIFY(std::abs(feature("diagonal") - 1) < 1e-6);
        if (pattern == 3)
            QVERIFY(std::abs(feature("previous") - 0.9) < 1e-6);
    }

    void everyPrefixComesFromOnePass() {
        const AttentionValues found = valuesOf("sink_head:lengths=2/4/8", uniform, 12);
        QCOMPARE(found.values.size(), std::size_t{3});
        QVERIFY(std::abs(found.values[0][0] - 0.75) < 1e-7);
        QVERIFY(std::abs(found.values[1][0] - (1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 4) < 1e-7);
        const AttentionValues variation = valuesOf("sink_cv:lengths=2/4", uniform, 12);
        const double a = 0.75;
        const double b = (1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 4;
        QVERIFY(std::abs(variation.values[0][0] - (a - b) / (a + b)) < 1e-7);
    }

    void theLastKeyIsSeenByTheLastQueryAlone() {
        QVERIFY(std::abs(valuesOf("sink_head:key=-1", uniform, 10).values[0][0] - 0.01) < 1e-8);
        QVERIFY(std::abs(valuesOf("sink_head:key=-1:visible_only=true", uniform, 10).values[0][0] - 0.1) < 1e-8);
        QVERIFY(std::isnan(valuesOf("sink_head:key=10", uniform, 10).values[0][0]));
    }

    void oneValueDoesNotVary() { QVERIFY(std::isnan(valuesOf("sink_cv:lengths=natural", uniform, 10).values[0][0])); }
};

SECATEUR_SUITE(TestAttentionMetrics)
#include "tst_attention_metrics.moc"
