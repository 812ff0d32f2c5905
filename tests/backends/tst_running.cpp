// Running a model: the result does not depend on padding, batching, caching or order; number types; and inputs that are
// refused.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/running/runner.h"
#include "analysis/running/runner_results.h"
#include "tests/support/engine_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <numeric>
#include <thread>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-5; ///< relative to the largest expected value

bool isDecoderFolder(const QString& folder) {
    return !isEncoderFolder(folder);
}

/// The token that follows each position; -1 at the last position of a row.
std::vector<int> nextTokens(const Batch& batch) {
    std::vector<int> next(batch.ids.size(), -1);
    for (int row = 0; row < batch.rows; ++row)
        for (int i = 0; i + 1 < batch.length(row); ++i) {
            const auto at = static_cast<std::size_t>(row * batch.positions + i);
            next[at] = batch.ids[at + 1];
        }
    return next;
}

/// The residual streams of the given rows of a batch, without the positions from `positions` on.
std::vector<at::Tensor> streamsOfRows(const std::vector<at::Tensor>& all, const std::vector<int>& rows, int positions) {
    const at::Tensor chosen = at::tensor(std::vector<std::int64_t>(rows.begin(), rows.end()));
    std::vector<at::Tensor> some;
    for (const at::Tensor& stream : all)
        some.push_back(stream.cpu().index_select(0, chosen).narrow(1, 0, positions));
    return some;
}

/// Runs a batch in pieces through a KV cache and joins the residual streams of the pieces. `ends[i]` has the position
/// in each row at which piece i ends.
std::vector<at::Tensor> throughCache(const EngineCase& c, const Plan& plan, const Batch& batch,
                                     const std::vector<std::vector<int>>& ends, LayerObserver* observer = nullptr) {
    const int longest = *std::ranges::max_element(ends.back());
    const auto cache = c.runner.cache(plan, batch.rows, longest);
    std::vector<at::Tensor> whole(static_cast<std::size_t>(c.spec.layerCount()) + 1);
    for (at::Tensor& stream : whole)
        stream = at::zeros({batch.rows, batch.positions, c.spec.hidden});
    std::vector<int> begin(static_cast<std::size_t>(batch.rows), 0);
    for (const std::vector<int>& end : ends) {
        std::vector<int> length;
        std::ranges::transform(end, begin, std::back_inserter(length), std::minus());
        const Batch piece = pieceOf(batch, begin, length);
        at::Tensor x = c.runner.embed(plan, piece);
        for (int layer = 0; layer <= c.spec.layerCount(); ++layer) {
            for (int row = 0; row < batch.rows; ++row)
                whole[static_cast<std::size_t>(layer)]
                    .select(0, row)
                    .narrow(0, piece.first(row), piece.length(row))
                    .copy_(x.select(0, row).narrow(0, 0, piece.length(row)));
            if (layer < c.spec.layerCount())
                x = c.runner.runLayer(plan, layer, x, piece, cache.get(), observer);
        }
        begin = end;
    }
    return whole;
}

/// Adds up each query's attention probabilities over the keys, and records the largest deviation of these sums from 1.
class SumChecker : public LayerObserver {
public:
    bool wants(int, Tap) const override { return false; }
    void see(int, Tap, const at::Tensor&) override {}
    bool wantsAttention(int) const override { return true; }
    void seeAttention(int, std::int64_t, std::int64_t, const at::Tensor& block) override {
        ++blocks;
        worst = std::max(worst, (block.sum(-1) - 1).abs().max().item<double>());
    }
    int blocks = 0;
    double worst = 0;
};

PruningMask cutMask(const EngineCase& c) {
    return MaskMaker(c.spec, 7).ragged(0.6);
}

/// The message of the Error that `work` throws; empty if it throws none.
template <typename Work>
QString refusal(Work work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

/// Expects an Error whose message contains `words`.
#define REFUSES(work, words)                                                                                           \
    do {                                                                                                               \
        const QString said = refusal([&] { work; });                                                                   \
        qInfo("%s", qPrintable(said));                                                                                 \
        QVERIFY2(said.contains(words), qPrintable(said));                                                              \
    } while (false)

} // namespace

