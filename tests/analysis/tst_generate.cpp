// Text generation: greedy tokens against transformers, equal tokens with and without a KV cache, and sampling against
// the softmax probabilities.
#ifndef Q_MOC_RUN
#include "tests/support/judged_run.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/generate.h"
#include "tests/support/suite.h"
#endif

#include <QElapsedTimer>
#include <QtTest>

#include <array>
#include <cmath>
#include <numeric>
#include <set>

using namespace secateur;

namespace {

using Prompts = std::vector<std::vector<int>>;

QDir folders() {
    return QDir(test::data().filePath("forward"));
}

struct Opened {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;

    explicit Opened(const QString& path, const OpenOptions& options = {})
        : model(openModel(path.toStdString(), {}, options))
        , plan(model->runner().plan(PruningMask(model->spec()), ComputeType::float32)) {}

    std::vector<Continuation> continued(const Prompts& prompts, const GenerationRules& rules,
                                        const Progress& progress = {}, const TokenSink& sink = {}) const {
        return generate(*model, *plan, prompts, rules, progress, sink);
    }
    std::vector<int> alone(const std::vector<int>& prompt, const GenerationRules& rules) const {
        return continued(Prompts{prompt}, rules).front().tokens;
    }
    /// The logits after the last token of `ids`, computed by one forward pass over all of them.
    at::Tensor logits(const std::vector<int>& ids) const {
        const Batch batch{1, static_cast<int>(ids.size()), ids, {}, {}, {}};
        const at::Tensor last = test::streamsOf(model->runner(), *plan, batch).back();
        return model->runner().lmHead(*plan, last, batch, true)[0];
    }
    std::vector<int> aloneWithoutCache(std::vector<int> ids, const GenerationRules& rules) const {
        const auto prompt = static_cast<std::ptrdiff_t>(ids.size());
        Sampler sampler(rules.sampling);
        for (int i = 0; i < rules.newTokens; ++i) {
            const at::Tensor behind = logits(ids);
            ids.push_back(sampler.next({behind.data_ptr<float>(), static_cast<std::size_t>(behind.numel())}));
        }
        return {ids.begin() + prompt, ids.end()};
    }
};

/// `count` token ids without a pattern. They are below 29, so they are in the vocabulary of every small test model.
std::vector<int> someTokens(int count, int shift = 0) {
    std::vector<int> ids;
    for (int i = 0; i < count; ++i)
        ids.push_back((i * i * 7 + i * 3 + shift) % 29);
    return ids;
}

Opened tiny(const QString& folder) {
    return Opened(folders().filePath(folder));
}

} // namespace

class TestGenerate : public QObject {
    Q_OBJECT

private slots:
    void greedyTokensOfTheDemoModelAreTransformers() {
        if (test::demoModel().isEmpty())
            QSKIP("the demo model is not there");
        const Opened demo(test::demoModel());
        const auto expected = test::readJson(test::data().filePath("expected_generation.json"));
        Prompts prompts;
        for (const auto& prompt : expected.at("prompts")) {
            const auto ids = prompt.at("ids").get<std::vector<int>>();
            const auto tokens = prompt.at("tokens").get<std::vector<int>>();
            QCOMPARE(demo.alone(ids, {.newTokens = static_cast<int>(tokens.size())}), tokens);
            prompts.push_back(ids);
        }
        // All prompts in one batch. A chunk of 21 tokens ends in the middle of some prompts and contains several
        // others.
        const auto together = demo.continued(prompts, {.newTokens = 100, .chunk = 21});
        for (std::size_t i = 0; i < prompts.size(); ++i)
            QCOMPARE(together[i].tokens, expected.at("prompts")[i].at("tokens").get<std::vector<int>>());

        QElapsedTimer timer;
        timer.start();
        const std::size_t count = demo.alone(someTokens(12), {.newTokens = 128}).size();
        const double seconds = static_cast<double>(timer.nsecsElapsed()) / 1e9;
        qInfo("%zu tokens behind 12 in %.2f s: %.1f tokens/s", count, seconds, static_cast<double>(count) / seconds);
    }

