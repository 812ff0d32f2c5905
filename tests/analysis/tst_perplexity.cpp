// Perplexity, and the loss of each window of a text, against transformers and against a Python implementation of the
// window rules.
#ifndef Q_MOC_RUN
#include "tests/support/judged_run.h"

#include "analysis/base/error.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/base/usage_error.h"
#include "analysis/text/scored_text.h"
#include "backends/text/sequence_text.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/base/sha256.h"
#include "backends/text/text_source.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QElapsedTimer>
#include <QtTest>

#include <cmath>

using namespace secateur;
using Json = nlohmann::json;

namespace {

constexpr double tolerance = 1e-5;

std::string folder(const std::string& name = {}) {
    return SECATEUR_TEST_SOURCES "/perplexity/" + name;
}

const Json& expected() {
    static const Json all = test::readJson(QString::fromStdString(folder("perplexities.json")));
    return all;
}

std::string wholeText(const std::string& path) {
    return readDocuments(path, {}, TextSplit::windows).front();
}

std::shared_ptr<const Model> tiny(const std::string& name) {
    return openModel(SECATEUR_TEST_SOURCES "/forward/" + name);
}

std::shared_ptr<const Plan> planOf(const Model& model) {
    return model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
}

std::optional<BosMode> modeOf(const Json& bos) {
    return bos.is_null() ? std::nullopt : std::optional(bosModeOf(bos.get<std::string>()));
}

PerplexityRules rulesOf(const Json& judged) {
    PerplexityRules rules{textProtocolOf(judged.at("protocol").get<std::string>()), modeOf(judged.at("bos")),
                          judged.at("window").get<int>()};
    if (!judged.at("max_tokens").is_null())
        rules.mostTokens = judged.at("max_tokens").get<std::int64_t>();
    return rules;
}

/// Tokenizes `text` with the tokenizer of a folder of tests/data and splits it into windows by `rules`.
ScoredText cut(const std::string& text, const std::string& tokenizer, const PerplexityRules& rules,
               const ModelSpec& spec) {
    return scoredText({text}, *openTokenizer(folder(tokenizer)), withDefaults(rules, spec));
}

double relative(double found, double judged) {
    return std::abs(found - judged) / std::abs(judged);
}

/// The largest relative error of the windows' losses; infinite if the numbers of windows differ.
double worst(const std::vector<WindowLoss>& windows, const Json& nats) {
    if (windows.size() != nats.size())
        return INFINITY;
    double error = 0;
    for (std::size_t i = 0; i < windows.size(); ++i)
        error = std::max(error, relative(windows[i].nats, nats[i].get<double>()));
    return error;
}

/// Whether a standard error equals the expected one. With a single window the expected one is null and the found one
/// must be NaN.
bool agrees(double found, const Json& judged) {
    return judged.is_null() ? std::isnan(found) : relative(found, judged.get<double>()) < 1e-4;
}

template <typename Work>
QString refusal(Work work) {
    return test::Scratch().refusal(work);
}

} // namespace

class TestPerplexity : public QObject {
    Q_OBJECT

private slots:
    void articlesLoseTheirBlanksAsInPython() {
        for (const Json& sample : expected().at("samples")) {
            const auto text = sample.at("text").get<std::string>();
            QCOMPARE(detokenised(text), sample.at("detokenised").get<std::string>());
            QCOMPARE(wordCount(text), sample.at("words").get<std::int64_t>());
            QCOMPARE(text.size(), sample.at("bytes").get<std::size_t>());
        }
    }

    void windowsRollAsTheHarnessRollsThem() {
        // A RollingWindow is {first input, first target, end of targets}. With windows of 5 tokens, inputs before | and
        // targets behind it, 13 tokens give [BOS|1..5], [5|6..10] and [8,9,10|11,12,13].
        QVERIFY((rollingWindows(14, 5) == std::vector<RollingWindow>{{0, 1, 6}, {5, 6, 11}, {8, 11, 14}}));
        QVERIFY((rollingWindows(2, 5) == std::vector<RollingWindow>{{0, 1, 2}}));
        QVERIFY((rollingWindows(6, 5) == std::vector<RollingWindow>{{0, 1, 6}}));
        QVERIFY((rollingWindows(7, 5) == std::vector<RollingWindow>{{0, 1, 6}, {1, 6, 7}}));
        QVERIFY(rollingWindows(1, 5).empty());
        for (const Json& judged : expected().at("rolling")) {
            Json found = Json::array();
            for (const RollingWindow& window :
                 rollingWindows(judged.at("tokens").get<std::size_t>() + 1, judged.at("most").get<std::size_t>()))
                found.push_back({window.begin, window.end - window.begin, window.end - window.scored});
            QCOMPARE(found.dump(), judged.at("windows").dump());
        }
    }

