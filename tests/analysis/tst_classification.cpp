// Classification of texts: a text gets the same label in a batch with other texts as alone.
#ifndef Q_MOC_RUN
#include "tests/support/judged_run.h"

#include "tests/support/files.h"

#include "analysis/tasks/answer_generation.h"
#include "analysis/base/error.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/text/task_file.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <array>
#include <cmath>

using namespace secateur;

namespace {

constexpr int begins = 30;
constexpr int ends = 31;

/// A tokenizer with one token for each of the words "w0" to "w29". It puts [CLS] before and [SEP] after a text.
std::shared_ptr<const Tokenizer> wordTokenizer() {
    QStringList words{R"("[CLS]":30,"[SEP]":31,"[UNK]":32)"};
    for (int i = 0; i < 30; ++i)
        words << QString(R"("w%1":%1)").arg(i);
    const test::Scratch folder;
    folder.write("tokenizer_config.json", R"({"cls_token":"[CLS]","sep_token":"[SEP]"})");
    folder.write("tokenizer.json", R"({"added_tokens":[],"normalizer":null,"decoder":null,
        "pre_tokenizer":{"type":"WhitespaceSplit"},
        "post_processor":{"type":"BertProcessing","sep":["[SEP]",31],"cls":["[CLS]",30]},
        "model":{"type":"WordLevel","unk_token":"[UNK]","vocab":{)" +
                                       words.join(",").toUtf8() + "}}}");
    return openTokenizer(folder.path().toStdString());
}

struct Classified {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<const Tokenizer> tokenizer = wordTokenizer();

    explicit Classified(const QString& folder)
        : model(openModel(test::data().filePath("forward/" + folder).toStdString()))
        , plan(model->runner().plan(PruningMask(model->spec()), ComputeType::float32)) {}

    TaskRun run(const Task& task, const TaskRules& rules = {}, std::span<const std::string> names = {}) const {
        return classifyTexts(*model, *plan, *tokenizer, task, names, rules);
    }
    /// The log probabilities of the classes for `text`, computed in a batch of its own.
    std::vector<double> alone(const Encoding& text) const {
        Batch batch{1, static_cast<int>(text.ids.size()), text.ids, {}, {}, text.types};
        const at::Tensor logits =
            model->runner().lmHead(*plan, test::streamsOf(model->runner(), *plan, batch).back(), batch);
        const at::Tensor logs = logits.to(at::kDouble).log_softmax(1).contiguous();
        return {logs.data_ptr<double>(), logs.data_ptr<double>() + logs.numel()};
    }
};

Task someTexts(bool pairs, std::size_t classes = 3) {
    Task task{"texts", "classification", {}, {}};
    for (std::size_t i = 0; i < 14; ++i) {
        LabelledText text{i + 1, "", {}, std::to_string(i % classes)};
        for (std::size_t j = 0; j <= i; ++j)
            text.text += "w" + std::to_string((7 * i + 3 * j) % 30) + " ";
        if (pairs && i % 2 == 0)
            text.pair = "w3 w" + std::to_string(i) + " w5";
        task.texts.push_back(text);
    }
    return task;
}

} // namespace

class TestClassification : public QObject {
    Q_OBJECT

private slots:
    void textsSideBySideAreAsAlone_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"bert", "roberta", "albert", "xlm-roberta"})
            QTest::addRow("%s", folder) << QString(folder);
    }
    void textsSideBySideAreAsAlone() {
        QFETCH(QString, folder);
        const Classified classifier(folder);
        const bool hasTypes = classifier.model->spec().tokenTypes > 1;
        const auto classes = static_cast<std::size_t>(classifier.model->spec().classes);
        const Task task = someTexts(hasTypes, classes);
        const auto most = static_cast<std::size_t>(classifier.model->spec().context);
        double worst = 0;
        for (const std::int64_t batchTokens : {4096, 40, 1}) {
            const TaskRun run = classifier.run(task, {.batchTokens = batchTokens});
            std::size_t right = 0;
            for (std::size_t i = 0; i < task.texts.size(); ++i) {
                const auto expected = classifier.alone(cutEncoding(task.texts[i], *classifier.tokenizer, most));
                const auto best = static_cast<std::size_t>(std::ranges::max_element(expected) - expected.begin());
                right += best == i % classes;
                QCOMPARE(run.questions[i].byTotal, best);
                for (std::size_t j = 0; j < expected.size(); ++j)
                    worst = std::max(worst, std::abs(run.questions[i].scores[j].logProbability - expected[j]));
            }
            QCOMPARE(run.scores.metrics.size(), std::size_t{1});
            QCOMPARE(run.scores.metric("acc").value, static_cast<double>(right) / 14);
        }
        qInfo("worst difference of a log probability: %.1e", worst);
        QVERIFY(worst < 1e-4);
    }

    void textsAreCutAsTransformersCutsThem() {
        const auto tokenizer = wordTokenizer();
        const auto cut = [&](const char* text, std::optional<std::string> pair, std::size_t most) {
            return cutEncoding({1, text, std::move(pair), ""}, *tokenizer, most).ids;
        };
        using Ids = std::vector<int>;
        QCOMPARE(cut("w1 w2 w3", {}, 5), (Ids{begins, 1, 2, 3, ends}));
        QCOMPARE(cut("w1 w2 w3", {}, 4), (Ids{begins, 1, 2, ends}));
        QCOMPARE(cut("w1 w2 w3", "w4 w5 w6", 7), (Ids{begins, 1, 2, ends, 4, 5, ends}));
        QCOMPARE(cut("w1 w2 w3", "w4 w5 w6", 8), (Ids{begins, 1, 2, ends, 4, 5, 6, ends}));
        QCOMPARE(cut("w1 w2 w3 w4", "w5", 7), (Ids{begins, 1, 2, 3, ends, 5, ends}));
        QCOMPARE(cut("w1 w2 w3 w4", "w5 w6 w7", 8), (Ids{begins, 1, 2, 3, ends, 5, 6, ends}));
        QCOMPARE(cut("w1", "w5 w6 w7 w8", 6), (Ids{begins, 1, ends, 5, 6, ends}));
        QVERIFY_EXCEPTION_THROWN(cut("w1", "w5", 3), Error);
        const Encoding pair = cutEncoding({1, "w1 w2 w3", "w4 w5", ""}, *tokenizer, 6);
        QCOMPARE(pair.types, (std::vector<int>{0, 0, 0, 0, 1, 1}));
    }

    void labelsMayBeNames() {
        const Classified classifier("bert");
        Task task = someTexts(false);
        const std::array<std::string, 3> names{"no", "maybe", "yes"};
        const TaskRun numbers = classifier.run(task, {.limit = 5});
        QCOMPARE(numbers.questions.size(), std::size_t{5});
        for (std::size_t i = 0; i < task.texts.size(); ++i)
            task.texts[i].label = names[i % 3];
        const TaskRun named = classifier.run(task, {.limit = 5}, names);
        for (std::size_t i = 0; i < 5; ++i)
            QCOMPARE(named.questions[i].gold, numbers.questions[i].gold);
        task.texts[3].label = "perhaps";
        const auto refusal = [&](const Classified& by, const Task& asked) {
            return test::Scratch().refusal([&] { by.run(asked, {}, names); });
        };
        QCOMPARE(refusal(classifier, task),
                 "line 4: has the label \"perhaps\", which is not one of the model's 3 classes. Their names are "
                 "no, maybe, yes");
        task.texts[3].label = "3";
        QVERIFY(refusal(classifier, task).contains("not one of the model's 3 classes"));
        task.texts.clear();
        QCOMPARE(refusal(classifier, task), "texts: contains no texts to classify");
        QVERIFY(refusal(Classified("bert-bare"), someTexts(false)).contains("has no classifier"));
        QVERIFY(refusal(Classified("llama-gqa"), someTexts(false)).contains("has no classifier"));
    }
};

SECATEUR_SUITE(TestClassification)
#include "tst_classification.moc"
