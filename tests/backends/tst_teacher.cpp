// The dense model as a teacher: its most probable tokens, the loss with them, and the files that keep them.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/running/runner_results.h"
#include "analysis/training/teacher.h"
#include "analysis/training/trainer.h"
#include "backends/training/teacher_files.h"
#include "tests/support/counting_model.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/training_case.h"
#endif

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace secateur;
using namespace secateur::test;

namespace {

/// A model with a batch, and the output of its last layer.
struct TeacherCase {
    std::shared_ptr<const Model> model;
    JudgedRun judged;
    std::shared_ptr<const Plan> plan;
    at::Tensor x;

    explicit TeacherCase(const char* name, bool plain = false)
        : model(trainedModel(name, plain))
        , judged(data().filePath(QString("adapters/") + name))
        , plan(model->runner().plan(PruningMask(model->spec()), ComputeType::float32))
        , x(streamsOf(model->runner(), *plan, judged.batch()).back()) {}

    TopTokens top(int count) const {
        return model->runner().topTokens(*plan, x, judged.batch(), judged.targets(), count);
    }
    LossGradient loss(const at::Tensor& stream, const TeacherTargets* teacher) const {
        return model->runner().lossGradient(*plan, stream, judged.batch(), Scalarisation::taskLoss, judged.targets(),
                                            {}, teacher);
    }
};

double sumOf(const LossGradient& loss) {
    double sum = 0;
    for (const double value : loss.values)
        sum += value;
    return sum;
}

TrainingSettings taught(double weight) {
    using enum WeightName;
    TrainingSettings settings;
    settings.adapter = {2, 4, 0};
    settings.targets = {query, value, down};
    settings.steps = 7;
    settings.teacherWeight = weight;
    settings.teacherTop = 6;
    return settings;
}

} // namespace

class TestTeacher : public QObject {
    Q_OBJECT

private slots:
    void topTokensAreThoseOfTheLogits() {
        for (const char* name : {"llama-gqa", "gemma2", "gpt2"})
            for (const bool plain : {false, true}) {
                const TeacherCase c(name, plain);
                const at::Tensor logits = c.model->runner().lmHead(*c.plan, c.x, c.judged.batch());
                const at::Tensor expected = logits.to(at::kDouble).log_softmax(-1).flatten(0, 1);
                const std::vector<int> targets = c.judged.targets();
                const TopTokens found = c.top(5);
                QCOMPARE(found.count, 5);
                std::size_t row = 0;
                double worst = 0;
                for (std::size_t i = 0; i < targets.size(); ++i) {
                    if (targets[i] < 0)
                        continue;
                    const auto [values, tokens] = expected[static_cast<std::int64_t>(i)].topk(5);
                    double sum = 0;
                    for (std::size_t k = 0; k < 5; ++k) {
                        const auto at = static_cast<std::int64_t>(k);
                        QCOMPARE(std::int64_t{found.tokens[row * 5 + k]}, tokens[at].item<std::int64_t>());
                        worst =
                            std::max(worst, std::abs(found.logProbabilities[row * 6 + k] - values[at].item<double>()));
                    }
                    for (std::size_t k = 0; k < 6; ++k)
                        sum += std::exp(double{found.logProbabilities[row * 6 + k]});
                    worst = std::max(worst, std::abs(sum - 1));
                    ++row;
                }
                QCOMPARE(found.tokens.size(), row * 5);
                qInfo("%s: %.1e", name, worst);
                QVERIFY(worst < 2e-6);
            }
    }

    // More tokens than the vocabulary leave no other tokens.
    void theWholeVocabularyIsAllowed() {
        const TeacherCase c("llama-gqa");
        const TeacherTargets all{1, c.top(1 << 20)};
        QCOMPARE(all.top.count, c.model->spec().vocab);
        QVERIFY(std::isinf(all.top.logProbabilities[static_cast<std::size_t>(all.top.count)]));
        const LossGradient own = c.loss(c.x, &all);
        QVERIFY(std::abs(sumOf(own)) < 1e-4); // a model does not diverge from itself
        QVERIFY(own.stream.abs().max().item<double>() < 1e-5);
    }

