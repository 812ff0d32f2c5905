// A classifier that is trained alone: the numbers are those of runs through all layers, which run only once.
#ifndef Q_MOC_RUN
#include "analysis/running/backward_walk.h"
#include "analysis/running/runner_results.h"
#include "analysis/training/trained_tensors.h"
#include "analysis/training/training_batches.h"
#include "analysis/training/training_run.h"
#include "tests/support/counting_model.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/suite.h"
#include "tests/support/training_case.h"
#endif

#include <QtTest>

#include <algorithm>
#include <numeric>

using namespace secateur;
using namespace secateur::test;

namespace {

/// Texts of different lengths with labels, cut from the rows of a fixture.
TrainingSet labelledTexts(const Model& model, const JudgedRun& judged) {
    const TrainingSet rows = setOf(judged, std::vector<int>(static_cast<std::size_t>(judged.batch().rows), 0));
    TrainingSet set;
    set.source = "fixture";
    for (std::size_t i = 0; i < 11; ++i) {
        TrainingExample example = rows.examples[i % rows.examples.size()];
        const std::size_t length = std::min(example.ids.size(), 2 + i);
        example.ids.resize(length);
        if (!example.types.empty())
            example.types.resize(length);
        example.label = static_cast<int>(i) % model.spec().classes;
        set.examples.push_back(std::move(example));
    }
    return set;
}

struct ProbeCase {
    std::shared_ptr<const Model> model;
    PruningMask mask;
    TrainingSet set;
    TrainingSettings settings;

    explicit ProbeCase(const QString& name)
        : model(trainedModel(name))
        , mask(DrawnMasks(model->spec(), 4).next(0.8))
        , set(labelledTexts(*model, JudgedRun(data().filePath("adapters/" + name)))) {
        settings.trainsHead = true;
        settings.learningRate = 1e-2;
        settings.weightDecay = 0.1;
        settings.batch = 4;
        settings.steps = 12;
        settings.seed = 3;
    }
};

/// The losses of a run that runs all layers in each step.
std::vector<double> lossesThroughAllLayers(const ProbeCase& c) {
    TrainedTensors tensors(*c.model, c.mask, c.settings);
    const auto plan = c.model->runner().planWith(tensors.training(), c.mask);
    const auto size = static_cast<std::size_t>(c.settings.batch);
    const std::size_t perEpoch = (c.set.examples.size() + size - 1) / size;
    std::vector<double> losses;
    for (std::size_t step = 0; step < static_cast<std::size_t>(c.settings.steps); ++step) {
        std::vector<std::size_t> order = epochOrder(c.set.examples.size(), 3, static_cast<int>(step / perEpoch));
        order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(step % perEpoch * size));
        order.resize(std::min(order.size(), size));
        const TrainingBatches batches = trainingBatches(pointersTo(c.set, order), 2048);
        const float weight = 1.F / static_cast<float>(order.size());
        double& loss = losses.emplace_back();
        BackwardSteps steps;
        steps.scalars = [&](std::size_t batch) {
            const std::vector<int>& labels = batches.targets[batch];
            return std::vector<BackwardScalar>{
                {Scalarisation::taskLoss, labels, std::vector<float>(labels.size(), weight)}};
        };
        steps.taps = [](int, std::size_t) { return std::vector<Tap>(); };
        steps.begins = [&](std::size_t, std::size_t, LossGradient& top) {
            loss += std::accumulate(top.values.begin(), top.values.end(), 0.0);
            tensors.add(-1, top.adapters);
        };
        steps.pulled = [](const LayerBackward&) {};
        walkBackward(*c.model, *plan, batches.padded.batches, steps, {}, {});
        const auto now = static_cast<std::int64_t>(step);
        tensors.update(c.settings, learningRateAt(c.settings, now, c.settings.steps), now);
    }
    return losses;
}

} // namespace

class TestLinearProbe : public QObject {
    Q_OBJECT

private slots:
    void lossesAreThoseThroughAllLayers_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"bert", "roberta", "albert"})
            QTest::newRow(name) << name;
    }
    void lossesAreThoseThroughAllLayers() {
        QFETCH(QString, name);
        const ProbeCase c(name);
        const std::vector<double> expected = lossesThroughAllLayers(c);
        Trainer trainer(*c.model, c.mask, c.set, c.settings);
        const double before = meanNats(trainer.losses(c.set.examples));
        double worst = 0;
        for (const double loss : expected)
            worst = std::max(worst, std::abs(trainer.train().lossNats - loss));
        const double after = meanNats(trainer.losses(c.set.examples));
        qInfo("loss %.4f to %.4f, largest difference of a step %.1e", before, after, worst);
        QVERIFY(worst < 1e-6);
        QVERIFY(after < before);
    }

    void layersRunOnce() {
        ProbeCase c("bert");
        const auto counting = std::make_shared<CountingModel>(c.model);
        Trainer trainer(*counting, c.mask, c.set, c.settings);
        trainer.train();
        const std::size_t first = counting->counted.layers.size();
        QVERIFY(first > 0);
        while (trainer.step() < trainer.steps())
            trainer.train();
        QCOMPARE(counting->counted.layers.size(), first);
        static_cast<void>(trainer.losses(c.set.examples));
        const std::size_t scored = counting->counted.layers.size();
        static_cast<void>(trainer.losses(c.set.examples));
        QCOMPARE(counting->counted.layers.size(), scored);
        static_cast<void>(trainer.losses(std::span(c.set.examples).first(3)));
        QVERIFY(counting->counted.layers.size() > scored);
    }

    void scoresAreThoseOfTheModel() {
        const ProbeCase c("bert");
        const Trainer trainer(*c.model, c.mask, c.set, c.settings);
        const std::vector<ExampleLoss> found = trainer.losses(c.set.examples);
        const std::vector<ExampleLoss> expected = exampleLosses(*c.model, c.mask, c.set.examples);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QVERIFY(std::abs(found[i].nats - expected[i].nats) < 1e-5);
            QCOMPARE(found[i].isRight, expected[i].isRight);
        }
    }

    void stoppedRunsEndWithTheSameNumbers() {
        const ProbeCase c("roberta");
        const std::span<const TrainingExample> heldOut = std::span(c.set.examples).first(3);
        TrainingRun fresh;
        fresh.settings = c.settings;
        fresh.scoreEvery = 4;
        fresh.saveSeconds = 0;
        TrainingRun whole = fresh;
        runTraining(whole, *c.model, c.mask, c.set, heldOut, {});
        for (std::int64_t stop = 1; stop < c.settings.steps; ++stop) {
            struct Killed {};
            TrainingRun part = fresh;
            TrainingRun saved;
            TrainingCallbacks callbacks;
            callbacks.save = [&](const TrainingRun& now) {
                if (now.state.step == stop) {
                    saved = now;
                    throw Killed();
                }
            };
            QVERIFY_EXCEPTION_THROWN(runTraining(part, *c.model, c.mask, c.set, heldOut, callbacks), Killed);
            runTraining(saved, *c.model, c.mask, c.set, heldOut, {});
            QVERIFY(saved.state == whole.state && saved.best == whole.best);
        }
    }
};

SECATEUR_SUITE(TestLinearProbe)
#include "tst_linear_probe.moc"