class TestRunning : public QObject {
    Q_OBJECT

private slots:
    void aRowAloneIsTheRowInItsBatch_data() { addEngineCases(); }
    void aRowAloneIsTheRowInItsBatch() {
        const EngineCase c = engineCase();
        double worst = 0;
        for (const PruningMask& mask : {PruningMask(c.spec), cutMask(c)}) {
            const auto plan = c.plan(mask);
            for (int row = 0; row < c.batch.rows; ++row)
                worst = std::max(worst, rowsError(c, *plan, {row}));
            std::vector<int> backwards(static_cast<std::size_t>(c.batch.rows));
            std::iota(backwards.rbegin(), backwards.rend(), 0);
            worst = std::max(worst, rowsError(c, *plan, backwards));
            backwards.push_back(0); // a row may appear twice
            worst = std::max(worst, rowsError(c, *plan, backwards));
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void paddingMayHoldAnyTokenAndAnyNumber_data() { addEngineCases(); }
    void paddingMayHoldAnyTokenAndAnyNumber() {
        const EngineCase c = engineCase();
        Batch noisy = c.batch;
        for (int row = 0; row < noisy.rows; ++row)
            for (int i = noisy.length(row); i < noisy.positions; ++i)
                noisy.ids[static_cast<std::size_t>(row * noisy.positions + i)] = i % 2 ? -5 : c.spec.vocab + 7;
        const auto plan = c.plan();
        const auto streams = streamsOf(c.runner, *plan, c.batch);
        double worst = apart(streamsOf(c.runner, *plan, noisy), streams, c.batch);
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            at::Tensor x = streams[static_cast<std::size_t>(layer)].clone();
            for (int row = 0; row < c.batch.rows; ++row)
                x.select(0, row).narrow(0, c.batch.length(row), c.batch.positions - c.batch.length(row)).fill_(1e3);
            worst = std::max(worst, apart(c.runner.runLayer(*plan, layer, x, c.batch),
                                          streams[static_cast<std::size_t>(layer) + 1], c.batch));
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void aTextContinuedIsTheTextAtOnce_data() { addEngineCases(isDecoderFolder); }
    void aTextContinuedIsTheTextAtOnce() {
        const EngineCase c = engineCase();
        std::map<const char*, double> worst;
        for (const PruningMask& mask : {PruningMask(c.spec), cutMask(c), bypassMask(c)}) {
            const auto plan = c.plan(mask);
            const auto whole = streamsOf(c.runner, *plan, c.batch);
            std::vector<int> uneven;
            for (int row = 0; row < c.batch.rows; ++row)
                uneven.push_back(row % 2 ? c.batch.length(row) - 2 : 3);
            SumChecker sums;
            const std::vector<std::vector<int>> ends{uneven, c.batch.lengths};
            worst["chunks"] =
                std::max(worst["chunks"], apart(throughCache(c, *plan, c.batch, ends, &sums), whole, c.batch));
            worst["attention of chunks"] = std::max(worst["attention of chunks"], sums.worst);
            worst["one by one"] = std::max(worst["one by one"], oneByOneError(c, *plan, whole));
        }
        for (const auto& [how, error] : worst) {
            qInfo("%s %.1e", how, error);
            QVERIFY2(error < tolerance, how);
        }
    }

    void layersTogetherAreThoseOneByOne_data() { addEngineCases(isDecoderFolder); }
    void layersTogetherAreThoseOneByOne() {
        const EngineCase c = engineCase();
        constexpr int positions = 3;
        const int usual = at::get_num_threads();
        for (const PruningMask& mask : {PruningMask(c.spec), cutMask(c), bypassMask(c)}) {
            const auto plan = c.plan(mask);
            const auto run = [&](int threads, bool areTogether) {
                at::set_num_threads(threads);
                const auto cache = c.runner.cache(*plan, c.batch.rows, positions);
                std::vector<at::Tensor> streams;
                for (int position = 0; position < positions; ++position) {
                    const Batch step = pieceOf(c.batch, std::vector<int>(c.batch.lengths.size(), position),
                                               std::vector<int>(c.batch.lengths.size(), 1));
                    const at::Tensor x = c.runner.embed(*plan, step);
                    streams.push_back(areTogether ? c.runner.runLayers(*plan, x, step, *cache, [](int) {})
                                                  : c.runner.Runner::runLayers(*plan, x, step, *cache, [](int) {}));
                }
                at::set_num_threads(usual);
                return at::cat(streams, 1);
            };
            // The sums of ATen's products (plain) depend on the number of threads: in libtorch 2.13, MKL makes them.
            const at::Tensor expected = run(2, false);
            for (const int threads : {1, 2, 4})
                QVERIFY(at::equal(run(threads, true), c.plain ? run(threads, false) : expected));
        }
    }

    void aStepOfLayersCanBeStopped() {
        const EngineCase c("llama-gqa", "model.safetensors", false);
        const auto plan = c.plan();
        const Batch step =
            pieceOf(c.batch, std::vector<int>(c.batch.lengths.size(), 0), std::vector<int>(c.batch.lengths.size(), 1));
        const auto cache = c.runner.cache(*plan, step.rows, 1);
        const at::Tensor x = c.runner.embed(*plan, step);
        const auto stop = [](int layer) {
            if (layer == 1)
                throw Cancelled();
        };
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(c.runner.runLayers(*plan, x, step, *cache, stop)), Cancelled);
    }

    void theLastPositionIsLmHeadAlone_data() { addEngineCases(isDecoderFolder); }
    void theLastPositionIsLmHeadAlone() {
        const EngineCase c = engineCase();
        const at::Tensor x = streamsOf(c.runner, *c.plan(), c.batch).back();
        const at::Tensor all = c.runner.lmHead(*c.plan(), x, c.batch);
        const at::Tensor last = c.runner.lmHead(*c.plan(), x, c.batch, true);
        QCOMPARE(last.sizes().vec(), (std::vector<std::int64_t>{c.batch.rows, c.spec.vocab}));
        for (int row = 0; row < c.batch.rows; ++row)
            QVERIFY(at::allclose(last[row], all[row][c.batch.length(row) - 1], 1e-5, 1e-5));
    }

    void layersByTurnsAreBatchesByTurns_data() { addEngineCases(); }
    void layersByTurnsAreBatchesByTurns() {
        const EngineCase c = engineCase();
        const EngineCase small = engineCase(1);
        std::vector<Batch> batches{c.batch};
        for (int row = 0; row < c.batch.rows; ++row)
            batches.push_back(rowsOf(c.batch, {row}));
        QVERIFY(c.plan()->isResident());
        QVERIFY(!small.plan()->isResident());
        std::vector<std::pair<std::size_t, int>> order;
        const auto byBatch = walked(c, batches, order);
        QVERIFY(std::ranges::is_sorted(order));
        const auto byLayer = walked(small, batches, order);
        QVERIFY(std::ranges::is_sorted(order, {}, [](const auto& step) { return std::pair(step.second, step.first); }));
        QCOMPARE(order.size(), batches.size() * static_cast<std::size_t>(c.spec.layerCount()));
        for (std::size_t i = 0; i < batches.size(); ++i)
            QVERIFY(byBatch[i].equal(byLayer[i]));
    }

    void aWalkFromTheMiddleIsTheRestOfTheWhole_data() { addEngineCases(); }
    void aWalkFromTheMiddleIsTheRestOfTheWhole() {
        for (const std::int64_t budget : {0, 1}) {
            const EngineCase c = engineCase(budget);
            const auto streams = streamsOf(c.runner, *c.plan(), c.batch);
            for (int first = 0; first <= c.spec.layerCount(); ++first) {
                at::Tensor end;
                LayerWalk walk;
                walk.firstLayer = first;
                walk.start = [&](std::size_t) { return streams[static_cast<std::size_t>(first)]; };
                walk.finished = [&](std::size_t, const at::Tensor& x) { end = x; };
                forEachLayer(c.runner, *c.plan(), {&c.batch, 1}, walk);
                QVERIFY(end.equal(streams.back()));
            }
        }
    }

    void bfloat16IsNearFloat32_data() { addEngineCases(); }
    void bfloat16IsNearFloat32() {
        const EngineCase c = engineCase();
        std::shared_ptr<const Plan> plan;
        const QString said = refusal([&] { plan = c.runner.plan(PruningMask(c.spec), ComputeType::bfloat16); });
        if (!plan)
            QSKIP(qPrintable(said));
        const at::Tensor expected = streamsOf(c.runner, *c.plan(), c.batch).back();
        const at::Tensor found = streamsOf(c.runner, *plan, c.batch).back();
        double difference = 0;
        double size = 0;
        for (int row = 0; row < c.batch.rows; ++row) {
            const auto real = [&](const at::Tensor& x) { return x[row].narrow(0, 0, c.batch.length(row)); };
            difference += (real(found) - real(expected)).square().sum().item<double>();
            size += real(expected).square().sum().item<double>();
        }
        const double error = std::sqrt(difference / size);
        qInfo("streams %.1f %%", 100 * error);
        QVERIFY(error < 0.1);
        QVERIFY(error > 1e-5); // a smaller error would mean that bfloat16 was not used
        const at::Tensor logits = c.runner.lmHead(*c.plan(), expected, c.batch);
        const at::Tensor rounded = c.runner.lmHead(*plan, expected, c.batch);
        const double headError = ((rounded - logits).norm() / logits.norm()).item<double>();
        qInfo("logits of the same stream %.1f %%", 100 * headError);
        QVERIFY(headError < 0.05);
    }

    void threadsThatShareAModelDoNotDisturbEachOther_data() { addEngineCases(); }
    void threadsThatShareAModelDoNotDisturbEachOther() {
        // A memory budget of 1 byte, so that weights are loaded and released all the time.
        const EngineCase c = engineCase(1);
        const auto masks = MaskMaker(c.spec).several();
        std::vector<at::Tensor> found(masks.size());
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < masks.size(); ++i)
                threads.emplace_back(
                    [&, i] { found[i] = streamsOf(c.runner, *c.plan(masks[i].second), c.batch).back(); });
        }
        for (std::size_t i = 0; i < masks.size(); ++i)
            QVERIFY(found[i].equal(streamsOf(c.runner, *c.plan(masks[i].second), c.batch).back()));
    }