    void lossOfTheDemoModelIsTransformers() {
        if (test::demoModel().isEmpty())
            QSKIP("the demo model is not there");
        const Opened demo(test::demoModel());
        const auto expected = test::readJson(test::data().filePath("expected_generation.json")).at("text");
        const auto ids = expected.at("ids").get<std::vector<int>>();
        const Batch batch{1, static_cast<int>(ids.size()), ids, {}, {}, {}};
        std::vector<int> targets(ids.begin() + 1, ids.end());
        targets.push_back(-1);
        const at::Tensor last = test::streamsOf(demo.model->runner(), *demo.plan, batch).back();
        const TokenLosses losses = demo.model->runner().losses(*demo.plan, last, batch, targets);
        const double mean =
            std::accumulate(losses.nats.begin(), losses.nats.end(), 0.0) / static_cast<double>(ids.size() - 1);
        const double judged = expected.at("mean_loss").get<double>();
        qInfo("mean loss %.8f, expected %.8f: %.1e of it", mean, judged, std::abs(mean - judged) / judged);
        QVERIFY(std::abs(mean - judged) < 1e-5 * judged);
    }

    void aCacheChangesNothing_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<bool>("plain");
        for (const QString& folder : folders().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            for (const bool plain : {false, true})
                if (Opened(folders().filePath(folder)).model->spec().family == Family::decoder)
                    QTest::addRow("%s%s", qPrintable(folder), plain ? " plain" : "") << folder << plain;
    }
    void aCacheChangesNothing() {
        QFETCH(QString, folder);
        QFETCH(bool, plain);
        const Opened opened(folders().filePath(folder), {.plain = plain});
        const ModelSpec& spec = opened.model->spec();
        const std::vector<int> prompt = someTokens(7);
        for (const LayerSpec& layer : spec.layers)
            QVERIFY(layer.window < 7);
        GenerationRules rules{.newTokens = std::min(40, spec.context - 7)};
        std::set<int> seen;
        // Greedy texts soon repeat themselves, so the comparison is repeated with sampling at temperature 2.
        for (const double temperature : {0.0, 2.0}) {
            rules.sampling.temperature = temperature;
            const std::vector<int> expected = opened.aloneWithoutCache(prompt, rules);
            seen.insert(expected.begin(), expected.end());
            for (const int chunk : {512, 3}) {
                rules.chunk = chunk;
                QCOMPARE(opened.alone(prompt, rules), expected);
            }
        }
        QVERIFY(seen.size() > 5);
    }

