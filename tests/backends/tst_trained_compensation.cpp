// Trained compensations: gradients of factors and biases are those of torch, runs follow its AdamW, and the mask that a
// run leaves computes what was trained.
#ifndef Q_MOC_RUN
#include "analysis/compensation/fit_compensation.h"
#include "analysis/running/backward_walk.h"
#include "analysis/running/plan_adapters.h"
#include "analysis/running/runner_results.h"
#include "analysis/training/trained_compensation.h"
#include "analysis/training/training_run.h"
#include "backends/engine/adapted_model.h"
#include "backends/training/teacher_files.h"
#include "backends/training/training_checkpoint.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/engine_case.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/training_case.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-4;

QJsonObject recovery(const QString& name) {
    return judgementIn("recovery/" + name + ".json");
}

std::vector<float> numbersIn(const QJsonValue& values) {
    std::vector<float> numbers;
    for (const QJsonValue& value : values.toArray())
        numbers.push_back(static_cast<float>(value.toDouble()));
    return numbers;
}

/// A part of a compensation: its name in the fixture, its projection, and its tensors.
struct Part {
    const char* name;
    WeightName projection;
    std::map<PlanAdapters::Place, at::Tensor> PlanAdapters::* tensors;
    std::map<WeightName, at::Tensor> AdapterGradients::* gradients;
};

constexpr std::array parts{Part{"head_scale", WeightName::output, &PlanAdapters::factors, &AdapterGradients::factors},
                           Part{"neuron_scale", WeightName::down, &PlanAdapters::factors, &AdapterGradients::factors},
                           Part{"attention_bias", WeightName::output, &PlanAdapters::biases, &AdapterGradients::biases},
                           Part{"mlp_bias", WeightName::down, &PlanAdapters::biases, &AdapterGradients::biases}};

PruningMask maskIn(const QJsonObject& about, const ModelSpec& spec) {
    PruningMask mask(spec);
    const auto cut = [&](const char* units, std::vector<bool> LayerMask::* flags) {
        for (const QJsonValue& unit : about[units].toArray()) {
            LayerMask layer = mask.layer(unit[0].toInt());
            (layer.*flags)[static_cast<std::size_t>(unit[1].toInt())] = false;
            mask.setLayer(unit[0].toInt(), layer);
        }
    };
    cut("heads", &LayerMask::heads);
    cut("neurons", &LayerMask::neurons);
    return mask;
}

std::shared_ptr<PlanAdapters> tensorsIn(const QJsonArray& layers) {
    auto made = std::make_shared<PlanAdapters>();
    for (int layer = 0; layer < layers.size(); ++layer)
        for (const Part& part : parts) {
            const std::vector<float> numbers = numbersIn(layers[layer].toObject()[part.name]);
            ((*made).*part.tensors)[{layer, part.projection}] = leaf(numbers, {std::ssize(numbers)});
        }
    return made;
}

/// The loss of a batch and its gradients, by layer.
struct LossAndGradients {
    double loss = 0;
    std::map<int, AdapterGradients> layers;
};

void addTo(std::map<WeightName, at::Tensor>& sums, const std::map<WeightName, at::Tensor>& more) {
    for (const auto& [name, own] : more) {
        at::Tensor& sum = sums[name];
        if (own.defined())
            sum = sum.defined() ? sum + own : own;
    }
}

