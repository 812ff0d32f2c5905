// Every command of README.md and of the manual runs as it is printed, with and without each of its optional options, on
// small models that are drawn for the test.

#include "tests/support/command_line.h"
#include "tests/support/drawn_checkpoints.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <QDir>
#include <QProcess>
#include <QRegularExpression>

#include <algorithm>
#include <optional>

using namespace secateur;
using test::DrawnShape;
using test::Outcome;
using test::Scratch;
using Json = nlohmann::json;

namespace {

struct Documented {
    QString place;   ///< "using.md:166"
    QString before;  ///< assignments that the same block makes: "M=..."
    QString command; ///< without its comment
};

/// The commands in a Markdown file: lines of code blocks, and code in sentences.
QList<Documented> commandsIn(const QString& path) {
    static const QRegularExpression inSentence("`(secateur-cli [a-z]+ [a-z][^`]*)`");
    static const QRegularExpression comment("\\s+#.*$");
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", qPrintable(path));
    QList<Documented> commands;
    QString before;
    bool inBlock = false;
    int number = 0;
    for (const QString& line : QString::fromUtf8(file.readAll()).split('\n')) {
        const QString place = QString("%1:%2").arg(QFileInfo(path).fileName()).arg(++number);
        if (line.startsWith("```")) {
            inBlock = !inBlock;
            before.clear();
        } else if (inBlock && line.contains(QRegularExpression("^[A-Z]+="))) {
            before += line + "; ";
        } else if (inBlock && line.startsWith("secateur-cli ") && !line.contains(" VERB")) {
            commands << Documented{place, before, QString(line).remove(comment)};
        } else if (!inBlock) {
            for (auto match = inSentence.globalMatch(line); match.hasNext();)
                commands << Documented{place, {}, match.next().captured(1)};
        }
    }
    return commands;
}

QList<Documented> documentedCommands() {
    const QDir root(SECATEUR_SOURCE_DIR);
    QList<Documented> commands = commandsIn(root.filePath("README.md"));
    const QDir manual(root.filePath("resources/manual"));
    for (const QString& name : manual.entryList({"*.md"}, QDir::Files))
        commands += commandsIn(manual.filePath(name));
    return commands;
}

/// The words of a command; quoted ones keep their quotes.
QStringList wordsOf(const QString& command) {
    static const QRegularExpression word("\"[^\"]*\"|\\S+");
    QStringList words;
    for (auto match = word.globalMatch(command); match.hasNext();)
        words << match.next().captured();
    return words;
}

/// An option with its values.
struct Option {
    QString name;
    qsizetype begin;
    qsizetype end;
};

QList<Option> optionsOf(const QStringList& words) {
    QList<Option> options;
    for (qsizetype i = 0; i < words.size(); ++i)
        if (words[i].startsWith("--"))
            options << Option{words[i], i, i + 1};
        else if (!options.isEmpty())
            options.back().end = i + 1;
    return options;
}

/// Options without which a verb is a usage error.
QStringList neededBy(const QString& command) {
    if (command.contains(" reproduce ")) // without these, the whole recipe runs
        return {"--out", "--dry-run", "--only"};
    if (command.contains(" report "))
        return {"--out"};
    if (command.contains(" measure "))
        return {"--metric"};
    if (command.contains(" sweep "))
        return {"--strategy", "--budgets", "--preset", "--recover-steps", "--out"};
    if (command.contains("gnorm_greedy")) // takes minutes on the built-in text
        return {"--strategy", "--budget", "--out", "--text", "--task"};
    if (command.contains(" prune "))
        return {"--strategy", "--budget", "--out"};
    if (command.contains(" compensate "))
        return {"--mask", "--out"};
    if (command.contains(" recover "))
        return {"--out", "--data"};
    if (command.contains(" export "))
        return {"--mask", "--as", "--out"};
    if (command.contains(" plot "))
        return {"--figure", "--out", "--prompt", "--reference"};
    if (command.contains(" generate "))
        return {"--prompt"};
    if (command.contains(" merge "))
        return {"--out"};
    if (command.contains(" ENCODER --")) // an encoder has no perplexity
        return {"--mask", "--task"};
    return {};
}

/// Options that need another one.
const QMap<QString, QStringList> dependents{{"--task", {"--format", "--limit", "--shots", "--shots-from", "--answers"}},
                                            {"--shots", {"--shots-from"}},
                                            {"--recover", {"--recover-data", "--recover-steps"}},
                                            {"--latency", {"--new-tokens", "--lengths", "--by", "--runs"}},
                                            {"--mask", {"--predict"}},
                                            {"--statistics", {"--csv"}}};

/// Whether an option changes the form of what is printed. Commands without another one are run as text only.
bool changesOutput(const QString& option) {
    return !QStringList{"--out",        "--limit", "--seed",  "--temperature", "--top-p",
                        "--max-tokens", "--split", "--width", "--window",      "--seq-len"}
                .contains(option);
}

/// The command without one of its options; each of several equal options is left out in turn. Each as text, and with
/// --json.
QStringList shortened(const QString& command) {
    const QStringList words = wordsOf(command);
    const QList<Option> options = optionsOf(words);
    QStringList variants;
    for (const Option& left : options) {
        if (neededBy(command).contains(left.name))
            continue;
        const bool isLast = std::ranges::count(options, left.name, &Option::name) == 1;
        QStringList kept = words;
        for (auto other = options.crbegin(); other != options.crend(); ++other) {
            const bool depends = isLast && dependents.value(left.name).contains(other->name);
            if (other->begin == left.begin || depends)
                kept.erase(kept.begin() + other->begin, kept.begin() + other->end);
        }
        variants << kept.join(' ');
        if (changesOutput(left.name) && !kept.contains("--json"))
            variants << kept.join(' ') + " --json";
    }
    return variants;
}

/// A model that is large enough for a command, and no larger.
DrawnShape shapeFor(const QString& command) {
    if (command.contains("--lengths"))
        return {1, 1, 1, 32768};
    if (command.contains("cut=9.7") || command.contains("layer=12") || command.contains("gate_norm --budget 8"))
        return {14, 8, 4, 512};
    if (command.contains("--budget 50"))
        return {4, 16, 4, 512};
    return {4, 8, 4, command.contains("4096") ? 8192 : 512};
}

QByteArray repeated(const QByteArray& row, int count) {
    QByteArray rows;
    for (int i = 0; i < count; ++i)
        rows += QByteArray(row).replace("%", QByteArray::number(i % 2)).replace("#", QByteArray::number(i));
    return rows;
}

/// The files that commands name, in the folder of a test.
class Workplace {
public:
    explicit Workplace(const QString& command)
        : m_command(command)
        , m_shape(shapeFor(command)) {
        test::writeDrawnFolder(m_scratch, "MODEL", m_shape);
        if (command.contains("model.gguf"))
            test::writeDrawnGguf(m_scratch, "model.gguf", m_shape);
        if (command.contains("$M"))
            test::writeDrawnGguf(m_scratch, ".cache/secateur/SmolLM2-135M-Instruct.Q4_1.gguf", m_shape);
        writeTexts();
        writeMasks();
        if (command.contains("ENCODER"))
            writeEncoder();
        writeSessions();
    }

