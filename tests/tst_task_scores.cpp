// Options scored together as one after the other, and as lm-eval scores them; what is made of the scores.
#ifndef Q_MOC_RUN
#include "tests/support/judged_run.h"

#include "analysis/error.h"
#include "analysis/option_scores.h"
#include "analysis/option_tree.h"
#include "analysis/task_prompts.h"
#include "analysis/task_scores.h"
#include "analysis/usage_error.h"
#include "backends/open_tokenizer.h"
#include "backends/task_file.h"
#endif

#include <QElapsedTimer>
#include <QtTest>

#include <cmath>
#include <random>

using namespace secateur;

namespace {

using Questions = std::vector<std::vector<OptionTokens>>;
using Scores = std::vector<std::vector<OptionScore>>;

QDir folders() {
    return QDir(test::data().filePath("forward"));
}

struct Opened {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;

    explicit Opened(const QString& path, const OpenOptions& options = {})
        : Opened(openModel(path.toStdString(), {}, options)) {}
    explicit Opened(std::shared_ptr<const Model> opened)
        : model(std::move(opened))
        , plan(model->runner().plan(PruningMask(model->spec()), ComputeType::float32)) {}

    Scores scored(const Questions& questions, std::int64_t batchTokens = 4096) const {
        return scoreOptions(*model, *plan, questions, batchTokens);
    }
    /// Each option alone, all of it at once.
    OptionScore alone(const OptionTokens& option) const {
        const std::vector<int> inputs(option.ids.begin(), option.ids.end() - 1);
        const Batch batch{1, static_cast<int>(inputs.size()), inputs, {}, {}, {}};
        std::vector<int> targets(option.ids.begin() + 1, option.ids.end());
        std::fill_n(targets.begin(), option.firstScored - 1, -1);
        at::Tensor x = model->runner().embed(*plan, batch);
        for (int layer = 0; layer < plan->mask().layerCount(); ++layer)
            x = model->runner().runLayer(*plan, layer, x, batch);
        const TokenLosses losses = model->runner().losses(*plan, x, batch, targets);
        OptionScore score;
        for (std::size_t i = option.firstScored - 1; i < targets.size(); ++i) {
            score.logProbability -= losses.nats[i];
            score.isGreedy = score.isGreedy && losses.greedy[i] != 0;
        }
        return score;
    }
    Scores oneByOne(const Questions& questions) const {
        Scores scores;
        for (const auto& options : questions) {
            scores.emplace_back();
            for (const OptionTokens& option : options)
                scores.back().push_back(alone(option));
        }
        return scores;
    }
};

double apart(const Scores& found, const Scores& expected) {
    double worst = found.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        for (std::size_t j = 0; j < expected[i].size(); ++j) {
            worst = std::max(worst, std::abs(found[i].at(j).logProbability - expected[i][j].logProbability));
            if (found[i][j].isGreedy != expected[i][j].isGreedy)
                worst = std::numeric_limits<double>::infinity();
        }
    return worst;
}

/// Questions of every shape: behind common examples, with options that are equal, begin alike, are of one token, or
/// have nothing in common.
Questions someQuestions(int context, int vocab) {
    std::mt19937 random(5);
    const auto tokens = [&](std::size_t count) {
        std::vector<int> ids;
        for (std::size_t i = 0; i < count; ++i)
            ids.push_back(static_cast<int>(random() % static_cast<unsigned>(vocab)));
        return ids;
    };
    const auto joined = [](std::vector<int> a, const std::vector<int>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    const auto room = static_cast<std::size_t>(context);
    const std::vector<int> examples = tokens(std::min<std::size_t>(35, room * 2 / 3));
    Questions questions;
    for (std::size_t i = 0; i < 24; ++i) {
        const std::size_t left = room - examples.size();
        const std::vector<int> front = i % 3 == 0 ? tokens(1 + i % 7) : examples;
        const std::vector<int> stem = joined(front, tokens(1 + i % (left / 2)));
        const std::vector<int> common = tokens(2);
        std::vector<OptionTokens> options;
        for (std::size_t j = 0; j < 1 + i % 5; ++j) {
            const bool isWinogrande = i % 6 == 3; // nothing in common but the end
            const std::vector<int> own = i % 4 == 0 ? tokens(1) : joined(common, tokens(j % 3));
            const std::vector<int> begin = isWinogrande ? tokens(2 + j) : stem;
            options.push_back({joined(begin, own), begin.size()});
        }
        if (i % 5 == 4)
            options.push_back(options.front());
        for (OptionTokens& option : options)
            if (option.ids.size() > room + 1)
                option.ids.resize(room + 1);
        questions.push_back(options);
    }
    return questions;
}

/// A question with options of given scores and lengths.
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

QString taskFolder() {
    return test::realData().isEmpty() ? QString() : test::realData() + "/tasks";
}

/// Lines of a task of expected_tasks.json, with examples in front where lm-eval had some.
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

} // namespace

class TestTaskScores : public QObject {
    Q_OBJECT

private slots:
    void togetherAsOneByOne_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<bool>("plain");
        for (const QString& folder : folders().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            for (const bool plain : {false, true})
                if (Opened(folders().filePath(folder)).model->spec().family == Family::decoder)
                    QTest::addRow("%s%s", qPrintable(folder), plain ? " plain" : "") << folder << plain;
    }
    void togetherAsOneByOne() {
        QFETCH(QString, folder);
        QFETCH(bool, plain);
        const Opened opened(folders().filePath(folder), {.plain = plain});
        const ModelSpec& spec = opened.model->spec();
        const Questions questions = someQuestions(spec.context, spec.vocab);
        const Scores expected = opened.oneByOne(questions);
        double worst = 0;
        for (const std::int64_t batchTokens : {4096, 40, 1})
            worst = std::max(worst, apart(opened.scored(questions, batchTokens), expected));
        qInfo("worst difference of a log probability: %.1e", worst);
        QVERIFY(worst < 1e-4);
    }