LossAndGradients gradientsOf(const Model& model, const Plan& plan, const Batch& batch, const std::vector<int>& targets,
                             std::int64_t graphBytes, std::shared_ptr<const TeacherTargets> teacher = {}) {
    const auto count = std::ranges::count_if(targets, [](int target) { return target >= 0; });
    LossAndGradients found;
    BackwardSteps steps;
    steps.scalars = [&](std::size_t) {
        return std::vector<BackwardScalar>{{Scalarisation::taskLoss, targets,
                                            std::vector<float>(targets.size(), 1.F / static_cast<float>(count)),
                                            teacher}};
    };
    steps.taps = [](int, std::size_t) { return std::vector<Tap>(); };
    steps.begins = [&](std::size_t, std::size_t, LossGradient& top) {
        for (const double value : top.values)
            found.loss += value;
    };
    steps.pulled = [&](const LayerBackward& layer) {
        AdapterGradients& sums = found.layers[model.spec().firstSharing(layer.layer)];
        addTo(sums.factors, layer.gradients.adapters.factors);
        addTo(sums.biases, layer.gradients.adapters.biases);
    };
    BackwardMemory memory;
    memory.graphBytes = graphBytes;
    walkBackward(model, plan, std::span(&batch, 1), steps, memory, {});
    return found;
}

/// The largest difference, relative to the largest number of each tensor.
double errorOf(const LossAndGradients& found, const QJsonArray& expected) {
    double worst = 0;
    for (int layer = 0; layer < expected.size(); ++layer)
        for (const Part& part : parts) {
            const at::Tensor own = (found.layers.at(layer).*part.gradients).at(part.projection).cpu();
            const at::Tensor wanted = at::tensor(numbersIn(expected[layer].toObject()[part.name]));
            worst = std::max(worst, ((own - wanted).abs().max() / wanted.abs().max()).item<double>());
        }
    return worst;
}

void addNames(bool onlyRuns) {
    QTest::addColumn<QString>("name");
    for (const QString& file : QDir(data().filePath("recovery")).entryList({"*.json"}))
        if (const QString name = QFileInfo(file).baseName(); !onlyRuns || recovery(name).contains("losses"))
            QTest::newRow(qPrintable(name)) << name;
}

TrainingSettings compensationSettings(std::int64_t steps) {
    TrainingSettings settings;
    settings.trainsCompensation = true;
    settings.learningRate = 1e-2;
    settings.steps = steps;
    return settings;
}

/// Whether no sublayer under a mask adds anything, so that there is nothing to compensate.
bool leavesNothing(const PruningMask& mask) {
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        const LayerMask& own = mask.layer(layer);
        if ((!dropsAttention(own) && own.keptHeads() > 0) || own.keptNeurons() > 0)
            return false;
    }
    return true;
}

/// The mask with bypassed attention in the last layer, if it has heads.
PruningMask withBypass(PruningMask mask) {
    LayerMask layer = mask.layer(mask.layerCount() - 1);
    if (layer.heads.empty())
        return mask;
    layer.attention = AttentionCut::bypassQk;
    layer.alpha = 0.7;
    layer.block = true;
    mask.setLayer(mask.layerCount() - 1, layer);
    return mask;
}

std::vector<int> labelsOrTargets(const EngineCase& c, const JudgedRun& judged) {
    if (c.spec.family == Family::decoder)
        return judged.targets();
    std::vector<int> labels;
    for (int row = 0; row < c.batch.rows; ++row)
        labels.push_back(row % c.spec.classes);
    return labels;
}

} // namespace

