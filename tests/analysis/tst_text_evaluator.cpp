// Evaluation of a text under one mask after another: the losses equal those of full runs, although layers before an
// edit are not computed again.
#ifndef Q_MOC_RUN
#include "tests/support/counting_model.h"
#include "tests/support/drawn_text.h"
#include "tests/support/partial_runs.h"

#include "analysis/base/error.h"
#include "analysis/masks/price.h"
#include "analysis/base/statistics.h"
#include "analysis/evaluation/text_evaluator.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/text/text_source.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

using namespace secateur;
using test::apart;
using test::CountingModel;
using test::cut;
using test::DrawnText;
using test::Edits;
using test::stoppedAt;
using test::without;

namespace {

constexpr double tolerance = 1e-6; ///< relative, of a window's loss
constexpr std::int64_t plenty = std::int64_t{1} << 40;
constexpr int window = 14;

std::shared_ptr<const Model> tiny(const QString& name, std::int64_t budget = 0) {
    const QString folder = test::data().filePath("forward/" + name);
    const bool isFile = !QFile::exists(folder + "/model.safetensors");
    return openModel((isFile ? folder + "/model.gguf" : folder).toStdString(), {}, {.memoryBudget = budget});
}

EvaluatorOptions options(std::int64_t streamBudget = plenty, double groupSeconds = 5, std::int64_t batchTokens = 40) {
    return {ComputeType::float32, streamBudget, batchTokens, groupSeconds};
}

Perplexity full(const Model& model, const PruningMask& mask, const ScoredText& text) {
    return perplexity(model, *model.runner().plan(mask, ComputeType::float32), text, 40);
}

bool isStopped(TextEvaluator& evaluator, const PruningMask& mask, int report) {
    std::stop_source stop;
    try {
        evaluator.evaluate(mask, {}, stoppedAt(report, stop));
    } catch (const Cancelled&) {
        return true;
    }
    return false;
}

std::string stories() {
    const QString folder = test::realData() + "/models/stories260K";
    return test::realData().isEmpty() || !QFile::exists(folder + "/stories260K.gguf")
               ? std::string()
               : (folder + "/stories260K.gguf").toStdString();
}

/// Runs the first layers at full speed, as many as runSpeed() times, and then slows down.
class SlowingRunner : public test::CountingRunner {
public:
    using CountingRunner::CountingRunner;
    mutable std::size_t quickLayers = 12;

    at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch, KvCache* cache,
                        LayerObserver* observer) const override {
        if (layers.size() >= quickLayers)
            std::this_thread::sleep_for(std::chrono::milliseconds(4));
        return CountingRunner::runLayer(plan, layer, x, batch, cache, observer);
    }
};

class SlowingModel : public CountingModel {
public:
    explicit SlowingModel(const std::shared_ptr<const Model>& model)
        : CountingModel(model)
        , slowing(model->runner()) {}
    const Runner& runner() const override { return slowing; }
    SlowingRunner slowing;
};

ScoredText tinyStories(const Model& model, std::int64_t tokens) {
    const QString path = test::realData() + "/text/tinystories/tinystories_slice.txt";
    const PerplexityRules rules{TextProtocol::tokenPpl, {}, 64, tokens};
    return scoredText(readDocuments(path.toStdString(), {}, TextSplit::windows), *openTokenizer(model.card()),
                      withDefaults(rules, model.spec()));
}

} // namespace

class TestTextEvaluator : public QObject {
    Q_OBJECT

private slots:
    void progressFollowsTheWindowsAtAnySpeed() {
        const SlowingModel model(tiny("llama-gqa"));
        DrawnText drawn(model.spec().vocab);
        constexpr std::size_t count = 12;
        EvaluatorOptions steps = options(plenty, 0, window);
        TextEvaluator evaluator(model, drawn.fixedWindows(count, window), steps);
        model.slowing.quickLayers = model.slowing.layers.size() + 4;
        double last = 0;
        const Progress progress([&last](double fraction, std::string_view) { last = fraction; });
        double most = 0; // by which the progress was ahead of the windows
        const auto sink = [&](const MaskEvaluation& found) {
            most = std::max(most, last - static_cast<double>(found.run.windows.size()) / count);
        };
        evaluator.evaluate(cut(PruningMask(model.spec()), 1, 0), sink, progress);
        QVERIFY2(most < 0.01, qPrintable(QString::number(most)));
        QCOMPARE(last, 1.0);
    }