    /// Runs a command in a shell, in the folder, which is also the home folder.
    Outcome run(const QString& command) const {
        QProcess shell;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("HOME", m_scratch.path());
        environment.insert("OMP_WAIT_POLICY", "passive"); // waiting threads leave the processor to other tests
        environment.insert("PATH", QFileInfo(SECATEUR_CLI).path() + ":" + environment.value("PATH"));
        shell.setProcessEnvironment(environment);
        shell.setWorkingDirectory(m_scratch.path());
        shell.start("bash", {"-c", command});
        if (!shell.waitForFinished(280'000) || shell.exitStatus() != QProcess::NormalExit)
            qFatal("%s: %s", qPrintable(command), qPrintable(shell.errorString()));
        return {shell.exitCode(), shell.readAllStandardOutput(), QString::fromUtf8(shell.readAllStandardError())};
    }

    /// Removes what the same command wrote before, since exports and training runs replace nothing.
    void clear() const {
        if (m_command.contains(" recover "))
            for (const char* name : {"adapter", "trained"})
                QDir(m_scratch.path(name)).removeRecursively();
        for (const char* name :
             {"pruned", "pruned.gguf", "pruned.md", "pruned.mask.json", "smaller", "smaller.gguf", "smaller.md",
              "smaller.mask.json", "eight-masked.gguf", "eight-masked.md", "eight-masked.mask.json"}) {
            QDir(m_scratch.path(name)).removeRecursively();
            QFile::remove(m_scratch.path(name));
        }
    }

    QString path(const QString& name) const { return m_scratch.path(name); }

private:
    void writeTexts() const {
        const QByteArray page =
            " = Title = \n\n" + repeated(" The page has # words , and then more of them .", 24) + "\n\n";
        for (const char* name : {"wiki.raw", "wiki.test.raw", "calibration.txt"})
            m_scratch.write(name, repeated(page, 4));
        m_scratch.write("sentences.txt", repeated("This is sentence # of them.\n", 8));
        m_scratch.write("alpaca.jsonl", repeated(R"({"prompt": "Say #: ", "answers": ["#"]})"
                                                 "\n",
                                                 4));
        for (const char* name : {"sst2.jsonl", "sst2_validation.jsonl"})
            m_scratch.write(name, repeated(R"({"sentence": "a film of # hours", "label": %})"
                                           "\n",
                                           4));
        m_scratch.write(
            "arc.jsonl",
            repeated(R"({"question": "What is #?", "choices": {"text": ["one", "two"], "label": ["A", "B"]}, )"
                     R"("answerKey": "B"})"
                     "\n",
                     4));
        m_scratch.write("hellaswag_val.jsonl",
                        repeated(R"({"activity_label": "Sums", "ctx_a": "We add #", "ctx_b": "and", )"
                                 R"("endings": ["one.", "two.", "three.", "four."], "label": "%"})"
                                 "\n",
                                 4));
        for (const char* name : {"mmlu_test.jsonl", "mmlu_dev.jsonl"})
            m_scratch.write(name, repeated(R"({"subject": "sums", "question": "# and 1?", )"
                                           R"("choices": ["1", "2", "3", "4"], "answer": %})"
                                           "\n",
                                           6));
    }

    void writeMask(const QString& name, const QByteArray& layers, const QByteArray& architecture,
                   const QByteArray& structure) const {
        m_scratch.write(name, R"({"secateur_mask": 1, "model": {"architecture": ")" + architecture +
                                  R"(", "structure": ")" + structure + R"("}, "layers": )" + layers + "}");
    }