class TestTrainedCompensation : public QObject {
    Q_OBJECT

private slots:
    void gradientsAreThoseOfTorch_data() { addNames(false); }
    void gradientsAreThoseOfTorch() {
        QFETCH(QString, name);
        const JudgedRun judged(data().filePath("adapters/" + name));
        const QJsonObject about = recovery(name);
        const std::vector<int> targets = targetsOf(about);
        for (const bool plain : {false, true}) {
            const auto model = trainedModel(name, plain);
            const Runner& runner = model->runner();
            const auto plan = runner.planWith(tensorsIn(about["layers"].toArray()), maskIn(about, model->spec()));
            std::shared_ptr<TeacherTargets> teacher;
            if (about.contains("teacher")) {
                const auto dense = runner.plan(PruningMask(model->spec()), ComputeType::float32);
                const at::Tensor x = streamsOf(runner, *dense, judged.batch()).back();
                const QJsonObject with = about["teacher"].toObject();
                teacher = std::make_shared<TeacherTargets>();
                teacher->weight = with["weight"].toDouble();
                teacher->top = runner.topTokens(*dense, x, judged.batch(), targets, with["top"].toInt());
            }
            for (const std::int64_t graphBytes : {std::int64_t{0}, std::int64_t{1} << 28})
                for (const bool isTaught : {false, true}) {
                    if (isTaught && !teacher)
                        continue;
                    const QJsonObject expected = isTaught ? about["teacher"].toObject() : about;
                    const LossAndGradients found =
                        gradientsOf(*model, *plan, judged.batch(), targets, graphBytes, isTaught ? teacher : nullptr);
                    const double error = errorOf(found, expected["gradients"].toArray());
                    const double apart = std::abs(found.loss - expected["loss"].toDouble());
                    qInfo("%s%s: error %.1e, loss %.1e", plain ? "plain" : "fast", isTaught ? ", with a teacher" : "",
                          error, apart);
                    QVERIFY(error < tolerance);
                    QVERIFY(apart < 1e-5);
                }
        }
    }

    void runsFollowTorch_data() { addNames(true); }
    void runsFollowTorch() {
        QFETCH(QString, name);
        const auto model = trainedModel(name);
        const QJsonObject about = recovery(name);
        const JudgedRun judged(data().filePath("adapters/" + name));
        const TrainingSet set = setOf(judged, targetsOf(about));
        for (const QJsonObject& expected : {about, about["teacher"].toObject()}) {
            const QJsonArray losses = expected["losses"].toArray();
            if (losses.isEmpty())
                continue;
            TrainingSettings settings = compensationSettings(losses.size());
            settings.learningRate = about["learning_rate"].toDouble();
            settings.clipNorm = about["clip_norm"].toDouble();
            settings.weightDecay = 0.1; // compensations do not decay
            settings.batch = judged.batch().rows;
            if (expected.contains("weight")) {
                settings.teacherWeight = expected["weight"].toDouble();
                settings.teacherTop = expected["top"].toInt();
            }
            Trainer trainer(*model, maskIn(about, model->spec()), set, settings);
            double worst = 0;
            for (const QJsonValue& loss : losses)
                worst = std::max(worst, std::abs(trainer.train().lossNats - loss.toDouble()));
            qInfo("largest difference of %lld losses: %.1e", losses.size(), worst);
            QVERIFY(worst < tolerance);
        }
    }

    // Before and after training, the mask with its compensation gives the losses of the trainer.
    void trainedMasksComputeTheSame_data() {
        addEngineCases([](const QString& folder) { return folder != "bert-bare"; });
    }
    void trainedMasksComputeTheSame() {
        const EngineCase c = engineCase();
        const JudgedRun judged(data().filePath("forward/" + c.folder));
        const TrainingSet set = setOf(judged, labelsOrTargets(c, judged));
        TrainingSettings settings = compensationSettings(5);
        settings.learningRate = 1e-3; // small steps along the gradient of all examples together reduce their loss
        settings.batch = static_cast<int>(set.examples.size());
        double worst = 0;
        for (unsigned seed = 1; seed < 5; ++seed) {
            PruningMask mask = DrawnMasks(c.spec, seed).next(0.7);
            if (seed % 2 == 0)
                mask = withBypass(std::move(mask));
            if (seed > 1)
                mask = withDrawnCompensation(std::move(mask), c.spec, seed, 0.75, seed > 2 ? 0.5 : 0);
            if (leavesNothing(mask))
                continue;
            Trainer trainer(*c.model, mask, set, settings);
            const auto differs = [&](const PruningMask& own) {
                return std::abs(meanNats(trainer.losses(set.examples)) -
                                meanNats(exampleLosses(*c.model, own, set.examples)));
            };
            const double before = meanNats(trainer.losses(set.examples));
            worst = std::max(worst, differs(mask));
            while (trainer.step() < trainer.steps())
                trainer.train();
            const PruningMask trained = withTrainedCompensation(mask, trainer.state(), c.spec);
            QVERIFY(trained != mask);
            trained.checkFits(c.spec);
            worst = std::max(worst, differs(trained));
            const double after = meanNats(trainer.losses(set.examples));
            QVERIFY2(after < before, qPrintable(QString("seed %1: %2 to %3").arg(seed).arg(before).arg(after)));
        }
        qInfo("largest difference %.1e", worst);
        QVERIFY(worst < 2e-5);
    }

