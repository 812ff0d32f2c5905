// Latency measurements with a simulated clock: which runs are timed, in which order, and the statistics of their times.
#ifndef Q_MOC_RUN
#include "tests/support/suite.h"
#include "tests/support/timed_model.h"

#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/base/usage_error.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/engine/plan_memory.h"
#include "tests/support/files.h"
#include "tests/support/partial_runs.h"
#endif

#include <QtTest>

#include <array>
#include <cmath>
#include <set>

using namespace secateur;
using test::TimedModel;

namespace {

std::shared_ptr<const Model> opened(const QString& folder, const OpenOptions& options = {}) {
    return openModel(test::data().filePath("forward/" + folder).toStdString(), {}, options);
}

std::shared_ptr<const Plan> planOf(const Model& model, const PruningMask& mask) {
    return model.runner().plan(mask, ComputeType::float32);
}

std::shared_ptr<const Plan> densePlan(const Model& model) {
    return planOf(model, PruningMask(model.spec()));
}

/// A mask that drops the attention of the given layers and keeps everything else.
PruningMask withoutAttention(const ModelSpec& spec, const std::vector<int>& layers) {
    PruningMask mask(spec);
    for (const int layer : layers) {
        LayerMask cut = mask.layer(layer);
        cut.attention = AttentionCut::drop;
        mask.setLayer(layer, cut);
    }
    return mask;
}

using Seconds = std::vector<double>;

/// Simulated work items. Item i advances the common clock by the numbers in `seconds[i]`, one number for each run,
/// starting again from the first after the last.
struct Scripted {
    double now = 7;
    std::vector<std::size_t> order; ///< index of the item that ran, for each run
    std::vector<TimedWork> works;

    Scripted(std::initializer_list<Seconds> seconds) {
        for (const Seconds& all : seconds)
            works.emplace_back([this, i = works.size(), all, next = std::size_t{0}](const Progress&) mutable {
                now += all[next++ % all.size()];
                order.push_back(i);
            });
    }

    std::vector<Timing> timed(const TimingRules& rules, const Progress& progress = {}) {
        return timeWorks(
            works, rules, [this] { return now; }, progress, "works");
    }
};

bool isClose(double found, double expected) {
    if (std::abs(found - expected) <= 1e-9 * std::abs(expected))
        return true;
    qWarning("%.12g, expected %.12g", found, expected);
    return false;
}

} // namespace

class TestLatency : public QObject {
    Q_OBJECT

private slots:
    void statisticsAreThoseOfTheRunsThatCount() {
        Scripted works{Seconds{100, 1, 4, 2, 3, 10}};
        const Timing timing = works.timed({.warmup = 1, .leastRuns = 5, .mostRuns = 5}).front();
        QCOMPARE(timing.seconds, (std::vector<double>{1, 4, 2, 3, 10}));
        QVERIFY(isClose(timing.mean(), 4));
        QVERIFY(isClose(timing.median(), 3));
        QVERIFY(isClose(timing.percentile(10), 1.4)); // as numpy.percentile([1, 4, 2, 3, 10], 10)
        QVERIFY(isClose(timing.percentile(90), 7.6));
        QVERIFY(isClose(timing.relativeError(), std::sqrt(12.5 / 5) / 4));
        const Speedup faster = speedup({{2, 6, 4}}, {{1, 2, 4}});
        QVERIFY(isClose(faster.ratio, 2));
        QVERIFY(isClose(faster.p10, 1.2)); // 10th percentile of the ratios 2/1, 6/2 and 4/4
        QVERIFY(isClose(faster.p90, 2.8));
    }

    void worksTakeTurnsOrGoOneAfterTheOther() {
        Scripted turns{Seconds{2}, Seconds{1}};
        const std::vector<Timing> timings = turns.timed({.warmup = 1, .leastRuns = 2, .mostRuns = 2});
        QCOMPARE(turns.order, (std::vector<std::size_t>{0, 1, 0, 1, 0, 1}));
        QCOMPARE(timings[0].seconds, (std::vector<double>{2, 2}));
        QCOMPARE(timings[1].seconds, (std::vector<double>{1, 1}));
        Scripted blocks{Seconds{2}, Seconds{1}};
        blocks.timed({.warmup = 1, .leastRuns = 2, .mostRuns = 2, .takesTurns = false});
        QCOMPARE(blocks.order, (std::vector<std::size_t>{0, 0, 0, 1, 1, 1}));
    }

