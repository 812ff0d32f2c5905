// The strategy `search`: its steps against all possible first steps, layouts of exports, interruption.
#ifndef Q_MOC_RUN
#include "analysis/base/usage_error.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/export/export_target.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/price.h"
#include "analysis/metrics/measure.h"
#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/held_out_text.h"
#include "analysis/strategies/prune.h"
#include "tests/support/fixture.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

using namespace secateur;
using test::GradientCase;

namespace {

constexpr int positions = 1024;
constexpr std::array<const char*, 6> kinds{"heads", "neurons", "attention", "mlps", "blocks", "bypass"};

PruneRequest requestOf(const QString& strategy, const QString& budget, const QString& protect = "none") {
    return {parseStrategyRequest(strategy.toStdString()),
            parseBudget(budget.toStdString()),
            protect.toStdString(),
            0,
            {},
            positions};
}

PruneInputs inputsOf(const GradientCase& c) {
    PruneInputs inputs;
    inputs.text = CalibrationText{.sequences = c.sequences, .labels = c.labels, .type = ComputeType::float32};
    return inputs;
}

PruneResult searched(const GradientCase& c, const QString& strategy, const QString& budget,
                     const QString& protect = "none") {
    return prune(*c.model, requestOf(strategy, budget, protect), inputsOf(c), {});
}

/// The mean cost of a token: share * divergence from the dense model + (1 - share) * loss.
double costOn(const GradientCase& c, const CalibrationText& text, const PruningMask& mask, double share) {
    const auto plan = c.model->runner().plan(mask, ComputeType::float32);
    return meanLoss(
        VariantWalk(*c.model, *plan, {.sequences = text.sequences, .labels = text.labels, .divergenceShare = share})
            .whole({}));
}

/// KL(dense || model) of the next token, the mean over the tokens of single sequences, from whole logits in float64.
double divergenceOf(const GradientCase& c, const PruningMask& mask) {
    const Runner& runner = c.model->runner();
    const auto logProbabilities = [&](const PruningMask& own, const Batch& batch) {
        const auto plan = runner.plan(own, ComputeType::float32);
        at::Tensor last;
        LayerWalk walk;
        walk.finished = [&](std::size_t, const at::Tensor& x) { last = runner.lmHead(*plan, x, batch); };
        forEachLayer(runner, *plan, std::span(&batch, 1), walk);
        return last.squeeze(0).to(at::kCPU, at::kDouble).log_softmax(-1);
    };
    double sum = 0;
    std::int64_t tokens = 0;
    for (const TokenSequence& sequence : c.sequences) {
        const Batch batch = paddedBatches(std::span(&sequence, 1), 1).batches.front();
        const at::Tensor p = logProbabilities(PruningMask(c.model->spec()), batch);
        const at::Tensor q = logProbabilities(mask, batch);
        const std::int64_t predicted = p.size(0) - 1; // the last token predicts none
        sum += (p.exp() * (p - q)).narrow(0, 0, predicted).sum().item<double>();
        tokens += predicted;
    }
    return sum / static_cast<double>(tokens);
}

/// The first step in one layer, of one kind.
std::optional<PruneResult> firstStep(const GradientCase& c, const QString& units, int layer) {
    QStringList others;
    for (int other = 0; other < c.model->spec().layerCount(); ++other)
        if (other != layer)
            others << QString::number(other);
    PruneRequest request = requestOf("search:units=" + units, "0%", others.join(','));
    const PruneInputs inputs = inputsOf(c);
    const PruneContext context = contextOf(*c.model, request, inputs);
    PruneResult result = request.strategy.info->begin(context, {})->after(1, {});
    return result.mask.keepsAll() ? std::nullopt : std::optional(std::move(result));
}

} // namespace