    // Heads of one KV group have factors of their own where attention is bypassed.
    void gradientsOfABypass() {
        const auto model = trainedModel("llama-gqa");
        const JudgedRun judged(data().filePath("adapters/llama-gqa"));
        const std::vector<int> targets = targetsOf(recovery("llama-gqa"));
        const auto tensors = tensorsIn(recovery("llama-gqa")["layers"].toArray());
        PruningMask mask = withBypass(PruningMask(model->spec()));
        LayerMask cut = mask.layer(mask.layerCount() - 1);
        cut.heads[1] = false;
        mask.setLayer(mask.layerCount() - 1, cut);
        const auto plan = model->runner().planWith(tensors, mask);
        const auto run = [&] { return gradientsOf(*model, *plan, judged.batch(), targets, 0); };
        const LossAndGradients found = run();
        const WeightPlace place{mask.layerCount() - 1, WeightName::output};
        at::Tensor factors = tensors->factors.at(place).detach();
        const at::Tensor gradient = found.layers.at(place.first).factors.at(place.second);
        QCOMPARE(gradient[1].item<float>(), 0.F);
        QVERIFY(std::abs(gradient[2].item<float>() - gradient[3].item<float>()) > 1e-5F);
        for (std::int64_t head = 0; head < factors.size(0); ++head) {
            constexpr double step = 0.01;
            factors[head] += step;
            const double above = run().loss;
            factors[head] -= 2 * step;
            const double below = run().loss;
            factors[head] += step;
            const double apart = std::abs((above - below) / (2 * step) - gradient[head].item<double>());
            QVERIFY2(apart < 2e-4, qPrintable(QString::number(apart)));
        }
    }

    void cutUnitsKeepTheirFactors() {
        const auto model = trainedModel("llama-gqa");
        const QJsonObject about = recovery("llama-gqa");
        const TrainingSet set = setOf(JudgedRun(data().filePath("adapters/llama-gqa")), targetsOf(about));
        PruningMask mask = maskIn(about, model->spec());
        LayerMask dropped = mask.layer(1);
        dropped.attention = AttentionCut::drop;
        mask.setLayer(1, dropped);
        Trainer trainer(*model, mask, set, compensationSettings(4));
        while (trainer.step() < trainer.steps())
            trainer.train();
        QVERIFY(trainer.adapter().empty());
        const PruningMask trained = withTrainedCompensation(mask, trainer.state(), model->spec());
        const LayerCompensation& first = compensationOf(trained.layer(0));
        QCOMPARE(first.headScale[1], 1.F);
        QVERIFY(first.headScale[0] != 1.F && first.attentionBias[0] != 0.F);
        const LayerCompensation& second = compensationOf(trained.layer(1));
        QVERIFY(second.headScale.empty() && second.attentionBias.empty());
        QCOMPARE(second.neuronScale[0], 1.F);
        QVERIFY(second.neuronScale[1] != 1.F && second.mlpBias[0] != 0.F);
        QVERIFY(withTrainedCompensation(mask, {}, model->spec()) == mask);
    }