    void runsGoOnUntilTheyAgree() {
        const TimingRules rules{.warmup = 0, .leastRuns = 3, .mostRuns = 10, .relativeError = 0.02};
        const auto runs = [](const Seconds& seconds, const TimingRules& by) {
            return Scripted{seconds}.timed(by).front().seconds.size();
        };
        QCOMPARE(runs({1}, rules), std::size_t{3});
        QCOMPARE(runs({1, 2}, rules), std::size_t{10});
        // The times are 1, 1.1, 1, 1.1 and 1.05. The relative error of their mean is 0.028 after four runs and 0.021
        // after five, so a limit of 0.022 is met after five.
        TimingRules looser = rules;
        looser.relativeError = 0.022;
        QCOMPARE(runs({1, 1.1, 1, 1.1, 1.05}, looser), std::size_t{5});
        const std::vector<Timing> two = Scripted{Seconds{1}, Seconds{1, 2}}.timed(rules);
        QCOMPARE(two[0].seconds.size(), std::size_t{10});
    }

    void theTimeLeftIsToldFromTheFirstRunOn() {
        Scripted works{Seconds{30, 3}, Seconds{20, 2}};
        std::vector<std::string> texts;
        double last = 0;
        works.timed({.warmup = 1, .leastRuns = 2, .mostRuns = 2}, Progress([&](double fraction, std::string_view text) {
                        QVERIFY(fraction >= last && fraction <= 1);
                        last = fraction;
                        texts.emplace_back(text);
                    }));
        QCOMPARE(last, 1.0);
        const std::vector<std::string> expected{"works: warm-up 1 of 1",
                                                "works: warm-up 1 of 1, about 150 s left",
                                                "works: run 1, about 100 s left",
                                                "works: run 1, about 43 s left",
                                                "works: run 2, about 5 s left",
                                                "works: run 2, about 2 s left",
                                                "works"};
        QCOMPARE(texts, expected);
    }

    void whatWorksSayIsNotHeardAndStopsThem() {
        std::stop_source stop;
        int reports = 0;
        int steps = 0;
        const std::array<TimedWork, 1> works{[&](const Progress& quiet) {
            for (int i = 0; i < 5; ++i, ++steps) {
                if (steps == 7)
                    stop.request_stop();
                quiet.report(0.5, "inside");
            }
        }};
        const Progress progress([&](double, std::string_view) { ++reports; }, stop.get_token());
        QVERIFY_EXCEPTION_THROWN(
            timeWorks(works, {.warmup = 1, .leastRuns = 5, .mostRuns = 5}, steadyClock(), progress, ""), Cancelled);
        QCOMPARE(steps, 7);
        QCOMPARE(reports, 2);
    }

    void continuedPromptsAreTimedTurnAbout() {
        TimedModel model(opened("llama-gqa"));
        const auto dense = densePlan(model);
        const auto cut = planOf(model, withoutAttention(model.spec(), {0}));
        const Latency latency =
            generationLatency(model, {*cut, dense.get()},
                              {.promptTokens = 5, .newTokens = 7, .warmup = 2, .runs = 3, .clock = model.clock()});
        // On the simulated clock, attention takes 2 s in layer 0 and 3 s in layer 1, the MLPs take 8 s and 9 s, and
        // embedding and LM head 0.75 s: 22.75 s per pass. The pass over the prompt yields the first token, so 7 tokens
        // take 7 passes.
        QCOMPARE(model.spec().layerCount(), 2);
        QCOMPARE(latency.reference->seconds, std::vector<double>(3, 7 * 22.75));
        QCOMPARE(latency.run.seconds, std::vector<double>(3, 7 * 20.75));
        QVERIFY(isClose(latency.speedup->ratio, 22.75 / 20.75));
        QVERIFY(isClose(latency.speedup->p10, 22.75 / 20.75));
        QVERIFY(isClose(latency.tokensPerSecond(latency.run), 1 / 20.75));
        QCOMPARE(model.timed.passes.size(), std::size_t{5 * 2 * 7});
        for (std::size_t i = 0; i < model.timed.passes.size(); ++i)
            QCOMPARE(model.timed.passes[i], i / 7 % 2 == 0 ? dense.get() : cut.get());
        QCOMPARE(model.timed.watched, 0);

        model.timed.passes.clear();
        generationLatency(model, {*cut, dense.get(), false},
                          {.promptTokens = 5, .newTokens = 1, .warmup = 1, .runs = 2});
        for (std::size_t i = 0; i < 6; ++i)
            QCOMPARE(model.timed.passes[i], i < 3 ? dense.get() : cut.get());
    }

