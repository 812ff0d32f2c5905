// Every verb on odd but valid models: one layer, one head, one neuron, few tokens, few positions, ragged layers, sizes
// that fill no vector register, all types of weights, encoders. Each command succeeds or says in one sentence why not,
// without a crash or a report of a sanitizer.

#include "tests/support/command_line.h"
#include "tests/support/drawn_checkpoints.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QProcess>
#include <QtTest>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

using namespace secateur;
using test::DrawnShape;
using test::DrawnType;
using test::Outcome;
using test::Scratch;

namespace {

struct OddModel {
    const char* id;
    QString name; ///< of its file or folder
    std::function<void(const Scratch& folder)> write;
    QStringList refusals{}; ///< parts of the sentences with which commands fail; each is said at least once
};

OddModel folderOf(const char* id, const DrawnShape& shape, const QStringList& refusals = {}) {
    return {id, "model", [shape](const Scratch& folder) { test::writeDrawnFolder(folder, "model", shape); }, refusals};
}

OddModel ggufOf(const char* id, const DrawnShape& shape, const QStringList& refusals = {}) {
    return {id, "model.gguf", [shape](const Scratch& folder) { test::writeDrawnGguf(folder, "model.gguf", shape); },
            refusals};
}

/// A model of tests/data with a tokenizer of letters.
OddModel fixtureOf(const char* id, const QStringList& refusals = {}) {
    return {id, "model",
            [id](const Scratch& folder) {
                QDir(folder.path()).mkdir("model");
                const QString weights = QString(SECATEUR_TEST_SOURCES "/forward/") + id;
                const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos";
                for (const QString& file : {weights + "/config.json", weights + "/model.safetensors",
                                            tokenizer + "/tokenizer.json", tokenizer + "/tokenizer_config.json"})
                    if (!QFile::copy(file, folder.path("model/" + QFileInfo(file).fileName())))
                        qFatal("cannot copy %s", qPrintable(file));
            },
            refusals};
}

/// An encoder has no next token, and one without a head no loss.
const QStringList encoder{"is an encoder"};

std::vector<OddModel> oddModels() {
    std::vector<OddModel> all{
        folderOf("one layer", {.layers = 1}),
        folderOf("one head", {.heads = 1, .kvHeads = 1}),
        folderOf("one KV head", {.kvHeads = 1}),
        folderOf("one neuron", {.ffn = 1}),
        folderOf("odd sizes", {.layers = 2, .heads = 3, .kvHeads = 3, .hidden = 21, .headDim = 10, .ffn = 13}),
        folderOf("few tokens", {.layers = 2, .vocab = 3}),
        folderOf("few positions", {.layers = 2, .context = 4}),
        folderOf("one of everything", {.layers = 1, .heads = 1, .kvHeads = 1, .context = 3, .hidden = 1, .headDim = 2,
                                       .ffn = 1, .vocab = 3}),
        folderOf("tied", {.layers = 2, .isTied = true}),
        folderOf("bfloat16", {.layers = 2, .type = DrawnType::bf16}),
        folderOf("float16", {.layers = 2, .type = DrawnType::f16}),
        ggufOf("GGUF float16", {.layers = 2, .type = DrawnType::f16}),
        ggufOf("GGUF bfloat16", {.layers = 2, .type = DrawnType::bf16}),
        ggufOf("GGUF Q8_0", {.layers = 2, .ffn = 32, .type = DrawnType::q8_0}),
        ggufOf("GGUF Q4_0", {.layers = 1, .ffn = 96, .type = DrawnType::q4_0}),
        ggufOf("ragged GGUF", {.ragged = {{8, 4, 16}, {0, 0, 16}, {2, 1, 1}, {1, 1, 0}, {3, 1, 7}}}),
    };
    for (const char* id : {"gpt2", "gemma3", "phi", "qwen3"})
        all.push_back(fixtureOf(id));
    for (const char* id : {"bert", "bert-bare", "roberta", "albert"})
        all.push_back(fixtureOf(id, encoder));
    return all;
}

QStringList idsOf(const char* kind) {
    QStringList ids;
    for (const auto& row : test::run({"list", kind, "--json"}).json().at("items"))
        ids << QString::fromStdString(row.at("id").get<std::string>());
    return ids;
}

/// The commands that make results: measurements, masks, evaluations.
QStringList measuringCommands() {
    QStringList commands{"inspect MODEL --json", "inspect MODEL --tensors", "inspect MODEL --tokens \"it is a test\"",
                         "measure MODEL --metric weights --out s.h5",
                         "measure MODEL --metric forward,gradient,ablation --max-tokens 60 --out s.h5 --csv tables",
                         "measure MODEL --metric all --max-tokens 30 --dtype bfloat16 --memory-budget 1",
                         "ablate MODEL --units heads,attention,mlps,blocks --max-tokens 60 --out s.h5"};
    for (const QString& id : idsOf("strategies")) {
        const QString strategy = id == "by_metric" ? id + ":metric=mag_sp_neuron" : id;
        commands << QString("prune MODEL --strategy %1 --budget 1 --max-tokens 40 --out %2.json").arg(strategy, id);
    }
    for (const char* unit : {"head", "neuron", "block"})
        commands << QString("prune MODEL --strategy random_%1 --budget 100% --out all_%1s.json").arg(unit);
    return commands;
}

/// The commands that use masks and results. A.json and B.json are masks of the model.
QStringList usingCommands(const QString& exported) {
    QStringList commands{"evaluate MODEL --mask A.json --mask B.json --max-tokens 60 --predict --out s.h5 --json",
                         "evaluate MODEL --protocol word_ppl --text text.txt",
                         "evaluate MODEL --task task.jsonl --mask A.json --answers --json",
                         "evaluate MODEL --latency --new-tokens 1 --prompt-tokens 1 --warmup 0 --runs 1 --lengths 1,2 "
                         "--by sublayer --mask B.json",
                         "mask show A.json --model MODEL --json",
                         "mask union A.json B.json --model MODEL --out both.json",
                         "mask diff A.json both.json",
                         "mask subtract both.json A.json",
                         "mask legalise both.json --out legal.json",
                         "mask grow both.json --model MODEL",
                         "mask invert A.json --model MODEL --out rest.json",
                         "export MODEL --mask both.json --as masked --out EXPORT",
                         "inspect EXPORT",
                         "evaluate EXPORT --mask A.json --max-tokens 60",
                         "generate MODEL --prompt it --new-tokens 3 --mask both.json",
                         "generate EXPORT --prompt it --new-tokens 3 --temperature 1"};
    for (const QString& id : idsOf("figures"))
        commands << (id == "attention" ? "plot MODEL --figure attention --prompt it --mask A.json --out attention.csv"
                                       : QString("plot s.h5 --figure %1 --out %1.csv").arg(id));
    commands << "plot s.h5 --figure layers --out layers.svg"
             << "session show s.h5 --json"
             << "session merge s.h5 s.h5 --out joined.h5";
    return commands.replaceInStrings("EXPORT", exported);
}

Outcome runIn(const QString& folder, const QString& command) {
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("OMP_WAIT_POLICY", "passive"); // waiting threads leave the processor to other tests
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    program.setProcessEnvironment(environment);
    program.setWorkingDirectory(folder);
    program.start(SECATEUR_CLI, QProcess::splitCommand(command));
    if (!program.waitForFinished(280'000))
        qFatal("%s: %s", qPrintable(command), qPrintable(program.errorString()));
    return {program.exitStatus() == QProcess::NormalExit ? program.exitCode() : -1, program.readAllStandardOutput(),
            QString::fromUtf8(program.readAllStandardError())};
}

/// The sentence of a command that failed; empty if it did not fail with exactly one.
QString refusalIn(const Outcome& outcome) {
    QStringList lines = outcome.error.split('\n', Qt::SkipEmptyParts);
    lines.removeIf([](const QString& line) { return line.startsWith("note: "); });
    return outcome.status == 1 && lines.size() == 1 && lines[0].startsWith("secateur-cli: ") ? lines[0] : QString();
}

bool hasReport(const Outcome& outcome) {
    return outcome.error.contains("runtime error:") || outcome.error.contains("Sanitizer");
}

} // namespace

class TestOddModels : public QObject {
    Q_OBJECT

private slots:
    void eachCommandSucceedsOrSaysWhyNot_data() {
        QTest::addColumn<int>("index");
        const std::vector<OddModel> models = oddModels();
        for (std::size_t i = 0; i < models.size(); ++i)
            QTest::newRow(models[i].id) << static_cast<int>(i);
    }
    void eachCommandSucceedsOrSaysWhyNot() {
        QFETCH(int, index);
        const OddModel model = oddModels().at(static_cast<std::size_t>(index));
        const Scratch folder;
        model.write(folder);
        folder.write("text.txt", " = Title = \n\n it is a test , and then it is another one .\n");
        folder.write("task.jsonl", R"({"query": "it is", "choices": [" a", " test"], "gold": 1})"
                                   "\n");
        QStringList open = model.refusals;
        for (const QString& command : measuringCommands())
            runOn(model, folder, command, open);
        QVERIFY(QFile::copy(folder.path("random_neuron.json"), folder.path("A.json")));
        QVERIFY(QFile::copy(folder.path("random_head.json"), folder.path("B.json")));
        for (const QString& command : usingCommands(model.name.endsWith(".gguf") ? "exported.gguf" : "exported"))
            runOn(model, folder, command, open);
        for (const QString& part : open)
            m_wrong << "nothing was refused with: " + part;
        const QString wrong = std::exchange(m_wrong, {}).join('\n');
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
    void cleanupTestCase() { qInfo("%d commands, %d of them refused", m_commands, m_refused); }

private:
    /// Runs a command and notes what is wrong. @param open the sentences that nothing was refused with yet
    void runOn(const OddModel& model, const Scratch& folder, QString command, QStringList& open) {
        const Outcome outcome = runIn(folder.path(), command.replace("MODEL", model.name));
        ++m_commands;
        if (outcome.status == 0 && !hasReport(outcome))
            return;
        ++m_refused;
        const QString said = refusalIn(outcome);
        const auto known =
            std::ranges::find_if(model.refusals, [&](const QString& part) { return said.contains(part); });
        if (said.isEmpty() || known == model.refusals.end())
            m_wrong << QString("%1\nstatus %2: %3").arg(command).arg(outcome.status).arg(outcome.error);
        else
            open.removeAll(*known);
    }

    QStringList m_wrong;
    int m_commands = 0;
    int m_refused = 0;
};

SECATEUR_SUITE(TestOddModels)
#include "tst_odd_models.moc"
