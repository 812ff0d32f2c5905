// The command line program, started as a program: exit statuses, output, and files.

#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <QDir>
#include <QElapsedTimer>
#include <QProcess>
#include <QRegularExpression>

#include <csignal>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString model = SECATEUR_TEST_SOURCES "/gqa-f32";

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QStringList listing(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
}

/// Writes a model of 60 layers of width 2048 whose weights are all 0. The file is sparse, so it needs no space on the
/// disk. Measuring its gate-norms takes several seconds.
void writeLongModel(const Scratch& scratch) {
    constexpr int layers = 60;
    constexpr int width = 2048;
    scratch.write("config.json",
                  R"({"model_type":"llama","hidden_size":2048,"intermediate_size":8,"num_hidden_layers":60,)"
                  R"("num_attention_heads":16,"num_key_value_heads":16,"vocab_size":8,"rms_norm_eps":1e-5})");
    qint64 end = 0;
    Json header;
    const auto add = [&](const std::string& name, std::vector<qint64> shape) {
        qint64 bytes = 2;
        for (const qint64 size : shape)
            bytes *= size;
        header[name] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {end, end + bytes}}};
        end += bytes;
    };
    add("model.embed_tokens.weight", {8, width});
    add("model.norm.weight", {width});
    add("lm_head.weight", {8, width});
    for (int layer = 0; layer < layers; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        add(prefix + "input_layernorm.weight", {width});
        add(prefix + "post_attention_layernorm.weight", {width});
        for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
            add(prefix + "self_attn." + name + ".weight", {width, width});
        add(prefix + "mlp.gate_proj.weight", {8, width});
        add(prefix + "mlp.up_proj.weight", {8, width});
        add(prefix + "mlp.down_proj.weight", {width, 8});
    }
    const std::string text = header.dump();
    const QByteArray start = test::little(static_cast<quint64>(text.size())) + QByteArray::fromStdString(text);
    scratch.write("model.safetensors", start);
    QVERIFY(QFile::resize(scratch.path("model.safetensors"), start.size() + end));
}

/// Writes a small model of tests/data/forward with a tokenizer of the words "w0", "w1" and so on.
QString writeWordModel(const Scratch& scratch, const QString& name, int words) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/" + name;
    for (const QString file : {"config.json", "model.safetensors"})
        scratch.write(file, contents(source + "/" + file));
    Json vocabulary;
    for (int i = 0; i < words; ++i)
        vocabulary["w" + std::to_string(i)] = i;
    const Json tokenizer{{"version", "1.0"},
                         {"added_tokens", Json::array()},
                         {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                         {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}};
    scratch.write("tokenizer.json", QByteArray::fromStdString(tokenizer.dump()));
    return scratch.path();
}

QByteArray structureOf(const QString& path) {
    return QByteArray::fromStdString(run({"inspect", path, "--json"}).json().at("structure").get<std::string>());
}

/// Writes a mask for a model with the given structure. `layers` is the JSON list of its cuts.
QString writeMask(const Scratch& scratch, const QByteArray& structure, const char* layers) {
    const QByteArray made = R"({"architecture":"llama","structure":")" + structure + R"("})";
    return QString::fromStdString(
        scratch.write("own.mask.json", R"({"secateur_mask":1,"model":)" + made + R"(,"layers":)" + layers + "}"));
}

} // namespace

class TestCli : public QObject {
    Q_OBJECT

private slots:
    void everyVerbExplainsItselfWithAnExample() {
        const Outcome program = run({"--help"});
        QCOMPARE(program.status, 0);
        for (const char* verb : {"inspect", "measure", "prune", "compensate", "evaluate", "mask", "session", "generate",
                                 "export", "plot", "report", "list"}) {
            QVERIFY2(program.out.contains(verb), verb);
            const Outcome help = run({verb, "--help"});
            QCOMPARE(help.status, 0);
            QVERIFY2(help.out.contains("Example: secateur-cli " + QByteArray(verb)), verb);
        }
        QCOMPARE(run({"--version"}).out, "secateur " SECATEUR_VERSION "\n");
    }