    void lossesAreTransformers_data() {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const Json& judged : expected().at("cases"))
            QTest::addRow("%d %s %s %s %d", number, judged.at("model").get<std::string>().c_str(),
                          judged.at("protocol").get<std::string>().c_str(),
                          judged.at("settled_bos").get<std::string>().c_str(), judged.at("window").get<int>())
                << number,
                ++number;
    }
    void lossesAreTransformers() {
        QFETCH(int, number);
        const Json& judged = expected().at("cases").at(static_cast<std::size_t>(number));
        const auto model = tiny(judged.at("model").get<std::string>());
        const ScoredText text = cut(wholeText(folder(judged.at("text").get<std::string>())),
                                    judged.at("tokenizer").get<std::string>(), rulesOf(judged), model->spec());
        const auto plan = planOf(*model);
        const Perplexity run = perplexity(*model, *plan, text);
        QCOMPARE(name(run.rules.bos.value()), judged.at("settled_bos").get<std::string>());
        QCOMPARE(run.tokens, judged.at("tokens").get<std::int64_t>());
        const double error = worst(run.windows, judged.at("nats"));
        qInfo("%zu windows, loss %.8f, worst window %.1e of its loss", run.windows.size(), run.lossNats, error);
        QVERIFY(error < tolerance);
        QVERIFY(relative(run.lossNats, judged.at("loss").get<double>()) < tolerance);
        QVERIFY(relative(run.perplexity(), std::exp(judged.at("loss").get<double>())) < 20 * tolerance);
        QVERIFY(agrees(run.standardError, judged.at("standard_error")));
        if (run.rules.protocol == TextProtocol::wordPpl) {
            QCOMPARE(run.pages.size(), judged.at("pages").get<std::size_t>());
            QCOMPARE(run.words(), judged.at("words").get<std::int64_t>());
            QCOMPARE(run.bytes(), judged.at("bytes").get<std::int64_t>());
            QVERIFY(relative(run.bytePerplexity(), judged.at("byte_perplexity").get<double>()) < tolerance);
            QVERIFY(relative(run.bitsPerByte(), judged.at("bits_per_byte").get<double>()) < tolerance);
        } else {
            QVERIFY(relative(run.tokenLossNats(), run.lossNats) < 1e-12);
        }
        // Batches of a single window, and batches of a few windows of different lengths.
        for (const std::int64_t batchTokens : {1, 37}) {
            const Perplexity other = perplexity(*model, *plan, text, batchTokens);
            QVERIFY(worst(other.windows, judged.at("nats")) < tolerance);
        }
    }

    void aMaskIsComparedOnTheSameWindows() {
        const auto model = tiny("llama-gqa");
        const Json& judged = expected().at("masked");
        PruningMask mask(model->spec());
        for (const Json& cut : judged.at("cut")) {
            LayerMask layer = mask.layer(cut.at(0).get<int>());
            for (const Json& head : cut.at(1))
                layer.heads.at(head.get<std::size_t>()) = false;
            mask.setLayer(cut.at(0).get<int>(), layer);
        }
        const auto plan = model->runner().plan(mask, ComputeType::float32);
        for (const PerplexityRules& rules :
             {PerplexityRules{TextProtocol::tokenPpl, {}, 16}, PerplexityRules{TextProtocol::wordPpl, {}, 13}}) {
            const ScoredText text = cut(wholeText(folder("articles.raw")), "adds-bos", rules, model->spec());
            const Perplexity dense = perplexity(*model, *planOf(*model), text);
            const Perplexity left = perplexity(*model, *plan, text);
            const LossDifference difference = pairedDifference(left, dense);
            const Json& figures = judged.at(std::string(name(rules.protocol)));
            qInfo("%.6f ± %.6f, of unpaired %.6f", difference.nats, difference.standardError,
                  std::hypot(left.standardError, dense.standardError));
            QVERIFY(relative(left.lossNats, figures.at("loss").get<double>()) < tolerance);
            QVERIFY(relative(difference.nats, figures.at("delta").get<double>()) < 1e-3);
            QVERIFY(relative(difference.standardError, figures.at("standard_error").get<double>()) < 1e-3);
            QCOMPARE(difference.count, figures.at("count").get<std::size_t>());
            QCOMPARE(pairedDifference(dense, left).nats, -difference.nats);
            QCOMPARE(pairedDifference(left, left).nats, 0.0);
        }
    }

    void runsAreComparedOnWhatBothHave() {
        const auto model = tiny("llama-gqa");
        const auto plan = planOf(*model);
        const std::string text = wholeText(folder("articles.raw"));
        const auto run = [&](const PerplexityRules& rules) {
            return perplexity(*model, *plan, cut(text, "adds-bos", rules, model->spec()));
        };
        const Perplexity all = run({TextProtocol::tokenPpl, {}, 16});
        const LossDifference shorter = pairedDifference(run({TextProtocol::tokenPpl, {}, 16, 70}), all);
        QCOMPARE(shorter.count, std::size_t{4});
        QVERIFY(std::abs(shorter.nats) < 1e-6);
        QVERIFY(refusal([&] {
                    pairedDifference(run({TextProtocol::tokenPpl, {}, 8}), all);
                }).startsWith("Losses by token_ppl in windows of 8"));
        QVERIFY(refusal([&] {
                    pairedDifference(run({TextProtocol::wordPpl, {}, 16}), all);
                }).startsWith("Losses by word_ppl"));
    }

    void rowsOfJsonLinesArePages() {
        const auto model = tiny("llama-gqa");
        const auto tokenizer = openTokenizer(folder("adds-bos"));
        const std::string text = wholeText(folder("articles.raw"));
        std::vector<std::string> rows;
        for (const std::string_view page : wikitextPages(text))
            rows.emplace_back(page);
        QCOMPARE(rows.size(), std::size_t{3});
        const PerplexityRules rules = withDefaults({TextProtocol::wordPpl, {}, 13}, model->spec());
        const ScoredText whole = scoredText({text}, *tokenizer, rules);
        QCOMPARE(dataDigest(scoredText(rows, *tokenizer, rules).windows), dataDigest(whole.windows));
    }

    void defaultsAreThePapersOwn() {
        const auto defaults = [](const char* model, TextProtocol protocol) {
            return withDefaults({protocol}, tiny(model)->spec());
        };
        QCOMPARE(defaults("llama-gqa", TextProtocol::tokenPpl).window, 64);
        QCOMPARE(defaults("llama-gqa", TextProtocol::tokenPpl).bos, BosMode::tokenizerDefault);
        QCOMPARE(defaults("gemma3", TextProtocol::tokenPpl).bos, BosMode::everyWindow);
        QCOMPARE(defaults("gemma3", TextProtocol::wordPpl).bos, BosMode::tokenizerDefault);
        ModelSpec long4096 = tiny("llama-gqa")->spec();
        long4096.context = 4096;
        QCOMPARE(withDefaults({TextProtocol::tokenPpl}, long4096).window, 2048);
        QCOMPARE(withDefaults({TextProtocol::wordPpl}, long4096).window, 4096);
    }

    void whatCannotBeScoredIsRefusedInASentence() {
        const ModelSpec llama = tiny("llama-gqa")->spec();
        const auto words = [&](const std::string& text, const PerplexityRules& rules = {},
                               const char* tokenizer = "has-bos") {
            return refusal([&] { cut(text, tokenizer, rules, llama); });
        };
        QCOMPARE(words("ab"), "accepted");
        QCOMPARE(words(""), "contains no text");
        QCOMPARE(words(" \n\xC2\xA0\n", {TextProtocol::wordPpl}), "contains no text");
        QCOMPARE(words("a"), "is too short: there is no token to predict");
        QCOMPARE(words("a", {TextProtocol::tokenPpl, BosMode::always}), "accepted");
        QCOMPARE(words("a", {TextProtocol::wordPpl}), "accepted");
        for (const auto& [bad, byte] : std::initializer_list<std::pair<const char*, int>>{{"ab\xFFi", 2},
                                                                                          {"a\xC3", 1},
                                                                                          {"\xC0\x80", 0},
                                                                                          {"ab\xED\xA0\x80", 2},
                                                                                          {"a\xF4\x90\x80\x80", 1},
                                                                                          {"a\xE2\x82", 1}})
            QCOMPARE(words(bad), QString("is not UTF-8: invalid byte at offset %1 (from 0)").arg(byte));
        QCOMPARE(words("ab", {TextProtocol::tokenPpl, {}, 1}),
                 "a window of 1 tokens has no token to predict; at least 2 are needed");
        QCOMPARE(words("ab", {TextProtocol::tokenPpl, {}, 0, 1}),
                 "a text of 1 tokens has no token to predict; at least 2 are needed");
        QCOMPARE(words("ab", {TextProtocol::tokenPpl, BosMode::lmEvalNew}),
                 "token_ppl does not support the BOS mode lm_eval_new");
        QCOMPARE(words("ab", {TextProtocol::wordPpl, BosMode::never}), "word_ppl does not support the BOS mode never");
        QCOMPARE(words("ab", {TextProtocol::wordPpl, BosMode::everyWindow}),
                 "word_ppl does not support the BOS mode every_window");
        QCOMPARE(refusal([] { textProtocolOf("ppl"); }),
                 "ppl: unknown protocol; the known ones are token_ppl, word_ppl");
        QVERIFY(refusal([] {
                    bosModeOf("both");
                }).startsWith("both: unknown BOS mode; the known ones are tokenizer_default"));
        QCOMPARE(refusal([] { withDefaults({}, tiny("bert")->spec()); }),
                 "is an encoder: it does not predict the next token, so it has no perplexity");
        QCOMPARE(refusal([] {
                     withDefaults({TextProtocol::tokenPpl, {}, 17}, tiny("gpt2")->spec());
                 }),
                 "has learned 16 positions, too few for a window of 17 tokens");
        QCOMPARE(refusal([] { withDefaults({TextProtocol::tokenPpl, {}, 16}, tiny("gpt2")->spec()); }), "accepted");
    }

    void cancellingStopsWithinALayer() {
        const auto model = tiny("llama-gqa");
        const auto plan = planOf(*model);
        const ScoredText text =
            cut(wholeText(folder("articles.raw")), "adds-bos", {TextProtocol::tokenPpl, {}, 16}, model->spec());
        std::stop_source stop;
        int reports = 0;
        const Progress progress(
            [&](double, std::string_view) {
                if (++reports == 5)
                    stop.request_stop();
            },
            stop.get_token());
        QVERIFY_EXCEPTION_THROWN(perplexity(*model, *plan, text, 1, progress), Cancelled);
        QCOMPARE(reports, 5);
    }

    void wikiText2IsTransformers() {
        const QString path = test::realData() + "/text/wikitext-2-raw/wiki.test.raw";
        if (test::realData().isEmpty() || !QFile::exists(path) || test::demoModel().isEmpty())
            QSKIP("WikiText-2 or the demo model is not there");
        const Json& judged = expected().at("wikitext2_test");
        const std::string text = wholeText(path.toStdString());
        const auto pages = wikitextPages(text);
        QCOMPARE(wikitextRows(text).size(), judged.at("rows").get<std::size_t>());
        QCOMPARE(pages.size(), judged.at("pages").get<std::size_t>());
        std::int64_t words = 0;
        std::string plain;
        for (const std::string_view page : pages) {
            words += wordCount(page);
            plain += detokenised(page) + '\0';
        }
        Sha256 digest;
        digest.add(plain.data(), plain.size() - 1);
        QCOMPARE(words, judged.at("words").get<std::int64_t>());
        QCOMPARE(digest.hexadecimal(), judged.at("detokenised_sha256").get<std::string>());

        const auto model = openModel(test::demoModel().toStdString());
        const auto plan = planOf(*model);
        const auto tokenizer = openTokenizer(model->card());
        const auto window = judged.at("token_ppl").at("window").get<std::int64_t>();
        const ScoredText whole = scoredText(
            {text}, *tokenizer, withDefaults({TextProtocol::tokenPpl, {}, static_cast<int>(window)}, model->spec()));
        QCOMPARE(whole.windows.tokens, judged.at("token_ppl").at("tokens").get<std::int64_t>() / window * window);
        for (const TextProtocol protocol : {TextProtocol::tokenPpl, TextProtocol::wordPpl}) {
            const Json& figures = judged.at(std::string(name(protocol)));
            PerplexityRules rules{protocol, {}, figures.at("window").get<int>(), 1};
            if (protocol == TextProtocol::tokenPpl)
                rules.mostTokens = rules.window * static_cast<std::int64_t>(figures.at("nats").size());
            else
                // A limit of 2 tokens: only the first page is read.
                rules.mostTokens = 2;
            QElapsedTimer timer;
            timer.start();
            const ScoredText scored = scoredText({text}, *tokenizer, withDefaults(rules, model->spec()));
            const qint64 cutting = timer.restart();
            const Perplexity run = perplexity(*model, *plan, scored);
            const double error = worst(run.windows, figures.at("nats"));
            qInfo("%s: loss %.8f, worst window %.1e of its loss; cut in %lld ms, %lld tokens in %lld ms",
                  name(protocol).data(), run.lossNats, error, cutting, static_cast<long long>(run.tokens),
                  timer.elapsed());
            QVERIFY(error < tolerance);
        }
    }
};

SECATEUR_SUITE(TestPerplexity)
#include "tst_perplexity.moc"
