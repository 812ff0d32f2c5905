// `secateur-cli evaluate`, started as a program: arguments, output and files. tst_perplexity tests the values that it
// computes.

#include "tests/support/command_line.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QRegularExpression>
#include <QtTest>

#include <cmath>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString sources = SECATEUR_TEST_SOURCES "/perplexity/";
const QString articles = sources + "articles.raw";

/// Copies a small model of tests/data/forward and one of the tokenizers whose tokens are single characters to
/// `scratch`.
QString writeModel(const Scratch& scratch, const QString& name, const QString& tokenizer) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/" + name + "/";
    for (const QString& file :
         {source + "config.json", source + "model.safetensors", sources + tokenizer + "/tokenizer.json",
          sources + tokenizer + "/tokenizer_config.json"})
        QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
    return scratch.path();
}

QString writeMask(const Scratch& scratch, const QString& model, const QString& name, const char* layers) {
    const std::string structure = run({"inspect", model, "--json"}).json().at("structure").get<std::string>();
    const QByteArray made = R"({"architecture":"llama","structure":")" + QByteArray::fromStdString(structure) + R"("})";
    return QString::fromStdString(
        scratch.write(name, R"({"secateur_mask":1,"model":)" + made + R"(,"layers":)" + layers + "}"));
}

bool isClose(const Json& found, const Json& judged, double tolerance = 1e-5) {
    const double wanted = judged.get<double>();
    return std::abs(found.get<double>() - wanted) <= tolerance * std::abs(wanted);
}

const Json& expected() {
    static const Json all = test::readJson(sources + "perplexities.json");
    return all;
}

/// The expected values that perplexities.json has for these options.
Json judgedCase(const char* model, const char* text, const char* protocol, int window, const Json& bos) {
    for (const Json& judged : expected().at("cases"))
        if (judged.at("model") == model && judged.at("tokenizer") == "adds-bos" && judged.at("text") == text &&
            judged.at("protocol") == protocol && judged.at("window") == window && judged.at("bos") == bos)
            return judged;
    throw std::runtime_error("no such case");
}

} // namespace

class TestEvaluate : public QObject {
    Q_OBJECT

private:
    Scratch m_llama;
    QString m_model;

    Outcome evaluated(const QStringList& more, const QString& text = articles) const {
        return run(QStringList{"evaluate", m_model, "--text", text, "--dtype", "float32"} + more);
    }

private slots:
    void initTestCase() { m_model = writeModel(m_llama, "llama-gqa", "adds-bos"); }

    void tokenPerplexityIsOneDocument() {
        const Json judged = judgedCase("llama-gqa", "articles.raw", "token_ppl", 16, "every_window");
        const Outcome outcome = evaluated({"--window", "16", "--bos", "every_window", "--json"});
        QVERIFY2(outcome.status == 0 && outcome.error.isEmpty(), qPrintable(outcome.error));
        const Json document = outcome.json();
        const Json& text = document.at("text");
        QVERIFY(isClose(text.at("loss_nats"), judged.at("loss")));
        QVERIFY(isClose(text.at("token_loss_nats"), judged.at("loss")));
        QVERIFY(isClose(text.at("perplexity"), std::exp(judged.at("loss").get<double>()), 1e-4));
        QVERIFY(isClose(text.at("standard_error"), judged.at("standard_error"), 1e-4));
        QCOMPARE(text.at("tokens"), judged.at("tokens"));
        QCOMPARE(text.at("windows").get<std::size_t>(), judged.at("nats").size());
        QCOMPARE(text.at("window_nats").size(), judged.at("nats").size());
        QCOMPARE(text.at("protocol").get<std::string>(), "token_ppl");
        QCOMPARE(text.at("bos").get<std::string>(), "every_window");
        QCOMPARE(text.at("window").get<int>(), 16);
        QCOMPARE(text.at("source").get<std::string>(), articles.toStdString());
        QVERIFY(text.at("digest").get<std::string>().starts_with("sha256:"));
        for (const char* absent : {"delta_nats", "delta_standard_error", "reference", "pages", "words", "bytes",
                                   "byte_perplexity", "bits_per_byte"})
            QVERIFY2(text.at(absent).is_null(), absent);
        QVERIFY(document.at("mask").is_null() && document.at("warnings").empty());
        QVERIFY(document.at("model").at("fingerprint").get<std::string>().starts_with("sha256:"));
        QCOMPARE(document.at("dtype").get<std::string>(), "float32");
        QCOMPARE(document.at("device").get<std::string>(), "cpu");
        QVERIFY(document.at("seconds").get<double>() > 0);
    }

