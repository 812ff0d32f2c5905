// Budgets in shares of the model, and paths that serve several budgets.
#ifndef Q_MOC_RUN
#include "analysis/evaluation/sublayer_times.h"
#include "analysis/masks/price.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

using namespace secateur;
using test::GradientCase;

namespace {

PruneRequest requestFor(const QString& strategy, const QString& budget) {
    return {parseStrategyRequest(strategy.toStdString()), parseBudget(budget.toStdString()), "none", 3, {}};
}

PruneInputs inputsOf(const GradientCase& c) {
    return {.text = CalibrationText{.sequences = c.sequences, .labels = c.labels, .type = ComputeType::float32}};
}

QString refusalOf(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return "accepted";
}

/// The largest relative difference of the values; infinite if the cuts differ. The value after the last step of a run
/// is computed without gradients, which may change its last digits.
double apart(const PruneHistory& a, const PruneHistory& b) {
    double worst = a.steps == b.steps && a.cuts.size() == b.cuts.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(a.cuts.size(), b.cuts.size()); ++i) {
        if (a.cuts[i].head != b.cuts[i].head || a.cuts[i].step != b.cuts[i].step)
            return std::numeric_limits<double>::infinity();
        worst = std::max(worst, std::abs(a.cuts[i].value / b.cuts[i].value - 1));
    }
    return worst;
}

/// A path with everything that it refers to.
struct OpenPath {
    PruneRequest request;
    PruneInputs inputs;
    PruneContext context;
    std::unique_ptr<PrunePath> path;

    OpenPath(const GradientCase& c, const QString& strategy)
        : request(requestFor(strategy, "0"))
        , inputs(inputsOf(c))
        , context(contextOf(*c.model, request, inputs)) {
        context.checksBudget = false;
        path = request.strategy.info->begin(context, {});
    }
};

} // namespace

class TestBudgets : public QObject {
    Q_OBJECT

private slots:
    void sharesOfTheModelAreRead() {
        QVERIFY(parseBudget("params:20%") == (Budget{20, true, BudgetOf::parameters}));
        QVERIFY(parseBudget("layers:12.5%") == (Budget{12.5, true, BudgetOf::layerParameters}));
        QVERIFY(parseBudget("kv:25%") == (Budget{25, true, BudgetOf::kvBytes}));
        for (const char* text :
             {"params:20%", "layers:12.5%", "kv:0%", "flops:100%", "bytes:5%", "seconds:15%", "8", "12.5%"})
            QCOMPARE(budgetText(parseBudget(text)), std::string(text));
        for (const char* text : {"params:20", "kv:", "flops:101%", "bites:5%", "params 5%", "flops:-1%", "kv:nan%"})
            QVERIFY2(refusalOf([&] { parseBudget(text); }).contains("nor a share of the model"), text);
    }

