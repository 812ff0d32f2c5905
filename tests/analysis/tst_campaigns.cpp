// Sweeps: their points, the order in which masks are scored, what strategies share, sweeps that were stopped, and parts.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "analysis/base/usage_error.h"
#include "analysis/campaigns/presets.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/running/runner.h"
#include "analysis/running/stream_cache.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"
#include "backends/engine/open_model.h"
#include "backends/session/mask_json.h"
#include "backends/text/sweep_texts.h"
#include "backends/text/task_file.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "tests/support/drawn_checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/sweeps.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr DrawnShape shape{.layers = 6, .heads = 4, .kvHeads = 2};

SweepRequest requestFor(const std::string& strategies, const std::string& budgets, int repetitions = 1) {
    SweepRequest request;
    request.series = seriesOf(strategies, budgets, repetitions);
    return request;
}

const CurvePoint& pointOf(const Curves& curves, const std::string& strategy, const std::string& budget, int repetition = 0) {
    const Curve* curve = curves.curve(strategy);
    const auto found = std::ranges::find_if(curve->points, [&](const CurvePoint& point) {
        return point.key.budget == parseBudget(budget) && point.key.repetition == repetition;
    });
    return *found;
}

int commonInOrder(std::span<const PruningMask> masks, std::span<const std::size_t> order) {
    int common = 0;
    for (std::size_t i = 1; i < order.size(); ++i)
        common += commonLayers(masks[order[i - 1]], masks[order[i]]);
    return common;
}

std::vector<std::string> largerThan(const Curves& curves) {
    std::vector<std::string> reached;
    for (const Curve& curve : curves.curves)
        for (const CurvePoint& point : curve.points)
            if (point.reached)
                reached.push_back(curve.strategy + " " + budgetText(*point.reached));
    return reached;
}

} // namespace

class TestCampaigns : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;
    std::shared_ptr<const Model> m_model;
    SweepInputs m_inputs;

    SweepPlan planned(const SweepRequest& request, const Session& known = {}) const {
        return planSweep(*m_model, request, m_inputs, knownOf(known));
    }

    /// Runs a sweep and adds what it finds to the session. @param most number of news after which it is stopped
    Curves swept(const SweepRequest& request, Session& session, int most = 1 << 30) const {
        const Session before = session;
        const SweepKnown known = knownOf(before);
        const SweepPlan plan = planSweep(*m_model, request, m_inputs, known);
        std::stop_source stop;
        const auto sink = [&](const SweepNews& news) {
            test::keep(session, news);
            if (--most <= 0)
                stop.request_stop();
        };
        return runSweep(*m_model, request, m_inputs, known, plan, {}, sink,
                        Progress([](double, std::string_view) {}, stop.get_token()));
    }

    Session emptySession() const {
        Session session;
        session.model = m_model->card();
        return session;
    }

