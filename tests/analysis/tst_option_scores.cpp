// Scores of answer options: options that are evaluated together and share the prefixes of their tokens get the same
// scores as one by one.
#ifndef Q_MOC_RUN
#include "tests/support/option_runs.h"

#include "analysis/base/error.h"
#include "analysis/tasks/option_scores.h"
#include "analysis/running/runner.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <random>

using namespace secateur;
using test::OptionRuns;
using test::Questions;
using test::Scores;

namespace {

QDir folders() {
    return QDir(test::data().filePath("forward"));
}

/// Random questions of many shapes: with few-shot examples or without, with equal options, with options that share
/// their first tokens, with options of one token, and with options that have contexts of their own.
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
            const bool isWinogrande = i % 6 == 3; // as in WinoGrande, each option has its own context
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

} // namespace

class TestOptionScores : public QObject {
    Q_OBJECT

private slots:
    void togetherAsOneByOne_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<bool>("plain");
        for (const QString& folder : folders().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            for (const bool plain : {false, true})
                if (OptionRuns(folders().filePath(folder)).model->spec().family == Family::decoder)
                    QTest::addRow("%s%s", qPrintable(folder), plain ? " plain" : "") << folder << plain;
    }
    void togetherAsOneByOne() {
        QFETCH(QString, folder);
        QFETCH(bool, plain);
        const OptionRuns opened(folders().filePath(folder), {.plain = plain});
        const ModelSpec& spec = opened.model->spec();
        const Questions questions = someQuestions(spec.context, spec.vocab);
        const Scores expected = opened.oneByOne(questions);
        double worst = 0;
        for (const std::int64_t batchTokens : {4096, 40, 1})
            worst = std::max(worst, test::apart(opened.scored(questions, batchTokens), expected));
        qInfo("worst difference of a log probability: %.1e", worst);
        QVERIFY(worst < 1e-4);
    }

    void underAMaskAndWithWeightsThatDoNotStay() {
        const QString path = folders().filePath("llama-gqa");
        OptionRuns opened(path);
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
        QVERIFY(test::apart(opened.scored(questions), expected) < 1e-4);
        OptionRuns small(path, {.memoryBudget = 1});
        small.plan = small.model->runner().plan(mask, ComputeType::float32);
        QVERIFY(!small.plan->isResident());
        QVERIFY(test::apart(small.scored(questions), expected) < 1e-4);
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
        // The context is 40 tokens of examples and 8 of `stem`. The last token of an option is only predicted, so an
        // option of one token needs no input beyond the context. A longer option adds all its tokens but the last.
        // Options that begin with the same tokens share these.
        const Questions letters{question(stem, {{10}, {11}, {12}, {13}})};
        QCOMPARE(inputTokens(letters), 4 * 48);
        const std::vector<std::size_t> first{0};
        QCOMPARE(optionTree(letters, first, 4096).tokens(), 48);
        const Questions texts{question(stem, {{10, 11, 12}, {13, 14}, {13, 15}})};
        QCOMPARE(optionTree(texts, first, 4096).tokens(), 48 + 2 + 1);
        // Questions with the same few-shot examples are put next to each other and share the examples, although another
        // question stands between them in the file. 40 tokens are the shared examples; each question has 2 tokens of
        // its own.
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
        const OptionRuns opened(folders().filePath("llama-gqa"));
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
        QVERIFY_EXCEPTION_THROWN(OptionRuns(folders().filePath("bert")).scored(questions), Error);
        const OptionRuns opened(folders().filePath("llama-gqa"));
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
};

SECATEUR_SUITE(TestOptionScores)
#include "tst_option_scores.moc"