    void wordPerplexityIsPagesWordsAndBytes() {
        const Json judged = judgedCase("llama-gqa", "articles.raw", "word_ppl", 13, "lm_eval_new");
        const Json text =
            evaluated({"--protocol", "word_ppl", "--window", "13", "--bos", "lm_eval_new", "--json"}).json().at("text");
        for (const char* field : {"tokens", "pages", "words", "bytes"})
            QCOMPARE(text.at(field), judged.at(field));
        QVERIFY(isClose(text.at("loss_nats"), judged.at("loss")));
        QVERIFY(isClose(text.at("standard_error"), judged.at("standard_error"), 1e-4));
        QVERIFY(isClose(text.at("byte_perplexity"), judged.at("byte_perplexity")));
        QVERIFY(isClose(text.at("bits_per_byte"), judged.at("bits_per_byte")));
        const Outcome shown = evaluated({"--protocol", "word_ppl", "--window", "13"});
        QVERIFY2(shown.out.contains("3 pages") && shown.out.contains("nats/word") && shown.out.contains("per byte"),
                 shown.out);
    }

    void aMaskIsComparedWithTheDenseModel() {
        const Json& judged = expected().at("masked").at("token_ppl");
        const QString mask = writeMask(m_llama, m_model, "cut.mask.json", R"([{"layer":1,"heads_cut":[0,2]}])");
        const QStringList options{"--window", "16", "--mask", mask};
        const Json document = evaluated(options + QStringList{"--json"}).json();
        const Json& text = document.at("text");
        QCOMPARE(document.at("mask").at("name").get<std::string>(), "cut.mask.json");
        QVERIFY(document.at("mask").at("digest").get<std::string>().starts_with("sha256:"));
        QVERIFY(isClose(text.at("loss_nats"), judged.at("loss")));
        QVERIFY(isClose(text.at("delta_nats"), judged.at("delta"), 1e-3));
        QVERIFY(isClose(text.at("delta_standard_error"), judged.at("standard_error"), 1e-3));
        const Json dense = judgedCase("llama-gqa", "articles.raw", "token_ppl", 16, nullptr);
        QVERIFY(text.at("reference").at("mask").is_null());
        QVERIFY(isClose(text.at("reference").at("loss_nats"), dense.at("loss")));
        const QByteArray shown = evaluated(options).out;
        QVERIFY2(shown.contains("\ndense ") && shown.contains("\ncut.mask.json ") && shown.contains("\ndifference "),
                 shown);

        const Json alone = evaluated(options + QStringList{"--against", "none", "--json"}).json().at("text");
        QVERIFY(alone.at("delta_nats").is_null() && alone.at("reference").is_null());
        QCOMPARE(alone.at("loss_nats"), text.at("loss_nats"));
        QVERIFY(!evaluated(options + QStringList{"--against", "none"}).out.contains("difference"));
        const Json same = evaluated(options + QStringList{"--against", mask, "--json"}).json().at("text");
        QCOMPARE(same.at("delta_nats").get<double>(), 0.0);
        QCOMPARE(same.at("reference").at("mask"), document.at("mask"));
        const Json turned = evaluated({"--window", "16", "--against", mask, "--json"}).json();
        QVERIFY(turned.at("mask").is_null());
        QVERIFY(isClose(turned.at("text").at("delta_nats"), -text.at("delta_nats").get<double>(), 1e-9));
    }