    void lossesAreThoseOfTheLogits_data() { addEngineCases(isDecoderFolder); }
    void lossesAreThoseOfTheLogits() {
        const EngineCase c = engineCase();
        const at::Tensor x = streamsOf(c.runner, *c.plan(), c.batch).back();
        const std::vector<int> targets = nextTokens(c.batch);
        const TokenLosses losses = c.runner.losses(*c.plan(), x, c.batch, targets);
        const at::Tensor logits = c.runner.lmHead(*c.plan(), x, c.batch).to(at::kDouble).log_softmax(-1);
        for (std::size_t i = 0; i < targets.size(); ++i) {
            const auto row = static_cast<std::int64_t>(i) / c.batch.positions;
            const auto position = static_cast<std::int64_t>(i) % c.batch.positions;
            const at::Tensor own = logits[row][position];
            const double expected = targets[i] < 0 ? 0 : -own[targets[i]].item<double>();
            QVERIFY(std::abs(expected - double{losses.nats[i]}) < 1e-4);
            QCOMPARE(losses.greedy[i] != 0, targets[i] >= 0 && own.argmax().item<std::int64_t>() == targets[i]);
        }
    }

    void batchesThatDoNotFitAreRefused();
    void targetsThatDoNotFitAreRefused();
    void cachesThatDoNotFitAreRefused();
    void plansThatCannotBeAreRefused();

private:
    static PruningMask bypassMask(const EngineCase& c) {
        PruningMask mask = cutMask(c);
        for (int layer = 0; layer < c.spec.layerCount(); layer += 2) {
            LayerMask cut = mask.layer(layer);
            if (cut.heads.empty())
                continue;
            cut.attention = AttentionCut::bypassQk;
            cut.alpha = 0.5;
            mask.setLayer(layer, cut);
        }
        return mask;
    }