    void incrementalIsFull_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<bool>("byPage");
        QTest::addColumn<qint64>("weightBudget");
        int row = 0;
        const QDir folders(test::data().filePath("forward"));
        for (const QString& folder : folders.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            if (!folder.contains("bert")) {
                const bool isResident = row % 3 != 0;
                QTest::addRow("%s%s%s", qPrintable(folder), row % 2 != 0 ? " by page" : "",
                              isResident ? "" : " layer by layer")
                    << folder << (row % 2 != 0) << qint64{isResident ? 0 : 1};
                ++row;
            }
    }
    void incrementalIsFull() {
        QFETCH(QString, folder);
        QFETCH(bool, byPage);
        QFETCH(qint64, weightBudget);
        const auto model = tiny(folder, weightBudget);
        DrawnText drawn(model->spec().vocab);
        const ScoredText text = byPage ? drawn.pages(6, window) : drawn.fixedWindows(9, window);
        TextEvaluator evaluator(*model, text, options());
        TextEvaluator thrifty(*model, text, options(2 * 4 * window * 9 * model->spec().hidden));
        Edits edits(model->spec(), 7);
        double worst = 0;
        constexpr int masks = 16;
        for (int i = 0; i < masks; ++i) {
            const PruningMask& mask = edits.next();
            const Perplexity expected = full(*model, mask, text);
            const MaskEvaluation found = evaluator.evaluate(mask);
            QVERIFY(found.isComplete());
            worst = std::max(
                {worst, apart(found.run, expected), apart(thrifty.evaluate(mask).run, expected),
                 std::abs(found.difference.nats - pairedDifference(expected, found.dense).nats) / expected.lossNats});
        }
        qInfo("%d masks, k = %d and %d: %.1e at most", masks, evaluator.streamInterval(), thrifty.streamInterval(),
              worst);
        QVERIFY(worst < tolerance);
        QVERIFY(apart(evaluator.evaluate(PruningMask(model->spec())).run,
                      full(*model, PruningMask(model->spec()), text)) < tolerance);
    }

    void runsBeginWhereAnEditReaches() {
        CountingModel model(tiny("deci"));
        const PruningMask dense(model.spec());
        TextEvaluator evaluator(model, DrawnText(model.spec().vocab).fixedWindows(9, window), options());
        QCOMPARE(evaluator.streamInterval(), 1);
        const auto ran = [&](const PruningMask& mask) {
            model.counted.forget();
            evaluator.evaluate(mask);
            return model.counted.layers.size() == 3 * model.counted.distinct().size() ? model.counted.distinct()
                                                                                      : std::set<int>{-1};
        };
        QVERIFY((ran(dense) == std::set{0, 1, 2}));
        QVERIFY(ran(dense).empty());
        const PruningMask one = cut(dense, 1, 0);
        QVERIFY((ran(one) == std::set{1, 2})); // layer 0 is as in the dense model, so its output is reused
        const PruningMask two = cut(one, 2, 0);
        QVERIFY((ran(two) == std::set{2})); // layers 0 and 1 are as in mask `one`, so their output is reused
        QCOMPARE(evaluator.known(two)->reusedLayers, 3);
        QVERIFY((ran(cut(dense, 2, 0)) == std::set{2}));
        // Layer 1 is as in `one`, but the streams of `one` are no longer kept; those of the dense model are.
        QVERIFY((ran(cut(cut(dense, 1, 0), 2, 1)) == std::set{1, 2}));
        QVERIFY((ran(cut(two, 0, 0)) == std::set{0, 1, 2}));
        QVERIFY(ran(one).empty()); // the losses of a mask are kept, so nothing runs
        QCOMPARE(model.counted.scored, 0);
        QCOMPARE(evaluator.evaluate(cut(dense, 2, 1)).reusedLayers, 2);
    }