class TestSearch : public QObject {
    Q_OBJECT

private slots:
    void theFirstStepIsTheCheapest_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-gqa", "llama-mha", "gpt2", "qwen3", "gemma3", "bert"})
            QTest::newRow(folder) << folder;
    }
    void theFirstStepIsTheCheapest() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        std::map<std::pair<int, int>, StepPrice> last; // price of each step, by layer and kind
        std::optional<StepPrice> latest;
        double worst = 0;
        int measured = 0;
        PruneInputs inputs = inputsOf(c);
        inputs.watch.priced = [&](std::span<const StepPrice> prices) {
            for (const StepPrice& price : prices) {
                last[{price.layer, price.kind}] = price;
                latest = price;
                if (price.isEstimate || price.isGone)
                    continue;
                const auto alone = firstStep(c, kinds[static_cast<std::size_t>(price.kind)], price.layer);
                worst = std::max(worst, std::abs(alone->history->cuts.back().value - price.loss));
                ++measured;
            }
        };
        prune(*c.model, requestOf("search:refit=false", "layers:0.01%"), inputs, {});
        qInfo("%zu first steps, %d measured; losses differ by at most %.1e", last.size(), measured, worst);
        QVERIFY(worst < 2e-6);
        QVERIFY(latest && !latest->isEstimate);
        const QString whole = "layers:" + QString::number(latest->saved, 'g', 15) + '%'; // nothing to give back
        QVERIFY(searched(c, "search:refit=false", whole).mask ==
                firstStep(c, kinds[static_cast<std::size_t>(latest->kind)], latest->layer)->mask);
        for (const auto& [place, price] : last) // those of rise 0 or less go first, the larger saving first
            if (!price.isGone && (latest->rise > 0 || (price.rise <= 0 && price.saved > latest->saved))) {
                const double asked = std::max(0.0, price.rise) / price.saved * latest->saved;
                QVERIFY(latest->rise - asked <= 0.0005 + 0.1 * std::abs(latest->rise) + 1e-9);
            }
    }

    void theKeptLossIsThatOfTheMask() {
        const GradientCase c("llama-gqa");
        const PruneResult result = searched(c, "search", "layers:20%");
        const PruneInputs inputs = inputsOf(c);
        const SplitText split = withLastQuarterHeldOut(*inputs.text);
        const double loss = costOn(c, split.heldOut.text(), result.mask, 1);
        QVERIFY(result.history && !result.history->cuts.empty());
        qInfo("loss %.6f, kept %.6f", loss, result.history->cuts.back().value);
        QVERIFY(std::abs(loss - result.history->cuts.back().value) < 1e-5);
        const Savings savings(c.model->card(), PruningMask(c.model->spec()), positions);
        QVERIFY(savings.percentage(result.mask, BudgetOf::layerParameters) >= 20 - 1e-9);
    }

    void divergencesAreThoseOfTheLogits_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-gqa", "gpt2", "gemma2"}) // gemma2: with a softcap
            QTest::newRow(folder) << folder;
    }
    void divergencesAreThoseOfTheLogits() {
        QFETCH(QString, folder);
        GradientCase c("llama-gqa"); // for its sequences
        c.model = test::fixture("forward/" + folder, "model.safetensors");
        for (TokenSequence& sequence : c.sequences)
            for (int& id : sequence.ids)
                id %= c.model->spec().vocab;
        CalibrationText text;
        text.sequences = c.sequences;
        PruningMask mask(c.model->spec());
        cutUnits(mask, c.model->spec(), CutUnit::mlp, 0, std::array{0});
        const double found = costOn(c, text, mask, 1);
        const double expected = divergenceOf(c, mask);
        const double mixed = costOn(c, text, mask, 0.25);
        const double mean = 0.25 * found + 0.75 * costOn(c, text, mask, 0);
        qInfo("divergence %.7f, from logits %.7f; mixed %.7f, expected %.7f", found, expected, mixed, mean);
        QVERIFY(expected > 1e-3);
        QVERIFY(std::abs(found - expected) < 2e-6);
        QVERIFY(std::abs(mixed - mean) < 1e-6);
        QVERIFY(costOn(c, text, PruningMask(c.model->spec()), 1) < 1e-6);
    }

    void exchangesLowerTheCost() {
        int exchanged = 0;
        for (const char* folder : {"llama-mha", "llama-gqa", "gpt2"}) {
            const GradientCase c(folder);
            const PruneInputs inputs = inputsOf(c);
            const SplitText split = withLastQuarterHeldOut(*inputs.text);
            for (const char* budget : {"layers:15%", "layers:25%", "layers:35%"}) {
                const PruneResult with = searched(c, "search:units=heads/neurons:step=0.2:refit=false", budget);
                const PruneResult without =
                    searched(c, "search:units=heads/neurons:step=0.2:refit=false:swaps=false", budget);
                const double kept = with.history->cuts.back().value;
                qInfo("%s, %s: %.6f without exchanges, %.6f with", folder, budget, without.history->cuts.back().value,
                      kept);
                QVERIFY(kept <= without.history->cuts.back().value + 1e-9);
                QVERIFY(std::abs(costOn(c, split.heldOut.text(), with.mask, 1) - kept) < 1e-5);
                exchanged += with.mask == without.mask ? 0 : 1;
            }
        }
        QVERIFY(exchanged > 0);
    }

    void aStepThatSavesTooMuchIsExchanged_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("options");
        QTest::addColumn<double>("budget");
        QTest::newRow("block") << "llama-gqa" << "units=heads/neurons/blocks" << 20.0;
        QTest::newRow("uniform") << "gpt2" << "units=neurons/blocks:for=native" << 30.0;
        QTest::newRow("whole sublayers") << "gemma3" << "units=attention/mlps/blocks" << 40.0;
    }
    void aStepThatSavesTooMuchIsExchanged() {
        QFETCH(const QString, folder);
        QFETCH(const QString, options);
        QFETCH(const double, budget);
        const GradientCase c(folder);
        const PruneInputs inputs = inputsOf(c);
        const auto found = [&](const char* swaps) {
            const PruneRequest request =
                requestOf(QString("search:%1:refit=false:swaps=%2").arg(options, swaps), "layers:0%");
            const PruneContext context = contextOf(*c.model, request, inputs);
            const auto path = request.strategy.info->begin(context, {});
            const PruneResult result = spend(*path, {budget, true, BudgetOf::layerParameters}, *context.savings, {});
            return std::pair(context.savings->percentage(result.mask, BudgetOf::layerParameters),
                             result.history->cuts.back().value);
        };
        const auto [saved, cost] = found("true");
        const auto [savedBefore, costBefore] = found("false");
        qInfo("%g%%: %.3f%% saved, without exchanges %.3f%%; cost %.6f, without exchanges %.6f", budget, saved,
              savedBefore, cost, costBefore);
        QVERIFY(saved >= budget && saved < savedBefore);
        QVERIFY(cost < costBefore);
    }

    void noMoreIsCutThanTheBudgetAsks_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("strategy");
        for (const char* folder : {"llama-mha", "llama-gqa", "gpt2", "gemma3"})
            QTest::newRow(folder) << folder << "search:units=neurons:step=0.3:refit=false:swaps=false";
        QTest::newRow("uniform") << "llama-gqa" << "search:for=native:units=neurons:step=1:refit=false";
    }
    void noMoreIsCutThanTheBudgetAsks() {
        QFETCH(const QString, folder);
        QFETCH(const QString, strategy);
        const GradientCase c(folder);
        const PruneInputs inputs = inputsOf(c);
        const ModelSpec& spec = c.model->spec();
        const PruneRequest request = requestOf(strategy, "layers:0%");
        const PruneContext context = contextOf(*c.model, request, inputs);
        const auto path = request.strategy.info->begin(context, {});
        const auto savedBy = [&](const PruningMask& mask) {
            return context.savings->percentage(mask, BudgetOf::layerParameters);
        };
        PruningMask unit(spec);
        for (int layer = 0; layer < (strategy.contains("native") ? spec.layerCount() : 1); ++layer)
            cutUnits(unit, spec, CutUnit::neuron, layer, std::array{0});
        int shortened = 0;
        for (const double budget : {3, 6, 11}) {
            const PruneResult found = spend(*path, {budget, true, BudgetOf::layerParameters}, *context.savings, {});
            const PruneResult whole = path->after(static_cast<std::size_t>(found.history->steps), {});
            const double cost = found.history->cuts.back().value;
            const double before = whole.history->cuts.back().value;
            qInfo("%g%%: %.3f%% saved, with whole steps %.3f%%; cost %.6f, with whole steps %.6f", budget,
                  savedBy(found.mask), savedBy(whole.mask), cost, before);
            QVERIFY(savedBy(found.mask) >= budget && savedBy(found.mask) <= savedBy(whole.mask));
            QVERIFY(cost <= before);
            PruningMask listed(spec);
            for (const OrderedCut& cut : found.order)
                cutUnits(listed, spec, cut.unit, cut.layer, std::array{cut.index});
            QVERIFY(withoutCompensation(found.mask) == listed);
            if (cost < before) {
                QVERIFY(savedBy(found.mask) < budget + savedBy(unit));
                ++shortened;
            }
        }
        QVERIFY(shortened > 0);
    }

    void weightsAreFittedAgain() {
        int refitted = 0;
        for (const char* folder : {"llama-mha", "llama-gqa", "gpt2", "gemma3"}) {
            const GradientCase c(folder);
            const PruneResult with = searched(c, "search", "layers:25%");
            const PruneResult without = searched(c, "search:refit=false", "layers:25%");
            const double cost = with.history->cuts.back().value;
            const double before = without.history->cuts.back().value;
            qInfo("%s: %.6f, fitted again %.6f", folder, before, cost);
            QVERIFY(withoutCompensation(with.mask) == withoutCompensation(without.mask));
            const PruneInputs inputs = inputsOf(c);
            QVERIFY(std::abs(costOn(c, withLastQuarterHeldOut(*inputs.text).heldOut.text(), with.mask, 1) - cost) <
                    1e-5);
            if (with.mask == without.mask)
                QCOMPARE(cost, before);
            else
                QVERIFY(cost <= 1.1 * before);
            refitted += with.mask == without.mask ? 0 : 1;
        }
        QVERIFY(refitted > 0);
    }

    void exchangesLeaveNoTrace() {
        const GradientCase c("llama-mha");
        const PruneInputs inputs = inputsOf(c);
        const PruneRequest small = requestOf("search", "layers:20%");
        const PruneContext context = contextOf(*c.model, small, inputs);
        const auto path = small.strategy.info->begin(context, {});
        spend(*path, small.budget, *context.savings, {});
        const PruneResult continued = spend(*path, parseBudget("layers:40%"), *context.savings, {});
        const PruneResult again = spend(*path, small.budget, *context.savings, {});
        QVERIFY(continued.mask == searched(c, "search", "layers:40%").mask);
        QVERIFY(again.mask == searched(c, "search", "layers:20%").mask);
    }

    void metricsOrderUnits() {
        const GradientCase c("llama-gqa");
        const PruneResult result = searched(c, "search:order=gate_norm_head:units=heads", "layers:4%");
        const MetricResult metric = measure(*c.model, parseMetricRequests("gate_norm_head"), {}).front();
        QVERIFY(!result.order.empty());
        std::map<int, double> last; // of the cut heads, by layer
        for (const OrderedCut& cut : result.order) {
            const double value =
                metric.values(static_cast<std::size_t>(cut.layer), static_cast<std::size_t>(cut.index));
            QVERIFY(!last.contains(cut.layer) || value >= last[cut.layer]);
            last[cut.layer] = value;
        }
    }

    void threadsDoNotMatter() {
        const GradientCase c("llama-gqa");
        const int before = at::get_num_threads();
        std::vector<PruningMask> masks;
        for (const int threads : {1, 2, 4}) {
            at::set_num_threads(threads);
            masks.push_back(withoutCompensation(searched(c, "search", "params:15%").mask));
        }
        at::set_num_threads(before);
        QVERIFY(masks[0] == masks[1]);
        QVERIFY(masks[0] == masks[2]);
    }

    void protectedUnitsStay() {
        const GradientCase c("llama-gqa");
        for (const char* strategy :
             {"search", "search:order=obs", "search:restore=none", "search:units=heads/neurons"}) {
            const PruneResult result = searched(c, strategy, "layers:10%", "0");
            QVERIFY2(withoutCompensation(result.mask).layer(0).keepsAll(), strategy);
            QVERIFY(!result.mask.keepsAll());
        }
    }

    void layoutsCanHoldTheMask_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("layout");
        QTest::addColumn<ExportReasons*>("reasons");
        const auto row = [](const char* folder, const char* layout, ExportReasons& reasons) {
            QTest::addRow("%s %s", folder, layout) << folder << layout << &reasons;
        };
        row("llama-gqa", "native", nativeReasons);
        row("llama-gqa", "per_layer", perLayerReasons);
        row("mha-f32", "decilm", deciLmReasons);
        row("llama-gqa", "deci", ggufDeciReasons);
    }
    void layoutsCanHoldTheMask() {
        QFETCH(QString, folder);
        QFETCH(QString, layout);
        QFETCH(ExportReasons*, reasons);
        GradientCase c("llama-gqa");
        if (folder != c.folder)
            c.model = test::fixture(folder);
        for (TokenSequence& sequence : c.sequences)
            for (int& id : sequence.ids)
                id %= c.model->spec().vocab;
        const ModelCard& card = c.model->card();
        const PruneResult result = searched(c, "search:for=" + layout + ":step=0.3", "layers:20%");
        const Reasons refused = reasons(result.mask, card.spec, card.format);
        QVERIFY2(refused.empty(), refused.empty() ? "" : refused.front().sentence.c_str());
        QVERIFY(!result.mask.keepsAll());
        qInfo("%s: %zu steps, loss %.4f", qPrintable(layout), static_cast<std::size_t>(result.history->steps),
              result.history->cuts.back().value);
    }

    void budgetsInBytesNeedNoLayout() {
        const GradientCase c("llama-gqa");
        PruneInputs inputs = inputsOf(c);
        const PriceList prices(c.model->card());
        const ModelCard& card = c.model->card();
        inputs.fileBytes = [&](const PruningMask& mask) {
            if (const Reasons refused = perLayerReasons(mask, card.spec, card.format); !refused.empty())
                throw Error(refused.front().sentence);
            return static_cast<double>(prices.price(mask).bytes.left);
        };
        const PruneResult result = prune(*c.model, requestOf("search", "bytes:10%"), inputs, {});
        QVERIFY(prices.price(result.mask).bytes.left <= 0.9 * prices.price(result.mask).bytes.all);
        prune(*c.model, requestOf("random_block", "bytes:10%"), inputs, {}); // also tries the mask without blocks
    }

    void secondsAreTimedOnce() {
        const GradientCase c("llama-gqa");
        const PruneRequest request = requestOf("search", "seconds:10%");
        const PruneInputs inputs = inputsOf(c);
        const PruneContext context = contextOf(*c.model, request, inputs);
        const auto path = request.strategy.info->begin(context, {});
        const PruneResult result = spend(*path, request.budget, *context.savings, {});
        const double saved = context.savings->percentage(result.mask, BudgetOf::seconds);
        QVERIFY(saved >= 10 - 1e-9);
        QCOMPARE(context.savings->percentage(result.mask, BudgetOf::seconds), saved);
    }

    void kvBudgetsCutWholeGroups() {
        const GradientCase c("llama-gqa");
        const PruneResult result = searched(c, "search:units=heads", "kv:25%");
        const Price price = PriceList(c.model->card()).price(result.mask);
        QVERIFY(price.kvBytesPerToken.left <= 0.75 * price.kvBytesPerToken.all);
        QVERIFY(price.halfCutGroups.empty());
    }

    void encodersKeepTheirPooledOutputs() {
        const std::string path = test::data().filePath("forward/bert-bare/model.safetensors").toStdString();
        const auto model = openModel(path, {}, {});
        GradientCase c("bert"); // for its sequences
        c.model = model;
        const PruneResult result = searched(c, "search:units=heads/neurons", "layers:10%");
        QVERIFY(result.history && result.history->measure == "pooled_half_square");
        QCOMPARE(result.history->before, 0.0);
        QVERIFY(result.history->cuts.back().value > 0);
        qInfo("half the squared distance %.6f", result.history->cuts.back().value);
    }

    void aStoppedSearchKeepsItsMask() {
        const GradientCase c("llama-gqa");
        std::vector<PruningMask> masks;
        PruneInputs inputs = inputsOf(c);
        inputs.watch.made = [&](const PruneStep& step) { masks.push_back(step.mask); };
        inputs.watch.isEnough = [&] { return masks.size() == 2; };
        for (const char* budget : {"layers:50%", "50%"}) { // in steps of a few neurons
            masks.clear();
            const PruneResult result =
                prune(*c.model, requestOf("search:units=neurons:step=0.1:restore=none", budget), inputs, {});
            QVERIFY(result.stoppedAt && *result.stoppedAt > 0);
            QCOMPARE(masks.size(), std::size_t{2});
            QVERIFY(result.mask == masks.back());
            QCOMPARE(result.history->steps, 2);
        }
    }

    void anInterruptedSearchGoesOn() {
        const GradientCase c("llama-gqa");
        std::vector<StepPrice> all;
        std::vector<std::size_t> ends; // of the calls
        PruneInputs inputs = inputsOf(c);
        inputs.watch.priced = [&](std::span<const StepPrice> prices) {
            all.insert(all.end(), prices.begin(), prices.end());
            ends.push_back(all.size());
        };
        const PruneRequest request = requestOf("search", "layers:30%");
        const PruneResult whole = prune(*c.model, request, inputs, {});
        QVERIFY(!all.empty());
        for (const std::size_t known : {ends.front(), ends[ends.size() / 2], all.size()}) {
            std::vector<StepPrice> again;
            inputs.watch.known.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(known));
            inputs.watch.priced = [&](std::span<const StepPrice> prices) {
                again.insert(again.end(), prices.begin(), prices.end());
            };
            const PruneResult found = prune(*c.model, request, inputs, {});
            qInfo("%zu of %zu prices known, %zu measured", known, all.size(), again.size());
            QVERIFY(found.mask == whole.mask && found.history == whole.history);
            QVERIFY(again.size() <= all.size());
            QCOMPARE(again.empty(), known == all.size());
        }
    }

    void whatCannotBeIsRefused() {
        const GradientCase c("llama-gqa");
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search:units=tails", "10%"));
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search:step=2", "10%"));
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search:order=best", "10%"));
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search:order=gate_norm", "10%")); // ranks sublayers
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search:divergence=2", "10%"));
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search:for=zip", "10%"));
        QVERIFY_THROWS_EXCEPTION(Error, searched(c, "search:for=openelm", "10%"));
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search", "8"));
        QVERIFY_THROWS_EXCEPTION(BudgetTooLarge, searched(c, "search:units=heads", "layers:90%"));
    }
};

SECATEUR_SUITE(TestSearch)
#include "tst_search.moc"