    void aPassIsTimedBySublayer() {
        TimedModel model(opened("llama-gqa"));
        const auto dense = densePlan(model);
        PruningMask mask = withoutAttention(model.spec(), {0});
        LayerMask noMlp = mask.layer(1);
        noMlp.mlp = false;
        mask.setLayer(1, noMlp);
        const auto cut = planOf(model, mask);
        const std::vector<Prefill> prefills =
            prefillTimes(model, {*cut, dense.get()}, {.lengths = {3, 9}, .bySublayer = true, .clock = model.clock()});
        QCOMPARE(prefills.size(), std::size_t{2});
        for (const Prefill& prefill : prefills) {
            QCOMPARE(prefill.run.timing.seconds, std::vector<double>(3, 20.75));
            QCOMPARE(prefill.reference->timing.seconds, std::vector<double>(3, 22.75));
            QVERIFY(isClose(prefill.speedup->ratio, 22.75 / 20.75));
            const SublayerSeconds& whole = *prefill.reference->bySublayer;
            QCOMPARE(whole.attention, (std::vector<double>{2, 3}));
            QCOMPARE(whole.mlp, (std::vector<double>{8, 9}));
            QCOMPARE(whole.rest, 0.75);
            QCOMPARE(whole.total(), 22.75);
            // In the masked model layer 1 has no MLP, so all the time until the layer's output (3 s + 9 s) counts as
            // attention.
            const SublayerSeconds& less = *prefill.run.bySublayer;
            QCOMPARE(less.attention, (std::vector<double>{0, 12}));
            QCOMPARE(less.mlp, (std::vector<double>{8, 0}));
            QCOMPARE(less.rest, 0.75);
        }
        QCOMPARE(prefills[0].tokens, 3);
        QCOMPARE(model.timed.passes.size(), std::size_t{2 * 4 * 4});
        QCOMPARE(model.timed.watched, 2 * 2 * 4 * 2);
        const Prefill alone = prefillTimes(model, {*dense}, {.lengths = {4}, .clock = model.clock()}).front();
        QVERIFY(!alone.reference && !alone.speedup && !alone.run.bySublayer);
    }

    void everyFamilyHasItsSublayersTimed_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder :
             QDir(test::data().filePath("forward")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            QTest::newRow(qPrintable(folder)) << folder;
    }
    void everyFamilyHasItsSublayersTimed() {
        QFETCH(QString, folder);
        TimedModel model(opened(folder));
        const auto plan = densePlan(model);
        const Prefill prefill =
            prefillTimes(model, {*plan}, {.lengths = {6}, .bySublayer = true, .clock = model.clock()}).front();
        const SublayerSeconds& seconds = *prefill.run.bySublayer;
        QCOMPARE(seconds.total(), prefill.run.timing.median());
        for (std::size_t layer = 0; layer < seconds.attention.size(); ++layer) {
            const LayerSpec& spec = model.spec().layers[layer];
            const auto more = static_cast<double>(layer);
            const double mlp = 8 + more;
            const bool hasAttention = spec.attention != AttentionKind::none;
            QCOMPARE(seconds.mlp[layer], spec.ffn > 0 ? mlp : 0);
            QCOMPARE(seconds.attention[layer], hasAttention ? 2 + more + (spec.ffn > 0 ? 0 : mlp) : 0);
        }
    }