    void severalMasksShareTheDenseModel() {
        const QString one = writeMask(m_llama, m_model, "one.json", R"([{"layer":0,"heads_cut":[1]}])");
        const QString two = writeMask(m_llama, m_model, "two.json", R"([{"layer":1,"mlp":"drop"}])");
        const QString none = writeMask(m_llama, m_model, "none.json", "[]");
        for (const QStringList& rules : {QStringList{"--window", "16"}, {"--window", "13", "--protocol", "word_ppl"}}) {
            const QStringList options = rules + QStringList{"--mask", one, "--mask", two, "--mask", none};
            const Json document = evaluated(options + QStringList{"--json"}).json();
            QCOMPARE(document.at("dtype").get<std::string>(), "float32");
            QVERIFY(document.at("warnings").empty() && document.at("seconds").get<double>() > 0);
            const Json& runs = document.at("runs");
            QCOMPARE(runs.size(), std::size_t{3});
            QCOMPARE(runs[0].at("reused_layers").get<int>(), 0);
            QCOMPARE(runs[1].at("reused_layers").get<int>(), 1);
            QCOMPARE(runs[2].at("reused_layers").get<int>(), 2);
            QCOMPARE(runs[2].at("text").at("delta_nats").get<double>(), 0.0);
            for (int i = 0; i < 2; ++i) {
                const Json alone = evaluated(rules + QStringList{"--mask", i == 0 ? one : two, "--json"}).json();
                const Json& run = runs[static_cast<std::size_t>(i)];
                QCOMPARE(run.at("mask"), alone.at("mask"));
                for (const char* field : {"loss_nats", "standard_error", "perplexity"})
                    QVERIFY(isClose(run.at("text").at(field), alone.at("text").at(field), 1e-6));
                QVERIFY(isClose(run.at("text").at("delta_nats"), alone.at("text").at("delta_nats"), 1e-4));
                for (const char* field : {"digest", "tokens", "windows", "pages", "words"})
                    QCOMPARE(run.at("text").at(field), alone.at("text").at(field));
            }
            const QByteArray shown = evaluated(options).out;
            for (const char* line : {"\ndense ", "\none.json ", "\ntwo.json ", "\nnone.json "})
                QVERIFY2(shown.contains(line), shown);
        }
        const Outcome refused = evaluated({"--mask", one, "--mask", two, "--against", "none"});
        QCOMPARE(refused.status, 2);
        QVERIFY(refused.error.contains("several masks are compared with the dense model only"));
        QCOMPARE(evaluated({"--mask", one, "--mask", "/nonexistent.json"}).status, 1);
    }

    void timesAreTakenTurnAbout() {
        const QString mask = writeMask(m_llama, m_model, "cut.json", R"([{"layer":1,"attention":"drop"}])");
        const QStringList options{"evaluate", m_model,  "--latency", "--prompt-tokens", "3",  "--new-tokens",
                                  "4",        "--runs", "2",         "--warmup",        "1",  "--lengths",
                                  "5,17",     "--by",   "sublayer",  "--mask",          mask, "--dtype",
                                  "float32"};
        const Json document = run(options + QStringList{"--json"}).json();
        QVERIFY(!document.contains("text") && !document.contains("tasks"));
        const Json& latency = document.at("latency");
        QCOMPARE(latency.at("prompt_tokens").get<int>(), 3);
        QCOMPARE(latency.at("new_tokens").get<int>(), 4);
        QCOMPARE(latency.at("warmup").get<int>(), 1);
        QCOMPARE(latency.at("runs").get<int>(), 2);
        QVERIFY(latency.at("reference").at("mask").is_null());
        for (const Json* times : {&latency, &latency.at("reference")})
            QVERIFY(times->at("mean_seconds").get<double>() > 0 && times->at("tokens_per_second").get<double>() > 0);
        QVERIFY(isClose(latency.at("speedup").at("ratio"), latency.at("reference").at("median_seconds").get<double>() /
                                                               latency.at("median_seconds").get<double>()));
        const Json& prefill = document.at("prefill");
        QCOMPARE(prefill.size(), std::size_t{2});
        QCOMPARE(prefill[1].at("tokens").get<int>(), 17);
        const Json& parts = prefill[1].at("by_sublayer");
        QCOMPARE(parts.at("layers").at("attention")[1].get<double>(), 0.0);
        QVERIFY(prefill[1].at("reference").at("by_sublayer").at("layers").at("attention")[1].get<double>() > 0);
        QVERIFY(
            isClose(parts.at("attention_share"), parts.at("attention").get<double>() /
                                                     (parts.at("attention").get<double>() +
                                                      parts.at("mlp").get<double>() + parts.at("rest").get<double>())));
        const Outcome shown = run(options + QStringList{"--progress", "json"});
        QVERIFY2(shown.toldRisingProgress(), qPrintable(shown.error));
        for (const char* words : {"generate 4 tokens after a 3-token prompt, 2 runs after 1 of warm-up, batch 1",
                                  "\ndense ", "\ncut.json ", "speed-up", "attention"})
            QVERIFY2(shown.out.contains(words), shown.out);

        const Json both = evaluated({"--window", "16", "--latency", "--new-tokens", "0", "--json"}).json();
        QVERIFY(both.contains("text") && !both.contains("latency"));
        // The model's context is 64 tokens, so only one prompt length is timed.
        QCOMPARE(both.at("prefill").size(), std::size_t{1});
        QCOMPARE(both.at("prefill")[0].at("tokens").get<int>(), 64);
        QVERIFY(both.at("prefill")[0].at("by_sublayer").is_null() && both.at("prefill")[0].at("speedup").is_null());
    }

