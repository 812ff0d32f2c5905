// The strategy `second_order` against a plain loop over the derivatives of gates.
#ifndef Q_MOC_RUN
#include "analysis/base/usage_error.h"
#include "analysis/masks/price.h"
#include "analysis/metrics/gate_effects.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

using namespace secateur;
using test::GradientCase;

namespace {

constexpr int positions = 1024;

PruneResult pruned(const GradientCase& c, const QString& strategy, const QString& budget,
                   const QString& protect = "none") {
    PruneInputs inputs;
    inputs.text = CalibrationText{.sequences = c.sequences, .labels = c.labels, .type = ComputeType::float32};
    const PruneRequest request{parseStrategyRequest(strategy.toStdString()),
                               parseBudget(budget.toStdString()),
                               protect.toStdString(),
                               0,
                               {},
                               positions};
    return prune(*c.model, request, inputs, {});
}

/// F/2 - g of each head and neuron that is still there.
std::map<std::tuple<CutUnit, int, int>, double> plainPrices(const GradientCase& c, const PruningMask& mask) {
    const auto plan = c.model->runner().plan(mask, ComputeType::float32);
    const GateEffects effects =
        gateEffects(*c.model, {*plan, c.sequences, c.labels, 4096}, 4, {}, {.heads = true, .neurons = true});
    std::map<std::tuple<CutUnit, int, int>, double> prices;
    for (std::size_t gate = 0; gate < effects.gates.size(); ++gate)
        if (const Gate& own = effects.gates[gate]; own.of == Gate::Of::head)
            prices[{CutUnit::head, own.layer, own.head}] = effects.fisher(gate, gate) / 2 - effects.slopes[gate];
    for (std::size_t layer = 0; layer < effects.neuronSlopes.rows(); ++layer)
        for (std::size_t neuron = 0; neuron < effects.neuronSlopes.columns(); ++neuron)
            if (const double slope = effects.neuronSlopes(layer, neuron); !std::isnan(slope))
                prices[{CutUnit::neuron, static_cast<int>(layer), static_cast<int>(neuron)}] =
                    effects.neuronFisher(layer, neuron) / 2 - slope;
    std::erase_if(prices, [&](const auto& entry) {
        const auto [unit, layer, index] = entry.first;
        return isCut(mask, c.model->spec(), unit, layer, index);
    });
    return prices;
}

struct PlainCut {
    std::tuple<CutUnit, int, int> unit;
    double ratio = 0;
};

/// The cuts for a budget, one by one: the lowest ratio of price to saving, with new prices in each part of the budget.
std::vector<PlainCut> plainCuts(const GradientCase& c, const Budget& budget, int parts) {
    const ModelSpec& spec = c.model->spec();
    PruningMask mask(spec);
    const Savings savings(c.model->card(), mask, positions);
    std::vector<PlainCut> cuts;
    for (int part = 1; part <= parts; ++part) {
        const double target = budget.amount * part / parts;
        if (savings.percentage(mask, budget.of) >= target)
            continue;
        const double left = savings.left(mask, budget.of);
        std::vector<PlainCut> all;
        for (const auto& [place, price] : plainPrices(c, mask)) {
            PruningMask without = mask;
            const auto [unit, layer, index] = place;
            cutUnits(without, spec, unit, layer, std::array{index});
            if (const double saved = left - savings.left(without, budget.of); saved > 0)
                all.push_back({place, price / saved});
        }
        std::ranges::stable_sort(all, {}, &PlainCut::ratio);
        for (const PlainCut& cut : all) {
            if (savings.percentage(mask, budget.of) >= target)
                break;
            const auto [unit, layer, index] = cut.unit;
            cutUnits(mask, spec, unit, layer, std::array{index});
            cuts.push_back(cut);
        }
    }
    return cuts;
}

} // namespace

class TestSecondOrder : public QObject {
    Q_OBJECT

private slots:
    void cutsAreThoseOfAPlainLoop_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("budget");
        for (const char* folder : {"llama-gqa", "llama-mha", "gpt2", "qwen3", "gemma3", "bert", "albert"})
            for (const char* budget : {"layers:20%", "params:10%", "flops:15%"})
                QTest::addRow("%s %s", folder, budget) << folder << budget;
    }
    void cutsAreThoseOfAPlainLoop() {
        QFETCH(QString, folder);
        QFETCH(QString, budget);
        const GradientCase c(folder);
        const std::vector<PlainCut> expected = plainCuts(c, parseBudget(budget.toStdString()), 4);
        const PruneResult found = pruned(c, "second_order:refresh=4", budget);
        QCOMPARE(found.order.size(), expected.size());
        double worst = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const OrderedCut& cut = found.order[i];
            QVERIFY(expected[i].unit == std::tuple(cut.unit, cut.layer, cut.index));
            worst = std::max(worst, std::abs(cut.score - expected[i].ratio) /
                                        std::max(std::abs(expected[i].ratio), std::numeric_limits<double>::min()));
        }
        qInfo("%zu cuts, largest relative difference of a ratio %.1e", expected.size(), worst);
        QVERIFY(worst < 1e-5);
    }

    void protectedUnitsStay() {
        const GradientCase c("llama-gqa");
        const PruneResult result =
            pruned(c, "second_order:units=heads/neurons/attention/mlps/blocks", "layers:30%", "0");
        QVERIFY(result.mask.layer(0).keepsAll());
        QVERIFY(!result.mask.keepsAll());
    }

    void kvBudgetsCutWholeGroups() {
        const GradientCase c("llama-gqa");
        const Price price = PriceList(c.model->card()).price(pruned(c, "second_order", "kv:25%").mask);
        QVERIFY(price.kvBytesPerToken.left <= 0.75 * price.kvBytesPerToken.all);
        QVERIFY(price.halfCutGroups.empty());
    }

    void whatCannotBeIsRefused() {
        const GradientCase c("llama-gqa");
        QVERIFY_THROWS_EXCEPTION(UsageError, pruned(c, "second_order:refresh=0", "10%"));
        QVERIFY_THROWS_EXCEPTION(UsageError, pruned(c, "second_order:units=tails", "10%"));
        QVERIFY_THROWS_EXCEPTION(BudgetTooLarge, pruned(c, "second_order", "params:99%"));
    }
};

SECATEUR_SUITE(TestSecondOrder)
#include "tst_second_order.moc"
