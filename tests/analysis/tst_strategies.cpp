// Pruning strategies: cuts by given values, at random and by measured metrics, and the number of units that a budget
// stands for.

#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"
#include "analysis/base/usage_error.h"
#include "tests/support/fixture.h"
#include "tests/support/mask_models.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <set>

using namespace secateur;
using namespace secateur::test;

namespace {

ModelSpec uniformSpec(int layers, int heads, int kvHeads, int ffn) {
    ModelSpec spec;
    spec.architecture = "llama";
    LayerSpec layer;
    layer.heads = heads;
    layer.kvHeads = kvHeads;
    layer.headDim = 8;
    layer.ffn = ffn;
    spec.layers.assign(static_cast<std::size_t>(layers), layer);
    return spec;
}

Matrix drawn(const ModelSpec& spec, CutUnit unit, std::uint64_t seed, double levels) {
    Matrix values = randomValues(spec, unit, seed);
    for (double& value : values.values())
        value = std::floor(value * levels); // rounded down to few levels, so that ties occur
    return values;
}

using Place = std::pair<int, int>;

std::set<Place> cutPlaces(const PruningMask& mask, const ModelSpec& spec, CutUnit unit) {
    std::set<Place> places;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
            if (isCut(mask, spec, unit, layer, index))
                places.insert({layer, index});
    return places;
}

/// The units that must be cut, found by sorting all cells.
std::set<Place> lowest(const Matrix& values, const ModelSpec& spec, CutUnit unit, std::size_t count, bool highestFirst,
                       const std::function<bool(int, int)>& mayCut) {
    std::vector<std::tuple<double, int, int>> cells;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
            if (mayCut(layer, index))
                cells.emplace_back((highestFirst ? -1 : 1) *
                                       values(static_cast<std::size_t>(layer), static_cast<std::size_t>(index)),
                                   layer, index);
    std::ranges::sort(cells);
    std::set<Place> places;
    for (std::size_t i = 0; i < count; ++i)
        places.insert({std::get<1>(cells.at(i)), std::get<2>(cells.at(i))});
    return places;
}

QString refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return "accepted";
}

PruneRequest requestOf(const char* strategy, const char* budget) {
    return {parseStrategyRequest(strategy), parseBudget(budget), "none", 0, {}};
}

} // namespace

class TestStrategies : public QObject {
    Q_OBJECT

private slots:
    void theLowestAreThoseOfASort() {
        const ModelSpec spec = uniformSpec(5, 6, 2, 11);
        const Protection none;
        const PruningMask dense(spec);
        for (const CutUnit unit :
             {CutUnit::head, CutUnit::kvGroup, CutUnit::neuron, CutUnit::attention, CutUnit::mlp, CutUnit::block})
            for (std::uint64_t seed = 0; seed < 20; ++seed)
                for (const bool highestFirst : {false, true}) {
                    const Matrix values = drawn(spec, unit, seed, seed % 2 == 0 ? 4 : 1000);
                    const std::size_t count = seed % (unitCount(spec, unit) + 1);
                    const CutOrder order{unit, highestFirst, {static_cast<double>(count), false}, false};
                    const PruningMask mask = cutLowest(spec, values, order, none, dense);
                    const auto all = [](int, int) { return true; };
                    QVERIFY(cutPlaces(mask, spec, unit) == lowest(values, spec, unit, count, highestFirst, all));
                }
    }