    void underAMaskAndWithWeightsThatDoNotStay() {
        const QString path = folders().filePath("llama-gqa");
        Opened opened(path);
        PruningMask mask(opened.model->spec());
        LayerMask cut = mask.layer(0);
        cut.attention = AttentionCut::drop;
        mask.setLayer(0, cut);
        cut = mask.layer(1);
        cut.heads = {false, true, false, false};
        mask.setLayer(1, cut);
        opened.plan = opened.model->runner().plan(mask, ComputeType::float32);
        const Questions questions = someQuestions(opened.model->spec().context, opened.model->spec().vocab);
        const Scores expected = opened.oneByOne(questions);
        QVERIFY(apart(opened.scored(questions), expected) < 1e-4);
        Opened small(path, {.memoryBudget = 1});
        small.plan = small.model->runner().plan(mask, ComputeType::float32);
        QVERIFY(!small.plan->isResident());
        QVERIFY(apart(small.scored(questions), expected) < 1e-4);
    }

    void whatIsEqualRunsOnce() {
        std::vector<int> examples(40, 1);
        const auto question = [&](std::vector<int> stem, const std::vector<std::vector<int>>& ends) {
            stem.insert(stem.begin(), examples.begin(), examples.end());
            std::vector<OptionTokens> options;
            for (const std::vector<int>& end : ends) {
                options.push_back({stem, stem.size()});
                options.back().ids.insert(options.back().ids.end(), end.begin(), end.end());
            }
            return options;
        };
        const std::vector<int> stem{2, 3, 4, 5, 6, 7, 8, 9};
        // Four letters: one input. Texts: the stem once, and of each all but its last token.
        const Questions letters{question(stem, {{10}, {11}, {12}, {13}})};
        QCOMPARE(inputTokens(letters), 4 * 48);
        const std::vector<std::size_t> first{0};
        QCOMPARE(optionTree(letters, first, 4096).tokens(), 48);
        const Questions texts{question(stem, {{10, 11, 12}, {13, 14}, {13, 15}})};
        QCOMPARE(optionTree(texts, first, 4096).tokens(), 48 + 2 + 1);
        // Examples once for neighbours, wherever they stood.
        const Questions several{question({2, 3}, {{4}, {5}}), {{{7, 8, 9}, 2}}, question({3, 2}, {{4}, {5}})};
        const auto order = neighbourOrder(several);
        const OptionTree tree = optionTree(several, order, 4096);
        QCOMPARE(tree.tokens(), 40 + 2 + 2 + 2);
        QCOMPARE(tree.batches.size(), std::size_t{2});
        const OptionTree narrow = optionTree(several, order, 2);
        QCOMPARE(narrow.batches.size(), std::size_t{4});
        for (std::size_t i = 0; i < narrow.batches.size(); ++i)
            QVERIFY(narrow.batch(i).rows == 1 || narrow.batch(i).tokens() <= 2);
    }

