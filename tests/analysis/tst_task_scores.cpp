// Scores of tasks, computed from log probabilities of options, and complete task runs against lm-eval.
#ifndef Q_MOC_RUN
#include "tests/support/option_runs.h"

#include "tests/support/files.h"

#include "analysis/base/error.h"
#include "analysis/tasks/option_scores.h"
#include "analysis/tasks/task.h"
#include "analysis/tasks/task_run.h"
#include "analysis/base/usage_error.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/base/runtime.h"
#include "backends/text/task_file.h"
#include "tests/support/suite.h"
#endif

#include <QElapsedTimer>
#include <QtTest>

#include <cmath>

using namespace secateur;
using test::OptionRuns;
using test::Questions;
using test::Scores;

namespace {

QDir folders() {
    return QDir(test::data().filePath("forward"));
}

/// An answered question whose options have the log probabilities `logs`.
AnsweredQuestion answer(std::size_t line, std::size_t gold, const std::vector<double>& logs,
                        const std::string& subject = {}) {
    TaskQuestion question;
    question.line = line;
    question.gold = gold;
    question.subject = subject;
    std::vector<OptionScore> scores;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        question.options.push_back({"", "", i + 1, 2 * (logs.size() - i)});
        scores.push_back({logs[i], i == 0});
    }
    return answered(question, scores);
}

/// A tokenizer with one token for each of the words "w0" to "w30".
std::shared_ptr<const Tokenizer> wordTokenizer(const test::Scratch& folder) {
    QStringList words{R"("[UNK]":31)"};
    for (int i = 0; i < 31; ++i)
        words << QString(R"("w%1":%1)").arg(i);
    return openTokenizer(folder.write("tokenizer.json", R"({"added_tokens":[],"normalizer":null,"post_processor":null,
        "decoder":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel","unk_token":"[UNK]",
        "vocab":{)" + words.join(",").toUtf8() + "}}}"));
}

QString taskFolder() {
    return test::realData().isEmpty() ? QString() : test::realData() + "/tasks";
}

/// The questions of a task in expected_tasks.json, with the few-shot examples that lm-eval used for them.
std::vector<TaskQuestion> judgedQuestions(const std::string& name, const nlohmann::json& judged) {
    const auto read = [](const char* file) { return readTask((taskFolder() + "/" + file).toStdString()).questions; };
    const std::vector<TaskQuestion> all = name == "piqa"        ? read("piqa/valid.jsonl")
                                          : name == "arc_easy"  ? read("llm-foundry/arc_easy.jsonl")
                                          : name == "hellaswag" ? read("hellaswag/hellaswag_val_1000.jsonl")
                                          : name == "lambada"   ? read("llm-foundry/lambada_openai.jsonl")
                                                                : read("mmlu/test_first40_per_subject.jsonl");
    const auto first = judged.at("lines")[0].get<std::size_t>();
    const auto last = judged.at("lines")[1].get<std::size_t>();
    const auto own = std::span(all).subspan(first - 1, last - first + 1);
    if (!name.starts_with("mmlu"))
        return withShots(own, {}, {});
    return withShots(own, read("mmlu/dev.jsonl"), {.count = 5});
}

/// The number of questions that a test runs in about a second. With the environment variable SECATEUR_LONG_TESTS set,
/// all questions run.
std::size_t few(const std::string& name) {
    return name.starts_with("mmlu") ? 2 : name == "hellaswag" ? 3 : 8;
}

} // namespace