    void textsSideBySideAreAsAlone_data() { aCacheChangesNothing_data(); }
    void textsSideBySideAreAsAlone() {
        QFETCH(QString, folder);
        QFETCH(bool, plain);
        const Opened opened(folders().filePath(folder), {.plain = plain});
        const Prompts prompts{someTokens(3, 5), someTokens(9, 2), someTokens(1, 11), someTokens(6)};
        const Sampling hot{.temperature = 2, .seed = 3};
        for (const int chunk : {512, 8, 1}) {
            const auto together = opened.continued(prompts, {.newTokens = 30, .sampling = hot, .chunk = chunk});
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                const Sampling own{.temperature = hot.temperature, .seed = hot.seed + i};
                QCOMPARE(together[i].tokens, opened.alone(prompts[i], {.newTokens = 30, .sampling = own}));
            }
        }
    }

    void aTextEndsBeforeAStopTokenAndTheOthersGoOn() {
        const Opened opened = tiny("llama-gqa");
        const Prompts prompts{someTokens(4), someTokens(6, 3)};
        const auto free = opened.continued(prompts, {.newTokens = 20});
        const int stop = free[0].tokens[5];
        std::vector<std::vector<int>> seen(2);
        const auto stopped = opened.continued(prompts, {.newTokens = 20, .stopTokens = {stop}}, {},
                                              [&](std::size_t text, int token) { seen[text].push_back(token); });
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            const auto end = std::ranges::find(free[i].tokens, stop);
            QCOMPARE(stopped[i].tokens, std::vector<int>(free[i].tokens.begin(), end));
            QCOMPARE(stopped[i].end, end == free[i].tokens.end() ? TextEnd::complete : TextEnd::stopToken);
            QCOMPARE(seen[i], stopped[i].tokens);
        }
        QVERIFY(stopped[0].tokens.size() != stopped[1].tokens.size());
    }

    void theNextTextBeginsWhereOneEnds_data() {
        QTest::addColumn<int>("rows");
        for (const int rows : {1, 2, 3, 8, 20})
            QTest::addRow("%d", rows) << rows;
    }
    void theNextTextBeginsWhereOneEnds() {
        QFETCH(int, rows);
        const Opened opened = tiny("llama-gqa");
        Prompts prompts;
        for (int i = 0; i < 11; ++i)
            prompts.push_back(someTokens(2 + i * 5 % 9, i));
        const int stop = opened.alone(prompts[1], {.newTokens = 12})[3];
        GenerationRules rules{.newTokens = 12, .sampling = {.temperature = 0.5, .seed = 4}, .stopTokens = {stop}};
        std::vector<std::vector<int>> seen(prompts.size());
        rules.isOver = [&](std::size_t text) { return text % 3 == 0 && seen[text].size() > text / 2; };
        double last = 0;
        const Progress progress([&](double done, std::string_view) {
            QVERIFY(done >= last);
            last = done;
        });
        rules.rows = rows;
        const auto texts = opened.continued(prompts, rules, progress,
                                            [&](std::size_t text, int token) { seen[text].push_back(token); });
        QCOMPARE(last, 1.0);
        std::set<std::size_t> lengths;
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            GenerationRules own{.newTokens = 12, .sampling = {.temperature = 0.5, .seed = 4 + i}, .stopTokens = {stop}};
            std::size_t tokens = 0;
            own.isOver = [&](std::size_t) { return ++tokens > i / 2 && i % 3 == 0; };
            const Continuation alone = opened.continued(Prompts{prompts[i]}, own).front();
            QCOMPARE(texts[i].tokens, alone.tokens);
            QCOMPARE(texts[i].end, alone.end);
            QCOMPARE(seen[i], alone.tokens);
            lengths.insert(alone.tokens.size());
        }
        QVERIFY(lengths.size() > 3);
    }

    void theContextIsFilledAndNotExceeded() {
        const Opened opened = tiny("gpt2");
        const int context = opened.model->spec().context;
        const auto texts = opened.continued({someTokens(context - 3), someTokens(context - 1)}, {.newTokens = 10});
        QCOMPARE(texts[0].tokens.size(), std::size_t{3});
        QCOMPARE(texts[1].tokens.size(), std::size_t{1});
        QCOMPARE(texts[0].end, TextEnd::contextFull);
        QCOMPARE(opened.continued({someTokens(context - 3)}, {.newTokens = 3})[0].end, TextEnd::complete);
    }

    void whatCannotBeContinuedIsRefused() {
        const Opened opened = tiny("gpt2");
        const auto refusal = [](const Opened& by, const Prompts& prompts, const GenerationRules& rules) {
            try {
                by.continued(prompts, rules);
            } catch (const Error& error) {
                return QString::fromUtf8(error.what());
            }
            return QString("accepted");
        };
        QVERIFY(refusal(tiny("bert"), {{1, 2}}, {}).contains("is an encoder: it cannot continue texts"));
        QVERIFY(refusal(opened, {{1}, {}}, {}).contains("The prompt is empty"));
        QCOMPARE(refusal(opened, {someTokens(16)}, {}).section('.', 0, 0),
                 "The prompt has 16 tokens, which leaves no room in the model's context of 16");
        QVERIFY(refusal(opened, {{1, 33}}, {}).contains("has no token 33"));
        for (const double wrong : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)})
            QVERIFY_EXCEPTION_THROWN(opened.alone({1}, {.sampling = {.temperature = wrong}}), UsageError);
        for (const double wrong : {0.0, 1.1, static_cast<double>(NAN)})
            QVERIFY_EXCEPTION_THROWN(opened.alone({1}, {.sampling = {.topP = wrong}}), UsageError);
    }

    void cancellingStopsWithinALayer() {
        const Opened opened = tiny("llama-gqa");
        std::stop_source stop;
        int reports = 0;
        double last = 0;
        const Progress progress(
            [&](double fraction, std::string_view) {
                QVERIFY(fraction >= last && fraction <= 1);
                last = fraction;
                // The model has two layers and each reports once, so report 6 comes from the second layer of the third
                // token.
                if (++reports == 6)
                    stop.request_stop();
            },
            stop.get_token());
        int tokens = 0;
        QVERIFY_EXCEPTION_THROWN(
            opened.continued({someTokens(4)}, {.newTokens = 20}, progress, [&](std::size_t, int) { ++tokens; }),
            Cancelled);
        QCOMPARE(reports, 6);
        QVERIFY(tokens < 4);
    }

    void oneSeedOneText() {
        const Opened opened = tiny("mistral");
        const auto drawn = [&](std::uint64_t seed) {
            return opened.alone(someTokens(5), {.newTokens = 40, .sampling = {.temperature = 1, .seed = seed}});
        };
        QCOMPARE(drawn(7), drawn(7));
        QVERIFY(drawn(7) != drawn(8));
        const Prompts twice{someTokens(5), someTokens(5)};
        const auto texts = opened.continued(twice, {.newTokens = 40, .sampling = {.temperature = 1, .seed = 7}});
        QCOMPARE(texts[0].tokens, drawn(7));
        QCOMPARE(texts[1].tokens, drawn(8));
    }

    void theSmallestNucleusIsGreedy() {
        for (const char* folder : {"llama-gqa", "gemma2", "qwen3"}) {
            const Opened opened = tiny(folder);
            const std::vector<int> greedy = opened.alone(someTokens(5), {.newTokens = 40});
            QCOMPARE(opened.alone(someTokens(5), {.newTokens = 40, .sampling = {.temperature = 1, .topP = 1e-9}}),
                     greedy);
            QCOMPARE(opened.alone(someTokens(5), {.newTokens = 40, .sampling = {.temperature = 1e-300}}), greedy);
        }
    }

    void drawsFollowTheProbabilities_data() {
        QTest::addColumn<double>("temperature");
        QTest::addColumn<double>("topP");
        QTest::newRow("as they are") << 1.0 << 1.0;
        QTest::newRow("colder") << 0.5 << 1.0;
        QTest::newRow("hotter, nine tenths") << 3.0 << 0.9;
        QTest::newRow("half") << 1.0 << 0.5;
    }
    void drawsFollowTheProbabilities() {
        QFETCH(double, temperature);
        QFETCH(double, topP);
        const at::Tensor logits = tiny("llama-gqa").logits(someTokens(6)).to(at::kDouble) * 0.3;
        const at::Tensor all = (logits / temperature).softmax(0);
        // The top-p rule of transformers: sort the tokens by ascending probability and remove those whose cumulative
        // probability is at most 1 - topP. The most probable token always remains.
        const auto [ascending, order] = all.sort();
        at::Tensor gone = topP < 1 ? ascending.cumsum(0) <= 1 - topP : at::zeros_like(ascending, at::kBool);
        gone[-1] = false;
        at::Tensor probabilities = all.masked_fill(at::empty_like(gone).scatter_(0, order, gone), 0);
        probabilities /= probabilities.sum();

        constexpr int draws = 200'000;
        const at::Tensor given = logits.to(at::kFloat).contiguous();
        Sampler sampler({temperature, topP, 42});
        std::vector<int> counts(static_cast<std::size_t>(given.numel()));
        for (int i = 0; i < draws; ++i)
            ++counts[static_cast<std::size_t>(sampler.next({given.data_ptr<float>(), counts.size()}))];
        double chiSquare = 0;
        int cells = 0;
        for (std::size_t token = 0; token < counts.size(); ++token) {
            const double expected = probabilities[static_cast<std::int64_t>(token)].item<double>() * draws;
            if (expected == 0)
                QCOMPARE(counts[token], 0);
            else
                chiSquare += std::pow(counts[token] - expected, 2) / expected, ++cells;
        }
        // For correct sampling, chi-square has mean n and variance 2n with n = cells - 1 degrees of freedom. The limit
        // is the mean plus five standard deviations.
        const double limit = cells - 1 + 5 * std::sqrt(2.0 * (cells - 1));
        qInfo("%d tokens can come, chi-square %.1f, at most %.1f", cells, chiSquare, limit);
        QVERIFY(cells > 2 && chiSquare < limit);
    }

    void theLowestOfEqualTokensIsTaken() {
        const std::array logits{0.5F, 2.0F, 2.0F, -1.0F};
        QCOMPARE(Sampler({}).next(logits), 1);
        QCOMPARE(Sampler({1, 1e-9, 3}).next(logits), 1);
        QVERIFY_EXCEPTION_THROWN(Sampler({}).next(std::array{0.0F, NAN}), Error);
        QVERIFY_EXCEPTION_THROWN(Sampler({1, 1, 0}).next(std::array{0.0F, INFINITY}), Error);
        QCOMPARE(Sampler({1, 1, 0}).next(std::array{-INFINITY, 0.0F}), 1);
    }
};

SECATEUR_SUITE(TestGenerate)
#include "tst_generate.moc"
