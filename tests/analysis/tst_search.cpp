// The strategy `search`: its steps against all possible first steps, layouts of exports, interruption.
#ifndef Q_MOC_RUN
#include "analysis/base/usage_error.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/export/export_target.h"
#include "analysis/masks/price.h"
#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/held_out_text.h"
#include "analysis/strategies/prune.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"

#include <ATen/Parallel.h>
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

using namespace secateur;
using test::GradientCase;

namespace {

constexpr int positions = 1024;

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

double lossOn(const GradientCase& c, const CalibrationText& text, const PruningMask& mask) {
    const auto plan = c.model->runner().plan(mask, ComputeType::float32);
    return meanLoss(VariantWalk(*c.model, *plan, {.sequences = text.sequences, .labels = text.labels}).whole({}));
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
        for (const char* folder : {"llama-gqa", "gpt2", "gemma2", "phi", "qwen3"})
            QTest::newRow(folder) << folder;
    }
    void theFirstStepIsTheCheapest() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        if (c.sequences.empty())
            QSKIP("no sequences");
        const PruneInputs inputs = inputsOf(c);
        // The prices of first steps are estimated on a part of this text, which here is all of it.
        if (withLastQuarterHeldOut(*inputs.text).heldOut.sequences.size() != 1)
            QSKIP("several sequences are held out");
        const Savings savings(c.model->card(), PruningMask(c.model->spec()), positions);
        using Price = std::tuple<bool, double>;
        std::optional<std::pair<Price, PruningMask>> best;
        int steps = 0;
        for (int layer = 0; layer < c.model->spec().layerCount(); ++layer)
            for (const char* units : {"heads", "neurons", "attention", "mlps", "blocks", "bypass"})
                if (const auto step = firstStep(c, units, layer)) {
                    ++steps;
                    const double rise = step->history->cuts.back().value - step->history->before;
                    const double saved = savings.percentage(step->mask, BudgetOf::layerParameters);
                    const bool isFree = rise < 5e-7;
                    const Price price(!isFree, isFree ? -saved : rise / saved);
                    if (!best || price < best->first)
                        best.emplace(price, step->mask);
                }
        const PruneResult found = searched(c, "search", "layers:0.01%");
        qInfo("%d first steps; the cheapest costs %.6f nats per per cent", steps, std::get<double>(best->first));
        QVERIFY(found.mask == best->second);
    }

    void theKeptLossIsThatOfTheMask() {
        const GradientCase c("llama-gqa");
        const PruneResult result = searched(c, "search", "layers:20%");
        const PruneInputs inputs = inputsOf(c);
        const SplitText split = withLastQuarterHeldOut(*inputs.text);
        const double loss = lossOn(c, split.heldOut.text(), result.mask);
        QVERIFY(result.history && !result.history->cuts.empty());
        qInfo("loss %.6f, kept %.6f", loss, result.history->cuts.back().value);
        QVERIFY(std::abs(loss - result.history->cuts.back().value) < 1e-5);
        const Savings savings(c.model->card(), PruningMask(c.model->spec()), positions);
        QVERIFY(savings.percentage(result.mask, BudgetOf::layerParameters) >= 20 - 1e-9);
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
        QTest::addColumn<QString>("layout");
        QTest::addColumn<ExportReasons*>("reasons");
        const auto row = [](const char* layout, ExportReasons& reasons) {
            QTest::newRow(layout) << layout << &reasons;
        };
        row("native", nativeReasons);
        row("per_layer", perLayerReasons);
        row("decilm", deciLmReasons);
        row("deci", ggufDeciReasons);
    }
    void layoutsCanHoldTheMask() {
        QFETCH(QString, layout);
        QFETCH(ExportReasons*, reasons);
        const GradientCase c("llama-gqa");
        const ModelCard& card = c.model->card();
        const PruneResult result = searched(c, "search:for=" + layout + ":step=0.3", "layers:20%");
        const Reasons refused = reasons(result.mask, card.spec, card.format);
        QVERIFY2(refused.empty(), refused.empty() ? "" : refused.front().sentence.c_str());
        QVERIFY(!result.mask.keepsAll());
        qInfo("%s: %zu steps, loss %.4f", qPrintable(layout), static_cast<std::size_t>(result.history->steps),
              result.history->cuts.back().value);
    }

    void kvBudgetsCutWholeGroups() {
        const GradientCase c("llama-gqa");
        const PruneResult result = searched(c, "search:units=heads", "kv:25%");
        const Price price = PriceList(c.model->card()).price(result.mask);
        QVERIFY(price.kvBytesPerToken.left <= 0.75 * price.kvBytesPerToken.all);
        QVERIFY(price.halfCutGroups.empty());
    }

    void aStoppedSearchKeepsItsMask() {
        const GradientCase c("llama-gqa");
        std::vector<PruningMask> masks;
        PruneInputs inputs = inputsOf(c);
        inputs.watch.made = [&](const PruneStep& step) { masks.push_back(step.mask); };
        inputs.watch.isEnough = [&] { return masks.size() == 2; };
        for (const char* budget : {"layers:40%", "40%"}) {
            masks.clear();
            const PruneResult result = prune(*c.model, requestOf("search", budget), inputs, {});
            QVERIFY(result.isStopped);
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
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search:for=zip", "10%"));
        QVERIFY_THROWS_EXCEPTION(Error, searched(c, "search:for=openelm", "10%"));
        QVERIFY_THROWS_EXCEPTION(UsageError, searched(c, "search", "8"));
        QVERIFY_THROWS_EXCEPTION(BudgetTooLarge, searched(c, "search:units=heads", "layers:90%"));
    }
};

SECATEUR_SUITE(TestSearch)
#include "tst_search.moc"