private slots:
    void initTestCase() {
        writeDrawnFolder(m_scratch, "model", shape);
        m_model = openModel(m_scratch.path("model").toStdString(), {}, {});
        SweepTextRequest texts;
        texts.calibration.rules.mostTokens = 256;
        texts.calibration.rules.length = 64;
        texts.scored.window = 32;
        texts.scored.mostTokens = 512;
        m_inputs = readSweepTexts(*m_model, texts);
        m_inputs.type = ComputeType::float32;
    }

    void masksThatBeginAlikeAreScoredBehindEachOther() {
        std::mt19937 random(3);
        for (int round = 0; round < 20; ++round) {
            std::vector<PruningMask> masks;
            for (int i = 0; i < 6; ++i) {
                PruningMask mask(m_model->spec());
                for (int layer = 0; layer < 4; ++layer)
                    if (random() % 3 == 0) {
                        LayerMask cut = mask.layer(layer);
                        cut.heads[random() % 2] = false;
                        mask.setLayer(layer, cut);
                    }
                masks.push_back(mask);
            }
            const std::vector<std::size_t> order = sharingOrder(masks);
            std::vector<std::size_t> other(masks.size());
            std::iota(other.begin(), other.end(), std::size_t{0});
            QVERIFY(std::ranges::is_permutation(order, other));
            int most = 0;
            do
                most = std::max(most, commonInOrder(masks, other));
            while (std::ranges::next_permutation(other).found);
            QCOMPARE(commonInOrder(masks, order), most);
            // The dense model's streams are never better than those of the mask before.
            const PruningMask dense(m_model->spec());
            for (std::size_t i = 1; i < order.size(); ++i)
                QVERIFY(commonLayers(masks[order[i - 1]], masks[order[i]]) >= commonLayers(dense, masks[order[i]]));
        }
    }

    void partsHaveAllPointsOnce() {
        SweepRequest request = requestFor("gate_norm,random_head", "1,3,2,3", 4);
        const SweepPlan whole = planned(request);
        QCOMPARE(whole.points, std::size_t{3 + 12}); // gate_norm does not depend on the seed
        QCOMPARE(whole.left.size(), whole.points);
        QVERIFY(whole.needsDense);
        std::vector<std::pair<std::size_t, PointKey>> found;
        for (request.part = 1, request.parts = 4; request.part <= 4; ++request.part)
            for (const PlannedPoint& point : planned(request).left)
                found.emplace_back(point.series, point.key);
        QCOMPARE(found.size(), whole.points);
        for (const PlannedPoint& point : whole.left)
            QCOMPARE(std::ranges::count(found, std::pair(point.series, point.key)), 1);
    }

    void drawnOrdersOfAStrategyAreRepeated() {
        const SweepPlan plan = planned(requestFor("amp,amp:order=random", "1", 3));
        QCOMPARE(plan.points, std::size_t{1 + 3});
        QCOMPARE(std::ranges::count_if(plan.left, [](const PlannedPoint& point) { return point.key.seed.has_value(); }), 3);
    }

    void aPointIsThatOfPruneAndPerplexity() {
        Session session = emptySession();
        const Curves curves = swept(requestFor("gate_norm,attention_importance,random_head", "1,params:5%,25%", 2), session);
        const ScoredText& text = m_inputs.scored->scored;
        const auto lossOf = [&](const PruningMask& mask) {
            return perplexity(*m_model, *m_model->runner().plan(mask, ComputeType::float32), text);
        };
        const Perplexity dense = lossOf(PruningMask(m_model->spec()));
        QVERIFY(std::abs(curves.dense.lossNats - dense.lossNats) < 1e-12);
        int points = 0;
        for (const Curve& curve : curves.curves)
            for (const CurvePoint& point : curve.points) {
                PruneRequest request{parseStrategyRequest(curve.strategy), point.key.budget, "none", 0, {}};
                request.seed = point.key.seed.value_or(0);
                PruneInputs inputs;
                inputs.measure = [&](const MetricRequest& metric, const Progress& progress) {
                    const auto read = [&](const Progress&) {
                        return MeasureInput{m_model->runner().plan(PruningMask(m_model->spec()), ComputeType::float32),
                                            m_inputs.calibration, {}};
                    };
                    return measure(*m_model, std::array{metric}, read, progress).front();
                };
                const PruningMask mask = prune(*m_model, request, inputs, {}).mask;
                QCOMPARE(point.mask, maskDigest(mask));
                QCOMPARE(session.mask(point.mask)->record.mask, mask);
                const Perplexity loss = lossOf(mask);
                const LossDifference difference = pairedDifference(loss, dense);
                QVERIFY(std::abs(point.lossNats - loss.lossNats) < 1e-6 * loss.lossNats);
                QVERIFY(std::abs(point.deltaNats - difference.nats) < 1e-6);
                QVERIFY(std::abs(point.deltaStandardError - difference.standardError) < 1e-6);
                QVERIFY(std::abs(point.perplexity - loss.perplexity()) < 1e-5 * loss.perplexity());
                const Price price = PriceList(m_model->card()).price(mask);
                QCOMPARE(point.parameters, price.parameters.left);
                QCOMPARE(point.removed.heads, price.heads.saved());
                ++points;
            }
        QCOMPARE(points, 3 + 3 + 6);
    }

    void metricsAreMeasuredOnce() {
        Session session = emptySession();
        int passes = 0;
        const SweepRequest request = requestFor(
            "attention_importance,block_influence,attention_importance:reversed=true,gate_norm", "1,2");
        const SweepPlan plan = planned(request);
        QCOMPARE(plan.metrics.size(), std::size_t{3});
        runSweep(*m_model, request, m_inputs, {}, plan, {}, [&](const SweepNews& news) {
            passes += news.results.empty() ? 0 : 1;
            test::keep(session, news);
        });
        QCOMPARE(passes, 1);
        QCOMPARE(session.results.size(), std::size_t{3});
        // A further strategy by the same metric measures nothing.
        const auto more = requestFor("by_metric:metric=block_influence", "1");
        const Session before = session;
        runSweep(*m_model, more, m_inputs, knownOf(before), planned(more, before), {},
                 [&](const SweepNews& news) { QVERIFY(news.results.empty()); });
    }

    void theLargestBudgetRunsInsteadOfAnImpossibleOne() {
        Session session = emptySession();
        const Curves curves = swept(requestFor("gate_norm,random_head,top_down", "5,50,kv:99.9%"), session);
        QCOMPARE(largerThan(curves), (std::vector<std::string>{"gate_norm 6", "random_head 24", "top_down 4", "top_down 4",
                                                               "top_down kv:66.66%"}));
        QCOMPARE(pointOf(curves, "gate_norm", "50").removed.attention, 6);
        QCOMPARE(pointOf(curves, "gate_norm", "50").mask, pointOf(curves, "gate_norm", "kv:99.9%").mask);
        QVERIFY(pointOf(curves, "gate_norm", "50").error.empty());
    }

    void aPointThatFailsIsRecordedAndTheOthersGoOn() {
        Session session = emptySession();
        const SweepRequest request = requestFor("gate_norm,sink_head", "1,1.5,140%");
        const Curves curves = swept(request, session);
        QVERIFY(pointOf(curves, "gate_norm", "1").error.empty());
        for (const char* budget : {"1.5", "140%"}) {
            const CurvePoint& failed = pointOf(curves, "sink_head", budget);
            QVERIFY2(failed.error.starts_with("--budget: "), failed.error.c_str());
            QVERIFY(!failed.isChosen() && std::isnan(failed.lossNats));
        }
        SweepPlan again = planned(request, session);
        QVERIFY(again.isDone());
        QCOMPARE(again.failed, std::size_t{4});
        SweepRequest retried = request;
        retried.retriesFailed = true;
        QCOMPARE(planned(retried, session).left.size(), std::size_t{4});
        QCOMPARE(bitsOf(swept(retried, session)), bitsOf(curves));
    }

    void aStoppedSweepContinuesToTheSameBits() {
        const SweepRequest request =
            requestFor("gate_norm,attention_importance,gnorm_greedy,random_head", "1,2,params:4%", 2);
        Session whole = emptySession();
        const std::string bits = bitsOf(swept(request, whole));
        Session broken = emptySession();
        int stops = 0;
        for (int most = 1;; ++most) {
            try {
                QCOMPARE(bitsOf(swept(request, broken, 1 + most % 4)), bits);
                break;
            } catch (const Cancelled&) {
                ++stops;
            }
        }
        QVERIFY2(stops > 8, std::to_string(stops).c_str());
        QCOMPARE(bitsOf(broken), bitsOf(whole));
        QVERIFY(planned(request, broken).isDone());
    }

    void partsMergeToTheWhole() {
        SweepRequest request = requestFor("gate_norm,block_influence,random_head", "1,2,kv:20%", 2);
        Session whole = emptySession();
        swept(request, whole);
        Session merged = emptySession();
        for (request.part = 1, request.parts = 3; request.part <= 3; ++request.part) {
            Session own = emptySession();
            swept(request, own);
            join(merged, own);
        }
        QCOMPARE(bitsOf(merged), bitsOf(whole));
    }

    void addedBudgetsAndTasksRunOnlyWhatIsMissing() {
        Session session = emptySession();
        swept(requestFor("gate_norm", "1,2"), session);
        const SweepRequest more = requestFor("gate_norm,random_head", "1,2,3");
        const SweepPlan plan = planned(more, session);
        QCOMPARE(plan.left.size(), std::size_t{1 + 3});
        QVERIFY(!plan.needsDense);
        swept(more, session);
        // Another scored text: the masks stay, the losses are measured anew.
        TestCampaigns other;
        other.m_model = m_model;
        other.m_inputs = m_inputs;
        SweepTextRequest texts;
        texts.calibration.rules.mostTokens = 256;
        texts.calibration.rules.length = 64;
        texts.scored.window = 16;
        texts.scored.mostTokens = 128;
        other.m_inputs.scored = readSweepTexts(*m_model, texts).scored;
        const SweepPlan rescored = other.planned(more, session);
        QCOMPARE(rescored.left.size(), std::size_t{6});
        QVERIFY(std::ranges::all_of(rescored.left, &PlannedPoint::isChosen));
        const std::size_t masks = session.masks.size();
        other.swept(more, session);
        QCOMPARE(session.curves.size(), std::size_t{2});
        QCOMPARE(session.masks.size(), masks);
    }

    void tasksAreComparedQuestionByQuestion() {
        TestCampaigns other;
        other.m_model = m_model;
        other.m_inputs = m_inputs;
        const std::string path = m_scratch.write(
            "choice.jsonl", R"({"query":"the model","choices":["a layer","the text"],"gold":0}
{"query":"the text","choices":["of a","the mask"],"gold":1}
{"query":"a head","choices":["in the","and of"],"gold":1})");
        TaskRequest task;
        task.path = path;
        other.m_inputs.tasks.push_back(readAskedTask(task));
        other.m_inputs.tokenizer = openTokenizer(m_model->card());
        Session session = emptySession();
        const SweepRequest request = requestFor("gate_norm", "1,4");
        swept(request, session);
        const SweepPlan plan = other.planned(request, session);
        QVERIFY(plan.needsDense && plan.left.size() == 2);
        QVERIFY(std::ranges::none_of(plan.left, &PlannedPoint::needsText));
        const Curves curves = other.swept(request, session);
        QCOMPARE(session.curves.size(), std::size_t{1});
        const CurvePoint& point = pointOf(curves, "gate_norm", "4");
        QVERIFY(!std::isnan(point.lossNats));
        const PointMetric* accuracy = point.metric("choice", "acc");
        const PointMetric* dense = curves.dense.metric("choice", "acc");
        QVERIFY(accuracy && dense);
        QVERIFY(std::abs(accuracy->delta - (accuracy->value - dense->value)) < 1e-12);
        QVERIFY(other.planned(request, session).isDone());
    }

    void aTextIsDividedAtTwoThirds() {
        const auto [first, rest] = lastThirdApart({"one\n\n\ntwo\n\n\nthree\n\n\nfour\n\n\nfive\n\n\nsix"});
        QCOMPARE(first.front() + rest.front(), std::string("one\n\n\ntwo\n\n\nthree\n\n\nfour\n\n\nfive\n\n\nsix"));
        QCOMPARE(rest.front(), std::string("five\n\n\nsix"));
        const auto [rows, lastRows] = lastThirdApart({"aaaa", "bbbb", "cccc"});
        QCOMPARE(rows.size(), std::size_t{2});
        QCOMPARE(lastRows.size(), std::size_t{1});
        QVERIFY_THROWS_EXCEPTION(Error, lastThirdApart({"word"}));
    }

    void presetsNameKnownStrategiesOrRefuse() {
        const ModelSpec& spec = m_model->spec();
        for (const SweepPreset& row : allPresets())
            for (const SweepSize size : {SweepSize::quick, SweepSize::paper}) {
                try {
                    for (const SweepSeries& series : presetSeries(row, size, spec))
                        QVERIFY(!series.budgets.empty() && series.repetitions >= 1);
                } catch (const UsageError& error) {
                    const std::string said = error.what();
                    QVERIFY2(said.find("strategy") != std::string::npos, said.c_str());
                }
            }
        QVERIFY_THROWS_EXCEPTION(UsageError, preset("gate"));
        const auto greedy = presetSeries(preset("greedy_gnorm"), SweepSize::quick, spec);
        QCOMPARE(greedy.size(), std::size_t{5});
        QCOMPARE(greedy.front().strategy.resultId(), std::string("gnorm_greedy")); // 24 heads: one for each step
        QCOMPARE(greedy.front().budgets.size(), std::size_t{12});
        QCOMPARE(greedy.back().repetitions, 3);
        const auto gate = presetSeries(preset("gate_norm"), SweepSize::quick, spec); // 6 layers instead of 40
        QCOMPARE(budgetText(gate.front().budgets.back()), std::string("2"));
    }

    void wrongRequestsAreRefused() {
        QVERIFY_THROWS_EXCEPTION(UsageError, parseCompensations("own,best"));
        SweepRequest request = requestFor("gate_norm", "1");
        QVERIFY_THROWS_EXCEPTION(UsageError, parsePart("4/3", request));
        QVERIFY_THROWS_EXCEPTION(UsageError, parsePart("3", request));
        request.part = 2;
        request.parts = 5;
        QVERIFY_THROWS_EXCEPTION(UsageError, planned(request)); // a single point has no second part
        SweepRequest protecting = requestFor("gate_norm", "1");
        protecting.protect = "99";
        QVERIFY_THROWS_EXCEPTION(UsageError, planned(protecting));
    }
};

SECATEUR_SUITE(TestCampaigns)
#include "tst_campaigns.moc"