    void ofEncodersPassesAreTimed() {
        const Scratch bert;
        const QString model = writeModel(bert, "bert", "has-bos");
        const Json document = run({"evaluate", model, "--latency", "--lengths", "7", "--json"}).json();
        QVERIFY(!document.contains("latency"));
        QCOMPARE(document.at("prefill")[0].at("tokens").get<int>(), 7);
        const Outcome refused = run({"evaluate", model, "--latency", "--new-tokens", "3"});
        QCOMPARE(refused.status, 1);
        QVERIFY2(refused.error.contains("is an encoder: it does not continue texts"), qPrintable(refused.error));
    }

    void memoryAndBatchesChangeNothing() {
        const QStringList options{"--window", "16", "--json"};
        const Json whole = evaluated(options).json().at("text");
        for (const QStringList& more : {QStringList{"--memory-budget", "1kB"}, {"--batch-tokens", "1"}}) {
            const Json other = evaluated(options + more).json().at("text");
            QCOMPARE(other.at("digest"), whole.at("digest"));
            QVERIFY(isClose(other.at("loss_nats"), whole.at("loss_nats"), 1e-6));
        }
    }

    void withoutATextItIsTheBuiltInOne() {
        const QStringList asked{"evaluate", m_model, "--max-tokens", "96", "--window", "32"};
        const Json text = run(asked + QStringList{"--json"}).json().at("text");
        QCOMPARE(text.at("source").get<std::string>(), "built-in");
        QVERIFY(text.at("digest").get<std::string>().starts_with("sha256:"));
        QCOMPARE(text.at("windows").get<int>(), 3);
        const Outcome shown = run(asked);
        QVERIFY2(shown.out.startsWith("token_ppl of the built-in text: 93 tokens in 3 windows"), shown.out);
        const QString cut = writeMask(m_llama, m_model, "cut.json", R"([{"layer":0,"heads_cut":[1]}])");
        const Json runs = run(asked + QStringList{"--mask", cut, "--mask", cut, "--json"}).json().at("runs");
        QCOMPARE(runs[1].at("text").at("source").get<std::string>(), "built-in");
        QCOMPARE(runs[1].at("text").at("digest"), text.at("digest"));
    }

    void theExpectedTimeIsToldFirst_data() {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<QString>("work");
        const QString one = writeMask(m_llama, m_model, "one.json", R"([{"layer":0,"heads_cut":[1]}])");
        const QString two = writeMask(m_llama, m_model, "two.json", R"([{"layer":1,"mlp":"drop"}])");
        const QStringList text{"--max-tokens", "96", "--window", "32"};
        const QString task = QString::fromStdString(
            m_llama.write("sand.jsonl", R"({"query":"it is","choices":["sand","a tin"],"gold":0})"));
        QTest::newRow("dense") << text << "96 tokens, dense";
        QTest::newRow("a mask") << text + QStringList{"--mask", one} << "96 tokens, dense and under the mask";
        QTest::newRow("a mask alone") << text + QStringList{"--mask", one, "--against", "none"}
                                      << "96 tokens, under the mask";
        QTest::newRow("a mask against another")
            << text + QStringList{"--mask", one, "--against", two} << "96 tokens, under 2 masks";
        QTest::newRow("masks") << text + QStringList{"--mask", one, "--mask", two}
                               << "96 tokens, dense and under 2 masks";
        QTest::newRow("a task") << QStringList{"--task", task} << "tokens of sand, dense";
        const QStringList timed{"--latency", "--lengths", "8,16", "--prompt-tokens", "3", "--new-tokens",
                                "4",         "--warmup",  "1",    "--runs",          "2"};
        QTest::newRow("times")
            << timed + QStringList{"--mask", one}
            << "3 times 4 tokens after a 3-token prompt and passes over 8/16 tokens, dense and under the mask";
    }
    void theExpectedTimeIsToldFirst() {
        QFETCH(QStringList, options);
        QFETCH(QString, work);
        const Outcome plain = run(QStringList{"evaluate", m_model, "--progress", "plain"} + options);
        const QRegularExpression line("^(?:\\s+0 %  .*\n)*(?:at least )?about \\d+\\.\\d s for [^\n]*" + work + "\n");
        QVERIFY2(plain.status == 0 && line.match(plain.error).hasMatch(), qPrintable(plain.error));
        const Outcome json = run(QStringList{"evaluate", m_model, "--progress", "json"} + options);
        int told = 0;
        for (const QString& report : json.error.split('\n', Qt::SkipEmptyParts)) {
            const Json fields = Json::parse(report.toStdString());
            if (!fields.contains("expected_seconds")) {
                QVERIFY(told > 0 || fields.at("fraction") == 0.0);
                continue;
            }
            ++told;
            QVERIFY(fields.at("expected_seconds").get<double>() > 0);
            QVERIFY(QString::fromStdString(fields.at("text").get<std::string>()).endsWith(work));
        }
        QCOMPARE(told, 1);
        for (const char* mode : {"none", "auto"}) // the output is not a terminal, so "auto" shows no progress
            QVERIFY(run(QStringList{"evaluate", m_model, "--progress", mode} + options).error.isEmpty());
    }