    /// Runs some rows in a batch of their own. Returns the largest difference of their streams, logits and losses from
    /// those in the whole batch.
    static double rowsError(const EngineCase& c, const Plan& plan, const std::vector<int>& rows) {
        const Batch some = rowsOf(c.batch, rows);
        const auto whole = streamsOf(c.runner, plan, c.batch);
        const auto found = streamsOf(c.runner, plan, some);
        double worst = apart(found, streamsOfRows(whole, rows, some.positions), some);
        const at::Tensor chosen = at::tensor(std::vector<std::int64_t>(rows.begin(), rows.end()));
        const at::Tensor together = c.runner.lmHead(plan, whole.back(), c.batch).cpu().index_select(0, chosen);
        const at::Tensor alone = c.runner.lmHead(plan, found.back(), some).cpu();
        if (c.spec.family == Family::encoder)
            return std::max(worst, ((alone - together).abs().max() / together.abs().max()).item<double>());
        worst = std::max(worst, apart(alone, together.narrow(1, 0, some.positions), some));
        const TokenLosses all = c.runner.losses(plan, whole.back(), c.batch, nextTokens(c.batch));
        const TokenLosses own = c.runner.losses(plan, found.back(), some, nextTokens(some));
        for (std::size_t i = 0; i < own.nats.size(); ++i) {
            const std::size_t row = i / static_cast<std::size_t>(some.positions);
            const std::size_t at =
                static_cast<std::size_t>(rows[row] * c.batch.positions) + i % static_cast<std::size_t>(some.positions);
            worst = std::max(worst, std::abs(double{own.nats[i]} - double{all.nats[at]}) / 10);
        }
        return worst;
    }