    void whatCannotBeTimedIsRefused() {
        const auto gpt2 = opened("gpt2"); // its context is 16 tokens
        const auto bert = opened("bert");
        const test::Scratch scratch;
        const auto generation = [&](const std::shared_ptr<const Model>& model, const LatencyRules& rules) {
            return scratch.refusal([&] { generationLatency(*model, {*densePlan(*model)}, rules); });
        };
        const auto pass = [&](const PrefillRules& rules) {
            return scratch.refusal([&] { prefillTimes(*gpt2, {*densePlan(*gpt2)}, rules); });
        };
        const auto says = [](const QString& found, const char* sentence) {
            if (!found.contains(sentence))
                qWarning("%s", qPrintable(found));
            return found.contains(sentence);
        };
        QVERIFY(says(generation(bert, {}), "is an encoder: it does not continue texts"));
        QVERIFY(
            says(generation(gpt2, {}), "128 new tokens after a 12-token prompt do not fit the model's context of 16"));
        QCOMPARE(generation(gpt2, {.promptTokens = 12, .newTokens = 4, .warmup = 0, .runs = 1}), "accepted");
        QVERIFY(says(generation(gpt2, {.promptTokens = 12, .newTokens = 5}), "do not fit"));
        QVERIFY(says(generation(gpt2, {.promptTokens = 0}), "128 new tokens after a 0-token prompt cannot be timed"));
        QVERIFY(says(generation(gpt2, {.newTokens = 0}), "0 new tokens after a 12-token prompt cannot be timed"));
        QVERIFY(says(generation(gpt2, {.newTokens = 2, .runs = 0}), "0 runs after 10 warm-up runs cannot be timed"));
        QVERIFY(says(pass({.lengths = {4, 17}}), "A pass over 17 tokens does not fit the model's context of 16"));
        QVERIFY(says(pass({.lengths = {0}}), "A pass over 0 tokens cannot be timed"));
        QVERIFY(says(pass({.lengths = {16}, .memory = 1000}), "A pass over 16 tokens takes about"));
        QCOMPARE(pass({.lengths = {16}, .memory = passBytes(gpt2->spec(), 16)}), "accepted");
        QCOMPARE(defaultLengths(gpt2->spec()), std::vector<int>{16});
    }