    // Updates and a compensation are trained together: the adapter, merged, under the compensated mask gives the
    // losses.
    void updatesAndCompensationTogether() {
        using enum WeightName;
        for (const char* name : {"llama-gqa", "gpt2", "phi", "gemma3"}) {
            const auto model = trainedModel(name);
            const JudgedRun judged(data().filePath(QString("adapters/") + name));
            const TrainingSet set = setOf(judged, judged.targets());
            const PruningMask mask =
                withBypass(withDrawnCompensation(DrawnMasks(model->spec(), 7).next(0.8), model->spec(), 3, 0.75, 0.3));
            TrainingSettings settings = compensationSettings(5);
            settings.adapter = {2, 4, 0};
            settings.targets = {query, key, value, output, gate, up, down};
            Trainer trainer(*model, mask, set, settings);
            while (trainer.step() < trainer.steps())
                trainer.train();
            const auto merged = withAdapter(model, std::make_shared<const Adapter>(trainer.adapter()), {});
            const PruningMask trained = withTrainedCompensation(mask, trainer.state(), model->spec());
            const double apart = std::abs(meanNats(trainer.losses(set.examples)) -
                                          meanNats(exampleLosses(*merged, trained, set.examples)));
            qInfo("%s: %.1e", name, apart);
            QVERIFY(apart < 2e-5);
        }
    }

    // A run with a teacher is stopped after each step, and goes on with the values in the files or without them.
    void stoppedRunsEndWithTheSameNumbers() {
        const auto model = trainedModel("llama-gqa");
        const QJsonObject about = recovery("llama-gqa");
        const TrainingSet set = setOf(JudgedRun(data().filePath("adapters/llama-gqa")), targetsOf(about));
        const PruningMask mask = maskIn(about, model->spec());
        TrainingRun fresh;
        fresh.settings = compensationSettings(8);
        fresh.settings.teacherWeight = 0.5;
        fresh.settings.teacherTop = 4;
        fresh.key = "a run";
        fresh.scoreEvery = 3;
        fresh.saveSeconds = 0;
        const std::span<const TrainingExample> heldOut(set.examples.data(), 1);
        TrainingRun whole = fresh;
        runTraining(whole, *model, mask, set, heldOut, {});
        const Scratch scratch;
        const std::string path = scratch.path("checkpoint.safetensors").toStdString();
        const std::string folder = scratch.path("teacher").toStdString();
        for (std::int64_t stop = 1; stop < fresh.settings.steps; ++stop) {
            struct Killed {};
            TeacherFiles files(folder, fresh.key);
            TrainingCallbacks callbacks;
            callbacks.save = [&](const TrainingRun& now) {
                files.save();
                writeTrainingRun(path, now);
                if (now.state.step == stop)
                    throw Killed();
            };
            TrainingRun part = fresh;
            QVERIFY_EXCEPTION_THROWN(runTraining(part, *model, mask, set, heldOut, callbacks, {}, &files), Killed);
            TrainingRun next = readTrainingRun(path).value();
            QVERIFY(next.settings == fresh.settings);
            TeacherFiles again(folder, fresh.key);
            if (stop % 2 == 0)
                again.remove();
            QCOMPARE(again.find(0).has_value(), stop % 2 != 0 && files.find(0).has_value());
            runTraining(next, *model, mask, set, heldOut, {}, {}, &again);
            QVERIFY(next.state == whole.state);
            QVERIFY(next.best == whole.best);
        }
    }

    void provenanceStatesTheTraining() {
        MaskProvenance provenance;
        provenance.strategy = "flap";
        const std::vector<FittedPart> parts{{.layer = 3, .isAttention = true, .mu = 0.3}};
        noteFit(provenance, {CompensationMode::both, "a.txt", 100, 20}, parts);
        QVERIFY(!isNotedTrained(provenance) && provenance.fits == parts);
        noteTrained(provenance, "b.txt", 12);
        QVERIFY(isNotedTrained(provenance) && !notedFit(provenance) && provenance.fits.empty());
        QCOMPARE(provenance.notes.size(), std::size_t{1});
        noteFit(provenance, {CompensationMode::none}, {});
        QVERIFY(!isNotedTrained(provenance) && provenance.notes.empty());
    }
};

SECATEUR_SUITE(TestTrainedCompensation)
#include "tst_trained_compensation.moc"