    static double oneByOneError(const EngineCase& c, const Plan& plan, const std::vector<at::Tensor>& whole) {
        double worst = 0;
        for (int row = 0; row < c.batch.rows; ++row) {
            const Batch alone = rowsOf(c.batch, {row});
            std::vector<std::vector<int>> ends;
            for (int end = 1; end <= alone.positions; ++end)
                ends.push_back({end});
            worst = std::max(
                worst, apart(throughCache(c, plan, alone, ends), streamsOfRows(whole, {row}, alone.positions), alone));
        }
        return worst;
    }

    static std::vector<at::Tensor> walked(const EngineCase& c, const std::vector<Batch>& batches,
                                          std::vector<std::pair<std::size_t, int>>& order) {
        std::vector<at::Tensor> ends(batches.size());
        order.clear();
        LayerWalk walk;
        walk.passed = [&](int layer, std::size_t batch, const at::Tensor&) { order.emplace_back(batch, layer); };
        walk.finished = [&](std::size_t batch, const at::Tensor& x) { ends[batch] = x; };
        forEachLayer(c.runner, *c.plan(), batches, walk);
        return ends;
    }
};

void TestRunning::batchesThatDoNotFitAreRefused() {
    const EngineCase c("gpt2", "model.safetensors", false);
    const auto plan = c.plan();
    const at::Tensor x = c.runner.embed(*plan, c.batch);
    const auto embedded = [&](auto change) {
        Batch batch = c.batch;
        change(batch);
        static_cast<void>(c.runner.embed(*plan, batch));
    };
    REFUSES(embedded([&](Batch& batch) { batch.ids[0] = c.spec.vocab; }), "has no token 33: it has 33 of them");
    REFUSES(embedded([](Batch& batch) { batch.ids[1] = -1; }), "has no token -1");
    REFUSES(embedded([](Batch& batch) { batch.ids.pop_back(); }), "batch of 2 rows");
    REFUSES(embedded([](Batch& batch) { batch.lengths[0] = batch.positions + 1; }), "batch of 2 rows");
    REFUSES(embedded([](Batch& batch) { batch.lengths = {1}; }), "batch of 2 rows");
    REFUSES(embedded([](Batch& batch) { batch.firstPosition = {0, 12}; }), "has no position 16: it has 16 of them");
    Batch longer = c.batch;
    longer.positions = 17;
    longer.lengths = {17, 2};
    longer.ids.assign(34, 1);
    REFUSES(static_cast<void>(c.runner.embed(*plan, longer)), "has no position 16: it has 16 of them");
    REFUSES(static_cast<void>(c.runner.runLayer(*plan, 0, x, longer)), "The shape of the stream");
    REFUSES(static_cast<void>(c.runner.lmHead(*plan, x.select(0, 0), c.batch)), "The shape of the stream");
    Batch wrong = c.batch;
    wrong.lengths = {3};
    REFUSES(static_cast<void>(c.runner.runLayer(*plan, 0, x, wrong)), "batch of 2 rows");
    Batch continued = c.batch;
    continued.firstPosition = {1, 1};
    const std::vector<LayerMask> variants{PruningMask(c.spec).layer(0)};
    REFUSES(static_cast<void>(c.runner.runLayer(*plan, 0, x, continued)), "needs the cache");
    REFUSES(c.runner.runVariants(*plan, 0, x, continued, variants, [](std::size_t, const at::Tensor&) {}),
            "needs the cache");
    REFUSES(static_cast<void>(c.runner.backward(*plan, 0, x, continued, x, {})), "needs the cache");
    const EngineCase bert("bert", "model.safetensors", false);
    Batch typed = bert.batch;
    typed.types.assign(typed.ids.size(), 2);
    REFUSES(static_cast<void>(bert.runner.embed(*bert.plan(), typed)), "has no token type 2: it has 2 of them");
}

