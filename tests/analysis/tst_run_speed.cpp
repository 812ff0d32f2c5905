// The estimated time of a run, and the number of tokens that the estimate is computed from.
#ifndef Q_MOC_RUN
#include "tests/support/counting_model.h"
#include "tests/support/files.h"

#include "analysis/base/error.h"
#include "analysis/masks/price.h"
#include "analysis/tasks/option_scores.h"
#include "analysis/running/run_speed.h"
#include "analysis/tasks/task_run.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <cmath>

using namespace secateur;
using test::CountingModel;

namespace {

std::shared_ptr<const Model> tiny(const char* name) {
    return openModel(test::data().filePath(QString("forward/") + name).toStdString());
}

std::shared_ptr<const Plan> dense(const Model& model) {
    return model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
}

std::shared_ptr<const Tokenizer> letters() {
    return openTokenizer(SECATEUR_TEST_SOURCES "/perplexity/adds-bos");
}

PruningMask cut(const ModelSpec& spec, int layer) {
    PruningMask mask(spec);
    LayerMask own = mask.layer(layer);
    own.heads[0] = false;
    mask.setLayer(layer, own);
    return mask;
}

bool isClose(double found, double wanted) {
    return std::abs(found - wanted) <= 1e-12 * std::abs(wanted);
}

} // namespace