    void cancellingStopsWithinALayer() {
        std::stop_source stop;
        struct StoppingRunner : test::CountingRunner {
            std::stop_source* stop;
            StoppingRunner(const Runner& runner, std::stop_source& source)
                : CountingRunner(runner)
                , stop(&source) {}
            at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch, KvCache* cache,
                                LayerObserver* observer) const override {
                if (layers.size() == 9)
                    stop->request_stop();
                return CountingRunner::runLayer(plan, layer, x, batch, cache, observer);
            }
        };
        struct StoppingModel : test::CountingModel {
            StoppingRunner stopping;
            StoppingModel(std::shared_ptr<const Model> model, std::stop_source& source)
                : CountingModel(std::move(model))
                , stopping(counted, source) {}
            const Runner& runner() const override { return stopping; }
        };
        StoppingModel model(opened("llama-gqa"), stop);
        const auto plan = densePlan(model);
        const Progress progress([](double, std::string_view) {}, stop.get_token());
        QVERIFY_EXCEPTION_THROWN(generationLatency(model, {*plan}, {.newTokens = 20}, progress), Cancelled);
        QCOMPARE(model.stopping.layers.size(), std::size_t{10});
        std::stop_source other;
        StoppingModel again(opened("llama-gqa"), other);
        const Progress heard([](double, std::string_view) {}, other.get_token());
        QVERIFY_EXCEPTION_THROWN(
            prefillTimes(again, {*densePlan(again)}, {.lengths = {4}, .leastRuns = 20, .mostRuns = 20}, heard),
            Cancelled);
        QCOMPARE(again.stopping.layers.size(), std::size_t{10});
    }

    void plansThatDoNotFitTogetherAreNoticed() {
        const auto roomy = opened("llama-gqa");
        const auto dense = densePlan(*roomy);
        const auto cut = planOf(*roomy, withoutAttention(roomy->spec(), {0}));
        QVERIFY(stayTogether(*dense, *cut));
        // Two plans share the weights of every layer that both cut alike. A layer that they cut differently is stored
        // once for each plan. Each such layer therefore raises the smallest sufficient memory budget by the same
        // amount.
        const auto leastBudget = [](auto isEnough) {
            std::int64_t least = 1;
            for (std::int64_t step = 1 << 30; step > 0; step /= 2)
                if (!isEnough(*opened("llama-gqa", {.memoryBudget = least + step - 1})))
                    least += step;
            return least;
        };
        const auto fits = [](const Model& model, const std::vector<int>& layers) {
            return stayTogether(*densePlan(model), *planOf(model, withoutAttention(model.spec(), layers)));
        };
        const auto alone = leastBudget([](const Model& model) { return densePlan(model)->isResident(); });
        const auto same = leastBudget([&](const Model& model) { return fits(model, {}); });
        const auto oneLayer = leastBudget([&](const Model& model) { return fits(model, {0}); });
        const auto twoLayers = leastBudget([&](const Model& model) { return fits(model, {0, 1}); });
        qInfo("%lld bytes alone, %lld with one layer cut, %lld with two", static_cast<long long>(alone),
              static_cast<long long>(oneLayer), static_cast<long long>(twoLayers));
        QCOMPARE(same, alone);
        QVERIFY(oneLayer > alone && oneLayer < 2 * alone);
        QCOMPARE(twoLayers - alone, 2 * (oneLayer - alone));
    }

    void tokensAreOrdinaryAndTheSameEachTime() {
        const auto model = opened("llama-gqa");
        const std::vector<int> tokens = ordinaryTokens(model->spec(), 500);
        QCOMPARE(ordinaryTokens(model->spec(), 500), tokens);
        QCOMPARE(std::vector<int>(tokens.begin(), tokens.begin() + 40), ordinaryTokens(model->spec(), 40));
        const std::set<int> distinct(tokens.begin(), tokens.end());
        QVERIFY(*distinct.begin() >= 0 && *distinct.rbegin() < model->spec().vocab);
        QVERIFY(distinct.size() > static_cast<std::size_t>(model->spec().vocab) / 2);
        QCOMPARE(firstTokens(model->spec(), {4, 2}, 5), (std::vector<int>{4, 2, 4, 2, 4}));
        if (test::demoModel().isEmpty())
            QSKIP("the demo model is not there");
        const auto demo = openModel(test::demoModel().toStdString());
        const auto tokenizer = openTokenizer(demo->card());
        for (const int id : ordinaryTokens(demo->spec(), 5000, tokenizer.get()))
            QVERIFY(!tokenizer->isSpecial(id));
    }

    void partsOfAPassOfTheDemoModelAddUp() {
        if (test::demoModel().isEmpty())
            QSKIP("the demo model is not there");
        const auto model = openModel(test::demoModel().toStdString());
        const auto dense = densePlan(*model);
        const auto cut = planOf(*model, withoutAttention(model->spec(), {20, 21, 22, 23, 24, 25, 26, 27}));
        const std::vector<Prefill> prefills =
            prefillTimes(*model, {*cut, dense.get()}, {.lengths = {128, 512}, .mostRuns = 4, .bySublayer = true});
        for (const Prefill& prefill : prefills) {
            for (const auto* pass : {&*prefill.reference, &prefill.run}) {
                const SublayerSeconds& parts = *pass->bySublayer;
                qInfo("%d tokens, %s: %.4f s, its parts %.4f s: attention %.1f %%, MLP %.1f %%, rest %.1f %%",
                      prefill.tokens, pass == &prefill.run ? "8 of 30 attentions cut" : "dense", pass->timing.mean(),
                      parts.total(), 100 * parts.attentionTotal() / parts.total(),
                      100 * parts.mlpTotal() / parts.total(), 100 * parts.rest / parts.total());
                // The limits are a factor of 2, because other programs on the machine may slow some passes and not
                // others.
                QVERIFY(parts.total() < 2 * pass->timing.mean() && pass->timing.mean() < 2 * parts.total());
                QVERIFY(parts.rest > 0 && parts.attentionTotal() > 0 && parts.mlpTotal() > 0);
            }
            for (std::size_t layer = 20; layer < 28; ++layer)
                QCOMPARE(prefill.run.bySublayer->attention[layer], 0.0);
            qInfo("%d tokens: %.3f times as fast (%.3f to %.3f)", prefill.tokens, prefill.speedup->ratio,
                  prefill.speedup->p10, prefill.speedup->p90);
        }
    }
};

SECATEUR_SUITE(TestLatency)
#include "tst_latency.moc"