    void protectedAndCutOnesAreSpared() {
        const ModelSpec spec = uniformSpec(5, 6, 2, 11);
        const Protection protection = Protection::parse("0,4,2.3", spec);
        PruningMask base(spec);
        setHeads(base, std::array{HeadId{1, 0}, HeadId{3, 5}}, false);
        setAttention(base, 2, false);
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const Matrix values = drawn(spec, CutUnit::head, seed, 5);
            const CutOrder order{CutUnit::head, false, {4, false}, false};
            const PruningMask mask = cutLowest(spec, values, order, protection, base);
            const auto mayCut = [&](int layer, int head) {
                return !isCut(base, spec, CutUnit::head, layer, head) &&
                       !protection.covers(spec, CutUnit::head, layer, head);
            };
            std::set<Place> expected = lowest(values, spec, CutUnit::head, 4, false, mayCut);
            expected.merge(cutPlaces(base, spec, CutUnit::head));
            QVERIFY(cutPlaces(mask, spec, CutUnit::head) == expected);
        }
    }

    void perLayerTheBudgetIsEachLayers() {
        const ModelSpec spec = uniformSpec(4, 6, 3, 10);
        const Matrix values = drawn(spec, CutUnit::neuron, 1, 1000);
        const CutOrder order{CutUnit::neuron, false, {25, true}, true};
        const PruningMask mask = cutLowest(spec, values, order, {}, PruningMask(spec));
        for (int layer = 0; layer < 4; ++layer)
            // 25 % of the 10 neurons is 2.5, rounded down to 2 cut neurons.
            QCOMPARE(mask.layer(layer).keptNeurons(), 8);
    }

    void sharesAreRoundedDownButNotBelowWholeNumbers() {
        const ModelSpec spec = uniformSpec(30, 9, 3, 1);
        const auto count = [&](const char* budget) {
            const CutOrder order{CutUnit::head, false, parseBudget(budget), false};
            const Matrix values = randomValues(spec, CutUnit::head, 3);
            return cutPlaces(cutLowest(spec, values, order, {}, PruningMask(spec)), spec, CutUnit::head).size();
        };
        QCOMPARE(count("10%"), std::size_t{27});
        QCOMPARE(count("12.5%"), std::size_t{33});
        QCOMPARE(count("0.37%"), std::size_t{0}); // 0.37 % of 270 heads is 0.999
        QCOMPARE(count("0%"), std::size_t{0});
        QCOMPARE(count("100%"), std::size_t{270});
        QCOMPARE(count("14.444444444444445%"), std::size_t{39});
    }

    void aBudgetThatCannotBeMetNamesTheLargestThatCan() {
        const ModelSpec spec = uniformSpec(30, 9, 3, 1);
        const Matrix values = randomValues(spec, CutUnit::head, 3);
        const auto told = [&](const char* budget, bool perLayer) {
            const CutOrder order{CutUnit::head, false, parseBudget(budget), perLayer};
            const Protection protection = Protection::parse("first_last", spec);
            return refusal([&] { cutLowest(spec, values, order, protection, PruningMask(spec)); });
        };
        QVERIFY2(told("253", false).contains("253 of 270 heads cannot be cut: at most 252 can, or 93.34%"),
                 qPrintable(told("253", false)));
        QVERIFY2(told("95%", false).contains("256 (95%) of 270 heads cannot be cut: at most 252 can"),
                 qPrintable(told("95%", false)));
        // 9 heads in each layer; the protected first and last layers are left out.
        QCOMPARE(told("9", true), QString("accepted"));
        QCOMPARE(told("252", false), QString("accepted"));
        QVERIFY2(told("1.5", false).contains("1.5 is no whole number of units"), qPrintable(told("1.5", false)));
        QVERIFY2(told("101%", false).contains("101% is no share"), qPrintable(told("101%", false)));
    }

    void perLayerABudgetIsMetWhereAnythingCanBeCut() {
        const ModelSpec spec = uniformSpec(4, 6, 3, 1);
        const Matrix values = randomValues(spec, CutUnit::head, 3);
        const Protection protection = Protection::parse("0,2.1-5", spec);
        const CutOrder one{CutUnit::head, false, {1, false}, true};
        const PruningMask mask = cutLowest(spec, values, one, protection, PruningMask(spec));
        for (int layer = 0; layer < 4; ++layer)
            QCOMPARE(mask.layer(layer).keptHeads(), layer == 0 ? 6 : 5);
        QVERIFY(isCut(mask, spec, CutUnit::head, 2, 0));
        const CutOrder two{CutUnit::head, false, {2, false}, true};
        const QString told = refusal([&] { cutLowest(spec, values, two, protection, PruningMask(spec)); });
        QVERIFY2(told.contains("2 of 6 heads in layer 2 cannot be cut: at most 1 can"), qPrintable(told));
    }

    void cellsWithoutAValueAreNotChosen() {
        const ModelSpec spec = uniformSpec(2, 3, 3, 1);
        Matrix values = drawn(spec, CutUnit::head, 1, 1000);
        values(0, 1) = values(1, 2) = std::nan("");
        const CutOrder order{CutUnit::head, false, {4, false}, false};
        const PruningMask mask = cutLowest(spec, values, order, {}, PruningMask(spec));
        QVERIFY(!isCut(mask, spec, CutUnit::head, 0, 1) && !isCut(mask, spec, CutUnit::head, 1, 2));
        const CutOrder more{CutUnit::head, false, {5, false}, false};
        QVERIFY_THROWS_EXCEPTION(UsageError, cutLowest(spec, values, more, {}, PruningMask(spec)));
        QVERIFY_THROWS_EXCEPTION(Error, cutLowest(spec, Matrix(2, 2, 0), order, {}, PruningMask(spec)));
    }

    void sharedLayersAreOne() {
        const ModelSpec spec = tiedSpec();
        QCOMPARE(unitCount(spec, CutUnit::head), std::size_t{8});
        Matrix values(6, 4, 10);
        // Layers 0, 2 and 4 share their weights. The mean of their values for head 2 is (10 + 10 - 50) / 3 = -10.
        values(4, 2) = -50;
        values(5, 3) = -45;
        const CutOrder order{CutUnit::head, false, {1, false}, false};
        const PruningMask mask = cutLowest(spec, values, order, {}, PruningMask(spec));
        const std::set<Place> expected{{0, 2}, {2, 2}, {4, 2}};
        QVERIFY(cutPlaces(mask, spec, CutUnit::head) == expected);
    }

    void aBoundCutsAllWithinIt() {
        const ModelSpec spec = uniformSpec(6, 4, 4, 3);
        const Matrix values = drawn(spec, CutUnit::head, 9, 10);
        for (const bool highestFirst : {false, true}) {
            const PruningMask mask =
                cutWithin(spec, values, {CutUnit::head, highestFirst, {}, false}, 4, {}, PruningMask(spec));
            for (int layer = 0; layer < 6; ++layer)
                for (int head = 0; head < 4; ++head) {
                    const double value = values(static_cast<std::size_t>(layer), static_cast<std::size_t>(head));
                    QCOMPARE(isCut(mask, spec, CutUnit::head, layer, head), highestFirst ? value >= 4 : value <= 4);
                }
        }
    }

    void randomDrawsAreTheSameEverywhere() {
        // A random value is the upper 53 bits of an output of std::mt19937_64, times 2^-53. The C++ standard defines
        // that the 10,000th output with the default seed 5489 is 9981545732273789042, so the last of 100 x 100 values
        // is known.
        const Matrix values = randomValues(uniformSpec(100, 100, 100, 1), CutUnit::head, 5489);
        QCOMPARE(values(99, 99), std::ldexp(static_cast<double>(9981545732273789042ULL >> 11U), -53));
    }

    void randomDrawsAreEvenAndNested() {
        const ModelSpec spec = uniformSpec(3, 3, 3, 1);
        std::map<Place, int> counts;
        constexpr int seeds = 3000;
        const auto mask = [&](int seed, double budget) {
            return cutLowest(spec, randomValues(spec, CutUnit::head, static_cast<std::uint64_t>(seed)),
                             {CutUnit::head, false, {budget, false}, false}, {}, PruningMask(spec));
        };
        for (int seed = 0; seed < seeds; ++seed) {
            const PruningMask three = mask(seed, 3);
            for (const Place& place : cutPlaces(three, spec, CutUnit::head))
                ++counts[place];
            QVERIFY(unionOf(three, mask(seed, 5)) == mask(seed, 5));
        }
        double chiSquare = 0;
        for (const auto& item : counts)
            chiSquare += std::pow(item.second - seeds / 3.0, 2) / (seeds / 3.0);
        qInfo("chi-square of 9 heads over %d seeds: %.2f", seeds, chiSquare);
        QCOMPARE(counts.size(), std::size_t{9});
        // Each draw cuts 3 of the 9 heads without replacement. The sum is then 3/4 of a chi-square variable with 8
        // degrees of freedom, which exceeds 22 in fewer than 1 of 1000 cases.
        QVERIFY(chiSquare < 22);
    }

    void requestsAreRead() {
        QCOMPARE(parseStrategyRequest("gate_norm").resultId(), std::string("gate_norm"));
        QCOMPARE(parseStrategyRequest("gate_norm:reversed=false").resultId(), std::string("gate_norm"));
        const StrategyRequest folded = parseStrategyRequest("gate_norm:reversed=true:fold_norm=true");
        QCOMPARE(folded.resultId(), std::string("gate_norm:fold_norm=true:reversed=true"));
        QCOMPARE(folded.metric->resultId(), std::string("gate_norm:fold_norm=true"));
        QVERIFY(folded.highestFirst());
        QVERIFY(folded.unit() == CutUnit::attention);
        const StrategyRequest any = parseStrategyRequest("by_metric:metric=gate_norm_head:augmented=true");
        QCOMPARE(any.metric->resultId(), std::string("gate_norm_head:augmented=true"));
        QVERIFY(any.unit() == CutUnit::head && !any.highestFirst());
        QVERIFY(parseStrategyRequest("by_metric:metric=gate_norm_group").unit() == CutUnit::kvGroup);
        QVERIFY(parseStrategyRequest("by_metric:metric=mag_sp_neuron").unit() == CutUnit::neuron);
        QVERIFY(parseStrategyRequest("random_mlp").unit() == CutUnit::mlp);
    }

    void wrongRequestsAreRefused_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        QTest::newRow("unknown") << "gatenorm"
                                 << "Unknown strategy \"gatenorm\". Did you mean gate_norm?";
        QTest::newRow("another") << "magic"
                                 << "The known ones are gate_norm, attention_importance, mlp_importance";
        QTest::newRow("option") << "gate_norm:fold=true"
                                << "its options are per_layer, reversed, rules, augmented";
        QTest::newRow("random") << "random_head:reversed=true"
                                << "its options are per_layer";
        QTest::newRow("no metric") << "by_metric"
                                   << "needs metric=ID";
        QTest::newRow("group") << "by_metric:metric=weights"
                               << "is a group";
        QTest::newRow("metric") << "by_metric:metric=magic"
                                << "Unknown metric \"magic\"";
        QTest::newRow("type") << "gate_norm:reversed=1"
                              << "must have a value of type bool";
    }
    void wrongRequestsAreRefused() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        const QString found = refusal([&] { parseStrategyRequest(text.toStdString()); });
        QVERIFY2(found.contains(expected), qPrintable(found));
    }

    void budgetsAreRead() {
        QVERIFY(parseBudget("8") == (Budget{8, false}));
        QVERIFY(parseBudget("12.5%") == (Budget{12.5, true}));
        QCOMPARE(budgetText(parseBudget("12.5%")), std::string("12.5%"));
        for (const char* text : {"", "%", "-1", "8 heads", "nan", "inf", "8%%"})
            QVERIFY2(refusal([&] { parseBudget(text); }).contains("neither"), text);
    }

    // The expected cuts follow from the metric values that numpy computed, in each model's expected.json.
    void measuredStrategiesCutTheLowestOfTheJudgesValues_data() {
        QTest::addColumn<QString>("strategy");
        QTest::addColumn<QString>("metric");
        QTest::newRow("gate_norm") << "gate_norm"
                                   << "gate_norm";
        QTest::newRow("folded") << "gate_norm:fold_norm=true"
                                << "gate_norm:fold_norm=true";
        for (const char* metric : {"gate_norm_head", "gate_norm_group", "mag_sp_head", "mag_sp_neuron"})
            QTest::newRow(metric) << QString("by_metric:metric=%1").arg(metric) << metric;
    }
    void measuredStrategiesCutTheLowestOfTheJudgesValues() {
        QFETCH(QString, strategy);
        QFETCH(QString, metric);
        int compared = 0;
        for (const QString& folder : fixtures()) {
            const nlohmann::json metrics = readJson(data().filePath(folder + "/expected.json"))["metrics"];
            const auto model = fixture(folder);
            const ModelSpec& spec = model->spec();
            if (!metrics.contains(metric.toStdString()) || !spec.tiedGroups().empty())
                continue;
            const auto judged = rows(metrics.at(metric.toStdString()));
            for (const bool reversed : {false, true}) {
                const QString request = strategy + (reversed ? ":reversed=true" : "");
                const CutUnit unit = parseStrategyRequest(request.toStdString()).unit();
                const std::size_t count = unitCount(spec, unit) / 2;
                const PruneResult result =
                    prune(*model, requestOf(qPrintable(request), std::to_string(count).c_str()), {}, {});
                Matrix values(spec.layers.size(), result.metric->values.columns());
                for (std::size_t layer = 0; layer < judged.size(); ++layer)
                    std::ranges::copy(judged[layer], values.row(layer).begin());
                const auto all = [](int, int) { return true; };
                QVERIFY2(cutPlaces(result.mask, spec, unit) == lowest(values, spec, unit, count, reversed, all),
                         qPrintable(folder));
                ++compared;
            }
        }
        qInfo("%d rankings", compared);
        QVERIFY(compared > 4);
    }

    void provenanceTellsHowAMaskWasMade() {
        PruneRequest request = requestOf("random_head:per_layer=true", "10%");
        request.protect = "first_last";
        request.seed = 7;
        const MaskProvenance provenance = provenanceOf(request, {});
        QCOMPARE(provenance.strategy, std::string("random_head"));
        QVERIFY(provenance.options ==
                (std::map<std::string, std::string>{{"per_layer", "true"}, {"protect", "first_last"}}));
        QVERIFY(provenance.budget == (Budget{10, true}));
        QCOMPARE(provenance.seed.value_or(-1), std::int64_t{7});
        QVERIFY(!provenanceOf(requestOf("gate_norm", "1"), {}).seed);
    }

    void byMetricNamesTheEnd() {
        const MetricRequest metric = parseMetricRequests("gate_norm_head:fold_norm=true").front();
        QCOMPARE(byMetric(metric, false, true).resultId(),
                 std::string("by_metric:fold_norm=true:metric=gate_norm_head:per_layer=true"));
        QCOMPARE(byMetric(metric, true, false).resultId(),
                 std::string("by_metric:fold_norm=true:metric=gate_norm_head:reversed=true"));
        QVERIFY(byMetric(metric, true, false).highestFirst());
    }

    void aSliderCanFollowTheChoice() {
        const ModelSpec spec = uniformSpec(128, 128, 16, 16384);
        const Matrix values = randomValues(spec, CutUnit::head, 1);
        const Protection protection = Protection::parse("first_last", spec);
        const PruningMask base(spec);
        double best = 1;
        double bestBound = 1;
        for (int round = 0; round < 10; ++round) {
            const auto begin = std::chrono::steady_clock::now();
            const PruningMask mask =
                cutLowest(spec, values, {CutUnit::head, false, {40, true}, false}, protection, base);
            const auto middle = std::chrono::steady_clock::now();
            const PruningMask other = cutWithin(spec, values, {CutUnit::head, false, {}, false}, 0.4, protection, base);
            const auto end = std::chrono::steady_clock::now();
            QVERIFY(!mask.keepsAll() && !other.keepsAll());
            best = std::min(best, std::chrono::duration<double>(middle - begin).count());
            bestBound = std::min(bestBound, std::chrono::duration<double>(end - middle).count());
        }
        qInfo("128 x 128 heads: %.2f ms for a budget, %.2f ms for a bound", 1e3 * best, 1e3 * bestBound);
        QVERIFY(best < 0.05 && bestBound < 0.05);
    }
};

SECATEUR_SUITE(TestStrategies)
#include "tst_strategies.moc"