    void statusTellsWrongUsageFromFailedWork_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("words");
        QTest::newRow("no verb") << QStringList{} << 2 << "subcommand";
        QTest::newRow("unknown verb") << QStringList{"shear"} << 2
                                      << "shear: unknown verb; the known ones are inspect, measure";
        QTest::newRow("no model") << QStringList{"inspect"} << 2 << "MODEL";
        QTest::newRow("unknown option") << QStringList{"inspect", model, "--fast"} << 2 << "--fast";
        QTest::newRow("no metric") << QStringList{"measure", model} << 2 << "--metric";
        QTest::newRow("unknown metric") << QStringList{"measure", model, "--metric", "gate"} << 2
                                        << "Unknown metric \"gate\". The known ones are gate_norm";
        QTest::newRow("misspelt metric") << QStringList{"measure", model, "--metric", "sink_had"} << 2
                                         << "Unknown metric \"sink_had\". Did you mean sink_head?";
        QTest::newRow("misspelt strategy")
            << QStringList{"prune", model, "--strategy", "gate_nrom", "--budget", "1", "--out", "m.json"} << 2
            << "Unknown strategy \"gate_nrom\". Did you mean gate_norm?";
        QTest::newRow("misspelt figure") << QStringList{"plot", model, "--figure", "head", "--out", "cat.csv"} << 2
                                         << "Unknown figure \"head\". Did you mean heads?";
        QTest::newRow("misspelt target") << QStringList{"export", model,   "--mask", "m.json",
                                                        "--as",   "maskd", "--out",  "x"}
                                         << 2 << "Unknown export target \"maskd\". Did you mean masked?";
        QTest::newRow("misspelt layout") << QStringList{"export", model,      "--mask", "m.json", "--as",
                                                        "gguf",   "--layout", "decy",   "--out",  "x"}
                                         << 2 << "Unknown layout \"decy\". Did you mean deci?";
        QTest::newRow("layer before all")
            << QStringList{"plot", model, "--figure", "neurons:layer=-2", "--out", "cat.csv"} << 2
            << "layer=-2: the model has layers 0 to 1; -1 shows all";
        QTest::newRow("unknown metric option")
            << QStringList{"measure", model, "--metric", "gate_norm:fold=true"} << 2 << "its options are";
        QTest::newRow("unknown kind") << QStringList{"list", "cats"} << 2 << "KIND";
        QTest::newRow("unknown figure") << QStringList{"plot", model, "--figure", "cat", "--out", "cat.csv"} << 2
                                        << "The known ones are heads";
        QTest::newRow("unknown picture") << QStringList{"plot", model, "--figure", "heads", "--out", "cat.gif"} << 2
                                         << ".gif";
        QTest::newRow("unknown colours") << QStringList{"plot",  model,    "--figure", "heads:colours=jet",
                                                        "--out", "cat.csv"}
                                         << 2 << "jet: unknown colour map; the known ones are viridis";
        QTest::newRow("a file for a folder")
            << QStringList{"measure", model, "--metric", "weights", "--csv", model + "/config.json"} << 1
            << "config.json: the folder cannot be made";
        QTest::newRow("model not there") << QStringList{"inspect", "/nonexistent/model"} << 1 << "/nonexistent/model";
        QTest::newRow("session not there") << QStringList{"inspect", "/nonexistent.h5"} << 1
                                           << "/nonexistent.h5: cannot be opened: No such file or directory";
        QTest::newRow("nowhere to write")
            << QStringList{"measure", model, "--metric", "weights", "--out", "/nonexistent/s.h5"} << 1
            << "/nonexistent/s.h5: cannot be written: there is no folder /nonexistent";
    }
    void statusTellsWrongUsageFromFailedWork() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        QFETCH(QString, words);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, status);
        QVERIFY2(outcome.error.contains(words), qPrintable(outcome.error));
        QCOMPARE(outcome.out, QByteArray());
    }

    void errorsAreJsonWhereJsonIsAskedFor() {
        const Outcome outcome = run({"inspect", "/nonexistent/model", "--json"});
        QCOMPARE(outcome.status, 1);
        QCOMPARE(outcome.error, QString());
        const Json error = outcome.json().at("error");
        QCOMPARE(error.at("subject").get<std::string>(), "/nonexistent/model");
        QVERIFY(!error.at("message").get<std::string>().empty() && error.contains("hint"));
        for (const QStringList& usage :
             {QStringList{"inspect", model, "--fast", "--json"}, QStringList{"cut", "--json"},
              QStringList{"measure", model, "--metric", "gate", "--json"}}) {
            const Outcome wrong = run(usage);
            QCOMPARE(wrong.status, 2);
            QCOMPARE(wrong.error, QString());
            QVERIFY(!wrong.json().at("error").at("message").get<std::string>().empty());
        }
    }

    void inspectShowsTheCardOfAModel() {
        const Outcome shown = run({"inspect", model});
        QCOMPARE(shown.status, 0);
        for (const char* words :
             {"gqa-f32", "llama (decoder)", "48.1 k (48,064)", "8, in 2 KV groups", "sha256:4c84cef0"})
            QVERIFY2(shown.out.contains(words), words);
        const Json card = run({"inspect", model, "--json"}).json();
        QCOMPARE(card.at("layers").get<int>(), 2);
        QCOMPARE(card.at("heads").dump(), "[8,8]");
        QVERIFY(!card.contains("tensors"));
        const Json tensors = run({"inspect", model, "--tensors", "--json"}).json().at("tensors");
        QCOMPARE(tensors.size(), std::size_t{21});
        QVERIFY(run({"inspect", model, "--tensors"}).out.contains("model.layers.1.self_attn.q_proj.weight"));
    }

    void inspectShowsATextAsTokens() {
        const QString tokenizer = SECATEUR_TEST_SOURCES "/tokenizers/byte-level";
        const Json shown = run({"inspect", tokenizer, "--tokens", "<|end|> the\n", "--parse-special", "--json"}).json();
        QCOMPARE(shown.at("kind").get<std::string>(), "BPE");
        QCOMPARE(shown.at("tokens")[0].at("token").get<std::string>(), "<|begin|>");
        QCOMPARE(shown.at("tokens")[1].at("token").get<std::string>(), "<|end|>");
        QCOMPARE(shown.at("tokens")[1].at("end").get<int>(), 7);
        const Outcome plain = run({"inspect", tokenizer, "--tokens", "<|end|> the\n"});
        QCOMPARE(plain.status, 0);
        QVERIFY(plain.out.contains("added") && plain.out.contains("Ġthe") && plain.out.contains("\\n"));
        // One line for each token: "<|end|>" was split into characters and not read as one special token.
        QVERIFY(plain.out.count('\n') > 8);
        QCOMPARE(run({"inspect", tokenizer, "--tokens", "a", "--tensors"}).status, 2);
        QCOMPARE(run({"inspect", SECATEUR_TEST_SOURCES, "--tokens", "a"}).status, 1);
    }

    void tensorsAreListedAsOneCounts() {
        const Scratch scratch;
        writeLongModel(scratch);
        const QByteArray list = run({"inspect", scratch.path(), "--tensors"}).out;
        const auto at = [&](const char* layer) { return list.indexOf(QByteArray("layers.") + layer + "."); };
        QVERIFY(at("0") > 0 && at("2") > at("0") && at("10") > at("2") && at("59") > at("10"));
    }

    void measurementsAreTheSameInJsonSessionAndCsv() {
        const Scratch scratch;
        const Outcome outcome = run({"measure", model, "--metric", "weights,gate_norm_head:fold_norm=true", "--json",
                                     "--out", scratch.path("s.h5"), "--csv", scratch.path("csv")});
        QCOMPARE(outcome.status, 0);
        QCOMPARE(outcome.error, QString());
        const Json metrics = outcome.json().at("metrics");
        const Session session = readSession(scratch.path("s.h5").toStdString());
        QCOMPARE(metrics.size(), session.results.size());
        // Results are stored in the order of the request.
        QCOMPARE(session.results.front().request.resultId(), "gate_norm");
        QCOMPARE(session.model.fingerprint, outcome.json().at("model").at("fingerprint").get<std::string>());
        for (const MetricResult& result : session.results) {
            const std::string id = result.request.resultId();
            QCOMPARE(result.measurement.fingerprint, session.model.fingerprint);
            QVERIFY(QRegularExpression("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$")
                        .match(QString::fromStdString(result.measurement.created))
                        .hasMatch());
            const Json values = metrics.at(id).at("values");
            const QStringList lines =
                QString::fromUtf8(contents(scratch.path("csv/" + QString::fromStdString(fileForm(id)) + ".csv")))
                    .split("\r\n", Qt::SkipEmptyParts);
            const Scope scope = result.request.info->scope;
            const bool perLayer = scope == Scope::layer;
            QCOMPARE(lines.front().toStdString(),
                     perLayer ? "layer,value" : "layer," + std::string(name(scope)) + ",value");
            // A header and one line for each cell.
            QCOMPARE(lines.size(), static_cast<qsizetype>(1 + result.values.values().size()));
            qsizetype line = 0;
            for (std::size_t layer = 0; layer < result.values.rows(); ++layer)
                for (std::size_t cell = 0; cell < result.values.columns(); ++cell) {
                    const Json& value = perLayer ? values.at(layer) : values.at(layer).at(cell);
                    QCOMPARE(result.values(layer, cell), value.get<double>());
                    QCOMPARE(lines[++line].section(',', -1).toDouble(), value.get<double>());
                }
        }
        const Json stored = run({"inspect", scratch.path("s.h5"), "--json"}).json();
        QCOMPARE(stored, run({"inspect", model, "--json"}).json());
        const QString shown = run({"inspect", scratch.path("s.h5")}).out.simplified();
        QVERIFY2(shown.contains(QRegularExpression("gate_norm_head:fold_norm=true [0-9a-f]{8} head ")),
                 qPrintable(shown));
    }

    void measureShowsARowPerLayer() {
        const Outcome outcome = run({"measure", model, "--metric", "gate_norm,gate_norm_head"});
        const QList<QByteArray> lines = outcome.out.trimmed().split('\n');
        QCOMPARE(lines.size(), 3);
        QVERIFY(lines[0].simplified().startsWith("layer gate_norm gate_norm_head mean"));
        QVERIFY(lines[1].simplified().startsWith("0 26.43 8.47") && lines[2].simplified().startsWith("1 25.82 8.6"));
    }

    void aSecondMeasurementJoinsTheSession() {
        const Scratch scratch;
        const QString path = scratch.path("s.h5");
        QCOMPARE(run({"measure", model, "--metric", "gate_norm", "--out", path}).status, 0);
        QCOMPARE(run({"measure", model, "--metric", "gate_norm_head", "--out", path}).status, 0);
        // Replaces the first result.
        QCOMPARE(run({"measure", model, "--metric", "gate_norm", "--out", path}).status, 0);
        QCOMPARE(readSession(path.toStdString()).results.size(), std::size_t{2});
        const QByteArray before = contents(path);
        const Outcome other =
            run({"measure", SECATEUR_TEST_SOURCES "/mha-f32", "--metric", "gate_norm", "--out", path, "--json"});
        QCOMPARE(other.status, 1);
        const std::string message = other.json().at("error").at("message").get<std::string>();
        QVERIFY(message.starts_with("is a session of gqa-f32 (sha256:"));
        QVERIFY(message.find("not of mha-f32 (sha256:") != std::string::npos);
        QCOMPARE(contents(path), before);
    }

    void progressIsOnStandardErrorAlone() {
        const Outcome json = run({"measure", model, "--metric", "weights", "--json", "--progress", "json"});
        QCOMPARE(json.json().at("metrics").size(), parseMetricRequests("weights").size());
        double last = 0;
        for (const QString& line : json.error.split('\n', Qt::SkipEmptyParts)) {
            const Json step = Json::parse(line.toStdString());
            QVERIFY(step.at("fraction").get<double>() >= last && step.at("text").is_string());
            last = step.at("fraction").get<double>();
        }
        QCOMPARE(last, 1.0);
        QVERIFY(run({"measure", model, "--metric", "weights", "--progress", "plain"}).error.contains("100 %"));
        QCOMPARE(run({"measure", model, "--metric", "weights", "--progress", "none"}).error, QString());
    }

    void cancellingLeavesNothingBehind() {
        const Scratch scratch;
        writeLongModel(scratch);
        QVERIFY(QDir(scratch.path()).mkdir("out"));
        QProcess program;
        program.start(SECATEUR_CLI, {"measure", scratch.path(), "--metric", "weights", "--out",
                                     scratch.path("out/s.h5"), "--csv", scratch.path("out"), "--progress", "json"});
        program.setReadChannel(QProcess::StandardError);
        QByteArray seen;
        while (seen.count('\n') < 4) { // the first four progress messages; after them it measures layers
            QVERIFY2(program.waitForReadyRead(60'000), seen);
            seen += program.readAllStandardError();
        }
        QElapsedTimer timer;
        timer.start();
        ::kill(static_cast<pid_t>(program.processId()), SIGINT);
        QVERIFY(program.waitForFinished(20'000));
        qInfo("stopped after %lld ms", timer.elapsed());
        QCOMPARE(program.exitStatus(), QProcess::NormalExit);
        QCOMPARE(program.exitCode(), 1);
        QVERIFY(program.readAllStandardError().endsWith("secateur-cli: cancelled\n"));
        QCOMPARE(program.readAllStandardOutput(), QByteArray());
        QCOMPARE(listing(scratch.path("out")), QStringList());
    }

    void generateContinuesAPrompt() {
        const Scratch scratch;
        const QString words = writeWordModel(scratch, "llama-gqa", 37);
        const QStringList verb{"generate", words, "--prompt", "w3 w1 w4", "--new-tokens", "20"};
        const Outcome shown = run(verb);
        QVERIFY2(shown.status == 0 && shown.error.isEmpty(), qPrintable(shown.error));
        const Json greedy = run(verb + QStringList{"--json"}).json();
        QCOMPARE(greedy.at("prompt").get<std::string>(), "w3 w1 w4");
        QCOMPARE(greedy.at("tokens").size(), std::size_t{20});
        QCOMPARE(greedy.at("end").get<std::string>(), "complete");
        QVERIFY(greedy.at("seconds").get<double>() > 0 && greedy.at("warnings").empty());
        std::string text;
        for (const Json& id : greedy.at("tokens"))
            text += " w" + std::to_string(id.get<int>());
        QCOMPARE(greedy.at("text").get<std::string>(), text);
        QCOMPARE(shown.out.toStdString(), text + "\n");

        const auto tokens = [&](const QStringList& more) {
            const Outcome outcome = run(verb + more + QStringList{"--json"});
            return outcome.status == 0 ? outcome.json().at("tokens") : Json(outcome.out.toStdString());
        };
        const QStringList draw{"--temperature", "1.5", "--seed"};
        QCOMPARE(tokens(draw + QStringList{"7"}), tokens(draw + QStringList{"7"}));
        QVERIFY(tokens(draw + QStringList{"7"}) != tokens(draw + QStringList{"8"}));
        QCOMPARE(tokens(draw + QStringList{"7", "--top-p", "1e-9"}), greedy.at("tokens"));
        QCOMPARE(tokens({"--memory-budget", "0.5kB", "--dtype", "float32"}), greedy.at("tokens"));
        const QString mask = writeMask(scratch, structureOf(words), R"([{"layer":1,"attention":"drop"}])");
        QVERIFY(tokens({"--mask", mask}) != greedy.at("tokens") && tokens({"--mask", mask}).size() == 20);
        QVERIFY(run(verb + QStringList{"--log-level", "info"}).error.contains("computing in float32: "));
        const Outcome full = run({"generate", words, "--prompt", "w3", "--new-tokens", "100"});
        QVERIFY2(full.error.contains("note: the text ends because the model's context of 64 tokens is full"),
                 qPrintable(full.error));
        QCOMPARE(full.out.count('w'), 63);
    }

    void generateContinuesThePromptsOfAFile() {
        const Scratch scratch;
        const QString words = writeWordModel(scratch, "llama-gqa", 37);
        QStringList lines;
        for (int i = 0; i < 11; ++i) // more than are continued at once, of several lengths
            lines << QString("w%1 ").arg(i + 3).repeated(1 + i % 4) + "w2";
        const QString file =
            QString::fromStdString(scratch.write("prompts.txt", (lines.join("\n\n") + "\n").toUtf8()));
        const QStringList rules{"--new-tokens", "12", "--temperature", "0.9", "--json"};
        const Json together = run(QStringList{"generate", words, "--prompts", file, "--seed", "5"} + rules).json();
        QCOMPARE(together.at("texts").size(), std::size_t{11});
        for (int i = 0; i < 11; ++i) {
            Json alone =
                run(QStringList{"generate", words, "--prompt", lines[i], "--seed", QString::number(5 + i)} + rules).json();
            alone.erase("seconds");
            alone.erase("warnings");
            QVERIFY(together.at("texts")[static_cast<std::size_t>(i)] == alone);
        }
        const Outcome shown = run({"generate", words, "--prompts", file, "--new-tokens", "3"});
        QCOMPARE(shown.out.count("\n\n"), 11);
        QVERIFY(shown.out.startsWith(lines[0].toUtf8()));
    }

    void generateSaysWhatItCannotDo() {
        const Scratch words;
        const Scratch encoder;
        const QString decoder = writeWordModel(words, "llama-gqa", 37);
        const QString other = writeMask(words, "9x9/3x64+1536", "[]");
        const auto refused = [](const QString& path, const QStringList& more, int status, const char* sentence) {
            const Outcome outcome = run(QStringList{"generate", path} + more);
            const bool once = outcome.error.contains(sentence) && outcome.error.count('\n') <= 2;
            if (outcome.status != status || !once || !outcome.out.isEmpty())
                qWarning("%d %s", outcome.status, qPrintable(outcome.error));
            return outcome.status == status && once && outcome.out.isEmpty();
        };
        QVERIFY(refused(writeWordModel(encoder, "bert", 33), {"--prompt", "w1"}, 1, "is an encoder"));
        QVERIFY(refused(decoder, {"--prompt", ""}, 1, "The prompt is empty, and the tokenizer puts no special token"));
        QVERIFY(refused(decoder, {"--prompt", QString("w5 ").repeated(64)}, 1,
                        "The prompt has 64 tokens, which leaves no room in the model's context of 64"));
        QVERIFY(refused(model, {"--prompt", "a"}, 1, "has no tokenizer"));
        QVERIFY(refused(decoder, {"--prompt", "w1", "--mask", other}, 1, "9x9/3x64+1536"));
        QVERIFY(refused(decoder, {"--prompt", "w1", "--mask", "/nonexistent.json"}, 1, "/nonexistent.json"));
        QVERIFY(
            refused(decoder, {"--prompt", "w1", "--dtype", "float16"}, 1, "float16 is supported on CUDA devices only"));
        QVERIFY(refused(decoder, {}, 2, "--prompt: is required, unless there is --prompts"));
        for (const QStringList& wrong : {QStringList{"--temperature", "-1"},
                                         {"--temperature", "nan"},
                                         {"--top-p", "0"},
                                         {"--top-p", "1.5"},
                                         {"--seed", "-1"},
                                         {"--new-tokens", "0"},
                                         {"--dtype", "int8"},
                                         {"--memory-budget", "lots"},
                                         {"--memory-budget", "-2G"},
                                         {"--memory-budget", "0"},
                                         {"--memory-budget", "2X"}})
            QVERIFY(refused(decoder, QStringList{"--prompt", "w1"} + wrong, 2, qPrintable(wrong.front().mid(2))));
    }

    void neuronsAreSummedUpForPeopleAndWholeInJson() {
        const Outcome people = run({"measure", model, "--metric", "mag_sp_neuron"});
        QCOMPARE(people.status, 0);
        QCOMPARE(people.out.count('\n'), 3); // a header and one line for each of the two layers
        QVERIFY(people.out.contains("mag_sp_neuron median"));
        const Scratch scratch;
        const Json values =
            run({"measure", model, "--metric", "mag_sp_neuron", "--json", "--out", scratch.path("s.h5")})
                .json()
                .at("metrics")
                .at("mag_sp_neuron")
                .at("values");
        QCOMPARE(values.at(1).size(), std::size_t{32});
        const Session session = readSession(scratch.path("s.h5").toStdString());
        QCOMPARE(session.results.front().values(1, 31), values.at(1).at(31).get<double>());
        const auto figure = [&](const char* request) {
            return run({"plot", scratch.path("s.h5"), "--figure", request, "--out", scratch.path("n.json"), "--json"});
        };
        QCOMPARE(figure("neurons").json().at("kind").get<std::string>(), "bands");
        QCOMPARE(figure("neurons:layer=1").json().at("edges").size(), std::size_t{8});
        QCOMPARE(figure("neurons:layer=2").status, 2);
    }
    void figuresAreDrawnFromSessionsAndModels() {
        const Scratch scratch;
        QCOMPARE(run({"measure", model, "--metric", "weights", "--out", scratch.path("s.h5")}).status, 0);
        const QString heads = "heads:metric=gate_norm_head.fold_norm-true";
        QCOMPARE(run({"plot", model, "--figure", heads, "--out", scratch.path("h.csv")}).status, 0);
        QCOMPARE(contents(scratch.path("h.csv")).count('\n'), 1 + 2 * 8);
        const Outcome absent = run({"plot", scratch.path("s.h5"), "--figure", heads, "--out", scratch.path("h.json")});
        QCOMPARE(absent.status, 1);
        QVERIFY2(absent.error.contains("holds no result"), qPrintable(absent.error));
        QVERIFY(!QFile::exists(scratch.path("h.json")));
        QCOMPARE(run({"plot", scratch.path("s.h5"), "--figure", "layers", "--out", scratch.path("l.json")}).status, 0);
        QCOMPARE(Json::parse(contents(scratch.path("l.json")).toStdString()).at("series").size(), std::size_t{2});

        const QMap<QString, QByteArray> starts{{"png", "\x89PNG"}, {"svg", "<?xml"}, {"pdf", "%PDF"}};
        for (auto [kind, start] : starts.asKeyValueRange()) {
            const QString out = scratch.path("h." + kind);
            const Outcome drawn = run({"plot", scratch.path("s.h5"), "--figure", "heads", "--out", out});
#ifdef SECATEUR_WITH_QT
            QVERIFY2(drawn.status == 0 && drawn.error.isEmpty(), qPrintable(drawn.error));
            QVERIFY2(contents(out).startsWith(start), qPrintable(kind));
#else
            QCOMPARE(drawn.status, 1);
            QVERIFY2(drawn.error.contains("drawing needs the build with Qt"), qPrintable(drawn.error));
            QVERIFY(!QFile::exists(out));
#endif
        }
        for (const QString kind : {"md", "tex", "html"}) { // a picture is no table
            const QString out = scratch.path("h." + kind);
            const Outcome refused = run({"plot", scratch.path("s.h5"), "--figure", "heads", "--out", out});
            QCOMPARE(refused.status, 2);
            QVERIFY2(refused.error.contains("the figure heads is a picture; ." + kind + " is for tables"),
                     qPrintable(refused.error));
            QVERIFY(!QFile::exists(out));
        }
        const QStringList captioned{"plot",  scratch.path("s.h5"), "--figure", "heads", "--caption",
                                    "--out", scratch.path("c.csv")};
        QCOMPARE(run(captioned).status, 0);
        const QByteArray caption = contents(scratch.path("c.caption.txt"));
        QVERIFY(caption.contains("gate-norm") && caption.contains("\n\nDrawn by Secateur: secateur-cli plot "));
        QCOMPARE(run(captioned).status, 0); // replaces both files
        QFile own(scratch.path("c.caption.txt"));
        QVERIFY(own.open(QIODevice::WriteOnly) && own.write("a text of somebody") > 0);
        own.close();
        QCOMPARE(run(captioned).status, 1);
    }

    void attentionIsDrawnOfAPrompt() {
        const Scratch scratch;
        const QString words = writeWordModel(scratch, "llama-gqa", 37);
        const QString out = scratch.path("a.json");
        const auto plot = [&](QStringList more) {
            return run(QStringList{"plot", words, "--out", out, "--json", "--figure"} + more);
        };
        const QStringList prompt{"--prompt", "w1 w2 w3 w4"};
        const Outcome drawn = plot(QStringList{"attention:layer=1:head=1"} + prompt);
        QVERIFY2(drawn.status == 0, qPrintable(drawn.error));
        const Json cells = drawn.json().at("cells");
        QVERIFY(cells.size() >= 4);
        for (std::size_t query = 0; query < cells.size(); ++query) {
            double sum = 0;
            for (std::size_t key = 0; key < cells.size(); ++key)
                if (key <= query)
                    sum += cells.at(query).at(key).get<double>();
                else
                    QVERIFY(cells.at(query).at(key).is_null());
            QVERIFY2(std::abs(sum - 1) < 1e-5, qPrintable(QString::number(sum)));
        }
        QVERIFY(drawn.json().at("command").get<std::string>().ends_with("--prompt 'w1 w2 w3 w4'"));
        const QString mask =
            writeMask(scratch, structureOf(words), R"([{"layer":0,"attention":"drop"},{"layer":1,"heads_cut":[0]}])");
        const QString promptFile = scratch.path("prompt.txt");
        scratch.write("prompt.txt", "w1 w2 w3 w4");
        const Outcome read = plot({"attention:layer=1:head=1", "--prompt-file", promptFile});
        QVERIFY(read.json().at("cells") == drawn.json().at("cells"));
        QVERIFY(read.json().at("command").get<std::string>().ends_with("--prompt-file " + promptFile.toStdString()));
        QCOMPARE(plot(QStringList{"attention", "--prompt-file", promptFile} + prompt).status, 2);
        const Outcome masked = plot(QStringList{"attention:layer=1:head=1", "--mask", mask} + prompt);
        QVERIFY2(masked.status == 0, qPrintable(masked.error));
        QVERIFY(masked.json().at("cells") != cells);
        const Outcome cut = plot(QStringList{"attention:layer=1:head=0", "--mask", mask} + prompt);
        QCOMPARE(cut.status, 1);
        QVERIFY2(cut.out.contains("it is cut"), cut.out);
        QCOMPARE(plot({"attention"}).status, 2);
        QCOMPARE(plot(QStringList{"attention:head=99"} + prompt).status, 2);
        QCOMPARE(plot(QStringList{"attention:layer=99"} + prompt).status, 2);
        QCOMPARE(plot(QStringList{"heads"} + prompt).status, 2);
    }

    void cutsOfAMaskFileAreMarked() {
        const Scratch scratch;
        const QString words = writeWordModel(scratch, "llama-gqa", 37);
        const QString mask = writeMask(scratch, structureOf(words), R"([{"layer":1,"heads_cut":[0]}])");
        const auto plot = [&](const QString& figure, const QString& out) {
            return run({"plot", words, "--figure", figure, "--mask", mask, "--out", scratch.path(out), "--json"});
        };
        for (const char* figure : {"heads", "layers:metrics=gate_norm_head", "neurons", "scatter"}) {
            const Outcome drawn = plot(figure, "f.json");
            QVERIFY2(drawn.status == 0, qPrintable(drawn.error));
            const QString command = QString::fromStdString(drawn.json().at("command").get<std::string>());
            QVERIFY2(command.endsWith(" --mask " + mask), qPrintable(command));
        }
        const Outcome points = plot("scatter", "points.csv");
        QCOMPARE(points.status, 0);
        QFile csv(scratch.path("points.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QVERIFY(QString::fromUtf8(csv.readAll()).contains(QRegularExpression("\n1,0,[^,]+,[^,]+,0\r")));
        QCOMPARE(plot("rank_difference", "r.csv").status, 2); // marks no cuts
        QCOMPARE(plot("heads:scale=cubic", "r.csv").status, 2);
    }

    void listsSayWhatThereIs() {
        const Json metrics = run({"list", "metrics", "--json"}).json();
        QCOMPARE(metrics.at("kind").get<std::string>(), "metrics");
        QCOMPARE(metrics.at("items").at(0).at("id").get<std::string>(), "gate_norm");
        for (const char* field : {"summary", "source", "options", "scope", "needs", "prune_first", "unit", "formula"})
            QVERIFY2(metrics.at("items").at(0).contains(field), field);
        QVERIFY(run({"list", "architectures"}).out.contains("llama"));
        QVERIFY(run({"list", "formats"}).out.contains("safetensors"));
        QVERIFY(run({"list", "figures"}).out.contains(":metric=gate_norm_head"));
    }
};

SECATEUR_SUITE(TestCli)
#include "tst_cli.moc"