void TestRunning::targetsThatDoNotFitAreRefused() {
    const EngineCase c("gpt2", "model.safetensors", false);
    const auto plan = c.plan();
    const at::Tensor x = c.runner.embed(*plan, c.batch);
    std::vector<int> targets = nextTokens(c.batch);
    const auto gradient = [&](const EngineCase& of, const at::Tensor& stream, Scalarisation kind,
                              const std::vector<int>& wanted, const std::vector<float>& weights = {}) {
        static_cast<void>(of.runner.lossGradient(*of.plan(), stream, of.batch, kind, wanted, weights));
    };
    REFUSES(gradient(c, x, Scalarisation::taskLoss, targets, {1.F}), "1 weights were given for 26 targets");
    REFUSES(gradient(c, x, Scalarisation::taskLoss, {1, 2}), "needs 26 targets, but 2 were given");
    REFUSES(gradient(c, x, Scalarisation::pooledNorm, {}), "A decoder has no pooled output");
    targets[0] = c.spec.vocab;
    REFUSES(static_cast<void>(c.runner.losses(*plan, x, c.batch, targets)), "has no target 33: it has 33 of them");
    REFUSES(static_cast<void>(c.runner.losses(*plan, x, c.batch, {})), "needs 26 targets, but 0 were given");
    const EngineCase bert("bert", "model.safetensors", false);
    const at::Tensor first = bert.runner.embed(*bert.plan(), bert.batch);
    const std::vector<int> none(bert.batch.ids.size(), -1);
    REFUSES(static_cast<void>(bert.runner.losses(*bert.plan(), first, bert.batch, none)), "has no LM head");
    const auto rows = static_cast<std::size_t>(bert.batch.rows);
    REFUSES(gradient(bert, first, Scalarisation::taskLoss, std::vector<int>(rows, -1)), "needs a label");
    REFUSES(gradient(bert, first, Scalarisation::taskLoss, std::vector<int>(rows, 99)), "has no target 99");
    const EngineCase bare("bert-bare", "model.safetensors", false);
    const at::Tensor bareX = bare.runner.embed(*bare.plan(), bare.batch);
    REFUSES(gradient(bare, bareX, Scalarisation::taskLoss, std::vector<int>(rows, 0)), "has no classifier");
}

void TestRunning::cachesThatDoNotFitAreRefused() {
    const EngineCase c("llama-gqa", "model.safetensors", false);
    const auto plan = c.plan();
    const at::Tensor x = c.runner.embed(*plan, c.batch);
    const auto run = [&](const Plan& under, KvCache& cache, const Batch& batch) {
        static_cast<void>(c.runner.runLayer(under, 0, x, batch, &cache));
    };
    const auto small = c.runner.cache(*plan, c.batch.rows, c.batch.positions - 1);
    REFUSES(run(*plan, *small, c.batch), "has no room for a batch of 2 rows up to position 13");
    const auto narrow = c.runner.cache(*plan, 1, 64);
    REFUSES(run(*plan, *narrow, c.batch), "A cache of 1 rows");
    const auto whole = c.runner.cache(*plan, c.batch.rows, 64);
    QVERIFY(whole->bytes() > 0);
    LayerMask cut = PruningMask(c.spec).layer(0);
    cut.attention = AttentionCut::drop;
    const auto without = c.runner.cache(*c.plan(PruningMask(c.spec), 0, cut), c.batch.rows, 64);
    QVERIFY(without->bytes() < whole->bytes());
    REFUSES(run(*plan, *without, c.batch), "A cache made for another mask does not fit layer 0");
    const EngineCase bert("bert", "model.safetensors", false);
    REFUSES(static_cast<void>(bert.runner.cache(*bert.plan(), 1, 8)), "cannot continue texts");
}

void TestRunning::plansThatCannotBeAreRefused() {
    if (onDevice().device != "cpu")
        QSKIP("other devices have float16");
    const EngineCase c("llama-gqa", "model.safetensors", false);
    const EngineCase other("gpt2", "model.safetensors", false);
    REFUSES(static_cast<void>(c.plan(PruningMask(other.spec))), "is made for gpt2");
    REFUSES(static_cast<void>(c.runner.plan(PruningMask(c.spec), ComputeType::float16)),
            "float16 is supported on CUDA devices only");
    REFUSES(static_cast<void>(computeTypeOf("int8")), "is not a dtype of matrix products");
}

SECATEUR_SUITE(TestRunning)
#include "tst_running.moc"