    void aMaskBeforeTheDenseModelRunsBoth() {
        CountingModel model(tiny("llama-gqa"));
        const ScoredText text = DrawnText(model.spec().vocab).fixedWindows(4, window);
        TextEvaluator evaluator(model, text, options());
        model.counted.forget();
        const PruningMask mask = cut(PruningMask(model.spec()), 1, 0);
        const MaskEvaluation found = evaluator.evaluate(mask);
        // Two batches: both layers of the dense model, then layer 1 of the masked one.
        QCOMPARE(model.counted.layers.size(), std::size_t{2 * 2 + 2 * 1});
        QCOMPARE(found.reusedLayers, 1);
        QVERIFY(apart(found.dense, full(model, PruningMask(model.spec()), text)) < tolerance);
        QVERIFY(apart(found.run, full(model, mask, text)) < tolerance);
    }

    void budgetsAreKept() {
        const auto model = tiny("deci");
        const ScoredText text = DrawnText(model->spec().vocab).fixedWindows(9, window);
        const std::int64_t stream = std::int64_t{9} * (window - 1) * model->spec().hidden * 4;
        const PruningMask mask = cut(PruningMask(model->spec()), 0, 0);
        const Perplexity expected = full(*model, mask, text);
        for (const auto& [budget, interval] : std::initializer_list<std::pair<std::int64_t, int>>{
                 {0, 3}, {2 * stream - 1, 3}, {2 * stream, 2}, {4 * stream - 1, 2}, {4 * stream, 1}, {plenty, 1}}) {
            TextEvaluator evaluator(*model, text, options(budget));
            QCOMPARE(evaluator.streamInterval(), interval);
            QVERIFY(apart(evaluator.evaluate(mask).run, expected) < tolerance);
            QCOMPARE(evaluator.streamBytes(), 2 * (2 / interval) * stream);
            QVERIFY(evaluator.streamBytes() <= budget);
            const MaskEvaluation last = evaluator.evaluate(cut(PruningMask(model->spec()), 2, 0));
            QCOMPARE(last.reusedLayers, interval == 3 ? 0 : 2);
            QCOMPARE(last.streamInterval, interval);
            // The mask cuts only in the last layer, so it shares all kept streams with the dense model.
            QCOMPARE(evaluator.streamBytes(), (2 / interval) * stream);
        }
    }

    void cancelledAndContinuedIsUninterrupted() {
        for (const std::int64_t weightBudget : {0, 1}) {
            CountingModel model(tiny("deci", weightBudget));
            const ScoredText text = DrawnText(model.spec().vocab).fixedWindows(12, window);
            const PruningMask mask = cut(PruningMask(model.spec()), 1, 0);
            TextEvaluator whole(model, text, options());
            const MaskEvaluation expected = whole.evaluate(mask);
            for (int report = 1; report < 24; ++report) {
                TextEvaluator evaluator(model, text, options(plenty, 0));
                QVERIFY(isStopped(evaluator, mask, report) || weightBudget == 0);
                const auto part = evaluator.known(mask);
                const std::size_t known = part ? part->run.windows.size() : 0;
                model.counted.forget();
                const MaskEvaluation found = evaluator.evaluate(mask);
                QVERIFY(apart(found.run, expected.run) < tolerance);
                QVERIFY(apart(found.dense, expected.dense) < tolerance);
                QVERIFY(model.counted.layers.size() <= (12 - known) * 5);
            }
        }
    }