    void cachesBeginOnlyWithWhatFits() {
        const Opened opened(folders().filePath("llama-gqa"));
        const Runner& runner = opened.model->runner();
        const auto from = runner.cache(*opened.plan, 2, 8);
        const auto one = runner.cache(*opened.plan, 3, 4, 1);
        QCOMPARE(one->bytes(), from->bytes() * 3 * 4 / (2 * 8) / 2);
        QVERIFY_EXCEPTION_THROWN(one->begin(0, *from, 0, 2), Error);
        const auto all = runner.cache(*opened.plan, 3, 4);
        all->begin(2, *from, 1, 4);
        QVERIFY_EXCEPTION_THROWN(all->begin(3, *from, 0, 2), Error);
        QVERIFY_EXCEPTION_THROWN(all->begin(0, *from, 2, 2), Error);
        QVERIFY_EXCEPTION_THROWN(all->begin(0, *from, 0, 5), Error);
        QVERIFY_EXCEPTION_THROWN(from->begin(0, *all, 0, 5), Error);
    }

    void encodersAndCancelling() {
        const Questions questions{{{{1, 2, 3}, 1}}};
        QVERIFY_EXCEPTION_THROWN(Opened(folders().filePath("bert")).scored(questions), Error);
        const Opened opened(folders().filePath("llama-gqa"));
        QCOMPARE(opened.scored({}).size(), std::size_t{0});
        std::stop_source stop;
        double last = 0;
        int reports = 0;
        const Progress progress(
            [&](double fraction, std::string_view) {
                QVERIFY(fraction >= last && fraction <= 1);
                last = fraction;
                if (++reports == 2)
                    stop.request_stop();
            },
            stop.get_token());
        QVERIFY_EXCEPTION_THROWN(scoreOptions(*opened.model, *opened.plan, questions, 4096, progress), Cancelled);
        QCOMPARE(reports, 2);
    }

    void answersAndTheirErrors() {
        // Lengths: characters 1, 2, 3, bytes 6, 4, 2.
        const AnsweredQuestion first = answer(1, 1, {-3, -4, -9});
        QCOMPARE(first.byTotal, std::size_t{0});
        QCOMPARE(first.byCodePoints, std::size_t{1});                 // -3, -2, -3
        QCOMPARE(first.byBytes, std::size_t{0});                      // -0.5, -1, -4.5
        QCOMPARE(answer(1, 0, {-2, -1, -1}).byTotal, std::size_t{1}); // of equals the first
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
        QVERIFY(std::abs(scores.metric("perplexity").standardError - std::exp(2.0)) < 1e-12); // nats 1 and 3: 1
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
        // Differences 0 -1 -1 1 0 0: sum of squares 3, mean -1/6.
        QVERIFY(std::abs(pairs.standardError - std::sqrt((3 - 1.0 / 6) / 5 / 6)) < 1e-15);
        QVERIFY_EXCEPTION_THROWN(pairedAnswers(TaskKind::choice, AnswerBy::total, before, run({true})), Error);
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
        static const Opened demo(test::demoModel());
        static const auto tokenizer = openTokenizer(demo.model->card());
        const std::string name = task.toStdString();
        const auto judged = test::readJson(test::data().filePath("expected_tasks.json")).at("tasks").at(name);
        const std::vector<TaskQuestion> asked = judgedQuestions(name, judged);
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
        QCOMPARE(scores.size(), expected.size());
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
    }

    void sharingSavesTime() {
        if (test::demoModel().isEmpty() || taskFolder().isEmpty())
            QSKIP("the demo model or the tasks are not there");
        const Opened demo(test::demoModel());
        const auto tokenizer = openTokenizer(demo.model->card());
        const auto expected = test::readJson(test::data().filePath("expected_tasks.json")).at("tasks");
        for (const auto& item : expected.items()) {
            auto asked = judgedQuestions(item.key(), item.value());
            asked.resize(std::min<std::size_t>(asked.size(), item.key().starts_with("mmlu") ? 8 : 40));
            Questions questions;
            for (const TaskQuestion& question : asked)
                questions.push_back(optionTokens(question, *tokenizer, {}));
            QElapsedTimer timer;
            timer.start();
            const Scores together = demo.scored(questions);
            const auto fast = static_cast<double>(timer.restart());
            const Scores apiece = demo.oneByOne(questions);
            const auto slow = static_cast<double>(timer.elapsed());
            const auto order = neighbourOrder(questions);
            const double saved = static_cast<double>(inputTokens(questions)) /
                                 static_cast<double>(optionTree(questions, order, 4096).tokens());
            qInfo("%s: %.2fx faster than one by one (%.2fx fewer tokens), worst difference %.1e", item.key().c_str(),
                  slow / fast, saved, apart(together, apiece));
            QVERIFY(apart(together, apiece) < 1e-3);
        }
    }
};

QTEST_APPLESS_MAIN(TestTaskScores)
#include "tst_task_scores.moc"