    void theFewestStepsAreTaken_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("strategy");
        QTest::addColumn<QString>("of");
        const QStringList strategies{"gate_norm",    "random_head", "random_neuron",
                                     "random_block", "bottom_up",   "random_head:per_layer=true",
                                     "gnorm_greedy"};
        for (const QString folder : {"gemma3", "gpt2", "llama-gqa"})
            for (const QString& strategy : strategies)
                for (const QString of : {"params", "layers", "kv", "flops"})
                    if ((of != "kv" || !strategy.contains("neuron")) && (folder == "gemma3" || strategy != "bottom_up"))
                        QTest::addRow("%s %s %s", qPrintable(folder), qPrintable(strategy), qPrintable(of))
                            << folder << strategy << of;
    }
    void theFewestStepsAreTaken() {
        QFETCH(QString, folder);
        QFETCH(QString, strategy);
        QFETCH(QString, of);
        const GradientCase c(folder);
        OpenPath open(c, strategy);
        const Savings savings(c.model->card(), PruningMask(c.model->spec()), 1024);
        const BudgetOf kind = parseBudget((of + ":1%").toStdString()).of;
        const double most = savings.percentage(*open.path->everything(), kind);
        QVERIFY(most > 0);
        for (const double part : {0.1, 0.5, 1.0}) {
            const Budget budget{most * part, true, kind};
            const PruneResult result = spend(*open.path, budget, savings, {});
            std::size_t steps = 0;
            while (savings.percentage(open.path->after(steps, {}).mask, kind) < budget.amount - 1e-9)
                ++steps;
            QVERIFY(result.mask == open.path->after(steps, {}).mask);
        }
        const QString told = refusalOf([&] { spend(*open.path, {100, true, kind}, savings, {}); });
        if (most < 99.99)
            QVERIFY2(told.contains("cannot be saved: at most"), qPrintable(told));
    }

    void budgetsInSecondsAreMeasuredAtTheEnd() {
        const GradientCase c("llama-gqa");
        const PruneResult result = prune(*c.model, requestFor("random_neuron", "seconds:10%"), inputsOf(c), {});
        QVERIFY(!result.mask.keepsAll());
        QCOMPARE(result.notes.size(), std::size_t{1});
        qInfo("%s", result.notes.front().c_str());
        QVERIFY(result.notes.front().starts_with("measured: a forward pass over "));
    }

    void timesOfSublayersFollowTheMask() {
        const GradientCase c("llama-gqa");
        const SublayerTimes times(*c.model, 64, ComputeType::float32, {});
        PruningMask mask(c.model->spec());
        double before = times.seconds(mask);
        for (int layer = 0; layer < mask.layerCount(); ++layer) {
            cutUnits(mask, c.model->spec(), CutUnit::block, layer, std::array{0});
            const double after = times.seconds(mask);
            QVERIFY(after < before);
            before = after;
        }
    }

    void budgetsInBytesNeedSizes() {
        const GradientCase c("llama-gqa");
        PruneInputs inputs = inputsOf(c);
        QVERIFY(refusalOf([&] {
                    prune(*c.model, requestFor("random_neuron", "bytes:10%"), inputs, {});
                }).contains("bytes of the files are not known"));
        // A file whose size is that of its parameters gives the mask of that budget.
        const PriceList prices(c.model->card());
        inputs.fileBytes = [&](const PruningMask& mask) {
            return static_cast<double>(4 * prices.price(mask).parameters.left);
        };
        QVERIFY(prune(*c.model, requestFor("random_neuron", "bytes:10%"), inputs, {}).mask ==
                prune(*c.model, requestFor("random_neuron", "params:10%"), inputs, {}).mask);
    }

    void aPathServesBudgetsInAnyOrder() {
        const GradientCase c("llama-gqa");
        for (const char* strategy : {"gnorm_greedy:per_step=2", "gnorm_greedy", "gnorm_inverse:stop=knee",
                                     "gnorm_greedy:stop=floor:0.001", "random_head"}) {
            OpenPath open(c, strategy);
            for (const char* units : {"3", "5", "6", "2", "1", "7", "25%", "0"}) {
                const PruneResult shared = open.path->spend(parseBudget(units), {});
                const PruneResult alone = prune(*c.model, requestFor(strategy, units), inputsOf(c), {});
                QVERIFY2(shared.mask == alone.mask, strategy);
                QCOMPARE(shared.history.has_value(), alone.history.has_value());
                if (shared.history)
                    QVERIFY2(apart(*shared.history, *alone.history) < 1e-6, units);
            }
        }
    }

    void anInterruptedPathGoesOn() {
        const GradientCase c("llama-gqa");
        const PruneResult whole = prune(*c.model, requestFor("gnorm_greedy", "6"), inputsOf(c), {});
        OpenPath open(c, "gnorm_greedy");
        int stops = 0;
        for (int limit = 1;; limit += 7) {
            std::stop_source stop;
            int reports = 0;
            const Progress progress(
                [&](double, std::string_view) {
                    if (++reports == limit)
                        stop.request_stop();
                },
                stop.get_token());
            try {
                const PruneResult result = open.path->spend({6, false}, progress);
                QVERIFY(result.history == whole.history);
                break;
            } catch (const Cancelled&) {
                ++stops;
            }
        }
        qInfo("stopped %d times", stops);
        QVERIFY(stops > 2);
    }

    void placesAreCutFromEitherEnd() {
        const GradientCase c("gemma3");
        const int layers = c.model->spec().layerCount();
        const auto dropped = [&](const QString& strategy, const QString& budget) {
            const PruningMask mask = prune(*c.model, requestFor(strategy, budget), {}, {}).mask;
            std::vector<int> found;
            for (int layer = 0; layer < layers; ++layer)
                if (!mask.layer(layer).block)
                    found.push_back(layer);
            return found;
        };
        QCOMPARE(dropped("bottom_up", "1"), std::vector<int>{1});
        QCOMPARE(dropped("top_down", "1"), std::vector<int>{layers - 2});
        QCOMPARE(std::ssize(dropped("top_down", QString::number(layers - 2))), layers - 2);
        QVERIFY(refusalOf([&] { dropped("top_down", QString::number(layers - 1)); }).contains("at most"));
    }

    void papersProtectLayers() {
        const GradientCase c("gemma3");
        PruneRequest request = requestFor("sink_head:rules=paper", "1");
        const PruneContext paper = contextOf(*c.model, request, {});
        QVERIFY(paper.protection == Protection::parse("first_last", c.model->spec()));
        request = requestFor("sink_head", "1");
        QVERIFY(contextOf(*c.model, request, {}).protection.empty());
        QVERIFY(refusalOf([&] { requestFor("sink_head:rules=mine", "1"); }).contains("rules=mine"));
    }

    void theOrderOfCutsIsRecorded() {
        const GradientCase c("llama-gqa");
        const PruneResult result = prune(*c.model, requestFor("gate_norm", "2"), {}, {});
        QCOMPARE(result.order.size(), std::size_t{2});
        QVERIFY(result.order[0].unit == CutUnit::attention && result.order[0].score <= result.order[1].score);
        QVERIFY(provenanceOf(requestFor("gate_norm", "2"), {}, result).order == result.order);
    }
};

SECATEUR_SUITE(TestBudgets)
#include "tst_budgets.moc"
