// Training: gradients of adapters are those of PEFT, runs follow torch's AdamW, masks and dropout keep cut units out,
// and a run that is stopped anywhere goes on to the same numbers.
#ifndef Q_MOC_RUN
#include "analysis/running/backward_walk.h"
#include "analysis/running/plan_adapters.h"
#include "analysis/running/runner_results.h"
#include "analysis/training/training_forecast.h"
#include "analysis/training/training_run.h"
#include "backends/engine/adapted_model.h"
#include "backends/kernels/dropout.h"
#include "backends/training/peft_files.h"
#include "backends/training/training_checkpoint.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/training_case.h"
#endif

#include <QtTest>

#include <algorithm>
#include <stop_token>
#include <utility>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-4;

QString folderOf(const QString& name) {
    return data().filePath("training/" + name);
}

QJsonObject judgement(const QString& name) {
    return judgementIn("training/" + name + "/training.json");
}

std::shared_ptr<PlanAdapters> tensorsOf(const Adapter& adapter, const ModelSpec& spec) {
    auto made = std::make_shared<PlanAdapters>();
    for (const auto& [place, update] : adapter.updates) {
        const std::vector<std::int64_t> shape = expectedShape(spec, place.first, place.second);
        made->updates[place] = {leaf(update.a, {update.rank, shape[1]}), leaf(update.b, {shape[0], update.rank}),
                                update.scale};
    }
    for (const auto& [place, numbers] : adapter.weights)
        made->weights[place] = leaf(numbers, expectedShape(spec, place.first, place.second));
    return made;
}

/// The gradients of a loss with respect to an adapter, in the form of an adapter, and the loss.
struct Gradients {
    std::map<WeightPlace, AdapterGradients::LowRank> updates;
    std::map<WeightPlace, at::Tensor> weights;
    double loss = 0;
};

void addTo(at::Tensor& sum, const at::Tensor& more) {
    if (more.defined())
        sum = sum.defined() ? sum + more : more;
}

Gradients gradientsOf(const Model& model, const std::shared_ptr<PlanAdapters>& adapters, const Batch& batch,
                      const std::vector<int>& targets, std::int64_t graphBytes, const PruningMask& mask) {
    const auto plan = model.runner().planWith(adapters, mask);
    const auto count = std::ranges::count_if(targets, [](int target) { return target >= 0; });
    Gradients found;
    const auto take = [&](int layer, const AdapterGradients& own) {
        const int first = layer < 0 ? layer : model.spec().firstSharing(layer);
        for (const auto& [name, update] : own.updates) {
            addTo(found.updates[{first, name}].a, update.a);
            addTo(found.updates[{first, name}].b, update.b);
        }
        for (const auto& [name, weight] : own.weights)
            addTo(found.weights[{first, name}], weight);
    };
    BackwardSteps steps;
    steps.scalars = [&](std::size_t) {
        return std::vector<BackwardScalar>{
            {Scalarisation::taskLoss, targets, std::vector<float>(targets.size(), 1.F / static_cast<float>(count))}};
    };
    steps.taps = [](int, std::size_t) { return std::vector<Tap>(); };
    steps.begins = [&](std::size_t, std::size_t, LossGradient& top) {
        for (const double value : top.values)
            found.loss += value;
        take(-1, top.adapters);
    };
    steps.pulled = [&](const LayerBackward& layer) { take(layer.layer, layer.gradients.adapters); };
    BackwardMemory memory;
    memory.graphBytes = graphBytes;
    walkBackward(model, *plan, std::span(&batch, 1), steps, memory, {});
    return found;
}

double errorOf(const at::Tensor& found, const std::vector<float>& expected) {
    const at::Tensor own = at::tensor(expected);
    const double scale = own.abs().max().item<double>();
    if (!found.defined())
        return scale == 0 ? 0 : std::numeric_limits<double>::infinity();
    return (found.flatten().cpu() - own).abs().max().item<double>() / std::max(scale, 1e-12);
}

/// Updates of a fused matrix share their A in PEFT, so that its gradient is the sum over them.
void shareQueries(Gradients& found, int layers) {
    using enum WeightName;
    for (int layer = 0; layer < layers; ++layer) {
        at::Tensor sum;
        for (const WeightName name : {query, key, value})
            addTo(sum, found.updates[{layer, name}].a);
        for (const WeightName name : {query, key, value})
            found.updates[{layer, name}].a = sum;
    }
}