    void anEncoderTellsHowFarItsPooledOutputMoves_data() {
        QTest::addColumn<QString>("of");
        QTest::newRow("pooler") << "pooler";
        QTest::newRow("first token") << "first_token";
    }
    void anEncoderTellsHowFarItsPooledOutputMoves() {
        QFETCH(QString, of);
        const Json judged = test::readJson(SECATEUR_TEST_SOURCES "/pooled.json");
        const Scratch folder;
        const QString model = writeModel(folder, "bert-bare", "adds-bos");
        if (of == "first_token") { // removes the pooler's weights, as in checkpoints that were saved without a pooler
            QFile weights(folder.path("model.safetensors"));
            QVERIFY(weights.setPermissions(QFile::ReadOwner | QFile::WriteOwner));
            QVERIFY(weights.open(QFile::ReadWrite));
            const QByteArray renamed = weights.readAll().replace("\"pooler.", "\"nobody.");
            weights.seek(0);
            weights.write(renamed);
        }
        QByteArray documents;
        for (const Json& document : judged.at("documents"))
            documents += QByteArray::fromStdString(document.get<std::string>()) + "\n\n\n";
        const QString text = QString::fromStdString(folder.write("documents.txt", documents));
        const std::string structure = run({"inspect", model, "--json"}).json().at("structure").get<std::string>();
        const Json made{{"secateur_mask", 1},
                        {"model", {{"architecture", "bert"}, {"structure", structure}}},
                        {"layers", judged.at("layers")}};
        const QString mask = QString::fromStdString(folder.write("cut.json", QByteArray::fromStdString(made.dump())));
        const QStringList asked{"evaluate", model, "--text", text, "--mask", mask, "--dtype", "float32"};
        const Outcome outcome = run(asked + QStringList{"--json"});
        QVERIFY2(outcome.status == 0, outcome.out);
        const Json document = outcome.json();
        const Json& found = document.at("pooled_distance");
        double worst = 0;
        for (const auto& [field, value] : judged.at(of.toStdString()).items())
            worst = std::max(worst, std::abs(found.at(field).get<double>() / value.get<double>() - 1));
        qInfo("worst relative error: %.1e", worst);
        QVERIFY(worst < 1e-4);
        QCOMPARE(found.at("of").get<std::string>(), of.toStdString());
        QCOMPARE(found.at("sequences"), judged.at("sequences"));
        QCOMPARE(found.at("tokens"), judged.at("tokens"));
        QCOMPARE(found.at("sequence_length").get<int>(), 17);
        QVERIFY(found.at("reference").at("mask").is_null() && !document.contains("text"));
        const QByteArray shown = run(asked).out;
        QVERIFY2(shown.contains("relative distance") && shown.contains("\ncut.json to dense "), shown);
        const Outcome dense = run({"evaluate", model, "--text", text});
        QCOMPARE(dense.status, 1);
        QVERIFY2(dense.error.contains("is an encoder without a head") && dense.error.contains("--mask"),
                 qPrintable(dense.error));
        QVERIFY(run(asked + QStringList{"--window", "9"}).error.contains("--window: is for perplexity"));
    }