class TestTaskScores : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(0); }

    void answersAndTheirErrors() {
        // The three options have 1, 2 and 3 characters, and 6, 4 and 2 bytes.
        const AnsweredQuestion first = answer(1, 1, {-3, -4, -9});
        QCOMPARE(first.byTotal, std::size_t{0});
        QCOMPARE(first.byCodePoints, std::size_t{1}); // -3, -2 and -3 per character
        QCOMPARE(first.byBytes, std::size_t{0});      // -0.5, -1 and -4.5 per byte
        // Of two equal options the one with the lower index.
        QCOMPARE(answer(1, 0, {-2, -1, -1}).byTotal, std::size_t{1});
        QCOMPARE(answer(1, 0, {-1, -2, -3}).byCodePoints, std::size_t{0});

        const std::vector all{first, answer(2, 0, {-1, -2, -3}), answer(3, 2, {-1, -2, -3}), answer(4, 0, {-1, -5})};
        const TaskScores scores = taskScores(TaskKind::choice, all);
        QCOMPARE(scores.count, std::size_t{4});
        QCOMPARE(scores.metric("acc").value, 0.5);
        QVERIFY(std::abs(scores.metric("acc").standardError - std::sqrt(0.25 / 3)) < 1e-15);
        QCOMPARE(scores.metric("acc_norm").value, 0.75);
        QVERIFY(std::isnan(taskScores(TaskKind::choice, std::span(all).first(1)).metric("acc").standardError));
        QVERIFY(std::isnan(scores.subjectMean) && scores.subjects.empty());
        QVERIFY_EXCEPTION_THROWN(scores.metric("perplexity"), UsageError);
        QVERIFY_EXCEPTION_THROWN(taskScores(TaskKind::choice, {}), Error);
    }

    void subjectsAreAveragedByQuestionAndByThemselves() {
        const std::vector all{answer(1, 0, {-1, -2}, "b"), answer(2, 0, {-1, -2}, "b"), answer(3, 0, {-1, -2}, "b"),
                              answer(4, 0, {-2, -1}, "a")};
        const TaskScores scores = taskScores(TaskKind::choice, all);
        QCOMPARE(scores.metric("acc").value, 0.75);
        QCOMPARE(scores.subjectMean, 0.5);
        QCOMPARE(scores.subjects.size(), std::size_t{2});
        QCOMPARE(scores.subjects[0].subject, std::string("a"));
        QCOMPARE(scores.subjects[1].count, std::size_t{3});
        QCOMPARE(scores.subjects[1].accuracy.value, 1.0);
    }

    void lastWordsAreRightWhenGreedy() {
        std::vector all{answer(1, 0, {-1}), answer(2, 0, {-3})};
        all[1].scores[0].isGreedy = false;
        const TaskScores scores = taskScores(TaskKind::lastWord, all);
        QCOMPARE(scores.metric("acc").value, 0.5);
        QVERIFY(std::abs(scores.metric("perplexity").value - std::exp(2.0)) < 1e-12);
        // The losses are 1 and 3 nats: mean 2, standard error 1. The perplexity exp(2) has the standard error exp(2) *
        // 1.
        QVERIFY(std::abs(scores.metric("perplexity").standardError - std::exp(2.0)) < 1e-12);
    }

    void runsAreComparedQuestionByQuestion() {
        const auto run = [](const std::vector<bool>& right) {
            std::vector<AnsweredQuestion> all;
            for (std::size_t i = 0; i < right.size(); ++i)
                all.push_back(answer(i, right[i] ? 0 : 1, {-1, -2}));
            for (AnsweredQuestion& question : all) {
                question.byTotal = question.gold == 0 ? 0 : 1;
                question.gold = 0;
            }
            return all;
        };
        const auto before = run({true, true, true, false, false, true});
        const auto after = run({true, false, false, true, false, true});
        const PairedAnswers pairs = pairedAnswers(TaskKind::choice, AnswerBy::total, before, after);
        QCOMPARE(pairs.bothRight, std::size_t{2});
        QCOMPARE(pairs.onlyFirst, std::size_t{2});
        QCOMPARE(pairs.onlySecond, std::size_t{1});
        QCOMPARE(pairs.bothWrong, std::size_t{1});
        QVERIFY(std::abs(pairs.difference + 1.0 / 6) < 1e-15);
        // The differences of the six questions are 0, -1, -1, 1, 0 and 0. Their sum of squares is 3 and their mean is
        // -1/6.
        QVERIFY(std::abs(pairs.standardError - std::sqrt((3 - 1.0 / 6) / 5 / 6)) < 1e-15);
        QVERIFY_EXCEPTION_THROWN(pairedAnswers(TaskKind::choice, AnswerBy::total, before, run({true})), Error);
    }

    void aTaskIsAskedAsAWhole() {
        const test::Scratch folder;
        const auto tokenizer = wordTokenizer(folder);
        QByteArray rows;
        for (int i = 0; i < 20; ++i)
            rows += QString("{\"query\":\"w%1 w%2\",\"choices\":[\"w%3\",\"w4 w%1\",\"w5\"],\"gold\":%4}\n")
                        .arg(i)
                        .arg(i % 7)
                        .arg(i % 5)
                        .arg(i % 3)
                        .toUtf8();
        const Task task = readTask(folder.write("tiny.jsonl", rows));
        const OptionRuns opened(folders().filePath("llama-gqa"));
        const auto run = [&](const TaskRules& rules) {
            return runTask(*opened.model, *opened.plan, *tokenizer, task, task.questions, rules);
        };
        const TaskRun all = run({.shots = {2, ShotChoice::drawn, 5}});
        QCOMPARE(all.questions.size(), std::size_t{20});
        QCOMPARE(all.scores.count, std::size_t{20});
        QCOMPARE(all.shots, std::string("own few-shot draw (2, seed 5)"));

        // With a limit, some of the 20 questions are asked, each with the same examples as without the limit.
        const TaskRun some = run({.shots = {2, ShotChoice::drawn, 5}, .limit = 6});
        QCOMPARE(some.questions.size(), std::size_t{6});
        for (std::size_t i = 0; i < 6; ++i) {
            QVERIFY(i == 0 || some.questions[i].line > some.questions[i - 1].line);
            const AnsweredQuestion& same = all.questions[some.questions[i].line - 1];
            for (std::size_t j = 0; j < 3; ++j)
                QVERIFY(std::abs(same.scores[j].logProbability - some.questions[i].scores[j].logProbability) < 1e-4);
        }
        const PairedAnswers pairs = pairedAnswers(TaskKind::choice, AnswerBy::total, some.questions,
                                                  run({.shots = {2, ShotChoice::drawn, 5}, .limit = 6}).questions);
        QCOMPARE(pairs.bothRight + pairs.bothWrong, std::size_t{6});
        QVERIFY(run({.limit = 6, .seed = 1}).questions[0].line != 0);

        // The scores equal those of a prompt that is written out by hand.
        const TaskRun plain = run({.shots = {1}, .limit = 20});
        QCOMPARE(plain.shots, std::string("first 1 of the list"));
        // The prompt of question 8 ("w7 w0") begins with question 1 ("w0 w0") and its answer "w0" as an example.
        const std::vector<int> context = tokenizer->encode("w0 w0 w0 w7 w0").ids;
        const std::vector<int> whole = tokenizer->encode("w0 w0 w0 w7 w0 w4 w7").ids;
        QCOMPARE(whole.size(), context.size() + 2);
        const OptionScore expected = opened.alone({whole, context.size()});
        QVERIFY(std::abs(plain.questions[7].scores[1].logProbability - expected.logProbability) < 1e-4);

        Task empty = task;
        empty.questions.clear();
        QVERIFY_EXCEPTION_THROWN(runTask(*opened.model, *opened.plan, *tokenizer, empty, {}, {}), Error);
        // The context of the model is 64 tokens. A longer prompt loses tokens at its beginning.
        QVERIFY(run({.shots = {15}}).scores.count == 20);
    }

    void realTasksAreAsTheHarnessScoresThem_data() {
        QTest::addColumn<QString>("task");
        const auto expected = test::readJson(test::data().filePath("expected_tasks.json"));
        for (const auto& item : expected.at("tasks").items())
            QTest::addRow("%s", item.key().c_str()) << QString::fromStdString(item.key());
    }
    void realTasksAreAsTheHarnessScoresThem() {
        if (test::demoModel().isEmpty() || taskFolder().isEmpty())
            QSKIP("the demo model or the tasks are not there");
        QFETCH(QString, task);
        static const OptionRuns demo(test::demoModel());
        static const auto tokenizer = openTokenizer(demo.model->card());
        const std::string name = task.toStdString();
        const auto judged = test::readJson(test::data().filePath("expected_tasks.json")).at("tasks").at(name);
        std::vector<TaskQuestion> asked = judgedQuestions(name, judged);
        const bool isWhole = !qEnvironmentVariableIsEmpty("SECATEUR_LONG_TESTS") || asked.size() <= few(name);
        if (!isWhole)
            asked.resize(few(name));
        Questions questions;
        for (const TaskQuestion& question : asked)
            questions.push_back(optionTokens(question, *tokenizer,
                                             {.mostInputs = static_cast<std::size_t>(demo.model->spec().context)}));
        QElapsedTimer timer;
        timer.start();
        const Scores scores = demo.scored(questions);
        const double seconds = static_cast<double>(timer.nsecsElapsed()) / 1e9;

        const auto expected = judged.at("scores").get<std::vector<std::vector<double>>>();
        double worst = 0;
        std::size_t otherAnswers = 0;
        std::vector<AnsweredQuestion> answers;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            answers.push_back(answered(asked[i], scores[i]));
            for (std::size_t j = 0; j < scores[i].size(); ++j)
                worst = std::max(worst, std::abs(scores[i][j].logProbability - expected[i].at(j)));
            const auto judgedAnswer = std::ranges::max_element(expected[i]) - expected[i].begin();
            otherAnswers += answers.back().byTotal != static_cast<std::size_t>(judgedAnswer);
            const bool isWord = name == "lambada";
            QCOMPARE(isWord ? scores[i][0].isGreedy : answers.back().byTotal == asked[i].gold,
                     judged.at("right")[i].get<int>() == 1);
            if (judged.contains("right_norm"))
                QCOMPARE(answers.back().byCodePoints == asked[i].gold, judged.at("right_norm")[i].get<int>() == 1);
        }
        const TaskScores all = taskScores(name == "lambada" ? TaskKind::lastWord : TaskKind::choice, answers);
        qInfo("%zu questions, %lld tokens in %.1f s: worst log probability off by %.1e, %zu other answers; acc %.4f",
              scores.size(), static_cast<long long>(inputTokens(questions)), seconds, worst, otherAnswers,
              all.metric("acc").value);
        QCOMPARE(otherAnswers, std::size_t{0});

        QVERIFY(worst < 2e-3);
        if (!isWhole)
            return;
        static const OptionRuns rough(demo.model, ComputeType::bfloat16);
        const Scores rounded = rough.scored(questions);
        std::size_t flips = 0;
        for (std::size_t i = 0; i < scores.size(); ++i)
            flips += answered(asked[i], rounded[i]).byTotal != answers[i].byTotal;
        qInfo("in bfloat16 %zu other answers", flips);
        for (const char* metric : {"acc", "acc_norm"})
            if (judged.contains(metric))
                QVERIFY(std::abs(all.metric(metric).value - judged.at(metric).get<double>()) < 1e-9);
    }
};

SECATEUR_SUITE(TestTaskScores)
#include "tst_task_scores.moc"