    void whatWasScoredBeforeIsNotRunAgain() {
        CountingModel model(tiny("deci"));
        const PruningMask mask = cut(PruningMask(model.spec()), 1, 0);
        for (const bool byPages : {false, true}) {
            DrawnText drawn(model.spec().vocab);
            const ScoredText text = byPages ? drawn.pages(8, window) : drawn.fixedWindows(12, window);
            const std::size_t windows = text.windows.sequences.size();
            EvaluatorOptions lonely = options(plenty, 0);
            lonely.alone = true;
            TextEvaluator whole(model, text, lonely);
            model.counted.forget();
            const MaskEvaluation expected = whole.evaluate(mask);
            const std::size_t layers = model.counted.layers.size();
            QVERIFY(expected.isComplete() && expected.dense.windows.empty());
            QVERIFY(apart(expected.run, full(model, mask, text)) < tolerance);
            int told = 0;
            for (int report = 1; report < 24; ++report) {
                TextEvaluator stopped(model, text, lonely);
                if (!isStopped(stopped, mask, report))
                    break;
                const auto part = stopped.known(mask);
                if (!part)
                    continue;
                ++told;
                TextEvaluator later(model, text, lonely);
                later.know(mask, part->run.windows);
                QVERIFY(later.known(mask)->run.windows.size() <= part->run.windows.size());
                model.counted.forget();
                const MaskEvaluation found = later.evaluate(mask);
                QCOMPARE(apart(found.run, expected.run), 0.0);
                QVERIFY(model.counted.layers.size() < layers);
            }
            QVERIFY(told > 1);
            TextEvaluator all(model, text, lonely);
            all.know(mask, expected.run.windows);
            model.counted.forget();
            QCOMPARE(apart(all.evaluate(mask).run, expected.run), 0.0);
            QVERIFY(model.counted.layers.empty());
            QVERIFY_EXCEPTION_THROWN(all.know(mask, std::vector<WindowLoss>{{1, 1, 0, windows}}), Error);
        }
    }

    void workGivenUpLeavesNothingWrong() {
        for (const std::int64_t streamBudget : {plenty, std::int64_t{2 * 4 * window * 12 * 18}, std::int64_t{0}}) {
            const auto model = tiny("deci");
            const ScoredText text = DrawnText(model->spec().vocab).pages(8, window);
            TextEvaluator evaluator(*model, text, options(streamBudget, 1e-9));
            Edits edits(model->spec(), 3);
            std::vector<PruningMask> masks;
            for (int i = 0; i < 6; ++i)
                masks.push_back(edits.next());
            std::mt19937 random(5);
            int stopped = 0;
            for (int i = 0; i < 40; ++i)
                stopped += isStopped(evaluator, masks[random() % masks.size()], 1 + static_cast<int>(random() % 9));
            QVERIFY(stopped > 10);
            double worst = 0;
            for (const PruningMask& mask : masks) {
                const MaskEvaluation found = evaluator.evaluate(mask);
                worst = std::max(worst, apart(found.run, full(*model, mask, text)));
                worst = std::max(worst, apart(found.dense, full(*model, PruningMask(model->spec()), text)));
            }
            qInfo("%d times stopped: %.1e at most", stopped, worst);
            QVERIFY(worst < tolerance);
        }
    }