    void writeMasks() const {
        const QByteArray layers = m_shape.layers == 1
                                      ? R"([{"layer": 0, "mlp": "drop"}])"
                                      : R"([{"layer": 1, "heads_cut": [0, 3]}, {"layer": 2, "attention": "drop"}])";
        for (const char* name : {"cut.mask.json", "eight.mask.json", "a.mask.json", "A.json", "M.json"})
            writeMask(name, layers, "llama", m_shape.structure());
        writeMask("B.json", R"([{"layer": 0, "neurons_cut": [[0, 3]]}])", "llama", m_shape.structure());
    }

    /// A classifier for tasks, else a bare encoder.
    void writeEncoder() const {
        const bool isClassifier = m_command.contains("--task");
        QDir().mkdir(m_scratch.path("ENCODER"));
        const QString from = QString(SECATEUR_TEST_SOURCES "/forward/") + (isClassifier ? "bert" : "bert-bare");
        const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos/";
        for (const QString& file : {from + "/config.json", from + "/model.safetensors", tokenizer + "tokenizer.json",
                                    tokenizer + "tokenizer_config.json"})
            QFile::copy(file, m_scratch.path("ENCODER/" + QFileInfo(file).fileName()));
        const Json card = run("secateur-cli inspect ENCODER --json").json();
        writeMask("cut.mask.json", R"([{"layer": 0, "heads_cut": [1]}])", "bert",
                  QByteArray::fromStdString(card.at("structure").get<std::string>()));
    }