    // Finite differences of the loss of a model with another stream than its teacher's.
    void gradientsAreThoseOfTheLoss() {
        for (const char* name : {"llama-gqa", "gemma2", "gpt2", "phi"})
            for (const bool plain : {false, true})
                for (const auto& [weight, count] : {std::pair{1.0, 4}, std::pair{0.4, 1}, std::pair{0.7, 1 << 20}}) {
                    const TeacherCase c(name, plain);
                    const TeacherTargets teacher{weight, c.top(count)};
                    at::manual_seed(3);
                    const at::Tensor other = c.x + at::randn_like(c.x) * c.x.std() * 0.5;
                    const LossGradient own = c.loss(other, &teacher);
                    const at::Tensor direction = at::randn_like(c.x) * c.x.std();
                    constexpr double step = 2e-3;
                    const double change = (sumOf(c.loss(other + direction * step, &teacher)) -
                                           sumOf(c.loss(other - direction * step, &teacher))) /
                                          (2 * step);
                    const double expected = (own.stream * direction).sum().item<double>();
                    const double scale = (own.stream.norm() * direction.norm()).item<double>();
                    const double error = std::abs(change - expected) / scale;
                    qInfo("%s, W %.1f, K %d: %.1e", name, weight, teacher.top.count, error);
                    QVERIFY(error < 5e-4);
                    QVERIFY(sumOf(own) > 0);
                }
    }

    void aTeacherThatDoesNotFitIsRefused() {
        const TeacherCase c("llama-gqa");
        TeacherTargets teacher{0.5, c.top(3)};
        teacher.top.tokens.pop_back();
        QVERIFY_EXCEPTION_THROWN(c.loss(c.x, &teacher), Error);
        const JudgedRun judged(data().filePath("adapters/bert"));
        const auto encoder = trainedModel("bert");
        const TrainingSet set = setOf(judged, std::vector<int>(static_cast<std::size_t>(judged.batch().rows), 0));
        TrainingSettings settings;
        settings.trainsHead = true;
        settings.teacherWeight = 0.5;
        QVERIFY_EXCEPTION_THROWN(Trainer(*encoder, PruningMask(encoder->spec()), set, settings), Error);
    }

    // The dense model runs once for each sequence, also in later epochs.
    void theTeacherRunsOnce() {
        const auto counting = std::make_shared<CountingModel>(trainedModel("llama-gqa"));
        const TrainingSet set = setOf(JudgedRun(data().filePath("adapters/llama-gqa")),
                                      JudgedRun(data().filePath("adapters/llama-gqa")).targets());
        const auto passes = [&](double weight) {
            counting->counted.forget();
            Trainer trainer(*counting, PruningMask(counting->spec()), set, taught(weight));
            while (trainer.step() < trainer.steps())
                trainer.train();
            return counting->counted.layers.size();
        };
        const auto layers = static_cast<std::size_t>(counting->spec().layerCount());
        QVERIFY(set.examples.size() < 7);
        const std::size_t without = passes(0);
        QCOMPARE(passes(0.5), without + set.examples.size() * layers);
    }

    // Without cuts and at first, the divergence is 0 and its weight only scales the loss.
    void theDenseModelDoesNotDivergeFromItself() {
        const auto model = trainedModel("llama-gqa");
        const JudgedRun judged(data().filePath("adapters/llama-gqa"));
        const TrainingSet set = setOf(judged, judged.targets());
        const auto first = [&](double weight) {
            return Trainer(*model, PruningMask(model->spec()), set, taught(weight)).train().lossNats;
        };
        const double plain = first(0);
        QVERIFY(std::abs(first(0.25) - 0.75 * plain) < 1e-6 * plain);
        QVERIFY(std::abs(first(1)) < 1e-5);
    }

    void filesKeepTheValues() {
        const Scratch scratch;
        const std::string folder = scratch.path("teacher").toStdString();
        const TeacherCase c("llama-gqa");
        const TopTokens all = c.top(1 << 20);
        {
            TeacherFiles files(folder, "key");
            QVERIFY(!files.find(3));
            files.save(); // nothing
            QVERIFY(!QDir(scratch.path("teacher")).exists());
            files.keep(3, c.top(4));
            files.save();
            files.keep(12, all);
            QVERIFY(files.find(3) == c.top(4) && files.find(12) == all);
            files.save();
            QVERIFY(files.find(3) == c.top(4) && files.find(12) == all);
        }
        TeacherFiles again(folder, "key");
        QVERIFY(again.find(3) == c.top(4) && again.find(12) == all && !again.find(4));
        again.keep(4, all);
        again.save();
        QCOMPARE(QDir(scratch.path("teacher")).entryList(QDir::Files).size(), 3);
        TeacherFiles other(folder, "another key");
        QVERIFY(!other.find(3));
        QCOMPARE(QDir(scratch.path("teacher")).entryList(QDir::Files).size(), 0);
        other.remove();
        QVERIFY(!QDir(scratch.path("teacher")).exists());
        TeacherFiles below(scratch.write("file", "") + "/teacher", "key");
        below.keep(3, all);
        QVERIFY_THROWS_EXCEPTION(Error, below.save()); // a folder cannot be made in a file
    }
};

SECATEUR_SUITE(TestTeacher)
#include "tst_teacher.moc"