    void progressTellsTheTimeThatIsLeft() {
        const Outcome outcome = evaluated({"--window", "16", "--progress", "json"});
        QVERIFY(outcome.error.count('\n') > 1);
        QVERIFY2(outcome.toldRisingProgress(), qPrintable(outcome.error));
    }

    void whatCannotBeEvaluatedIsToldInASentence_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QByteArray& text, const QStringList& options, int status,
                            const char* sentence) { QTest::newRow(name) << text << options << status << sentence; };
        row("empty", "", {}, 1, "text.txt: is empty");
        row("blank", " \n\n", {}, 1, "text.txt: contains no text");
        row("not UTF-8", "it is\xFF", {}, 1, "text.txt: is not UTF-8: invalid byte at offset 5 (from 0)");
        row("one token", "a", {"--bos", "never"}, 1, "text.txt: is too short: there is no token to predict");
        row("window of one", "ab", {"--window", "1"}, 2, "--window: Value 1 not in range");
        row("one token asked for", "ab", {"--max-tokens", "1"}, 2, "--max-tokens: Value 1 not in range");
        row("unknown protocol", "ab", {"--protocol", "ppl"}, 2,
            "ppl: unknown protocol; the known ones are token_ppl, word_ppl");
        row("unknown BOS", "ab", {"--bos", "both"}, 2, "both: unknown BOS mode; the known ones are tokenizer_default");
        row("mode of the other protocol", "ab", {"--bos", "lm_eval_new"}, 2,
            "token_ppl does not support the BOS mode lm_eval_new");
        row("mask not there", "ab", {"--mask", "/nonexistent.json"}, 1, "/nonexistent.json: ");
        row("reference not there", "ab", {"--against", "/nonexistent.json"}, 1, "/nonexistent.json: ");
    }
    void whatCannotBeEvaluatedIsToldInASentence() {
        QFETCH(QByteArray, text);
        QFETCH(QStringList, options);
        QFETCH(int, status);
        QFETCH(QString, sentence);
        const Outcome outcome = evaluated(options, QString::fromStdString(m_llama.write("text.txt", text)));
        QVERIFY2(outcome.error.contains(sentence), qPrintable(outcome.error));
        QCOMPARE(outcome.status, status);
        QVERIFY(outcome.error.count('\n') <= 2 && outcome.out.isEmpty());
    }

    void modelsThatCannotAreRefused() {
        const Scratch gpt2;
        const Scratch bert;
        const auto refused = [](const QString& model, const QStringList& more, int status, const char* sentence) {
            const Outcome outcome = run(QStringList{"evaluate", model} + more);
            if (outcome.status != status || !outcome.error.contains(sentence))
                qWarning("%d %s", outcome.status, qPrintable(outcome.error));
            return outcome.status == status && outcome.error.contains(sentence) && outcome.out.isEmpty();
        };
        QVERIFY(refused(writeModel(gpt2, "gpt2", "has-bos"), {"--text", articles, "--window", "17"}, 1,
                        "has learned 16 positions, too few for a window of 17 tokens"));
        QVERIFY(refused(writeModel(bert, "bert", "has-bos"), {"--text", articles}, 1,
                        "is an encoder: it does not predict"));
        QVERIFY(refused(m_model, {"--seq-len", "20"}, 2, "--seq-len: is for encoders; use --window"));
        QVERIFY(refused(m_model, {"--latency"}, 1,
                        "128 new tokens after a 12-token prompt do not fit the model's context of 64"));
        QVERIFY(refused(m_model, {"--latency", "--lengths", "5,65", "--new-tokens", "0"}, 1,
                        "A pass over 65 tokens does not fit the model's context of 64"));
        QVERIFY(refused(m_model, {"--text", articles, "--runs", "3"}, 2, "--runs requires --latency"));
        QVERIFY(refused(m_model, {"--latency", "--mask", "a", "--mask", "b"}, 2, "time each mask separately"));
        QVERIFY(refused(m_model, {"--text", "/nonexistent.txt"}, 1, "/nonexistent.txt: does not exist"));
        const Outcome longer = evaluated({"--window", "80"});
        QVERIFY2(longer.error.contains("note: a window of 80 tokens is longer than the model's context of 64"),
                 qPrintable(longer.error));
    }
};

SECATEUR_SUITE(TestEvaluate)
#include "tst_evaluate.moc"