double worstError(const Gradients& found, const Adapter& expected) {
    double worst = 0;
    for (const auto& [place, update] : expected.updates) {
        const auto& own = found.updates.at(place);
        worst = std::max({worst, errorOf(own.a, update.a), errorOf(own.b, update.b)});
    }
    for (const auto& [place, numbers] : expected.weights)
        worst = std::max(worst, errorOf(found.weights.at(place), numbers));
    return worst;
}

void addNames(bool onlyRuns) {
    QTest::addColumn<QString>("name");
    for (const QString& name : QDir(data().filePath("training")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        if (!onlyRuns || judgement(name).contains("losses"))
            QTest::newRow(qPrintable(name)) << name;
}

TrainingSettings settingsFor(const QJsonObject& about, const Adapter& adapter, int rows) {
    TrainingSettings settings;
    settings.adapter = {2, 4, 0};
    for (const auto& [place, _] : adapter.updates)
        if (std::ranges::find(settings.targets, place.second) == settings.targets.end())
            settings.targets.push_back(place.second);
    settings.trainsHead = !adapter.weights.empty();
    settings.learningRate = about["learning_rate"].toDouble();
    settings.clipNorm = about["clip_norm"].toDouble();
    settings.weightDecay = about["weight_decay"].toDouble();
    settings.batch = rows;
    settings.steps = about["losses"].toArray().size();
    return settings;
}

/// The state of a trainer with the numbers of an adapter.
TrainingState beginningWith(TrainingState state, const Adapter& adapter) {
    for (TrainedTensor& tensor : state.tensors) {
        if (tensor.part == TrainedPart::weight) {
            if (const auto own = adapter.weights.find(tensor.place); own != adapter.weights.end())
                tensor.values = own->second;
            continue;
        }
        const LowRankUpdate& update = adapter.updates.at(tensor.place);
        tensor.values = tensor.part == TrainedPart::a ? update.a : update.b;
    }
    return state;
}

/// A small run on the fixture llama-gqa.
struct SmallRun {
    std::shared_ptr<const Model> model = trainedModel("llama-gqa");
    PruningMask mask = DrawnMasks(model->spec(), 11).next(0.3);
    TrainingSet set = setOf(JudgedRun(data().filePath("adapters/llama-gqa")), targetsOf(judgement("llama-gqa")));
    TrainingSettings settings;

    SmallRun() {
        using enum WeightName;
        settings.adapter = {2, 4, 0.2};
        settings.targets = {query, key, value, output, gate, up, down};
        settings.trainsNorms = true;
        settings.learningRate = 1e-2;
        settings.steps = 12;
    }

    TrainingRun fresh() const {
        TrainingRun run;
        run.settings = settings;
        run.scoreEvery = 5;
        run.saveSeconds = 0;
        return run;
    }
};

} // namespace

class TestTraining : public QObject {
    Q_OBJECT

private slots:
    void theForecastCountsThreePassesForEachToken() {
        ModelSpec spec;
        spec.hidden = 64;
        spec.vocab = 100;
        LayerSpec layer;
        layer.heads = layer.kvHeads = 4;
        layer.headDim = 16;
        layer.ffn = 128;
        spec.layers.assign(3, layer);
        const PruningMask dense(spec);
        const RunSpeed speed{1e-9, 1e-6, 0};
        TrainingSettings settings;
        settings.accumulation = 4;
        settings.steps = 10;
        const TrainingSize size{101, 101 * 50, 0};
        const auto close = [](double a, double b) { return std::abs(a - b) < 1e-9 * b; };
        const TrainingForecast one = trainingForecast(settings, size, speed, spec, dense);
        QCOMPARE(one.steps, 10);
        QVERIFY(close(one.tokens, 2000));
        QVERIFY(close(one.seconds, 3 * runSeconds(speed, spec, dense, {2000, 50, 2000})));
        settings.steps = 0; // two epochs of 26 steps
        const TrainingForecast epochs = trainingForecast(settings, size, speed, spec, dense);
        QCOMPARE(epochs.steps, 52);
        QVERIFY(close(epochs.seconds, 5.2 * one.seconds));
        settings.minutes = 2;
        const TrainingForecast timed = trainingForecast(settings, size, speed, spec, dense);
        QVERIFY(close(timed.seconds, 120));
        QCOMPARE(timed.steps, std::llround(120 / (one.seconds / 10)));
        PruningMask cut(spec);
        LayerMask dropped = cut.layer(1);
        dropped.attention = AttentionCut::drop;
        cut.setLayer(1, dropped);
        settings.steps = 10;
        QVERIFY(trainingForecast(settings, size, speed, spec, cut).seconds < one.seconds);
        const TrainingSize scored{101, 101 * 50, 500};
        QVERIFY(close(trainingForecast(settings, scored, speed, spec, dense).seconds,
                      one.seconds + 12 * runSeconds(speed, spec, dense, {500, 50, 500})));
    }

    void gradientsAreThoseOfPeft_data() { addNames(false); }
    void gradientsAreThoseOfPeft() {
        QFETCH(QString, name);
        const JudgedRun judged(data().filePath("adapters/" + name));
        const QJsonObject about = judgement(name);
        for (const bool plain : {false, true}) {
            const auto model = trainedModel(name, plain);
            const Adapter adapter = readAdapter(data().filePath("adapters/" + name).toStdString(), *model);
            const Adapter expected = readAdapter((folderOf(name) + "/gradients").toStdString(), *model);
            for (const std::int64_t graphBytes : {std::int64_t{0}, std::int64_t{1} << 28}) {
                Gradients found = gradientsOf(*model, tensorsOf(adapter, model->spec()), judged.batch(),
                                              targetsOf(about), graphBytes, PruningMask(model->spec()));
                if (name == "gpt2")
                    shareQueries(found, model->spec().layerCount());
                const double error = worstError(found, expected);
                qInfo("%zu updates, %zu weights: error %.1e, loss %.1e", expected.updates.size(),
                      expected.weights.size(), error, std::abs(found.loss - about["loss"].toDouble()));
                QVERIFY(error < tolerance);
                QVERIFY(std::abs(found.loss - about["loss"].toDouble()) < tolerance);
            }
        }
    }

    void runsFollowTorch_data() { addNames(true); }
    void runsFollowTorch() {
        QFETCH(QString, name);
        const auto model = trainedModel(name);
        const QJsonObject about = judgement(name);
        const JudgedRun judged(data().filePath("adapters/" + name));
        const TrainingSet set = setOf(judged, targetsOf(about));
        const Adapter adapter = readAdapter((folderOf(name) + "/run").toStdString(), *model);
        Trainer trainer(*model, PruningMask(model->spec()), set, settingsFor(about, adapter, judged.batch().rows));
        trainer.resume(beginningWith(trainer.state(), adapter));
        double worst = 0;
        for (const QJsonValue& expected : about["losses"].toArray())
            worst = std::max(worst, std::abs(trainer.train().lossNats - expected.toDouble()));
        qInfo("largest difference of %lld losses: %.1e", about["losses"].toArray().size(), worst);
        QVERIFY(worst < tolerance);
    }

    // A trained adapter gives the same losses when it is added to the weights of the model.
    void trainedAdaptersCanBeMerged_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"llama-gqa", "gemma3", "gpt2", "phi", "qwen3", "llama-bias"})
            QTest::newRow(name) << name;
    }
    void trainedAdaptersCanBeMerged() {
        QFETCH(QString, name);
        using enum WeightName;
        const auto model = trainedModel(name);
        const JudgedRun judged(data().filePath("adapters/" + name));
        const TrainingSet set = setOf(judged, judged.targets());
        for (unsigned seed = 1; seed < 5; ++seed) {
            const PruningMask mask = DrawnMasks(model->spec(), seed).next(0.5);
            TrainingSettings settings;
            settings.adapter = {3, 6, 0.1};
            settings.targets = {query, key, value, output, gate, up, down};
            settings.trainsNorms = seed % 2 == 0;
            settings.learningRate = 2e-2;
            settings.steps = 6;
            Trainer trainer(*model, mask, set, settings);
            while (trainer.step() < trainer.steps())
                trainer.train();
            const auto merged = withAdapter(model, std::make_shared<const Adapter>(trainer.adapter()), {});
            const double own = meanNats(trainer.losses(set.examples));
            const double again = meanNats(exampleLosses(*merged, mask, set.examples));
            const double before = meanNats(exampleLosses(*model, mask, set.examples));
            qInfo("loss %.4f, %.4f after training; merged: difference %.1e", before, own, std::abs(own - again));
            QVERIFY(std::abs(own - again) < tolerance);
            QVERIFY(own < before - 0.01);
        }
    }

    void cutUnitsHaveNoNumbers() {
        SmallRun small;
        using enum WeightName;
        LayerMask cut = small.mask.layer(0);
        cut.block = true;
        cut.attention = AttentionCut::keep;
        cut.mlp = true;
        cut.heads.assign(cut.heads.size(), true);
        cut.heads[1] = false;
        cut.neurons.assign(cut.neurons.size(), true);
        cut.neurons[2] = false;
        small.mask.setLayer(0, cut);
        LayerMask dropped = small.mask.layer(1);
        dropped.block = true;
        dropped.attention = AttentionCut::drop;
        small.mask.setLayer(1, dropped);
        Trainer trainer(*small.model, small.mask, small.set, small.settings);
        for (int step = 0; step < 4; ++step)
            trainer.train();
        const Adapter adapter = trainer.adapter();
        QVERIFY(!adapter.updates.contains({1, query}) && !adapter.updates.contains({1, output}));
        const LayerSpec& layer = small.model->spec().layers[0];
        const LowRankUpdate& out = adapter.updates.at({0, output});
        const LowRankUpdate& q = adapter.updates.at({0, query});
        const LowRankUpdate& downward = adapter.updates.at({0, down});
        const auto heads = static_cast<std::size_t>(layer.heads * layer.headDim);
        const auto dim = static_cast<std::size_t>(layer.headDim);
        for (std::size_t i = 0; i < dim; ++i) {
            QCOMPARE(out.a[dim + i], 0.F);
            QCOMPARE(out.a[heads + dim + i], 0.F);
            QCOMPARE(q.b[(dim + i) * 2], 0.F);
            QVERIFY(q.b[i * 2] != 0.F && out.a[i] != 0.F);
        }
        QCOMPARE(downward.a[2], 0.F);
        QVERIFY(downward.a[1] != 0.F);
    }

    void dropoutIsRepeatable() {
        const at::Tensor x = at::ones({64, 500});
        const at::Tensor one = dropped(x, 0.1, 42);
        QVERIFY(at::equal(one, dropped(x, 0.1, 42)));
        QVERIFY(!at::equal(one, dropped(x, 0.1, 43)));
        QVERIFY(at::equal(dropped(x, 0, 42), x));
        const double share = one.eq(0).to(at::kDouble).mean().item<double>();
        qInfo("dropped %.4f of 0.1000", share);
        QVERIFY(std::abs(share - 0.1) < 0.005);
        QVERIFY(std::abs(one.mean().item<double>() - 1) < 0.006);
    }

    // Gradients with dropout are those of the loss with the same inputs dropped: finite differences.
    void gradientsWithDropout() {
        SmallRun small;
        const Adapter adapter = readAdapter(data().filePath("adapters/llama-gqa").toStdString(), *small.model);
        const auto tensors = tensorsOf(adapter, small.model->spec());
        tensors->dropout = 0.3;
        tensors->dropoutSeed = 5;
        const JudgedRun judged(data().filePath("adapters/llama-gqa"));
        const std::vector<int> targets = targetsOf(judgement("llama-gqa"));
        const auto run = [&](std::int64_t bytes) {
            return gradientsOf(*small.model, tensors, judged.batch(), targets, bytes, small.mask);
        };
        const Gradients recorded = run(std::int64_t{1} << 28);
        const Gradients again = run(0);
        QVERIFY(std::abs(recorded.loss - again.loss) < 1e-6);
        double worst = 0;
        for (const auto& [place, update] : recorded.updates) {
            const auto& other = again.updates.at(place);
            if (!update.a.defined())
                continue;
            QVERIFY(at::allclose(update.a, other.a, 1e-4, 1e-5) && at::allclose(update.b, other.b, 1e-4, 1e-5));
            at::Tensor b = tensors->updates.at(place).b.detach();
            const at::Tensor direction = at::randn_like(b) * 0.002;
            b.add_(direction);
            const double above = run(0).loss;
            b.sub_(direction, 2);
            const double below = run(0).loss;
            b.add_(direction);
            const double expected = (update.b * direction).sum().item<double>();
            worst = std::max(worst, std::abs((above - below) / 2 - expected));
        }
        qInfo("largest difference from finite differences: %.1e", worst);
        QVERIFY(worst < 5e-5);
    }

    // The run is stopped after each step in turn, in a new process each time as far as the state goes.
    void stoppedRunsEndWithTheSameNumbers() {
        const SmallRun small;
        const std::span<const TrainingExample> heldOut(small.set.examples.data(), 1);
        TrainingRun whole = small.fresh();
        runTraining(whole, *small.model, small.mask, small.set, heldOut, {});
        QVERIFY(whole.isDone && whole.state.step == small.settings.steps);
        const Scratch scratch;
        const std::string path = scratch.path("checkpoint.safetensors").toStdString();
        for (std::int64_t stop = 1; stop < small.settings.steps; ++stop) {
            struct Killed {};
            TrainingCallbacks callbacks;
            callbacks.save = [&](const TrainingRun& now) {
                writeTrainingRun(path, now);
                if (now.state.step == stop)
                    throw Killed();
            };
            TrainingRun part = small.fresh();
            QVERIFY_EXCEPTION_THROWN(runTraining(part, *small.model, small.mask, small.set, heldOut, callbacks),
                                     Killed);
            TrainingRun next = readTrainingRun(path).value();
            QCOMPARE(next.state.step, stop);
            runTraining(next, *small.model, small.mask, small.set, heldOut, {});
            QVERIFY(next.state == whole.state);
            QVERIFY(next.best == whole.best);
            for (std::size_t i = 0; i < whole.records.size(); ++i)
                QCOMPARE(next.records[i].lossNats, whole.records[i].lossNats);
        }
    }

    // The run is asked to stop after each step in turn: before the score of that step where one is due.
    void scoresThatWereStoppedAreMadeUp() {
        const SmallRun small;
        const std::span<const TrainingExample> heldOut(small.set.examples.data(), 1);
        TrainingRun whole = small.fresh();
        runTraining(whole, *small.model, small.mask, small.set, heldOut, {});
        for (std::int64_t stop = 1; stop <= small.settings.steps; ++stop) {
            std::stop_source source;
            TrainingCallbacks callbacks;
            callbacks.stepped = [&](const TrainingRun& now) {
                if (std::cmp_equal(now.records.size(), stop))
                    source.request_stop();
            };
            TrainingRun run = small.fresh();
            run.saveSeconds = 1e9;
            try {
                runTraining(run, *small.model, small.mask, small.set, heldOut, callbacks,
                            Progress({}, source.get_token()));
            } catch (const Cancelled&) {
                QVERIFY(!run.isDone);
            }
            runTraining(run, *small.model, small.mask, small.set, heldOut, {});
            QVERIFY(run.state == whole.state);
            QVERIFY(run.best == whole.best);
            QCOMPARE(run.scores.size(), whole.scores.size());
            for (std::size_t i = 0; i < whole.scores.size(); ++i)
                QCOMPARE(run.scores[i].lossNats, whole.scores[i].lossNats);
        }
    }

    void checkpointsAreReadBack() {
        const SmallRun small;
        TrainingRun run = small.fresh();
        run.key = "a key";
        run.settings.minutes = 1.5;
        run.settings.decay = RateDecay::cosine;
        runTraining(run, *small.model, small.mask, small.set, small.set.examples, {});
        const Scratch scratch;
        const std::string path = scratch.path("checkpoint.safetensors").toStdString();
        writeTrainingRun(path, run);
        const TrainingRun read = readTrainingRun(path).value();
        QCOMPARE(read.key, run.key);
        QVERIFY(read.settings == run.settings && read.state == run.state && read.best == run.best);
        QCOMPARE(read.scores.size(), run.scores.size());
        QCOMPARE(pairedNats(read.recovered, read.dense).standardError,
                 pairedNats(run.recovered, run.dense).standardError);
        QVERIFY(!readTrainingRun(scratch.path("none").toStdString()));
    }

    void impossibleSettingsAreRefused() {
        const SmallRun small;
        const auto refused = [&](auto change) {
            TrainingSettings settings = small.settings;
            change(settings);
            QVERIFY_EXCEPTION_THROWN(Trainer(*small.model, small.mask, small.set, settings), Error);
        };
        refused([](TrainingSettings& settings) { settings.adapter.rank = 0; });
        refused([](TrainingSettings& settings) { settings.adapter.dropout = 1; });
        refused([](TrainingSettings& settings) { settings.learningRate = -1; });
        refused([](TrainingSettings& settings) { settings.targets.clear(), settings.trainsNorms = false; });
        refused([](TrainingSettings& settings) { settings.trainsHead = true; });
        refused([](TrainingSettings& settings) { settings.batch = 0; });
        TrainingSet labelled = small.set;
        labelled.examples[0].label = 1;
        QVERIFY_EXCEPTION_THROWN(Trainer(*small.model, small.mask, labelled, small.settings), Error);
        QVERIFY_EXCEPTION_THROWN(Trainer(*small.model, small.mask, TrainingSet(), small.settings), Error);
    }
};

SECATEUR_SUITE(TestTraining)
#include "tst_training.moc"
