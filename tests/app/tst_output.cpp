// What secateur-cli prints: tables, streams that are closed or full, texts that would control a terminal, and which
// files it replaces.

#include "app/cli/table.h"
#include "backends/session/mask_json.h"
#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <QDir>
#include <QProcess>

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace secateur;
using cli::Align;
using cli::Column;
using cli::Rows;
using cli::Table;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString model = SECATEUR_TEST_SOURCES "/gqa-f32";

/// Runs a command line of a shell, in which $CLI is the program.
Outcome runShell(const QString& command) {
    QProcess shell;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("CLI", SECATEUR_CLI);
    shell.setProcessEnvironment(environment);
    shell.start("bash", {"-c", command});
    if (!shell.waitForFinished(60'000) || shell.exitStatus() != QProcess::NormalExit)
        qFatal("%s: %s", qPrintable(command), qPrintable(shell.errorString()));
    return {shell.exitCode(), shell.readAllStandardOutput(), QString::fromUtf8(shell.readAllStandardError())};
}

/// Runs the program with a terminal as its standard output. @returns what the terminal received
QByteArray runOnTerminal(const QStringList& arguments) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        qFatal("no terminal");
    QProcess program;
    program.setStandardOutputFile(ptsname(terminal));
    program.start(SECATEUR_CLI, arguments);
    QByteArray received;
    const auto read = [&] {
        char block[4096];
        for (ssize_t count = 0; (count = ::read(terminal, block, sizeof block)) > 0;)
            received.append(block, static_cast<qsizetype>(count));
    };
    while (program.state() != QProcess::NotRunning && !program.waitForFinished(20)) // it may not have started
        read();
    read();
    ::close(terminal);
    return program.exitCode() == 0 ? received : program.readAllStandardError();
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool hasControlCharacters(const QByteArray& text) {
    return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7f'; });
}

/// Copies a small model of tests/data/forward into a folder, and gives it a tokenizer whose tokens switch a terminal's
/// colours and ring its bell.
QString writeLoudModel(const Scratch& scratch) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/llama-mha";
    const int words = Json::parse(contents(source + "/config.json").toStdString()).at("vocab_size").get<int>();
    QDir().mkdir(scratch.path("loud"));
    for (const QString file : {"config.json", "model.safetensors"})
        scratch.write("loud/" + file, contents(source + "/" + file));
    Json vocabulary;
    for (int i = 0; i < words; ++i)
        vocabulary[i == 0 ? "w" : "\x1b[31m\x07" + std::to_string(i)] = i;
    const Json tokenizer{{"version", "1.0"},
                         {"added_tokens", Json::array()},
                         {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                         {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w"}}}};
    scratch.write("loud/tokenizer.json", QByteArray::fromStdString(tokenizer.dump()));
    return scratch.path("loud");
}

} // namespace

class TestOutput : public QObject {
    Q_OBJECT

private slots:
    void tablesAlignTheirColumns() {
        const Rows<3> rows{{"a", "1.5", "x"}, {"bcd", "-10.25", "yy"}, {"é", "3", ""}};
        QCOMPARE(Table({{"name"}, {"value", Align::point}, {"", Align::right}}, rows).text(), "name   value\n"
                                                                                              "a       1.5    x\n"
                                                                                              "bcd   -10.25  yy\n"
                                                                                              "é       3\n");
        QCOMPARE(Table({{}, {}}, Rows<2>{{"a", "b"}, {"cc", "d"}}).text(),
                 "a   b\ncc  d\n"); // no titles, no title line
        QCOMPARE(Table(2).text(), "\n\n");
        Table grown(2);
        for (int column = 0; column < 3; ++column)
            grown.add({"c" + std::to_string(column), Align::right},
                      [&](std::size_t row) { return std::to_string(row * 10 + static_cast<std::size_t>(column)); });
        QCOMPARE(grown.text(), "c0  c1  c2\n 0   1   2\n10  11  12\n");
        QCOMPARE(Table({{"t"}}, Rows<1>{{"a\nb\x1b[2J"}}).text(), "t\na\\nb\\u001b[2J\n");
    }

    void failedStreamsGiveStatusOne_data() {
        QTest::addColumn<QString>("command");
        QTest::addColumn<QString>("out"); // part of what is still said
        QTest::addColumn<QString>("error");
        const QString good = "\"$CLI\" inspect " + model;
        const QString bad = "\"$CLI\" inspect /nonexistent";
        const QString closed = "standard output cannot be written: it is closed";
        const QString full = "standard output cannot be written: No space left on device";
        const auto row = [](const char* name, const QString& command, const QString& out, const QString& error) {
            QTest::newRow(name) << command << out << error;
        };
        row("closed output", good + " >&-", "", closed);
        row("full output", good + " >/dev/full", "", full);
        row("JSON on full output", good + " --json >/dev/full", "", full);
        row("error in JSON on full output", bad + " --json >/dev/full", "", "/nonexistent: ");
        row("error on closed error output", bad + " 2>&-", "", "");
        row("error on full error output", bad + " 2>/dev/full", "", "");
        row("both closed", good + " >&- 2>&-", "", "");
        row("all closed", bad + " <&- >&- 2>&-", "", "");
        row("progress on full error output", good + " --progress plain 2>/dev/full", "fingerprint", "");
        row("said on the other stream", good + " --progress plain 2>/dev/full", "standard error cannot be written", "");
        row("progress on closed error output", good + " --progress json 2>&-", "fingerprint", "");
        row("help on full output", "\"$CLI\" --help >/dev/full", "", full);
        row("version on full output", "\"$CLI\" --version >/dev/full", "", full);
        row("help of a verb on closed output", "\"$CLI\" measure --help >&-", "", closed);
        row("list on full output", "\"$CLI\" list metrics >/dev/full", "", full);
        row("closed pipe", "(sleep 0.2; " + good + "; echo $? >&2) | true", "",
            "standard output cannot be written: Broken pipe\n1");
    }
    void failedStreamsGiveStatusOne() {
        QFETCH(QString, command);
        QFETCH(QString, out);
        QFETCH(QString, error);
        const Outcome outcome = runShell(command);
        if (!command.endsWith("| true"))
            QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.out.contains(out.toUtf8()), outcome.out.constData());
        QVERIFY2(outcome.error.contains(error), qPrintable(outcome.error));
    }

    void aFullOutputNamesTheFilesThatWereWritten() {
        const Scratch scratch;
        const QString out = scratch.path("a.mask.json");
        const Outcome outcome = runShell("\"$CLI\" prune " + model + " --strategy gate_norm --budget 1 --out " + out +
                                         " --json >/dev/full");
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.error.contains("These files were written: " + out), qPrintable(outcome.error));
        QCOMPARE(run({"mask", "show", out}).status, 0);
    }

    void filesDoNotReceiveWhatIsPrinted() {
        const Scratch scratch;
        for (const char* closed : {">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
            const QString out = scratch.path("s.h5");
            runShell("\"$CLI\" measure " + model + " --metric gate_norm --progress plain --out " + out + " " + closed);
            const Outcome shown = run({"session", "show", out});
            QVERIFY2(shown.status == 0 && shown.out.contains("gate_norm"), closed);
            QVERIFY(QFile::remove(out));
        }
    }

    void namesOfFilesCannotControlTheTerminal() {
        const Scratch scratch;
        const QString folder = scratch.path("evil\x1b[2J\nname");
        QVERIFY(QDir().mkdir(folder));
        for (const QString file : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(model + "/" + file, folder + "/" + file));
        const QString mask = scratch.path("m.json");
        QCOMPARE(run({"prune", folder, "--strategy", "gate_norm", "--budget", "1", "--out", mask}).status, 0);
        Json document = Json::parse(contents(mask).toStdString());
        document["note"] = "a\x1b]0;title\x07 note\nof lines \u009b31m";
        scratch.write("m.json", QByteArray::fromStdString(document.dump()));
        for (const QStringList& arguments :
             {QStringList{"inspect", folder}, QStringList{"inspect", folder, "--json"},
              QStringList{"mask", "show", mask}, QStringList{"inspect", folder + "/no\x1b[2J"},
              QStringList{"list", "\x1b[2J"}, QStringList{"inspect", folder, "--\x1b[2J"}, QStringList{"\x1b[2J"}}) {
            const Outcome outcome = run(arguments);
            QVERIFY2(!hasControlCharacters(outcome.out), qPrintable(arguments.join(' ')));
            QVERIFY2(!hasControlCharacters(outcome.error.toUtf8()), qPrintable(outcome.error));
            QVERIFY(!outcome.out.contains("\xc2\x9b"));
        }
        QVERIFY(run({"mask", "show", mask}).out.contains("note: a\\u001b]0;title\\u0007 note\\nof lines \\u009b31m\n"));
        QCOMPARE(run({"inspect", folder, "--json"}).json().at("path").get<std::string>(), folder.toStdString());
    }

    void longNamesAreShortened() {
        const Scratch scratch;
        const QString name(70'000, 'x');
        scratch.write("m.json", "{\"secateur_mask\": 1, \"model\": {\"" + name.toUtf8() + "\": 2}}");
        const Outcome outcome = run({"mask", "show", scratch.path("m.json")});
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.error.size() < 1000 && outcome.error.contains("x…x"), qPrintable(outcome.error.left(1000)));
    }

    void generatedTextControlsNoTerminal() {
        const Scratch scratch;
        const QStringList generate{"generate", writeLoudModel(scratch), "--prompt", "w w", "--new-tokens", "4"};
        const Outcome piped = run(generate);
        QCOMPARE(piped.status, 0);
        QVERIFY(piped.out.contains("\x1b[31m")); // a file receives the text as it is
        const QByteArray shown = runOnTerminal(generate);
        QVERIFY2(shown.contains("\\u001b[31m\\u0007") && !shown.contains('\x1b') && !shown.contains('\x07'),
                 shown.constData());
    }

    void onlyFilesOfTheSameKindAreReplaced() {
        const Scratch scratch;
        QVERIFY(QDir().mkdir(scratch.path("m")));
        for (const QString file : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(model + "/" + file, scratch.path("m/" + file)));
        const QString own = scratch.path("m");
        const auto prune = [&](const QString& out, const QStringList& more = {}) {
            return run(QStringList{"prune", own, "--strategy", "gate_norm", "--budget", "1", "--out", out} + more);
        };
        for (const QString file : {"config.json", "model.safetensors"}) {
            const QByteArray before = contents(own + "/" + file);
            for (const QStringList& more : {QStringList(), QStringList{"--force"}}) {
                const Outcome outcome = prune(own + "/" + file, more);
                QCOMPARE(outcome.status, 1);
                QVERIFY2(outcome.error.contains(file + ": is a file of a model, which is never replaced"),
                         qPrintable(outcome.error));
            }
            QCOMPARE(contents(own + "/" + file), before);
        }
        const QString mask = scratch.path("a.mask.json");
        QCOMPARE(prune(mask).status, 0);
        QCOMPARE(prune(mask).status, 0);
        QCOMPARE(run({"mask", "grow", mask, "--out", mask}).status, 0);
        QVERIFY(run({"mask", "grow", mask, "--out", own + "/config.json"}).error.contains("a file of a model"));

        const QString notes = QString::fromStdString(scratch.write("notes.txt", "of mine"));
        QVERIFY(prune(notes).error.contains("notes.txt: exists and is not a mask"));
        QVERIFY(run({"plot", own, "--figure", "heads", "--out", mask}).error.contains("is not a figure's numbers"));
        QVERIFY(run({"measure", own, "--metric", "gate_norm", "--out", notes}).error.contains("is not a session"));
        QCOMPARE(contents(notes), "of mine");
        QCOMPARE(prune(notes, {"--force"}).status, 0);
        QVERIFY(contents(notes).contains("secateur_mask"));

        QVERIFY(QFile::link(scratch.path("nowhere"), scratch.path("link.json")));
        QVERIFY(
            prune(scratch.path("link.json"), {"--force"}).error.contains("is a link to a file that does not exist"));
        QVERIFY(!QFile::exists(scratch.path("nowhere")));
    }

    void tablesInFoldersFollowTheRule() {
        const Scratch scratch;
        QVERIFY(QDir().mkdir(scratch.path("csv")));
        const QStringList measure{"measure",          model, "--metric", "gate_norm,gate_norm_head", "--csv",
                                  scratch.path("csv")};
        scratch.write("csv/gate_norm_head.csv", "of mine");
        const Outcome refused = run(measure);
        QCOMPARE(refused.status, 1);
        QVERIFY2(refused.error.contains("gate_norm_head.csv: exists and is not a CSV table"),
                 qPrintable(refused.error));
        QCOMPARE(QDir(scratch.path("csv")).entryList(QDir::Files | QDir::Hidden), QStringList("gate_norm_head.csv"));
        QCOMPARE(run(measure + QStringList("--force")).status, 0);
        QCOMPARE(run(measure).status, 0);
    }

    void aFullDiskLeavesNoTable() {
        const Scratch scratch;
        const QString folder = scratch.path("csv");
        // A limit on file sizes makes a write fail as a full disk does: gate_norm.csv fits, gate_norm_head.csv does
        // not.
        const Outcome outcome = runShell("trap '' XFSZ; ulimit -f 1; \"$CLI\" measure " SECATEUR_TEST_SOURCES
                                         "/mqa-f32-sharded --metric gate_norm,mag_sp_neuron --csv " +
                                         folder + " --out " + scratch.path("s.h5"));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.error.contains("mag_sp_neuron.csv: cannot be written: File too large"),
                 qPrintable(outcome.error));
        QVERIFY(QDir(folder).entryList(QDir::Files | QDir::Hidden).isEmpty());
        QVERIFY(!QFile::exists(scratch.path("s.h5")));
    }

    void withoutProcTheCauseIsNamed() {
        const Outcome outcome = runShell("unshare --user --map-root-user --mount bash -c 'mount -t tmpfs none /proc && "
                                         "exec \"$CLI\" inspect " +
                                         model + "' || echo failed with $?");
        if (outcome.error.contains("unshare") || outcome.error.contains("mount:"))
            QSKIP("this system allows no mounts");
        QVERIFY2(outcome.error.contains("secateur-cli: /proc/cpuinfo: cannot be read") &&
                     !outcome.error.contains("frame #"),
                 qPrintable(outcome.error));
    }
};

SECATEUR_SUITE(TestOutput)
#include "tst_output.moc"