    void partialResultsArePairedOnTheSameWindows_data() {
        QTest::addColumn<bool>("byPage");
        QTest::newRow("windows") << false;
        QTest::newRow("pages") << true;
    }
    void partialResultsArePairedOnTheSameWindows() {
        QFETCH(bool, byPage);
        const auto model = tiny("qwen2");
        DrawnText drawn(model->spec().vocab);
        const ScoredText text = byPage ? drawn.pages(10, window) : drawn.fixedWindows(20, window);
        TextEvaluator evaluator(*model, text, options(plenty, 0, 1));
        const PruningMask mask = cut(PruningMask(model->spec()), 0, 1);
        const Perplexity dense = full(*model, PruningMask(model->spec()), text);
        const Perplexity expected = full(*model, mask, text);
        std::vector<MaskEvaluation> parts;
        evaluator.evaluate(mask, [&](const MaskEvaluation& part) { parts.push_back(part); });
        QCOMPARE(parts.size(), byPage ? std::size_t{10} : std::size_t{20});
        std::size_t before = 0;
        for (const MaskEvaluation& part : parts) {
            QVERIFY(part.run.windows.size() > before);
            before = part.run.windows.size();
            QCOMPARE(part.dense.windows.size(), before);
            QVERIFY(std::ranges::is_sorted(part.run.windows, {}, &WindowLoss::index));
            const LossDifference paired = pairedDifference(expected, dense);
            const LossDifference common = pairedDifference(part.run, dense);
            QCOMPARE(common.count, part.difference.count);
            QVERIFY(std::abs(common.nats - part.difference.nats) < 1e-5);
            QCOMPARE(part.isComplete(), &part == &parts.back());
            if (part.isComplete())
                QVERIFY(std::abs(paired.nats - part.difference.nats) < 1e-5);
        }
        QVERIFY(std::isnan(parts.front().difference.standardError));
        QVERIFY(std::isnan(parts.front().difference.halfWidth95()));
        QVERIFY(parts.front().secondsLeft > parts.back().secondsLeft);
        QCOMPARE(parts.back().secondsLeft, 0.0);
        // A run under another mask evaluates the windows in the same order.
        const PruningMask other = cut(mask, 1, 0);
        std::size_t step = 0;
        evaluator.evaluate(other, [&](const MaskEvaluation& part) {
            QCOMPARE(part.run.windows.size(), parts[step].run.windows.size());
            for (std::size_t i = 0; i < part.run.windows.size(); ++i)
                QCOMPARE(part.run.windows[i].index, parts[step].run.windows[i].index);
            QCOMPARE(pairedDifference(part.run, parts.back().run).count, part.difference.count);
            ++step;
        });
        QVERIFY_EXCEPTION_THROWN(
            pairedDifference(full(*model, mask, DrawnText(model->spec().vocab).fixedWindows(20, window - 1)), dense),
            Error);
    }

    void whatIsExpectedFollowsTheOperations() {
        const auto model = tiny("deci");
        const ModelSpec& spec = model->spec();
        const PruningMask dense(spec);
        TextEvaluator evaluator(*model, DrawnText(spec.vocab).fixedWindows(40, window), options());
        const double both = evaluator.expectedSeconds(cut(dense, 2, 0));
        const double alone = evaluator.expectedSeconds(dense);
        QVERIFY(both > alone && alone > 0);
        evaluator.evaluate(dense);
        QCOMPARE(evaluator.expectedSeconds(dense), 0.0);
        const std::vector<double> shares = operationShares(spec, dense, window);
        double before = std::numeric_limits<double>::infinity();
        for (int layer = 0; layer < spec.layerCount(); ++layer) {
            if (spec.layers[static_cast<std::size_t>(layer)].heads == 0)
                continue;
            const double seconds = evaluator.expectedSeconds(cut(dense, layer, 0));
            QVERIFY(seconds < before);
            before = seconds;
        }
        QCOMPARE(shares.front(), 1.0);
        QCOMPARE(shares.back(), lmHeadOperations(spec) / (lmHeadOperations(spec) + [&] {
                                    double sum = 0;
                                    for (int layer = 0; layer < spec.layerCount(); ++layer)
                                        sum += layerOperations(spec, layer, dense.layer(layer), window);
                                    return sum;
                                }()));
        QVERIFY_EXCEPTION_THROWN(evaluator.expectedSeconds(PruningMask(tiny("gpt2")->spec())), Error);
        QVERIFY_EXCEPTION_THROWN(evaluator.evaluate(PruningMask(tiny("gpt2")->spec())), Error);
    }