    void writeSessions() const {
        if (m_command.contains(" plot s.h5") || m_command.contains(" show s.h5"))
            run("secateur-cli measure MODEL --metric weights --out s.h5");
        for (const char* name : {"s.h5", "eight.h5"})
            if (m_command.contains(QString(" report %1").arg(name)))
                run(QString("secateur-cli measure MODEL --metric weights --out %1").arg(name));
        if (m_command.contains("--figure curves") || m_command.contains("--figure agreement")) {
            m_scratch.write("arc_easy.jsonl", R"({"query":"the model","choices":["a layer","the text"],"gold":0}
{"query":"the text","choices":["of a","the mask"],"gold":1})");
            run("secateur-cli sweep MODEL --strategy flap,wanda_sp,amp --budgets params:20% --max-tokens 512 "
                "--task arc_easy.jsonl --latency --runs 1 --warmup 0 --new-tokens 2 --out s.h5");
        }
        if (m_command.contains("--compare masked") || m_command.contains("plot masked"))
            run("secateur-cli export MODEL --mask A.json --as masked --out masked");
        if (m_command.contains("--adapter adapter"))
            run("secateur-cli recover MODEL --data calibration.txt --epochs 1 --out adapter");
        if (m_command.contains("trained/mask.json"))
            run("secateur-cli recover MODEL --data calibration.txt --steps 2 --train compensation --out trained");
        if (m_command.contains("--session s.h5"))
            run("secateur-cli evaluate MODEL --mask A.json --text wiki.raw --predict --out s.h5");
        for (const char* name : {"server.h5", "laptop.h5"})
            if (m_command.contains(name))
                run(QString("secateur-cli measure MODEL --metric gate_norm --out %1").arg(name));
    }

    Scratch m_scratch;
    QString m_command;
    DrawnShape m_shape;
};

/// What is wrong with the outcome of a command; empty if nothing is.
QString complaint(const Outcome& outcome, bool isJson) {
    if (outcome.status != 0)
        return QString("status %1: %2%3").arg(outcome.status).arg(outcome.error, QString::fromUtf8(outcome.out));
    if (!isJson)
        return {};
    return Json::accept(outcome.out.toStdString()) ? QString() : "no JSON: " + QString::fromUtf8(outcome.out);
}

} // namespace

class TestDocumentedCommands : public QObject {
    Q_OBJECT

private slots:
    void theyAreFound() {
        const QList<Documented> commands = documentedCommands();
        QVERIFY2(commands.size() > 50, qPrintable(QString::number(commands.size())));
        for (const char* verb : {"inspect", "measure", "ablate", "prune", "evaluate", "sweep", "compensate", "recover",
                                 "mask", "generate", "export", "session", "plot", "list"})
            QVERIFY2(std::ranges::any_of(commands,
                                         [&](const Documented& documented) {
                                             return documented.command.startsWith(QString("secateur-cli ") + verb);
                                         }),
                     verb);
    }

    void eachRuns_data() {
        QTest::addColumn<QString>("before");
        QTest::addColumn<QString>("command");
        for (const Documented& documented : documentedCommands())
            QTest::newRow(qPrintable(documented.place)) << documented.before << documented.command;
    }
    void eachRuns() {
        QFETCH(QString, before);
        QFETCH(QString, command);
        const Workplace workplace(command);
        QStringList all{command};
        if (!command.contains("--json"))
            all << command + " --json";
        all += shortened(command);
        for (const QString& text : all) {
            if (m_ran.contains(text))
                continue;
            m_ran.insert(text);
            workplace.clear();
            const QString wrong = complaint(workplace.run(before + text), text.contains("--json"));
            QVERIFY2(wrong.isEmpty(), qPrintable(text + "\n" + wrong));
        }
    }

private:
    QSet<QString> m_ran; ///< commands that several places print, or that are others without an option
};

SECATEUR_SUITE(TestDocumentedCommands)
#include "tst_documented_commands.moc"