class TestRunSpeed : public QObject {
    Q_OBJECT

private slots:
    void oneLayerAndTheLmHeadAreTimed_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-gqa", "gpt2", "bert-bare", "bert", "deci"})
            QTest::addRow("%s", folder) << QString(folder);
    }
    void oneLayerAndTheLmHeadAreTimed() {
        QFETCH(QString, folder);
        const CountingModel model(tiny(qPrintable(folder)));
        const RunSpeed speed = runSpeed(model, *dense(model));
        QCOMPARE(model.counted.distinct().size(), std::size_t{2});
        QVERIFY(speed.secondsPerOperation > 0 && speed.secondsPerOperation < 1e-3);
        const bool isEncoder = model.spec().family == Family::encoder;
        QCOMPARE(speed.lmHeadSeconds > 0, !isEncoder);
        QCOMPARE(model.counted.scored > 0, !isEncoder);
        QVERIFY(speed.loadingSeconds >= 0);
    }

    void theTimeOfARunFollowsWhatItDoes() {
        const auto model = tiny("llama-gqa");
        const ModelSpec& spec = model->spec();
        const RunSpeed speed{1e-9, 1e-6, 2};
        const PruningMask all(spec);
        double operations = 0;
        for (int layer = 0; layer < spec.layerCount(); ++layer)
            operations += layerOperations(spec, layer, all.layer(layer), 64);
        QVERIFY(isClose(runSeconds(speed, spec, all, {1000, 64, 10}), operations * 1000 * 1e-9 + 10 * 1e-6));
        QVERIFY(runSeconds(speed, spec, cut(spec, 1), {1000, 64, 10}) < runSeconds(speed, spec, all, {1000, 64, 10}));
        QVERIFY_EXCEPTION_THROWN(runSeconds(speed, spec, PruningMask(tiny("gpt2")->spec()), {1, 1, 1}), Error);

        const auto plan = model->runner().plan(cut(spec, 1), ComputeType::float32);
        QVERIFY(isClose(loadingSeconds(speed, *plan, false), 2));
        QVERIFY(isClose(loadingSeconds(speed, *plan, true), 2.0 / spec.layerCount()));
        QCOMPARE(loadingSeconds(speed, *dense(*model), true), 0.0);
        const CountingModel counting(model);
        QVERIFY(stepSeconds(counting, *plan) > 0);
        QCOMPARE(counting.counted.layers.size(), static_cast<std::size_t>(2 * spec.layerCount()));
    }

    void theNumberOfTokensDependsOnTheSpeedInStepsOnly() {
        const auto model = tiny("llama-gqa");
        const ModelSpec& spec = model->spec();
        // interactiveTokens() on a machine that needs `seconds` for a pass over 8192 tokens.
        const auto tokensAt = [&](double seconds) {
            const RunSpeed unit{1, 0, 0};
            const int positions = std::min(512, spec.context);
            const double pass = runSeconds(unit, spec, PruningMask(spec), {8192, positions, 8192});
            return interactiveTokens({seconds / pass, 0, 0}, spec);
        };
        for (const double seconds : {1.0, 59.9, 61.0, 120.0, 179.9}) // such as of one model at different loads
            QCOMPARE(tokensAt(seconds), 8192);
        QCOMPARE(tokensAt(181), 4096);
        QCOMPARE(tokensAt(359), 4096);
        QCOMPARE(tokensAt(600), 2048);
        QCOMPARE(tokensAt(1e6), 512);
        // On a machine that gives a quarter of its processor time, a pass takes four times as long.
        const RunSpeed idle{1e-5, 0, 0};
        RunSpeed busy{4e-5, 0, 0};
        busy.processorShare = 0.25;
        QCOMPARE(interactiveTokens(busy, spec), interactiveTokens(idle, spec));
    }

    void whatATaskRunsIsCounted() {
        const auto model = tiny("llama-gqa");
        const auto tokenizer = letters();
        Task task{"words", "generic", {}, {}};
        for (std::size_t i = 0; i < 5; ++i)
            task.questions.push_back({i + 1,
                                      {},
                                      {},
                                      {{"he is " + std::string(i + 1, 'a'), " red", 3, 3},
                                       {"he is " + std::string(i + 1, 'a'), " it", 2, 2}},
                                      0});
        const TaskWork work = taskWork(model->spec(), *tokenizer, task, {}, {});
        QCOMPARE(work.questions, std::size_t{5});
        // Each question has the options " red" and " it". Every character is a token: 4 + 3 per question. Their common
        // first token, the blank, counts twice.
        QCOMPARE(work.size.read, 5 * (4 + 3));
        const auto options = askedOptions(model->spec(), *tokenizer, task, {}, {});
        QVERIFY(work.size.tokens < inputTokens(options) * 2);
        QVERIFY(work.size.tokens >= optionTree(options, neighbourOrder(options), 4096).tokens());
        QCOMPARE(work.newTokens, 0);
        QCOMPARE(taskWork(model->spec(), *tokenizer, task, {}, {.limit = 2}).questions, std::size_t{2});
        const RunSpeed speed{1e-9, 1e-6, 0};
        const PruningMask all(model->spec());
        QVERIFY(
            isClose(taskSeconds(speed, model->spec(), all, work), runSeconds(speed, model->spec(), all, work.size)));
    }

    void whatIsWrittenIsCounted() {
        const auto model = tiny("llama-gqa");
        Task task{"prompts", "generate", {}, {}};
        for (std::size_t i = 0; i < 70; ++i)
            task.prompts.push_back({i + 1, "he is", {"red"}, {}, 10, {}});
        const TaskWork work = taskWork(model->spec(), *letters(), task, {}, {});
        QCOMPARE(work.size.tokens, 70 * 6); // 70 prompts of 6 tokens each: BOS and the five characters of "he is"
        QCOMPARE(work.newTokens, 700);
        QCOMPARE(work.steps, 11); // 700 new tokens in batches of 64 prompts: 700 / 64 passes, rounded up
        const RunSpeed speed{1e-9, 1e-6, 0};
        const PruningMask all(model->spec());
        const double prompts = runSeconds(speed, model->spec(), all, work.size);
        QVERIFY(isClose(taskSeconds(speed, model->spec(), all, work, 1), prompts + 11));
        QVERIFY(taskSeconds(speed, model->spec(), all, work, 0) > prompts);
    }

    void textsToClassifyAreCountedWithTheirPadding() {
        const auto model = tiny("bert");
        Task task{"texts", "classification", {}, {}};
        task.texts = {{1, "he is red", {}, "0"}, {2, "it", {}, "1"}};
        const TaskWork work = taskWork(model->spec(), *letters(), task, {}, {});
        QCOMPARE(work.questions, std::size_t{2});
        QCOMPARE(work.size.tokens, 2 * 10);
        QCOMPARE(work.size.read, 0);
    }
};

SECATEUR_SUITE(TestRunSpeed)
#include "tst_run_speed.moc"