    void operationsAreThoseOfTheProducts() {
        const auto model = tiny("llama-gqa");
        const ModelSpec& spec = model->spec();
        const LayerSpec& layer = spec.layers.front();
        const double products = 2.0 * spec.hidden * (2.0 * layer.heads + 2.0 * layer.kvHeads) * layer.headDim +
                                6.0 * spec.hidden * layer.ffn;
        const double scores = 4.0 * layer.heads * layer.headDim * (8 + 1) / 2.0;
        const PruningMask dense(spec);
        QCOMPARE(layerOperations(spec, 0, dense.layer(0), 8), products + scores);
        LayerMask half = dense.layer(0);
        half.attention = AttentionCut::drop;
        QCOMPARE(layerOperations(spec, 0, half, 8), 6.0 * spec.hidden * layer.ffn);
        half.block = false;
        QCOMPARE(layerOperations(spec, 0, half, 8), 0.0);
    }

    void quantilesAreStudents() {
        const std::initializer_list<std::pair<std::size_t, double>> table{
            {1, 12.70620}, {2, 4.30265},  {5, 2.57058},   {8, 2.30600},   {9, 2.26216},
            {15, 2.13145}, {30, 2.04227}, {100, 1.98397}, {1000, 1.96234}};
        for (const auto& [freedom, quantile] : table)
            QVERIFY(std::abs(studentQuantile(freedom) - quantile) < 2e-4 * quantile);
        QVERIFY(std::isnan(studentQuantile(0)));
    }

    void streamsOfFiveLayersResumeEverywhere() {
        if (stories().empty())
            QSKIP("stories260K is not there");
        const auto model = openModel(stories());
        const ScoredText text = tinyStories(*model, 2048);
        for (const std::int64_t budget : {plenty, std::int64_t{5} << 20, std::int64_t{2} << 20, std::int64_t{0}}) {
            TextEvaluator evaluator(*model, text, options(budget, 5, 512));
            Edits edits(model->spec(), 11);
            double worst = 0;
            for (int i = 0; i < 12; ++i) {
                const PruningMask& mask = edits.next(i % 5);
                worst = std::max(worst, apart(evaluator.evaluate(mask).run, full(*model, mask, text)));
            }
            qInfo("k = %d, %.1f of %.1f MB: %.1e at most", evaluator.streamInterval(),
                  1e-6 * static_cast<double>(evaluator.streamBytes()), 1e-6 * static_cast<double>(budget), worst);
            QVERIFY(worst < tolerance);
            QVERIFY(evaluator.streamBytes() <= budget);
        }
    }

    /// Counts how often the 95 % confidence interval from a group of 8 windows contains the difference on the whole
    /// text.
    void intervalsHoldWhatTheySay() {
        if (stories().empty())
            QSKIP("stories260K is not there");
        const auto model = openModel(stories());
        const ScoredText text = tinyStories(*model, 16384);
        TextEvaluator evaluator(*model, text, options(plenty, 1e-9, 512));
        constexpr std::size_t groupWindows = 8;
        constexpr int masks = 100;
        int first = 0;
        int held = 0;
        int groups = 0;
        for (int i = 0; i < masks; ++i) {
            Edits edits(model->spec(), static_cast<unsigned>(i));
            for (int edit = 0; edit < i % 4; ++edit)
                edits.next();
            std::vector<Perplexity> parts{{}};
            const MaskEvaluation all = evaluator.evaluate(edits.next(), [&](const MaskEvaluation& part) {
                if (part.run.windows.size() % groupWindows == 0)
                    parts.push_back(part.run);
            });
            for (std::size_t group = 1; group < parts.size(); ++group) {
                const LossDifference own = pairedDifference(without(text, parts[group], parts[group - 1]), all.dense);
                const bool holds = std::abs(own.nats - all.difference.nats) <= own.halfWidth95();
                first += group == 1 && holds;
                held += holds;
                ++groups;
            }
        }
        qInfo("of %d intervals of groups of %zu windows %.1f %% hold the whole text's difference", groups, groupWindows,
              100.0 * held / groups);
        qInfo("intervals of the first group hold the whole text's difference for %d of %d masks", first, masks);
        QVERIFY(first >= 85);
        QVERIFY(held >= 0.9 * groups);
    }
};

SECATEUR_SUITE(TestTextEvaluator)
#include "tst_text_evaluator.moc"
